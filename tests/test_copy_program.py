"""Copy programs against NumPy: boxes of any strides, every kind of element, signs, sums, threads, forks, wrong objects."""

import gc
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf._core import CopyProgram

SIGN, ADD, CLEAR = CopyProgram.SIGN, CopyProgram.ADD, CopyProgram.CLEAR
FLOATS = ["e", "f", "d", "g", "F", "D", "G"]
NUMBERS = ["?", *"bBhHiIlLqQ", *FLOATS]
ITEMS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 64, 100]


def slot(name: str, array: Any, writable: bool = True) -> tuple[Any, ...]:
    return (name, array.dtype, array.shape, array.strides, writable)


def place(view: np.ndarray, base: np.ndarray) -> int:
    """The byte offset of a view's element 0 from its base's."""
    return int(view.__array_interface__["data"][0]) - int(base.__array_interface__["data"][0])


def entry(
    to: int, dst: np.ndarray, dst_base: np.ndarray, by: int, src: np.ndarray, src_base: np.ndarray, mode: int = 0
) -> tuple[Any, ...]:
    strides = tuple(0 if n == 1 else s for n, s in zip(dst.shape, src.strides, strict=True))
    return (to, place(dst, dst_base), dst.strides, by, place(src, src_base), strides, dst.shape, dst.dtype, mode)


def copy(dst: np.ndarray, dst_base: np.ndarray, src: np.ndarray, src_base: np.ndarray, mode: int = 0) -> CopyProgram:
    program = CopyProgram([slot("to", dst_base), slot("from", src_base)], [entry(0, dst, dst_base, 1, src, src_base, mode)])
    program.run(dst_base, src_base)
    return program


def random_bytes(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Memory of the shape with random bits, in an order of its own."""
    dtype = np.dtype(dtype)
    order = rng.permutation(len(shape))
    room = [int(n) for n in np.asarray(shape, dtype=int)[order]]
    if dtype.kind == "b":
        flat = rng.integers(0, 2, size=room).astype(bool)
    else:
        flat = np.frombuffer(bytearray(rng.bytes(int(np.prod(room)) * dtype.itemsize)), dtype=np.uint8).view(dtype).reshape(room)
    return flat.transpose(np.argsort(order))


def random_key(rng: np.random.Generator, room: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    """A box of the shape: any start, step and direction along each axis."""
    key = []
    for n, size in zip(shape, room, strict=True):
        step = int(rng.integers(1, size // n + 1)) if n else 1
        start = int(rng.integers(0, size - (n - 1) * step)) if n else 0
        last = start + (n - 1) * step
        if rng.integers(2) or n == 0:
            key.append(slice(start, last + 1 if n else start, step))
        else:
            key.append(slice(last, start - 1 if start else None, -step))
    return tuple(key)


def random_case(
    rng: np.random.Generator, dtype: Any, sizes: Sequence[int] = (0, 1, 2, 3, 5, 8, 17, 40)
) -> tuple[np.ndarray, ...]:
    """Target, its box, source, its box."""
    weights = np.array([0.1, 1, 1, 2, 2, 1, 1, 1][: len(sizes)])
    shape = [int(n) for n in rng.choice(sizes, size=int(rng.integers(0, 5)), p=weights / weights.sum())]
    while np.prod(shape) > 20_000:
        shape.pop()
    sides = []
    for _ in range(2):
        room = [n * int(rng.integers(1, 3)) + int(rng.integers(0, 3)) for n in shape]
        base = random_bytes(rng, room, dtype)
        sides += [base, base[(*random_key(rng, room, shape), ...)]]
    return tuple(sides)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.tobytes() == b.tobytes()


def expected(to: np.ndarray, dst: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What the target becomes, and nothing outside the box."""
    root = to
    while isinstance(root.base, np.ndarray):
        root = root.base
    memory = np.ndarray(to.shape, to.dtype, root.copy(), strides=to.strides)
    if dst.size:
        np.ndarray(dst.shape, dst.dtype, memory.base, place(dst, to), dst.strides)[...] = values
    return memory


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
    flipped = np.ascontiguousarray(a).astype(native, casting="equiv") if a.dtype.kind in "?" else np.ascontiguousarray(a)
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


def numbers(rng: np.random.Generator, shape: Sequence[int], char: str) -> np.ndarray:
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 4, shape)
    if char in "?":
        return values > 0
    return values.astype(char) if char in FLOATS else (values * 1000).astype(np.int64).astype(char)


