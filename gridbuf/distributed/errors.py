"""The exceptions of ranks: what another rank has raised, and where two of them differ."""


class RevokedError(RuntimeError):
    """An error on some rank has revoked this rank's grids: the message quotes the rank and its
    error. Make the grid again to go on.
    """


class DisagreementError(RevokedError):
    """Ranks do not agree about an exchange or a call: the message names the ranks, the field and
    the difference.
    """
