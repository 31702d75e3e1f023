"""Engines: the ranks of a grid, and the transports that move the bytes of its plans. The local
engine has all blocks in this process: a plan is nothing but copies from field to field. It is the
reference for the others.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

from gridbuf import _core
from gridbuf._core import CopyProgram
from gridbuf.distributed.blocks import Blocks
from gridbuf.distributed.calls import OneCall, SerialCollectives
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.layouts import HOST

T = TypeVar("T")
LISTS = {list, Blocks}  # a field on several blocks


class Quick(NamedTuple):
    """An exchange in one call of C."""

    # True: ended; False: under way; None: nothing done, the general way has to check something
    again: Callable[..., bool | None]
    finish: Callable[[], None]


class Transport(Protocol):
    """Moves the values of one plan. Fields are given in the order of the plan's slots, at every
    start.
    """

    def run(self, fields: Sequence[Any]) -> Quick | None:
        """The whole exchange, where these are different Fields on the host, one for each slot;
        None: they are not, and nothing was done.

        The result makes the next exchanges as long as nothing has to be checked.
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
    """The ranks of a grid."""

    name: str
    rank: int
    size: int

    def failed(self, error: BaseException) -> None:
        """Revoke the grid: this rank raises an error."""

    def connect(self, channel: Any) -> None:
        """All ranks have made the grid, and `channel` has its messages."""

    def serve(self, links: LinkBuilder) -> None:
        """Begin to serve a grid; ValueError where this engine cannot."""

    def prepare(self, plan: Any) -> Transport:
        """The transport of a plan. It may keep the description of the plan, and no field."""

    def run(self, name: str, make: Callable[[Any], T]) -> T:
        """Make a call that all ranks make, with `Collectives` or `SerialCollectives`."""


def done() -> None:
    """Nothing is under way."""


class LocalTransport:
    """Copies everything at the start."""

    def __init__(self, plan: Any) -> None:
        self._plan = plan
        self._back: CopyProgram | None = None
        self._program = CopyProgram(plan.slots(), plan.copies, plan.gpu)
        self._fields, self._blocks = len(plan.bounds), len(plan.blocks)
        # Whether the plan has checked that no exchange of its own is under way
        self._looked = False

    def run(self, fields: Sequence[Any]) -> Quick | None:
        """The next exchanges take one frame of Python: Plan.start takes twice as many instructions
        for eight fields of 8 x 8 points.
        """
        self._looked = True
        return Quick(self._again, done) if self._again(*fields) else None

    def _again(self, *fields: Any) -> bool | None:
        if not self._looked or len(fields) != self._fields:
            return None
        flat: Sequence[Any] = fields
        if self._blocks != 1:
            if {len(each) if type(each) in LISTS else None for each in fields} != {self._blocks}:
                return None
            flat = [*chain.from_iterable(fields)]
        if {*map(type, flat)} != HOST or _core.spans_meet(*flat) is not None:
            return None
        self._program.run(*flat)
        return True

    def start(self, fields: Sequence[Any]) -> int:
        self._looked = False
        self._program.run(*fields)
        return 0

    def test(self, exchange: int) -> bool:
        return True

    def wait(self, exchange: int, timeout: float | None) -> None:
        pass

    def abandon(self, error: BaseException) -> None:
        pass

    def accumulate(self, fields: Sequence[Any]) -> None:
        if self._back is None:
            self._back = CopyProgram(self._plan.slots(), self._plan.adjoint(), self._plan.gpu)
        self._back.run(*fields)


class LocalEngine:
    """One rank, which has all blocks."""

    name, rank, size = "local", 0, 1

    def __init__(self) -> None:
        self._one = OneCall()

    def failed(self, error: BaseException) -> None:
        pass

    def connect(self, channel: Any) -> None:
        pass

    def serve(self, links: LinkBuilder) -> None:
        pass

    def prepare(self, plan: Any) -> LocalTransport:
        return LocalTransport(plan)

    def run(self, name: str, make: Callable[[Any], T]) -> T:
        with self._one.during(name):
            return make(SerialCollectives())
