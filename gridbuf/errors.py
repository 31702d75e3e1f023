"""Exceptions that belong to no single module."""


class UsageError(Exception):
    """What the user of a command can put right: printed as one line, and the command exits with 2."""
