"""Copy programs against NumPy: boxes of any strides, every kind of element, signs, many axes,
threads and forks.
"""

import os
import sys
import threading

import numpy as np
import pytest
from copy_entries import (
    FLOATS,
    ITEMS,
    SIGN,
    copy,
    entry,
    expected,
    random_bytes,
    random_case,
    same_bits,
    slot,
)

import gridbuf as gb
from gridbuf._core import CopyProgram


@pytest.mark.parametrize("item", ITEMS)
def test_boxes_of_any_strides(item: int) -> None:
    rng = np.random.default_rng(item)
    for _ in range(60):
        to, dst, source, src = random_case(rng, f"V{item}")
        wanted, before = expected(to, dst, src), source.tobytes()
        program = copy(dst, to, src, source)
        assert same_bits(to, wanted), (dst.shape, dst.strides, src.strides)
        assert source.tobytes() == before
        assert program.nbytes == dst.nbytes


def negative(a: np.ndarray) -> np.ndarray:
    """The sign bits flipped, payloads of NaN and the sign of zero included, as bytes say."""
    native = a.dtype.newbyteorder("=")
    unit = native.itemsize // (2 if a.dtype.kind == "c" else 1)
    flipped = (
        np.ascontiguousarray(a).astype(native, casting="equiv")
        if a.dtype.kind in "?"
        else np.ascontiguousarray(a)
    )
    raw = flipped.reshape(-1).view(np.uint8).reshape(-1, unit).copy()
    top = 9 if a.dtype.char in "gG" and np.finfo(a.dtype).nmant == 63 else unit - 1
    raw[:, unit - 1 - top if a.dtype.byteorder == ">" else top] ^= 0x80
    return raw.reshape(-1).view(a.dtype).reshape(a.shape)


@pytest.mark.parametrize("order", "=>")
@pytest.mark.parametrize("char", FLOATS)
def test_signs(char: str, order: str) -> None:
    rng = np.random.default_rng(ord(char))
    for _ in range(40):
        to, dst, source, src = random_case(rng, np.dtype(char).newbyteorder(order))
        wanted = expected(to, dst, negative(src))
        copy(dst, to, src, source, SIGN)
        assert same_bits(to, wanted), (dst.shape, dst.strides, src.strides)


def test_signs_of_zero_and_nan() -> None:
    a = np.array([0.0, -0.0, np.nan, np.inf, 5e-324])
    b = np.empty_like(a)
    copy(b, b, a, a, SIGN)
    assert np.signbit(b).tolist() == (~np.signbit(a)).tolist()
    assert b.view(np.uint64)[2] == a.view(np.uint64)[2] ^ (1 << 63)


def test_signs_of_ml_dtypes() -> None:
    ml = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        a = np.array([1.0, -2.0, 0.0], dtype=getattr(ml, name))
        b = np.empty_like(a)
        copy(b, b, a, a, SIGN)
        assert b.astype(float).tolist() == [-1.0, 2.0, 0.0]
        assert np.signbit(b.astype(float)).tolist() == [True, False, True]
    for name in ("float8_e4m3fnuz", "float8_e8m0fnu"):  # -0 is NaN there, or there is no sign
        a = np.array([1.0, 2.0], dtype=getattr(ml, name))
        with pytest.raises(TypeError, match="no sign bit"):
            copy(np.empty_like(a), a, a, a, SIGN)


@pytest.mark.parametrize("char", "?bBhHiIlLqQ")
def test_integers_have_no_sign(char: str) -> None:
    a = np.ones(3, char)
    with pytest.raises(TypeError, match=r"entries\[0\]: elements of dtype \w+ have no sign bit"):
        copy(a, a, a, a, SIGN)


# ---- large programs: threads, pieces ----


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "V3", "D"])
def test_large_programs_on_threads(dtype: str, swap: bool) -> None:
    rng = np.random.default_rng(1)
    a = random_bytes(rng, (100, 200, 90), dtype)
    b = random_bytes(rng, (200, 100, 90) if swap else (100, 200, 90), dtype)
    box = (slice(3, -3), slice(5, -2), slice(1, -1))
    dst, src = (b.transpose(1, 0, 2) if swap else b)[box], a[box]
    wanted = b.copy(order="K")
    (wanted.transpose(1, 0, 2) if swap else wanted)[box] = src
    program = copy(dst, b, src, a)
    assert len(program) > 8
    assert same_bits(b, wanted)


def test_one_long_run_with_signs() -> None:
    a = np.random.default_rng(2).standard_normal(3_000_001).astype("G")
    b = np.zeros_like(a)
    program = copy(b[1:], b, a[:-1], a, SIGN)
    assert len(program) > 100
    assert b[0] == 0
    assert np.array_equal(b[1:], -a[:-1])


def test_more_axes_than_an_entry_has_room_for() -> None:
    a = np.arange(3**10).reshape((3,) * 10)
    b = np.zeros((4,) * 10, int)
    src, dst = a[(slice(0, 2),) * 10], b[(slice(None, None, 2),) * 10]
    copy(dst, b, src, a)
    assert np.array_equal(dst, src)
    assert b.sum() == src.sum()


def test_repeated_sources() -> None:
    value = np.array([7.0])
    b = np.zeros((5, 6))
    program = CopyProgram([slot("b", b), value], [(0, 8, (48, 16), 1, 0, (0, 0), (5, 2), "f8", 0)])
    program.run(b)
    wanted = np.zeros((5, 6))
    wanted[:, 1:4:2] = 7
    assert np.array_equal(b, wanted)


# ---- processes and threads ----


def test_a_forked_child_runs_programs_of_any_size() -> None:
    a, b = np.random.default_rng(3).random((1000, 2000)), np.zeros((1000, 2000))
    program = CopyProgram([slot("b", b), slot("a", a)], [entry(0, b, b, 1, a, a)])
    program.run(b, a)
    child = os.fork()
    if child == 0:
        b[...] = 0
        program.run(b, a)
        os._exit(0 if np.array_equal(a, b) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_one_program_on_many_threads() -> None:
    rng = np.random.default_rng(4)
    program = None
    pairs = [(rng.random((200, 300)), np.zeros((200, 300))) for _ in range(4)]
    a, b = pairs[0]
    program = CopyProgram([slot("b", b), slot("a", a)], [entry(0, b, b, 1, a, a)])

    def work(a: np.ndarray, b: np.ndarray) -> None:
        for _ in range(50):
            b[...] = 0
            program.run(b, a)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in pairs)


def test_programs_do_not_leak() -> None:
    message = gb.zeros(80, "uint8")
    count = sys.getrefcount(message)
    for _ in range(100):
        program = CopyProgram(
            [message, ("a", "f8", (10,), (8,), False)], [(0, 0, (8,), 1, 0, (8,), (10,), "f8", 0)]
        )
        program.run(np.zeros(10))
        with pytest.raises(ValueError, match="entries"):
            CopyProgram([message], [(0, 1, (8,), 0, 0, (8,), (10,), "f8", 0)])
    del program
    assert sys.getrefcount(message) == count
