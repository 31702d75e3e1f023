"""How often the driver is called, and that a copy which is nearly done is not slept over."""

import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of
from pages_of_docs import ROOT

import gridbuf as gb

SHAPE = (40, 50)


def calls(fake: Fake, act: Callable[[], Any]) -> int:
    """Of one turn, once all is warm; push and pop of contexts counted."""
    for _ in range(3):
        act()
    before = fake.count()
    act()
    return fake.count() - before


def things() -> dict[str, Callable[[], Any]]:
    f, g = gb.Field.zeros(SHAPE, device="gpu"), gb.Field.zeros(SHAPE, device="gpu")
    turned = gb.Field.zeros(SHAPE, device="gpu", backend="F")
    shorts = gb.Field.zeros(SHAPE, "i2", device="gpu")
    pinned = gb.zeros(SHAPE, memory="pinned")
    pageable = np.zeros(SHAPE)
    managed = gb.Field.zeros(SHAPE, memory="managed")
    capsules: list[Any] = []
    unseen = gb.Field.zeros(SHAPE, device="gpu")
    gb.cuda.synchronize()
    return {
        "empty": lambda: gb.Field.empty(SHAPE, device="gpu"),
        "interface": lambda: unseen.__cuda_array_interface__,
        "dlpack": lambda: unseen.__dlpack__(max_version=(1, 0)),
        "dlpack, per thread": lambda: unseen.__dlpack__(stream=2, max_version=(1, 0)),
        "dlpack, legacy": lambda: unseen.__dlpack__(stream=1, max_version=(1, 0)),
        "dlpack, unsynchronised": lambda: unseen.__dlpack__(stream=-1, max_version=(1, 0)),
        "managed, seen by the host alone": lambda: managed.numpy(),
        "zeros": lambda: gb.Field.zeros(SHAPE, device="gpu"),
        "ones": lambda: gb.Field.ones(SHAPE, device="gpu"),
        "fill": lambda: gb.fill(f, 0.1),
        "fill, of 2 bytes": lambda: gb.fill(shorts, 77),
        "one element": lambda: f.__setitem__((3, 4), 0.1),
        "upload": lambda: gb.copyto(f, pinned),
        "upload, pageable": lambda: gb.copyto(f, pageable),
        "download": lambda: gb.copyto(pinned, f),
        "upload, transposed": lambda: gb.copyto(turned, pinned),
        "device to device": lambda: gb.copyto(g, f),
        "copy_async": lambda: gb.copy_async(f, pinned).wait(),
        "": lambda: capsules.clear(),
    }


BOUNDS = {
    "empty": 0, "interface": 0, "dlpack": 0, "dlpack, per thread": 0, "dlpack, legacy": 0,
    "dlpack, unsynchronised": 0,
    "managed, seen by the host alone": 0, "zeros": 4, "ones": 4, "fill": 5, "fill, of 2 bytes": 5,
    "one element": 6,
    "upload": 9, "upload, pageable": 9, "download": 9, "upload, transposed": 12,
    "device to device": 13, "copy_async": 19,
}  # fmt: skip


@pytest.mark.parametrize("what", BOUNDS)
def test_calls_of_the_driver(fake: Fake, what: str) -> None:
    assert calls(fake, things()[what]) <= BOUNDS[what]


def test_the_table_of_calls_is_what_is_counted(fake: Fake) -> None:
    """docs/device.md has what bench/bench_device.py prints."""
    command = [sys.executable, str(ROOT / "bench" / "bench_device.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "device.md").read_text()
    assert done.stdout == page.partition("bench_device.py -->\n")[2].partition("<!-- end")[0]


def test_an_export_after_which_nothing_was_queued_asks_nothing(fake: Fake) -> None:
    f = gb.Field.ones(SHAPE, device="gpu")
    gb.cuda.synchronize()
    f.__dlpack__()
    before = fake.count()
    for stream in (None, 1, 2, -1):
        f.__dlpack__(stream=stream, max_version=(1, 0))
    assert fake.count() == before


def test_managed_memory_that_others_have_seen_is_waited_for(fake: Fake) -> None:
    f = gb.Field.zeros(100, "i1", memory="managed", device="gpu")
    address = f.__cuda_array_interface__["data"][0]
    gb.cuda.synchronize()
    fake.hold(True)
    fake.set_bytes(address, 5, 100, fake.stream(0))  # a kernel of theirs
    assert (f.numpy() == 5).all()
    fake.hold(False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts a thread's own switches")
def test_a_copy_that_is_nearly_done_is_looked_at_and_not_slept_over(fake: Fake) -> None:
    f, host = gb.Field.zeros(SHAPE, device="gpu"), gb.ones(SHAPE, memory="pinned")
    gb.copyto(f, host)
    slept = []
    for _ in range(20):
        fake.hold(True)
        fake.awaited(6)  # it is done at the sixth look
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        gb.copyto(f, host)
        slept.append(resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before)
        fake.hold(False)
    assert min(slept) == 0
    assert (values_of(f) == 1).all()
