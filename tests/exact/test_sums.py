"""Exact sums against math.fsum and Python's integers, to the last bit; on several threads and in a
forked child.
"""

import math
import os
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from exact_values import FLOATS, INF, INTEGERS, NAN, any_double, bits, exactly, rounded, wide
from hypothesis import given, settings
from hypothesis import strategies as st

import gridbuf as gb
from gridbuf.exact import Total

# ---- sums ----


@given(st.lists(any_double, max_size=60))
@settings(deadline=None)
def test_sum_has_the_bits_of_fsum(values: list[float]) -> None:
    try:
        wanted = math.fsum(values)
    except OverflowError:  # an intermediate sum; ours has none
        wanted = exactly(values)
    assert bits(gb.exact.sum(np.array(values))) == bits(wanted)


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=40),
    st.sampled_from([1, 2, -1, 3]),
)
@settings(deadline=None)
def test_float32_sums_are_exact(values: list[float], step: int) -> None:
    x = np.array(values, "f4")[::step]
    assert bits(gb.exact.sum(x)) == bits(math.fsum(x.tolist()))


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 511, 512, 513, 2047, 2048, 2049, 5000, 40_000])
@pytest.mark.parametrize(
    "spread", [(0, 1), (-20, 20), (-300, 300), (-1074, 1000), (-1074, -1000), (960, 1010)]
)
def test_sizes_and_spreads(size: int, spread: tuple[int, int]) -> None:
    rng = np.random.default_rng(size)
    x = wide(rng, size, *spread)
    assert bits(gb.exact.sum(x)) == bits(math.fsum(x))
    total = np.concatenate([x, -x[::-1]])
    rng.shuffle(total)
    assert bits(gb.exact.sum(total)) == bits(0.0)
    if size:
        total[3 % size] += total[3 % size] + 1
        assert bits(gb.exact.sum(total)) == bits(math.fsum(total))


@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts(dtype: str) -> None:
    rng = np.random.default_rng(1)
    base = rng.standard_normal((23, 41, 37)).astype(dtype)
    views = [
        base,
        base.T,
        base[::2, ::-3],
        base[:, 5:8],
        base[5, 5, 5],
        base[3:3],
        base.transpose(1, 2, 0)[::-1, :, ::7],
    ]
    views += [np.broadcast_to(base[0, 0], (9, 37)), np.asfortranarray(base)[1:-1, 1:-1, 1:-1]]
    for view in views:
        assert bits(gb.exact.sum(view)) == bits(math.fsum(view.ravel().tolist())), view.strides
    swapped = base.astype(np.dtype(dtype).newbyteorder(">"))
    assert bits(gb.exact.sum(swapped)) == bits(gb.exact.sum(base))


def test_unaligned_memory() -> None:
    raw = np.zeros(8 * 4000 + 3, np.uint8)
    x = raw[3:].view(np.float64)
    x[...] = np.random.default_rng(2).standard_normal(4000)
    assert bits(gb.exact.sum(x)) == bits(math.fsum(x))
    assert gb.exact.dot(x, x) == exactly([0]) + rounded(sum(Fraction(v) ** 2 for v in x.tolist()))


def test_fields_storages_and_lists() -> None:
    f = gb.Field.zeros((20, 30, 10), "float64", dims="IJK", halo=(3, 3, 0), backend="gt:cpu_ifirst")
    f[...] = np.random.default_rng(3).standard_normal((20, 30, 10))
    assert bits(gb.exact.sum(f)) == bits(math.fsum(f.numpy().ravel()))
    assert bits(gb.exact.sum(f.domain)) == bits(math.fsum(f.domain.numpy().ravel()))
    assert gb.exact.sum(gb.storage.ones((3, 4), "float64")) == 12
    assert gb.exact.sum([[1, 2], [3, 4]]) == 10
    assert gb.exact.sum(2.5) == 2.5