@pytest.mark.parametrize("mode", [ADD, ADD | SIGN, ADD | CLEAR])
@pytest.mark.parametrize("char", NUMBERS)
def test_sums(char: str, mode: int) -> None:
    if mode & SIGN and char == "?":
        pytest.skip("bools are not subtracted")
    rng = np.random.default_rng(ord(char) + mode)
    for _ in range(20):
        to, dst, source, src = random_case(rng, char)
        to[...], source[...] = numbers(rng, to.shape, char), numbers(rng, source.shape, char)
        wanted = expected(to, dst, dst - src if mode & SIGN else dst + src)
        left = expected(source, src, np.zeros(src.shape, char) if mode & CLEAR else src)
        copy(dst, to, src, source, mode)
        assert np.array_equal(to, wanted), (dst.shape, dst.strides, src.strides)
        assert same_bits(source, left)


def test_sums_of_halves_are_numpys() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for _ in range(40):
            other = rng.permutation(every)
            total = every.copy()
            copy(total, total, other, other, ADD)
            wanted = every + other
            assert np.array_equal(total, wanted, equal_nan=True)
            finite = ~np.isnan(wanted)
            assert np.array_equal(total.view(np.uint16)[finite], wanted.view(np.uint16)[finite])


@pytest.mark.parametrize("dtype", [">f8", ">i4", "V8", "M8[s]", "m8[s]", "S3", "U2"])
def test_what_cannot_be_added(dtype: str) -> None:
    a = np.zeros(3, dtype)
    with pytest.raises(TypeError, match=r"entries\[0\]: elements of dtype .* cannot be added"):
        copy(a, a, a, a, ADD)


def test_cleared_sources() -> None:
    rng = np.random.default_rng(5)
    for item in ITEMS:
        to, dst, source, src = random_case(rng, f"V{item}")
        wanted, left = expected(to, dst, src), expected(source, src, np.zeros(src.shape, src.dtype))
        copy(dst, to, src, source, CLEAR)
        assert same_bits(to, wanted)
        assert same_bits(source, left)


def test_sums_go_in_order() -> None:
    """Float sums depend on their order: that of the entries."""
    values = np.array([1e16, 1.0, -1e16, 1.0])
    total = np.zeros(1)
    parts = [entry(0, total, total, 1, values[i : i + 1], values, ADD | CLEAR) for i in range(4)]
    for order in ([0, 1, 2, 3], [0, 2, 1, 3], [1, 3, 0, 2]):
        values[:] = [1e16, 1.0, -1e16, 1.0]
        total[:] = 0
        wanted = 0.0
        for i in order:
            wanted += values[i]
        CopyProgram([slot("t", total), slot("v", values)], [parts[i] for i in order]).run(total, values)
        assert total[0] == wanted
        assert not values.any()


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


# ---- objects ----


def message_program(array: Any, message: np.ndarray) -> CopyProgram:
    dense = np.ndarray(array.shape, array.dtype, message)
    entries = [(0, 0, dense.strides, 1, 0, array.strides, array.shape, array.dtype, 0)]
    return CopyProgram([message, slot("T", array, False)], entries)


def test_bound_messages_and_fields() -> None:
    message = gb.empty(6 * 8 * 4, "uint8")
    field = gb.Field.zeros((6, 8), "float32", dims="IJ", halo=(1, 1), backend="gt:cpu_kfirst")
    field[...] = np.arange(48.0).reshape(6, 8)
    program = message_program(field, message)
    base = sys.getrefcount(message)
    assert program.run(field) is None
    assert np.array_equal(message.view("f4").reshape(6, 8), field.numpy())
    other = gb.Field.empty((6, 8), "float32", dims="IJ", halo=(1, 1), backend="gt:cpu_kfirst")
    other[...] = 5
    program.run(other)
    assert (message.view("f4") == 5).all()
    program.run(other.numpy())
    assert sys.getrefcount(message) == base
    keep = message.ctypes.data
    del message
    gc.collect()
    field[...] = 1
    program.run(field)  # the program holds the message
    del program
    assert keep


def test_buffers_given_at_each_run() -> None:
    a = np.arange(10.0)
    program = CopyProgram([("message", 80, True), slot("a", a, False)], [(0, 0, (8,), 1, 0, (8,), (10,), "f8", 0)])
    for buffer in (bytearray(80), memoryview(bytearray(80)), np.zeros(10), gb.zeros(80, "uint8"), gb.Field.zeros(10, dims="I")):
        program.run(buffer, a)
        assert bytes(memoryview(buffer)) == a.tobytes()
    for wrong, error, text in [
        (bytearray(81), ValueError, "message: 81 bytes; the plan was made for 80"),
        (bytes(80), ValueError, "message: it is read-only"),
        (np.zeros(20)[::2], ValueError, "not C-contiguous"),
        (3, TypeError, "bytes-like"),
    ]:
        with pytest.raises(error, match=text):
            program.run(wrong, a)


