"""What an engine is: who this rank is among how many, and something that moves a plan's bytes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from gridbuf.distributed.geometry.linking import LinkBuilder

T = TypeVar("T")


class Quick(NamedTuple):
    """An exchange in one call of C."""

    again: Callable[
        ..., bool | None
    ]  # None: something has to be looked at, and nothing was done; False: it is under way
    finish: Callable[[], None]


class Transport(Protocol):
    """Moves what one plan says. Fields come in the order of the plan's slots, at every start
    anew.
    """

    def run(self, fields: Sequence[Any]) -> Quick | None:
        """The whole exchange, where these are different Fields on the host, one for each slot;
        None: they are not, and nothing was done.

        What is returned makes the next ones as long as nothing has to be looked at.
        """

    def start(self, fields: Sequence[Any]) -> int:
        """Check the fields, send, and begin to receive; copies within the rank may be made at once.
        The exchange's number.
        """

    def test(self, exchange: int) -> bool:
        """Whether everything of this exchange has arrived and lies in the fields."""

    def wait(self, exchange: int, timeout: float | None) -> None:
        """Wait for that; TimeoutError after so many seconds."""

    def abandon(self, error: BaseException) -> None:
        """An error of this rank ends the exchange under way, and revokes the grid."""

    def accumulate(self, fields: Sequence[Any]) -> None:
        """The adjoint, from start to end."""


class Engine(Protocol):
    """Where the ranks are."""

    name: str
    rank: int
    size: int

    def failed(self, error: BaseException) -> None:
        """This rank raises an error: it revokes the grid, and the other ranks hear of it."""

    def connect(self, channel: Any) -> None:
        """All ranks have made the grid, and `channel` has its messages."""

    def serve(self, links: LinkBuilder) -> None:
        """Begin to serve a grid; ValueError where this engine cannot."""

    def prepare(self, plan: Any) -> Transport:
        """What moves a plan. It may keep what the plan says, and nothing of the fields."""

    def run(self, name: str, make: Callable[[Any], T]) -> T:
        """Make a call that all ranks make, with `Collectives` or `Alone`."""