def test_signed_zeros_and_nothing() -> None:
    for x in ([], [0.0], [-0.0], [-0.0, -0.0], [1.0, -1.0]):
        assert bits(gb.exact.sum(np.array(x, float))) == bits(math.fsum(x))
    assert gb.exact.sum(np.zeros(0, int)) == 0
    assert isinstance(gb.exact.sum(np.zeros(0, int)), int)
    assert gb.exact.sum(np.zeros((3, 0), complex)) == 0j


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", [3, 3000])
@pytest.mark.parametrize(
    ("special", "wanted"),
    [
        ([INF], INF),
        ([-INF], -INF),
        ([INF, INF], INF),
        ([INF, -INF], NAN),
        ([NAN], NAN),
        ([NAN, INF], NAN),
        ([-NAN], NAN),
    ],
)
def test_infinities_and_nan(dtype: str, size: int, special: list[float], wanted: float) -> None:
    for at in (0, size // 2, size - len(special)):
        x = np.ones(size, dtype)
        x[at : at + len(special)] = special
        for result in (gb.exact.sum(x), gb.exact.mean(x)):
            assert result == wanted or (math.isnan(result) and math.isnan(wanted))
        y = -x
        result = gb.exact.sum(y)
        assert result == -wanted or (math.isnan(result) and math.isnan(wanted))


def test_nan_among_zeros() -> None:
    for at in range(70):
        x = np.zeros(2048)
        x[at * 29] = NAN
        assert math.isnan(gb.exact.sum(x))
        assert math.isnan(gb.exact.dot(x, np.ones(2048)))


def test_beyond_the_range() -> None:
    largest = sys.float_info.max
    assert gb.exact.sum([largest, largest]) == INF
    assert gb.exact.sum([-largest, -largest]) == -INF
    assert gb.exact.sum([largest, largest, -largest]) == largest
    assert gb.exact.sum(np.tile([largest, -largest], 5000)) == 0
    assert gb.exact.mean([largest, largest]) == largest
    half = math.ulp(largest) / 2
    assert gb.exact.sum([largest, half]) == INF
    assert gb.exact.sum([largest, math.nextafter(half, 0)]) == largest


def test_subnormals_where_a_library_flushes_them() -> None:
    """Compilers' fast-math start-up code sets flush-to-zero for the whole thread."""
    if not sys.platform.startswith("linux") or os.uname().machine != "x86_64":
        pytest.skip("the machine code below is x86-64's")
    import ctypes
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("897c24fc0fae5424fcc3"))  # mov [rsp-4], edi; ldmxcsr [rsp-4]; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    set_csr = ctypes.CFUNCTYPE(None, ctypes.c_uint32)(address)
    x = np.full(4096, 5e-324)
    y = np.full(4096, 2.0**-500)
    total, product = Total("float64"), Total("float64")
    set_csr(0x1F80 | 0x8040)
    try:
        # What Python makes of it, and of results, is the thread's affair
        flushed = float(x[0]) * 1.0
        total.add(x)
        product.add_product(x, y)
    finally:
        set_csr(0x1F80)
    assert flushed == 0
    assert total.sum() == 4096 * 5e-324
    assert product.root() == math.sqrt(4096 * 2.0**-574) * 2.0**-500


# ---- integers ----


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_pythons(dtype: str) -> None:
    rng = np.random.default_rng(4)
    for shape in [(0,), (1,), (7, 3), (100, 50), (30_000,)]:
        x = (
            rng.integers(0, 2, shape).astype(bool)
            if dtype == "bool"
            else rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        )
        for view in (x, x[::2], x[::-1], x.T):
            result = gb.exact.sum(view)
            assert type(result) is int
            assert result == sum(view.ravel().tolist())
        if x.size:
            assert gb.exact.mean(x) == sum(x.ravel().tolist()) / x.size


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_integers_beyond_64_bits(value: int) -> None:
    x = np.full(100_000, value)
    assert gb.exact.sum(x) == 100_000 * value
    assert gb.exact.dot(x, x) == 100_000 * value * value


# ---- threads and processes ----


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_make_no_difference(threads: int) -> None:
    x = wide(np.random.default_rng(11), (300, 2001), -300, 300)
    before = gb.get_num_threads()
    gb.set_num_threads(threads)
    try:
        assert bits(gb.exact.sum(x)) == bits(math.fsum(x.ravel()))
        assert bits(gb.exact.sum(x.T[1:])) == bits(math.fsum(x.T[1:].ravel()))
        total = Total("float64")
        total.add_product(x, x)
        total.add_product(-x, x)
        assert total.sum() == 0
    finally:
        gb.set_num_threads(before)


def test_sums_on_several_threads_at_once() -> None:
    x = wide(np.random.default_rng(12), 200_000, -300, 300)
    wanted, results = math.fsum(x), []
    threads = [
        threading.Thread(target=lambda: results.extend(gb.exact.sum(x) for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [wanted] * 40


def test_a_forked_child_sums() -> None:
    x = np.random.default_rng(13).standard_normal(500_000)
    wanted = gb.exact.sum(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if gb.exact.sum(x) == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0
