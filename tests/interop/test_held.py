"""What several installations share is there until all of them are undone."""

from collections.abc import Callable

import pytest

from gridbuf.interop import numpy as handler
from gridbuf.interop.exchanging import Installation


def test_who_holds_it_keeps_it() -> None:
    """What two programs' installations need is there until both are gone, in any order."""
    calls: list[str] = []

    def on() -> Callable[[], None]:
        calls.append("on")
        return lambda: calls.append("off")

    both = Installation(on)
    first, second = both.hold(), both.hold()
    first()
    assert both.is_on
    with both.on():
        with both.on():
            second()
        assert both.is_on and calls == ["on"]
    assert not both.is_on and calls == ["on", "off"]
    both.off()
    third = both.hold()
    with both.on():
        pass
    assert both.is_on
    third()
    assert calls == ["on", "off", "on", "off"]


def test_memory_that_another_holds_stays_on() -> None:
    release = handler.hold()
    try:
        handler.enable()
        handler.disable()
        assert handler.enabled()
    finally:
        release()
    assert not handler.enabled()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_one_program_s_installation_leaves_the_other_keeps(order: tuple[int, int]) -> None:
    gbg = pytest.importorskip("gridbuf.interop.gt4py")
    from gridbuf.interop import icon4py, ndsl

    parts = (ndsl, icon4py)
    for part in parts:
        part.install()
    first, last = (parts[i] for i in order)
    first.uninstall()
    gbg.install()
    gbg.uninstall()
    assert last.installed() and gbg.installed() and handler.enabled() and not first.installed()
    last.uninstall()
    assert not gbg.installed() and not handler.enabled()
