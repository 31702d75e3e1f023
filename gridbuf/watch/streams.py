"""The error stream as it was before the program ran: a program may exchange its own, or close it."""

import os
import sys
from contextlib import suppress
from typing import Any


class Errors:
    """Where the report goes, if there is such a place; nobody is told where there is none."""

    def __init__(self) -> None:
        self.stream = sys.stderr

    def say(self, words: str) -> None:
        """Write to it, or where it is closed to what the program has instead."""
        for stream in (self.stream, *([] if sys.stderr is self.stream else [sys.stderr])):
            with suppress(Exception):
                _write(stream, words)
                return

    def is_terminal(self) -> bool:
        """Whether somebody reads along."""
        return is_terminal(self.stream)

    def is_colored(self) -> bool:
        """Whether to write in color."""
        return self.is_terminal() and "NO_COLOR" not in os.environ


def is_terminal(stream: Any) -> bool:
    """Whether a stream is one; not where there is none, a closed one, or somebody's own."""
    try:
        return bool(stream.isatty())
    except Exception:
        return False


def _write(stream: Any, words: str) -> None:
    """Past the stream's buffer: Python flushes that when it ends, and has a status of its own where nobody reads any more."""
    stream.flush()
    try:
        number = stream.fileno()
    except OSError:  # memory
        stream.write(words)
        return
    with open(number, "w", encoding=stream.encoding, errors="backslashreplace", closefd=False) as file:
        file.write(words)
