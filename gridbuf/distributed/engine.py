"""What an engine is: who this rank is among how many, and something that moves a plan's bytes."""

from collections.abc import Sequence
from typing import Any, Protocol


class Transport(Protocol):
    """Moves what one plan says. Fields come in the order of the plan's slots, at every start anew."""

    def start(self, fields: Sequence[Any]) -> int:
        """Check the fields, send, and begin to receive; copies within the rank may be made at once. The exchange's number."""

    def test(self, exchange: int) -> bool:
        """Whether everything of this exchange has arrived and lies in the fields."""

    def wait(self, exchange: int, timeout: float | None) -> None:
        """Wait for that; TimeoutError after so many seconds."""

    def accumulate(self, fields: Sequence[Any]) -> None:
        """The adjoint, from start to end."""


class Engine(Protocol):
    """Where the ranks are."""

    name: str
    rank: int
    size: int

    def failed(self, error: Exception) -> None:
        """This rank raised before it could tell its peers; they hear of it when they meet."""

    def prepare(self, plan: Any) -> Transport:
        """What moves a plan. It may keep what the plan says, and nothing of the fields."""

    def total(self, number: int) -> int:
        """The sum of a number over all ranks, in 64 bits; all of them ask."""
