"""The local engine: all blocks in this process, so that a plan is nothing but copies from field to field. The reference for the others."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gridbuf._core import CopyProgram
from gridbuf.distributed.alone import Alone
from gridbuf.distributed.calls import Steps
from gridbuf.distributed.linking import LinkBuilder


class LocalTransport:
    """Copies at the start; nothing is ever under way."""

    def __init__(self, plan: Any) -> None:
        self._plan = plan
        self._back: CopyProgram | None = None
        self._program = CopyProgram(plan.slots(), plan.copies, plan.gpu)

    def run(self, fields: Sequence[Any]) -> None:
        return None

    def start(self, fields: Sequence[Any]) -> int:
        self._program.run(*fields)
        return 0

    def test(self, exchange: int) -> bool:
        return True

    def wait(self, exchange: int, timeout: float | None, leaving: bool = False) -> None:
        pass

    def accumulate(self, fields: Sequence[Any]) -> None:
        if self._back is None:
            self._back = CopyProgram(self._plan.slots(), self._plan.adjoint(), self._plan.gpu)
        self._back.run(*fields)


class LocalEngine:
    """One rank, which has all blocks."""

    name, rank, size = "local", 0, 1

    def failed(self, error: Exception, peers: Iterable[int]) -> None:
        pass

    def serve(self, links: LinkBuilder) -> None:
        pass

    def prepare(self, plan: Any) -> LocalTransport:
        return LocalTransport(plan)

    def run(self, key: Any, make: Callable[[Any], Steps[Any]]) -> Any:
        return Alone().run(key, make)
