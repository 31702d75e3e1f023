"""What an engine is: who this rank is among how many, and something that moves a plan's bytes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from gridbuf.distributed.calls import Steps
from gridbuf.distributed.geometry.linking import LinkBuilder


class Quick(NamedTuple):
    """An exchange in one call of C."""

    again: Callable[..., bool | None]  # None: something has to be looked at, and nothing was done; False: it is under way
    finish: Callable[[], None]


class Transport(Protocol):
    """Moves what one plan says. Fields come in the order of the plan's slots, at every start anew."""

    def run(self, fields: Sequence[Any]) -> Quick | None:
        """The whole exchange, where these are different Fields on the host, one for each slot; None: they are not, and nothing was done.

        What is returned makes the next ones as long as nothing has to be looked at.
        """

    def start(self, fields: Sequence[Any]) -> int:
        """Check the fields, send, and begin to receive; copies within the rank may be made at once. The exchange's number."""

    def test(self, exchange: int) -> bool:
        """Whether everything of this exchange has arrived and lies in the fields."""

    def wait(self, exchange: int, timeout: float | None, leaving: bool = False) -> None:
        """Wait for that; TimeoutError after so many seconds. `leaving`: an error is on its way, and is not to be raised once more."""

    def accumulate(self, fields: Sequence[Any]) -> None:
        """The adjoint, from start to end."""


class Engine(Protocol):
    """Where the ranks are."""

    name: str
    rank: int
    size: int
    around: Callable[[], Iterable[int]]  # the ranks that have blocks beside this rank's, which the grid knows

    def failed(self, error: Exception) -> None:
        """This rank has raised instead of an exchange: those that it exchanges with hear of it.

        Doors pass every Exception on: an error that is not told lets values of one exchange pass for those of another.
        """

    def serve(self, links: LinkBuilder) -> None:
        """Begin to serve a grid; ValueError where this engine cannot."""

    def prepare(self, plan: Any) -> Transport:
        """What moves a plan. It may keep what the plan says, and nothing of the fields."""

    def run(self, key: Any, make: Callable[[Any], Steps[Any]]) -> Any:
        """Make a call that all ranks make, with what `everyone` or `alone` has for it; one of the same key goes on where it was given up."""