def test_a_buffer_of_which_one_is_wrong_is_released() -> None:
    a = np.zeros(10)
    program = CopyProgram([("one", 80, True), ("two", 80, True)], [(0, 0, (8,), 1, 0, (8,), (10,), "f8", 0)])
    first = bytearray(80)
    with pytest.raises(ValueError, match="two"):
        program.run(first, bytearray(2))
    first.extend(b"x")  # BufferError while somebody holds it
    program.run(bytearray(80), a)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: np.zeros((4, 5), "f4"), ValueError, r"T: dtype float32; the plan was made for float64"),
        (lambda: np.zeros((5, 4)), ValueError, r"T: shape \(5, 4\); the plan was made for \(4, 5\)"),
        (lambda: np.zeros((4, 5, 1)), ValueError, r"T: shape \(4, 5, 1\)"),
        (lambda: np.zeros((4, 5), order="F"), ValueError, r"T: strides in bytes \(8, 32\); the plan was made for \(40, 8\)"),
        (lambda: [[1.0]], TypeError, r"T: expected a Field or an ndarray, got <class 'list'>"),
        (lambda: None, TypeError, r"T: expected a Field"),
        (lambda: np.zeros((4, 5), ">f8"), ValueError, r"T: dtype >f8"),
        (lambda: np.zeros((4, 5), object), ValueError, r"T: dtype object"),
    ],
)
def test_wrong_objects(wrong: Any, error: type[Exception], text: str) -> None:
    a = np.zeros((4, 5))
    program = CopyProgram([slot("T", a), np.zeros(20)], [(0, 0, (40, 8), 1, 0, (40, 8), (4, 5), "f8", 0)])
    for call in (program.run, program.check):
        with pytest.raises(error, match=text):
            call(wrong())
        with pytest.raises(TypeError, match="2 objects; the plan was made for 1"):
            call(a, a)
    assert program.check(a) is None


def test_read_only_objects() -> None:
    a = np.zeros(4)
    b = np.ones(4)
    b.flags.writeable = False
    there = [(0, 0, (8,), 1, 0, (8,), (4,), "f8", 0)]
    CopyProgram([slot("a", a), slot("b", b, False)], there).run(a, b)
    assert a.tolist() == [1] * 4
    with pytest.raises(ValueError, match="a: it is read-only, and the plan writes to it"):
        CopyProgram([slot("a", a), slot("b", b, False)], there).run(b, b)
    with pytest.raises(ValueError, match=r"entries\[0\]: target: slot 0 is not writable"):
        CopyProgram([slot("a", a, False), slot("b", b, False)], there)
    with pytest.raises(ValueError, match=r"entries\[0\]: source: slot 1 is not writable"):
        CopyProgram([slot("a", a), slot("b", b, False)], [(*there[0][:-1], CLEAR)])
    with pytest.raises(ValueError, match=r"entries\[0\]: target: slot 0 is not writable"):
        CopyProgram([b, a], there)


def test_equal_dtypes_that_are_other_objects() -> None:
    a, b = np.zeros(3, [("x", "f8"), ("y", "i4")]), np.zeros(3, [("x", "f8"), ("y", "i4")])
    assert a.dtype is not b.dtype
    b["y"] = [1, 2, 3]
    program = CopyProgram([slot("a", a), slot("b", a)], [(0, 0, a.strides, 1, 0, a.strides, (3,), a.dtype, 0)])
    for _ in range(3):
        program.run(a, b)
    assert a["y"].tolist() == [1, 2, 3]
    program.run(b.copy(), np.array(a, dtype=[("x", "f8"), ("y", "i4")]))


def test_strides_of_axes_with_one_index_say_nothing() -> None:
    a = np.zeros((1, 5))
    b = np.lib.stride_tricks.as_strided(np.arange(5.0), (1, 5), (999, 8))
    program = CopyProgram([slot("a", a), slot("b", a)], [(0, 0, (40, 8), 1, 0, (40, 8), (1, 5), "f8", 0)])
    program.run(a, b)
    assert a.tolist() == [[0, 1, 2, 3, 4]]


