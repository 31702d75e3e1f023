"""The exception of ranks that do not agree."""


class DisagreementError(RuntimeError):
    """Ranks do not agree about an exchange: the message names the peer, the field and what differs."""
