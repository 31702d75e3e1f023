"""How commands end: exceptions that belong to no single module, and a reader that has enough."""

import os
import sys
from typing import Any


class UsageError(Exception):
    """What the user of a command can put right: printed as one line, and the command exits
    with 2.
    """


class quiet_pipe:
    """A command whose lines are read by `head` ends in silence when that ends; `status` is then
    what a shell would say.
    """

    status = 0

    def __enter__(self) -> "quiet_pipe":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            kind = BrokenPipeError
        except Exception:  # none, closed, or of the program: Python flushes once more, and says so
            return False
        if kind is None or not issubclass(kind, BrokenPipeError):
            return False
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # Python flushes once more when it ends
        self.status = 141
        return True
