"""What copy programs are made from and run with: entries, slots, fields and buffers, and all that
is wrong with them.
"""

import gc
import sys
from typing import Any

import numpy as np
import pytest
from copy_entries import CLEAR, slot

import gridbuf as gb
from gridbuf._core import CopyProgram


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
    program = CopyProgram(
        [("message", 80, True), slot("a", a, False)], [(0, 0, (8,), 1, 0, (8,), (10,), "f8", 0)]
    )
    for buffer in (
        bytearray(80),
        memoryview(bytearray(80)),
        np.zeros(10),
        gb.zeros(80, "uint8"),
        gb.Field.zeros(10, dims="I"),
    ):
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
    program = CopyProgram(
        [("one", 80, True), ("two", 80, True)], [(0, 0, (8,), 1, 0, (8,), (10,), "f8", 0)]
    )
    first = bytearray(80)
    with pytest.raises(ValueError, match="two"):
        program.run(first, bytearray(2))
    first.extend(b"x")  # BufferError while somebody holds it
    program.run(bytearray(80), a)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (
            lambda: np.zeros((4, 5), "f4"),
            ValueError,
            r"T: dtype float32; the plan was made for float64",
        ),
        (
            lambda: np.zeros((5, 4)),
            ValueError,
            r"T: shape \(5, 4\); the plan was made for \(4, 5\)",
        ),
        (lambda: np.zeros((4, 5, 1)), ValueError, r"T: shape \(4, 5, 1\)"),
        (
            lambda: np.zeros((4, 5), order="F"),
            ValueError,
            r"T: strides in bytes \(8, 32\); the plan was made for \(40, 8\)",
        ),
        (lambda: [[1.0]], TypeError, r"T: expected a Field or an ndarray, got <class 'list'>"),
        (lambda: None, TypeError, r"T: expected a Field"),
        (lambda: np.zeros((4, 5), ">f8"), ValueError, r"T: dtype >f8"),
        (lambda: np.zeros((4, 5), object), ValueError, r"T: dtype object"),
    ],
)
def test_wrong_objects(wrong: Any, error: type[Exception], text: str) -> None:
    a = np.zeros((4, 5))
    program = CopyProgram(
        [slot("T", a), np.zeros(20)], [(0, 0, (40, 8), 1, 0, (40, 8), (4, 5), "f8", 0)]
    )
    for call in (program.run, program.check):
        with pytest.raises(error, match=text):
            call(wrong())
        with pytest.raises(TypeError, match="2 objects; the plan was made for 1"):
            call(a, a)
    assert program.check(a) is None


def test_what_fields_say_of_dims_and_halo() -> None:
    a = gb.Field.zeros((4, 6), dims="IJ", halo=(1, (0, 2)))
    array = a.numpy()
    said = "T", a.dtype, a.shape, a.strides, True
    copies = [(0, 0, (8,), 1, 0, (8,), (4,), "f8", 0)]
    program = CopyProgram([(*said, a.dims, a.halo), np.zeros(4)], copies)
    for fine in (
        a,
        array,
        gb.Field(array),
        gb.Field(array, dims="IJ"),
        gb.Field(array, halo=a.halo),
    ):
        program.run(fine)
    for wrong, text in (
        (
            gb.Field(array, dims="JI", halo=a.halo),
            r"T: dims \('J', 'I'\); the plan was made for \('I', 'J'\)",
        ),
        (gb.Field(array, dims=("I", "0")), r"T: dims \('I', '0'\)"),
        (
            gb.Field(array, halo=(1, (1, 1))),
            r"T: halo \(\(1, 1\), \(1, 1\)\); the plan was made for \(\(1, 1\), \(0, 2\)\)",
        ),
    ):
        for call in (program.run, program.check):
            with pytest.raises(ValueError, match=text):
                call(wrong)
        CopyProgram([said, np.zeros(4)], copies).run(wrong)
    program = CopyProgram([(*said, a.dims, None), np.zeros(4)], copies)
    program.run(gb.Field(array, halo=(0, 0)))
    with pytest.raises(
        ValueError, match=r"T: halo .* the plan was made for \(\(0, 0\), \(0, 0\)\)"
    ):
        program.run(a)
    for dims, halo, error in (
        ("I", None, ValueError),
        ("IX", None, ValueError),
        (3, None, TypeError),
        ("IJ", (1,), ValueError),
        ("IJ", 1.5, TypeError),
    ):
        with pytest.raises(error, match=r"slots\[0\]|halo"):
            CopyProgram([(*said, dims, halo)], [])


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
    program = CopyProgram(
        [slot("a", a), slot("b", a)], [(0, 0, a.strides, 1, 0, a.strides, (3,), a.dtype, 0)]
    )
    for _ in range(3):
        program.run(a, b)
    assert a["y"].tolist() == [1, 2, 3]
    program.run(b.copy(), np.array(a, dtype=[("x", "f8"), ("y", "i4")]))


