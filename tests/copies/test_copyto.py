"""gb.copyto and gb.fill give what np.copyto and assignment give, for any strides, dtypes and
overlap.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from copy_entries import NUMBERS
from free_memory import needs_memory
from hypothesis import given
from hypothesis import strategies as st

import gridbuf as gb
import gridbuf.storage as gs

CASTINGS = ["no", "equiv", "safe", "same_kind", "unsafe"]
Array = np.ndarray[Any, Any]


@pytest.fixture(params=[1, 2, 5], ids=lambda n: f"{n} threads")
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = gb.get_num_threads()
    gb.set_num_threads(request.param)
    yield request.param
    gb.set_num_threads(before)


def values(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    """Small values that every numeric dtype holds exactly."""
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


@st.composite
def cuts(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """A slice an axis, of any sign and step."""
    made = []
    for n in shape:
        low = draw(st.integers(0, n))
        cut = slice(low, draw(st.integers(low, n)), draw(st.integers(1, 3)))
        made.append(
            cut if draw(st.booleans()) else slice(None, None, draw(st.sampled_from([-2, -1, 1])))
        )
    return tuple(made)


@st.composite
def windows(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Array, Callable[[Array], Array]]:
    """Memory, and a view of the shape into it or a copy of it: axes in any order, any strides."""
    order = draw(st.permutations(range(len(shape))))
    base = values(
        tuple(shape[i] * 2 + 1 for i in order),
        draw(st.sampled_from(NUMBERS)),
        draw(st.integers(0, 9)),
    )
    steps = [draw(st.sampled_from([-2, -1, 1, 2])) for _ in shape]
    ends = tuple(
        slice(None, n * k, k) if k > 0 else slice(-1, n * k - 1, k)
        for n, k in zip(shape, steps, strict=True)
    )
    return base, lambda memory: memory.transpose(np.argsort(order).astype(int))[(*ends, ...)]


@pytest.mark.filterwarnings("ignore:Casting complex values")
@given(st.data())
def test_any_two_views_and_dtypes(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 9), max_size=4)))
    base, window = data.draw(windows(shape))
    memory, look = data.draw(windows(shape))
    src, expected = look(memory), base.copy()
    np.copyto(window(expected), src, casting="unsafe")
    gb.copyto(window(base), src, casting="unsafe")
    assert base.tobytes() == expected.tobytes()  # inside the view, and untouched outside


@given(st.data())
def test_overlap_means_copied_away_first(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    memory = values(shape, data.draw(st.sampled_from("bdF")))
    dst, src = memory[data.draw(cuts(shape))], memory[data.draw(cuts(shape))]
    common = tuple(min(a, b) for a, b in zip(dst.shape, src.shape, strict=True))
    cut = tuple(slice(0, n) for n in common)
    dst, src = dst[cut], src[cut]
    expected = src.copy()
    gb.copyto(dst, src)
    assert np.array_equal(dst, expected)


def by_assignment(dst: np.ndarray, src: np.ndarray) -> None:
    gb.Field(dst)[...] = src


def by_field(dst: np.ndarray, src: np.ndarray) -> None:
    gb.Field(dst)[...] = gb.Field(src)


def by_buffer(dst: np.ndarray, src: np.ndarray) -> None:
    gb.Field(dst)[...] = memoryview(src)


def by_function(dst: np.ndarray, src: np.ndarray) -> None:
    np.copyto(gb.Field(dst), src, where=np.ones(dst.shape, bool), casting="unsafe")


@pytest.mark.parametrize("door", [gb.copyto, by_assignment, by_field, by_buffer, by_function])
@pytest.mark.parametrize(
    "to, of, at, shape",
    [("f4", ">i2", 0, 217), ("f8", ">i4", 0, 217), ("U2", "S2", 0, 99), ("S4", "S2", 3, 99),
    ("V16", "V16", 3, ()), ("S3", "S3", 1, ())],
)  # fmt: skip
def test_what_numpy_converts_is_copied_away_first_too(
    door: Any, to: str, of: str, at: int, shape: Any
) -> None:
    """NumPy up to 2.5 reads overwritten values where items have another size, or the source is one
    element.
    """
    memory = (np.arange(8192) * 7 % 90 + 32).astype(np.uint8)
    dst = np.ndarray((shape or 9,), to, memory, 5)
    src = np.ndarray(shape, of, memory, 5 + at)
    if door is by_buffer and src.dtype.kind in "UV":
        pytest.skip("NumPy reads other items of such a buffer")
    expected = np.array(np.broadcast_to(src.copy(), dst.shape)).astype(to)
    door(dst, src)
    assert np.array_equal(dst, expected)


@pytest.mark.parametrize("shift", [-3, -1, 1, 3])
def test_overlapping_shifts_of_large_arrays(shift: int, threads: int) -> None:
    memory = values((1 << 20,), "f8")
    dst, src = (memory[shift:], memory[:-shift]) if shift > 0 else (memory[:shift], memory[-shift:])
    expected = src.copy()
    gb.copyto(dst, src)
    assert np.array_equal(dst, expected)


def test_a_field_turned_in_place_is_copied_first() -> None:
    square = values((300, 300), "f8")
    expected = square.T.copy()
    gb.copyto(square, square.T)
    assert np.array_equal(square, expected)


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(128, 128, 64), (127, 65, 130), (1, 300000), (64, 3, 64, 64)])
def test_large_transposed_copies(shape: tuple[int, ...], dtype: str, threads: int) -> None:
    src = values(shape, dtype)
    for order in (tuple(reversed(range(len(shape)))), (*range(1, len(shape)), 0)):
        dst = np.empty([shape[i] for i in order], dtype).transpose(np.argsort(order))
        gb.copyto(dst, src)
        assert np.array_equal(dst, src)


@pytest.mark.parametrize("offset", [0, 16, 60])
@pytest.mark.parametrize(
    ("to", "of"), [("f8", "f8"), ("f4", "f4"), ("i2", "i2"), ("c16", "c16"), ("f4", "f8")]
)
def test_relayouts_larger_than_a_cache_into_memory_at_any_offset(
    to: str, of: str, offset: int
) -> None:
    """Streamed in tiles that end at cache lines, where the last cache has 32 MiB; Go's tests stream
    on any machine.
    """
    shape = (250, 300 // np.dtype(to).itemsize, 131)
    src = values(shape, of)
    for order in ((2, 1, 0), (1, 2, 0), (2, 0, 1)):
        nbytes = src.size * np.dtype(to).itemsize
        memory = np.full(nbytes + 128, 7, np.uint8)
        start = -memory.ctypes.data % 64 + offset
        dst = (
            memory[start : start + nbytes]
            .view(to)
            .reshape([shape[i] for i in order])
            .transpose(np.argsort(order))
        )
        gb.copyto(dst, src, casting="same_kind")
        assert np.array_equal(dst, src)
        assert (memory[:start] == 7).all() and (memory[start + nbytes :] == 7).all()


@pytest.mark.parametrize("casting", CASTINGS)
@pytest.mark.parametrize("to", NUMBERS)
def test_casting_rules_are_numpys(to: str, casting: Any) -> None:
    for own in NUMBERS:
        src, dst = values((3, 4), own), np.zeros((3, 4), to)
        if np.can_cast(src.dtype, dst.dtype, casting):
            if not (np.iscomplexobj(src) and not np.iscomplexobj(dst)):
                gb.copyto(dst, src, casting=casting)
                assert np.array_equal(dst, src.astype(to))
        else:
            with pytest.raises(TypeError, match="cast"):
                gb.copyto(dst, src, casting=casting)


@pytest.mark.parametrize(
    "dtype",
    [">f8", ">i4", "S5", "U3", "M8[s]", "m8[ns]", "V7", [("a", "f4"), ("b", "i8")], "g", "O", "G"],
    ids=str,
)
def test_other_dtypes_go_where_numpy_would_put_them(dtype: Any) -> None:
    src = np.zeros((3, 4), dtype)
    if src.dtype.kind == "V":
        src.view("u1")[...] = np.arange(src.nbytes, dtype="u1").reshape(src.view("u1").shape)
    else:
        src[...] = np.arange(12).reshape(3, 4).astype(dtype if src.dtype.kind != "m" else "i8")
    dst = np.zeros((4, 3), dtype).T
    gb.copyto(dst, src)
    assert dst.tolist() == src.tolist()
    gb.fill(dst, src[1, 2])
    expected = np.empty((3, 4), dtype)
    expected[...] = src[1, 2]
    assert dst.tolist() == expected.tolist()


def test_byte_order_is_converted() -> None:
    dst = np.zeros(5, ">f8")
    gb.copyto(dst, np.arange(5.0))
    assert dst.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("shape", [(), (4,), (1, 4), (3, 1), (1, 1, 3, 4), (1,)])
def test_broadcasting(shape: tuple[int, ...]) -> None:
    src, dst, expected = values(shape, "f8"), np.zeros((3, 4)), np.zeros((3, 4))
    gb.copyto(dst, src)
    np.copyto(expected, src)
    assert np.array_equal(dst, expected)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 4), (4, 3)])
def test_shapes_that_do_not_broadcast(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"src: shape .* does not broadcast to dst's shape \(3, 4\)"
    ):
        gb.copyto(np.zeros((3, 4)), np.zeros(shape))


def test_scalars_take_the_targets_dtype() -> None:
    dst = np.zeros(3, "u1")
    gb.copyto(dst, 200)
    assert dst.tolist() == [200] * 3
    with pytest.raises((OverflowError, TypeError)):
        gb.copyto(dst, 300)
    with pytest.raises(TypeError):
        gb.copyto(dst, 1.5)


def test_what_is_refused() -> None:
    locked = np.zeros(3)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="dst: it is read-only"):
        gb.copyto(locked, np.ones(3))
    with pytest.raises(ValueError, match="dst: it is read-only"):
        gb.fill(locked, 1)
    with pytest.raises(TypeError, match="has no memory to share"):
        gb.copyto([1, 2, 3], np.ones(3))
    with pytest.raises(TypeError, match="progress: expected a function"):
        gb.copyto(np.zeros(3), np.ones(3), progress=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="copyto\\(\\) has no argument 'where'"):
        gb.copyto(np.zeros(3), np.ones(3), where=True)  # type: ignore[call-arg]
    with pytest.raises((TypeError, ValueError)):
        gb.copyto(np.zeros(3), np.ones(3), casting="any")  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [10, 1 << 21])
def test_fill(n: int, threads: int) -> None:
    memory = np.zeros((n, 2))
    gb.fill(memory[::2, 1], 3.5)
    assert (memory[::2, 1] == 3.5).all()
    assert not memory[1::2].any()
    assert not memory[:, 0].any()


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "f2", "f4", "c16", "S3", [("a", "f4"), ("b", "u1")]], ids=str
)
def test_full_is_numpys(dtype: Any, threads: int) -> None:
    value = np.ones((), dtype)[()] if np.dtype(dtype).kind != "V" else np.array((2.5, 3), dtype)[()]
    mine = gb.full((40, 50, 60), value, dtype, backend="gt:cpu_ifirst")
    theirs = np.full((40, 50, 60), value, dtype)
    assert np.array_equal(mine, theirs)


def test_used_memory_is_zero_again(threads: int) -> None:
    for shape in [(5,), (300, 300), (100, 100, 100)]:
        gb.full(shape, 7.0)
        assert not gb.zeros(shape).any()


def test_assigning_to_a_part_of_a_field_is_a_copy(threads: int) -> None:
    field, src = gb.Field.zeros((30, 40, 50), "f4", backend="gt:cpu_ifirst"), values((28, 50), "f8")
    field[1:-1, 7, :] = src
    assert np.array_equal(field.numpy()[1:-1, 7], src.astype("f4"))
    field[..., ::-1] = field
    assert np.array_equal(field.numpy()[1:-1, 7], src[:, ::-1].astype("f4"))
    with pytest.raises(ValueError, match="does not broadcast"):
        field[1:3] = src


def sizes() -> Iterator[int]:
    """Bytes of copies that take longer and longer, up to what takes long on any machine."""
    return (1 << bits for bits in range(22, 33))


def test_progress_rises_to_one(threads: int) -> None:
    # Progress is told when a slice of time is over: the copy is as large as that takes
    for nbytes in sizes():
        seen: list[float] = []
        gb.copyto(
            np.empty((nbytes // 64, 64), "u1", order="F"),
            np.zeros((nbytes // 64, 64), "u1"),
            progress=seen.append,
        )
        assert seen == sorted(seen)
        assert seen[-1] == 1.0
        if len(seen) > 1:
            break
    assert len(seen) > 1
    small: list[float] = []
    gb.copyto(np.empty(3), np.zeros(3), progress=small.append)
    gb.fill(np.empty(3), 0, progress=small.append)
    assert small == [1.0, 1.0]


def test_an_exception_from_progress_ends_the_copy() -> None:
    def stop(done: float) -> None:
        raise KeyError(done)

    with pytest.raises(KeyError):
        gb.copyto(np.empty(10), np.zeros(10), progress=stop)


def test_other_threads_run_meanwhile() -> None:
    """Another thread sees a copy half done, although the interpreter would never take the GIL
    away.
    """
    interval = sys.getswitchinterval()
    try:
        for nbytes in sizes():
            src, dst = np.ones(nbytes, "u1"), np.zeros(nbytes, "u1")
            copier = threading.Thread(target=gb.copyto, args=(dst, src))
            sys.setswitchinterval(1000)
            copier.start()
            seen = False
            while copier.is_alive() and not seen:
                time.sleep(0)  # whoever wants the GIL has it, and keeps it until giving it away
                last = dst[-1]  # looked at first
                seen = bool(dst[0] and not last) or bool(last and not dst[0])
            sys.setswitchinterval(interval)
            copier.join()
            if seen:
                break
        assert seen
    finally:
        sys.setswitchinterval(interval)


def test_ctrl_c_ends_a_long_copy() -> None:
    src, dst, started = np.zeros(1 << 24, "u1"), np.empty(1 << 24, "u1"), threading.Event()

    def press() -> None:
        started.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        threading.Thread(target=press).start()
        while True:
            gb.copyto(dst, src, progress=lambda done: started.set())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_copies_on_its_own_thread() -> None:
    src, dst = values((200, 200, 50), "f8"), np.empty((200, 200, 50), order="F")
    gb.copyto(dst, src)
    child = os.fork()
    if child == 0:
        dst[...] = 0
        gb.copyto(dst, src)
        os._exit(0 if np.array_equal(dst, src) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.slow
def test_more_than_2_31_elements() -> None:
    needs_memory(6 << 30)
    src = np.zeros((3, 716_000_000), "u1")
    marks = [(0, 0), (0, -1), (1, 1 << 29), (2, 12345), (2, -1)]
    for n, at in enumerate(marks):
        src[at] = n + 1
    memory = np.empty((716_000_000, 3), "u1")
    turned = memory.T
    gb.copyto(turned, src)
    assert [turned[at] for at in marks] == [1, 2, 3, 4, 5]
    assert int(np.count_nonzero(memory.view("?"))) == len(marks)
    gb.fill(turned, 8)
    assert turned[0, 0] == turned[2, -1] == turned[1, 1 << 29] == 8


@pytest.mark.parametrize("n", [3, 300_000])
@pytest.mark.parametrize(("make", "told"), [
    (lambda a: gb.copyto(np.zeros(a.shape, "f4"), a), False),
    (lambda a: gb.Field(a).astype("f4"), False),
    (lambda a: gb.Field.from_array(a, dtype="f4"), False),
    (lambda a: gb.Field.zeros(a.shape, "f4").__setitem__(..., a), False),
    (lambda a: np.copyto(gb.Field.zeros(a.shape, "f4"), a), False),
    (lambda a: gb.Field.zeros(a.shape, "f4").__setitem__(..., a[0]), True),
    (lambda a: gb.copyto(np.zeros(a.shape, "f4"), a[0]), True),
    (lambda a: gb.fill(np.zeros(a.shape, "f4"), a[0]), True),
    (lambda a: gb.full(a.shape, a[0], "f4"), True),
    (lambda a: gs.zeros(a.shape, "f4", axes="I").__setitem__(..., a), True),
    (lambda a: gs.storage(a, axes="I").astype("f4"), True),
])  # fmt: skip
def test_who_tells_of_values_that_do_not_fit_as_the_documents_say(
    n: int, make: Callable[[Array], Any], told: bool
) -> None:
    with np.errstate(all="raise"):
        if not told:
            make(np.full(n, 1e300))
            return
        with pytest.raises(FloatingPointError, match="overflow"):
            make(np.full(n, 1e300))
