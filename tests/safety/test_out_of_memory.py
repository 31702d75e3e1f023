"""Running out of memory, or into a limit, is a MemoryError with the numbers, and the next call
works.
"""

import numpy as np
import pytest
from free_memory import needs_memory
from in_child import python

import gridbuf as gb


@pytest.fixture
def limit():  # type: ignore[no-untyped-def]
    yield gb.memory.set_limit
    gb.memory.set_limit(None)


def test_a_limit_counts_what_only_a_view_or_a_capsule_holds(limit) -> None:  # type: ignore[no-untyped-def]
    base = gb.memory.stats()["live_bytes"]
    limit(base + (10 << 20))
    assert gb.memory.stats()["limit"] == base + (10 << 20)
    view = gb.empty((6 << 20,), np.uint8)[5:]
    with pytest.raises(
        MemoryError,
        match=r"cannot allocate \d+ bytes: \d+ bytes are live in \d+ buffers and the limit is \d+",
    ):
        gb.empty((6 << 20,), np.uint8)
    del view
    capsule = gb.Field.empty((6 << 20,), np.uint8).__dlpack__()
    with pytest.raises(MemoryError):
        gb.Field.empty((6 << 20,), np.uint8)
    del capsule
    assert gb.empty((6 << 20,), np.uint8).nbytes == 6 << 20


def test_bad_limits(limit) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match="limit: -1 bytes"):
        limit(-1)
    with pytest.raises(TypeError, match="limit: expected an int"):
        limit("much")


def test_absurd_shapes() -> None:
    for shape in [(1 << 62, 1 << 62), (1 << 63,), (-1,), (3, -5), (1 << 40, 1 << 40)]:
        with pytest.raises(ValueError, match="shape"):
            gb.empty(shape)
    for shape in [(1 << 45,), (1 << 20, 1 << 20, 1 << 10)]:
        with pytest.raises(MemoryError, match=r"cannot allocate \d+ bytes"):
            gb.empty(shape)
    assert gb.zeros((3,)).tolist() == [0, 0, 0]


OUT = """
import os, resource, numpy as np, gridbuf as gb
gb.empty((10,))
cached = gb.empty((300 << 20,), np.uint8); del cached
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), resource.RLIM_INFINITY))
a = gb.empty((400 << 20,), np.uint8)       # fits only once the cache is given back
held = [a]
try:
    while True:
        held.append(gb.empty((40 << 20,), np.uint8))
except MemoryError as error:
    assert "cannot allocate" in str(error), error
small = gb.zeros((1000,)); assert small.sum() == 0
held.clear()
assert gb.empty((40 << 20,), np.uint8).nbytes == 40 << 20
print("survived")
"""


def test_when_the_system_has_none_left_the_cache_goes_first() -> None:
    assert python(OUT) == "survived"


@pytest.mark.slow
def test_three_gib_and_two_to_the_31_elements() -> None:
    needs_memory(8 << 30)
    a = gb.empty((3 << 30,), np.uint8)
    a[-1] = 7
    f = gb.Field(a)
    assert np.from_dlpack(f)[-1] == 7 and f[-1] == 7 and f.nbytes == 3 << 30
    del a, f
    b = gb.Field.zeros((1 << 16, (1 << 15) + 1), np.int8, dims="IJ", backend="gt:cpu_ifirst")
    assert b.size > 1 << 31 and b.strides == (1, 1 << 16)
    b[-1, -1] = 5
    assert np.asarray(b)[-1, -1] == 5 and b[::-1, ::-1][0, 0] == 5
