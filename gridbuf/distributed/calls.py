"""Calls that all ranks make together, as steps: each step says what it awaits, so that a wait can end early and go on later.

A call is a generator. What it yields is awaited outside of it: after a timeout or Ctrl-C it stays where it was, and the next call of the
same kind goes on with it; any other one lets it end first.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

from gridbuf.distributed.waiting import Waiting

MEETING = 512  # words of the reduction in which all ranks meet before they do anything else
ENDS, IDLE = 12, 13  # places in it: how many ranks free their communicator, and need nothing of it


class Awaited(NamedTuple):
    """What a call cannot go on without."""

    come: Callable[[], bool]
    missing: Callable[[], str]  # "rank 3 waits for rank 2: gather, call 7"


T = TypeVar("T")
Steps = Generator[Awaited, None, T]


class Call:
    """A call on its way.

    Attributes
    ----------
    key
        What tells it apart.
    step : int
        The step of the program in which it was made: errors end steps.
    name : str
        What errors call it.
    met : bool
        Whether all ranks have come to it in that step: then all of them end it.
    void : bool
        Whether some never will. What this rank has said in it is still to be taken, by their next.
    over : bool
        Whether it has ended, or died of an error.
    """

    def __init__(self, key: Any, steps: Steps[Any], step: int = 0) -> None:
        self.key, self.step, self.name, self._steps = key, step, "", steps
        self.met = self.void = self.over = False
        self._awaited: Awaited | None = None

    def drive(self, timeout: float | None, listen: Callable[[], object] | None = None) -> Any:
        """Go on to the end; TimeoutError after so many seconds in which nothing came. Until all have met it listens for what others have raised."""
        while True:
            if self._awaited is not None:
                Waiting(timeout, self._awaited.missing).until(self._awaited.come, None if self.met else listen)
                self._awaited = None
            try:
                self.over = True  # unless it comes to another step
                self._awaited = next(self._steps)
                self.over = False
            except StopIteration as end:
                return end.value


def attempt(do: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """A result, or what is wrong, to be told to the others before it is raised."""
    try:
        return do(), None
    except Exception as error:
        return None, error