def test_strides_of_axes_with_one_index_say_nothing() -> None:
    a = np.zeros((1, 5))
    b = np.lib.stride_tricks.as_strided(np.arange(5.0), (1, 5), (999, 8))
    program = CopyProgram(
        [slot("a", a), slot("b", a)], [(0, 0, (40, 8), 1, 0, (40, 8), (1, 5), "f8", 0)]
    )
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
        (
            {6: (10, 1)},
            ValueError,
            r"entries\[0\]: target strides: 1 of them; the shape has 2 sizes",
        ),
        (
            {2: (0,)},
            ValueError,
            r"entries\[0\]: target strides: 0 along axis 0 would write one place 10 times",
        ),
        ({5: (0,), 8: CLEAR}, ValueError, r"entries\[0\]: source strides: 0 along axis 0"),
        (
            {7: object},
            TypeError,
            r"entries\[0\]: elements of dtype dtype\('O'\) are not plain bytes",
        ),
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
        (
            [3],
            TypeError,
            r"slots\[0\]: expected \(name, dtype, shape, strides, writable\[, dims, halo\]\)",
        ),
        ([("a", "f8", (3,), (8, 8), True)], ValueError, r"slots\[0\]: 1 sizes and 2 strides"),
        ([("a", "f8", (-3,), (8,), True)], ValueError, r"slots\[0\]: a shape with negative sizes"),
        (
            [("a", "f8", (2**40,), (2**40,), True)],
            ValueError,
            r"slots\[0\]: a shape with negative sizes, or more bytes",
        ),
        ([("a", object, (3,), (8,), True)], TypeError, r"slots\[0\]: elements of dtype"),
        ([(1, "f8", (3,), (8,), True)], TypeError, r"slots\[0\]: name: expected a str, got 1"),
        ([("a", -1, True)], ValueError, r"slots\[0\]: -1 bytes"),
        ([("a", "x", True)], TypeError, r"slots\[0\]: expected a number of bytes"),
        ([np.zeros(3, object)], TypeError, r"slots\[0\]: elements of dtype"),
        (
            [(np.zeros((3, 2)), np.zeros(1, "i8"))],
            TypeError,
            r"slots\[0\]: expected an array of two rows",
        ),
        (
            [(np.zeros((2, 2)), np.zeros(1, "i4"))],
            TypeError,
            r"slots\[0\]: expected an array of two rows",
        ),
        (
            [(np.zeros((2, 2)), np.zeros(0, "i8"))],
            TypeError,
            r"slots\[0\]: expected an array of two rows",
        ),
        ([(3, 4)], TypeError, r"slots\[0\]: expected an array of two rows"),
        (
            [(np.zeros((2, 2), object), np.zeros(1, "i8"))],
            TypeError,
            r"slots\[0\]: elements of dtype",
        ),
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
    program = CopyProgram(
        [message, *[slot(f"f{i}", f, False) for i, f in enumerate(fields)]], entries
    )
    for i, field in enumerate(fields):
        field[...] = i
    program.run(*fields)
    assert message.view("i4").reshape(100, 7)[:, 3].tolist() == list(range(100))


def test_two_buffers_in_turns() -> None:
    """The lowest bit of the counter says which; the other stays as it is, and a view the other way
    round begins with the second.
    """
    rows, turns, f = np.zeros((2, 3)), np.zeros(2, "i8"), np.zeros(3)
    pack = CopyProgram(
        [slot("f", f, False), (rows, turns)], [(1, 0, (8,), 0, 0, (8,), (3,), "f8", 0)]
    )
    unpack = CopyProgram(
        [slot("f", f), (rows[::-1], turns)], [(0, 0, (8,), 1, 0, (8,), (3,), "f8", 0)]
    )
    for i in range(5):
        turns[:] = i, 1
        f[...] = i
        pack.run(f)
        assert rows[i % 2, 2] == i and rows[1 - i % 2, 2] == max(i - 1, 0)
        turns[0] += 1
        f[...] = -1
        unpack.run(f)
        assert (f == i).all()
    rows.flags.writeable = False
    with pytest.raises(ValueError, match="slot 1 is not writable"):
        CopyProgram([slot("f", f, False), (rows, turns)], [(1, 0, (8,), 0, 0, (8,), (3,), "f8", 0)])
    with pytest.raises(ValueError, match="bytes 8 to 32 of slot 1, which has 0 to 24"):
        CopyProgram([slot("f", f), (rows, turns)], [(0, 0, (8,), 1, 8, (8,), (3,), "f8", 0)])
