"""A block that somebody used before holds his values: zeros must not, however it makes them go
away.
"""

import numpy as np
import pytest

import gridbuf as gb

# around: a slab's blocks, the filling in C, the sharing of work by threads, and the fresh pages of
# 4 MiB and more
SIZES = [1, 8, 100, 2047, 2048, 8191, 8192, 65_000, 131_072, 524_287, 524_288, 530_001, 3_000_000]


@pytest.mark.parametrize("backend", ["C", "gt:cpu_ifirst"])
@pytest.mark.parametrize("n", SIZES)
def test_zeros_of_a_used_block(n: int, backend: str) -> None:
    for make in (gb.zeros, gb.Field.zeros):
        used = gb.full((n, 3) if n < 1_000_000 else (n,), np.nan, backend=backend)
        shape, address = used.shape, used.ctypes.data
        del used
        a = np.asarray(make(shape, backend=backend))
        assert a.ctypes.data == address, "this is not the used block"
        assert not a.any()
        a[...] = np.inf
        del a


@pytest.mark.parametrize("shift", [1, 63, 64, 4095])
def test_zeros_that_start_and_end_within_pages(shift: int) -> None:
    shape = ((5 << 20) + shift,)
    for _ in range(3):
        a = gb.zeros(shape, np.uint8, byte_alignment=1)
        assert not a.any()
        a[...] = 255
        del a


@pytest.mark.parametrize("n", SIZES)
def test_ones_and_full_of_a_used_block(n: int) -> None:
    for _ in range(2):
        ones, full = gb.ones((n,)), gb.full((n,), 2.5)
        assert (ones == 1.0).all() and (full == 2.5).all()
        ones[...] = full[...] = np.nan
        del ones, full
