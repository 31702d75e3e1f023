"""Calls that all ranks of a grid make together, one after the other."""

from collections.abc import Iterator
from contextlib import contextmanager

MEETING = 512  # words of the reduction in which all ranks meet before they do anything else


class OneCall:
    """The call of all ranks that is under way on a grid, of which there is one at a time.

    A second one, made by another thread or by a callback of the first, would take the messages of
    the first.
    """

    def __init__(self) -> None:
        self._name: str | None = None

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Enter a call; RuntimeError where another one has not ended."""
        if self._name is not None:
            raise RuntimeError(
                f"{name}: {self._name} of the same grid is under way on this rank, in a callback"
                " (progress=) or another thread; calls of all ranks are made one after the other,"
                " and threads that call at once have a grid each"
            )
        self._name = name
        try:
            yield
        finally:
            self._name = None