GOOD = (0, 0, (8,), 1, 0, (8,), (10,), "f8", 0)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({0: 2}, ValueError, r"entries\[0\]: target slot: 2; there are 2"),
        ({3: -1}, ValueError, r"entries\[0\]: source slot: -1"),
        ({1: 8}, ValueError, r"entries\[0\]: target: bytes 8 to 88 of slot 0, which has 0 to 80"),
        ({4: -1}, ValueError, r"entries\[0\]: source: bytes -1 to 79 of slot 1, which has 0 to 80"),
        ({5: (-8,)}, ValueError, r"entries\[0\]: source: bytes -72 to 8"),
        ({2: (16,)}, ValueError, r"target: bytes 0 to 152"),
        ({2: (2**62,)}, ValueError, r"target: the box reaches beyond 64 bits"),
        ({6: (2**62,)}, ValueError, r"target: the box reaches beyond 64 bits"),
        ({6: (-1,)}, ValueError, r"entries\[0\]: shape: a size of -1"),
        ({6: (10, 1)}, ValueError, r"entries\[0\]: target strides: 1 of them; the shape has 2 sizes"),
        ({2: (0,)}, ValueError, r"entries\[0\]: target strides: 0 along axis 0 would write one place 10 times"),
        ({5: (0,), 8: CLEAR}, ValueError, r"entries\[0\]: source strides: 0 along axis 0"),
        ({7: object}, TypeError, r"entries\[0\]: elements of dtype dtype\('O'\) are not plain bytes"),
        ({7: "nonsense"}, TypeError, "nonsense"),
        ({8: 8}, ValueError, r"entries\[0\]: mode: 8 is no sum of SIGN, ADD and CLEAR"),
        ({8: "x"}, TypeError, r"entries\[0\]: mode: expected an int"),
        ({1: 1 << 70}, ValueError, r"does not fit in 64 bits"),
        ({6: 10}, TypeError, r"entries\[0\]: shape"),
    ],
)
def test_wrong_entries(change: dict[int, Any], error: type[Exception], text: str) -> None:
    a, b = np.zeros(10), np.zeros(10)
    CopyProgram([slot("a", a), b], [GOOD])
    wrong = tuple(change.get(i, value) for i, value in enumerate(GOOD))
    with pytest.raises(error, match=text):
        CopyProgram([slot("a", a), b], [wrong])


@pytest.mark.parametrize(
    ("slots", "error", "text"),
    [
        ([3], TypeError, r"slots\[0\]: expected \(name, dtype, shape, strides, writable\)"),
        ([("a", "f8", (3,), (8, 8), True)], ValueError, r"slots\[0\]: 1 sizes and 2 strides"),
        ([("a", "f8", (-3,), (8,), True)], ValueError, r"slots\[0\]: a shape with negative sizes"),
        ([("a", "f8", (2**40,), (2**40,), True)], ValueError, r"slots\[0\]: a shape with negative sizes, or more bytes"),
        ([("a", object, (3,), (8,), True)], TypeError, r"slots\[0\]: elements of dtype"),
        ([(1, "f8", (3,), (8,), True)], TypeError, r"slots\[0\]: name: expected a str, got 1"),
        ([("a", -1, True)], ValueError, r"slots\[0\]: -1 bytes"),
        ([("a", "x", True)], TypeError, r"slots\[0\]: expected a number of bytes"),
        ([np.zeros(3, object)], TypeError, r"slots\[0\]: elements of dtype"),
    ],
)
def test_wrong_slots(slots: list[Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        CopyProgram(slots, [])


def test_a_wrong_number_of_items() -> None:
    with pytest.raises(ValueError, match=r"entries\[0\]: 2 items; there are 9"):
        CopyProgram([np.zeros(1)], [(1, 2)])
    with pytest.raises(TypeError):
        CopyProgram([np.zeros(1)], [3])
    with pytest.raises(TypeError):
        CopyProgram(3, [])
    assert len(CopyProgram([], [])) == 0
    assert CopyProgram([], []).run() is None


def test_more_slots_than_the_stack_has_room_for() -> None:
    fields = [gb.zeros(7, dtype="i4") for _ in range(100)]
    message = gb.zeros(100 * 28, "uint8")
    entries = [(0, 28 * i, (4,), i + 1, 0, (4,), (7,), "i4", 0) for i in range(100)]
    program = CopyProgram([message, *[slot(f"f{i}", f, False) for i, f in enumerate(fields)]], entries)
    for i, field in enumerate(fields):
        field[...] = i
    program.run(*fields)
    assert message.view("i4").reshape(100, 7)[:, 3].tolist() == list(range(100))


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
        program = CopyProgram([message, ("a", "f8", (10,), (8,), False)], [(0, 0, (8,), 1, 0, (8,), (10,), "f8", 0)])
        program.run(np.zeros(10))
        with pytest.raises(ValueError, match="entries"):
            CopyProgram([message], [(0, 1, (8,), 0, 0, (8,), (10,), "f8", 0)])
    del program
    assert sys.getrefcount(message) == count
