"""Memory stays flat, reference counts stay put, and errors leak nothing."""

import gc
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from resident import resident, small_pages

import gridbuf as gb


@pytest.fixture(autouse=True)
def a_page_is_a_page() -> Iterator[None]:
    with small_pages():
        yield


def round_trip(i: int) -> None:
    f = gb.Field.zeros((4, 5, 6), dims="KJI", halo=(1, 1, 0))
    view = f[1:, ::-1, 2]
    view.__dlpack__(max_version=(1, 0))
    np.from_dlpack(view)
    gb.from_dlpack(f)
    assert f.transpose("IJK").domain.ndim == 3
    assert memoryview(f).shape == f.numpy().shape == f.__array_interface__["shape"]


def errors(i: int) -> None:
    for call in (
        lambda: gb.empty((2,), backend=f"no{i}"),
        lambda: gb.empty((1, 2), halo=(1, 5)),
        lambda: gb.Field(np.zeros(3), "IJ"),
        lambda: gb.Field.zeros((3, 3)).__dlpack__(stream=1),
        lambda: gb.empty((1 << 60, 1 << 60)),
        lambda: gb.empty((2, 3), dimensions="IX"),
    ):
        with pytest.raises((ValueError, BufferError)):
            call()


@pytest.mark.parametrize("action", [round_trip, errors], ids=["use", "errors"])
def test_memory_is_flat(action) -> None:  # type: ignore[no-untyped-def]
    for i in range(5000):
        action(i)
    gc.collect()
    before, live = resident(), gb.memory.stats()["live_buffers"]
    for i in range(20_000):
        action(i)
    gc.collect()
    assert gb.memory.stats()["live_buffers"] == live
    assert resident() - before < 6 << 20  # Go's own heap breathes by a few MiB


def test_a_million_fields_and_capsules_at_flat_memory() -> None:
    source = gb.Field.zeros((4, 5), dims="IJ")
    for _ in range(10_000):
        gb.Field.empty((10, 10))
        source.__dlpack__(max_version=(1, 0))
    before = resident()
    for _ in range(1_000_000):
        gb.Field.empty((10, 10))
        source.__dlpack__(max_version=(1, 0))
    assert resident() - before < 2 << 20
    assert gb.memory.stats()["live_buffers"] >= 1


def test_reference_counts_stay_put() -> None:
    watched = [np.dtype("f4"), np.float64, gb.Field, gb.HostField, gb.Plan, "gt:cpu_ifirst"]
    round_trip(0)
    before = [sys.getrefcount(x) for x in watched]
    for i in range(1000):
        round_trip(i)
        gb.empty((3, 4), np.dtype("f4"), backend="gt:cpu_ifirst")
    after = [sys.getrefcount(x) for x in watched]
    assert all(abs(a - b) <= 8 for a, b in zip(after, before, strict=True)), (before, after)


def test_caches_are_bounded() -> None:
    for i in range(30_000):
        gb.plan((i + 1, 3))
    gc.collect()
    before = resident()
    for i in range(60_000):
        gb.plan((i + 1, 5))
    gc.collect()
    assert resident() - before < 4 << 20
