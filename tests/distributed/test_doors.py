"""Every way into an exchange tells the engine of every error: what its peers do not hear of leaves
them with values of another exchange.
"""

from collections.abc import Callable
from typing import Any

import pytest

import gridbuf.distributed as gbd
from gridbuf.distributed.plans.engines import LocalEngine, LocalTransport

GRID = gbd.grid((6, 4), periodic="I", halo=1)
FIELD = GRID.zeros()
PLAN = GRID.plan(FIELD)


class Unwilling:
    """An array that raises when its memory is asked for."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **given: object) -> object:
        raise self.error


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    found: list[Exception] = []
    monkeypatch.setattr(LocalEngine, "failed", lambda self, error: found.append(error))
    monkeypatch.setattr(LocalTransport, "abandon", lambda self, error: found.append(error))
    return found


@pytest.mark.parametrize(
    "kind", [TypeError, ValueError, BufferError, RuntimeError, MemoryError, OSError, KeyError]
)
@pytest.mark.parametrize(
    "door",
    [GRID.exchange, GRID.sync, GRID.plan, PLAN, PLAN.start, PLAN.accumulate],
    ids=["exchange", "sync", "plan", "call", "start", "accumulate"],
)
def test_errors_are_told(
    door: Callable[..., Any], kind: type[Exception], told: list[Exception]
) -> None:
    with pytest.raises(kind) as raised:
        door(Unwilling(kind("no")))
    assert told == [raised.value]
    GRID.exchange(FIELD)
    PLAN(FIELD)


@pytest.mark.parametrize(
    "door", [PLAN, PLAN.start, PLAN.accumulate], ids=["call", "start", "accumulate"]
)
def test_a_plan_that_is_under_way_is_told(door: Callable[..., Any], told: list[Exception]) -> None:
    with PLAN.start(FIELD):
        with pytest.raises(RuntimeError, match="not waited for") as raised:
            door(FIELD)
        assert told == [raised.value]
