"""What operations read of objects that share their memory: whatever a Field can wrap is a source of
values, by every door, and what describes its memory wrongly is refused before NumPy believes it,
also inside a list or a key.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dlpack_structs import COPIED, READ_ONLY, Hostile, HostileLegacy, exchanging

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf import gufunc

add = gufunc.from_ufunc(np.add)
SIX = np.arange(6.0).reshape(2, 3)
Source = Callable[[Any], Any]


class With:
    """An object with one attribute."""

    def __init__(self, name: str, value: Any) -> None:
        setattr(self, name, value)


def tensor(a: Any, **changes: Any) -> dict[str, Any]:
    return {
        "data": a.ctypes.data,
        "ndim": a.ndim,
        "shape": a.shape,
        "strides": tuple(s // 8 for s in a.strides),
        **changes,
    }


def stencils(a: Any) -> dict[str, Any]:
    return {
        "cpu": {
            "shape": a.shape,
            "typestr": "<f8",
            "data": (a.ctypes.data, False),
            "strides": a.strides,
        }
    }


SOURCES: dict[str, Source] = {
    "the exchange API alone": lambda a: exchanging()[0](Hostile(**tensor(a)).tensor),
    "the exchange API, read-only": lambda a: exchanging()[0](
        Hostile(**tensor(a, flags=READ_ONLY)).tensor
    ),
    "the exchange API, a copy": lambda a: exchanging()[0](
        Hostile(**tensor(a, flags=COPIED)).tensor
    ),
    "__dlpack__ alone": lambda a: Hostile(**tensor(a)),
    "__dlpack__, a copy": lambda a: Hostile(**tensor(a, flags=COPIED)),
    "a legacy __dlpack__": lambda a: HostileLegacy(**tensor(a)),
    "an array interface": lambda a: With("__array_interface__", a.__array_interface__),
    "an array struct": lambda a: With("__array_struct__", a.__array_struct__),
    "a buffer": memoryview,
    "__array__": lambda a: type("Method", (), {"__array__": lambda self, *args, **keywords: a})(),
    "a stencil's interface": lambda a: With("__gt_interface__", stencils(a)),
}


def into(target: Any, how: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        dst = target()
        how(dst, x)
        return np.asarray(dst)

    return run


def zeros() -> Any:
    return np.zeros((2, 3))


def field() -> Any:
    return gb.Field.zeros((2, 3))


def assign(dst: Any, x: Any) -> None:
    dst[...] = x


DOORS: dict[str, Callable[[Any], Any]] = {
    "copyto": into(zeros, gb.copyto),
    "copyto of a Field": into(field, gb.copyto),
    "copyto of objects": into(
        lambda: np.zeros((2, 3), object), lambda dst, x: gb.copyto(dst, x, casting="unsafe")
    ),
    "from_array": gb.from_array,
    "Field.from_array": gb.Field.from_array,
    "assignment": into(field, assign),
    "assignment to names": into(lambda: gb.Field.zeros((2, 3), dims="IJ"), assign),
    "assignment to a selection": into(field, lambda dst, x: dst.__setitem__([0, 1], x)),
    "assignment to a storage": into(lambda: gs.zeros((2, 3)), assign),
    "a storage's data": gs.storage,
    "a storage's operand": lambda x: gs.zeros((2, 3)) + x,
    "an operand": lambda x: field() + x,
    "a left operand": lambda x: np.add(x, field()),
    "a gufunc's input": lambda x: add(x, 0.0),
    "a gufunc's input beside a Field": lambda x: add(x, field()),
    "a reduction": lambda x: add.reduce(x, axis=None) - 15 + SIX,
    "zeros_like": lambda x: gb.zeros_like(x) + SIX,
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "fill": into(zeros, gb.fill),
    "fill of a Field": into(field, gb.fill),
    "fill of objects": into(lambda: np.zeros(3, object), gb.fill),
    "full": lambda x: gb.full((2,), x),
    "full_like": lambda x: gb.full_like(zeros(), x),
    "Field.full": lambda x: gb.Field.full((2,), x),
    "a storage's full": lambda x: gs.full((2, 3), x),
    "assignment": into(field, assign),
    "copyto": into(zeros, gb.copyto),
    "initial": lambda x: add.reduce(np.zeros(3), initial=x),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("door", DOORS)
def test_what_can_be_wrapped_is_a_source_of_values(door: str, source: str) -> None:
    assert np.array_equal(np.asarray(DOORS[door](SOURCES[source](SIX))).astype("f8"), SIX)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("door", NUMBERS)
def test_what_can_be_wrapped_is_a_number_where_it_has_no_indices(door: str, source: str) -> None:
    if door == "initial" and source == "__array__":
        pytest.skip("NumPy takes no such start either")
    assert (np.asarray(NUMBERS[door](SOURCES[source](np.array(2.5)))).astype("f8") == 2.5).all()


def test_a_tensor_that_was_read_is_released_once() -> None:
    for flags in (0, READ_ONLY, COPIED):
        for make in (lambda made: exchanging()[0](made.tensor), lambda made: made):
            made = Hostile(flags=flags)
            gb.copyto(np.zeros((2, 3)), make(made))
            assert made.deleted == 1


def test_a_capsule_is_read_once() -> None:
    dst = np.zeros((2, 3))
    gb.copyto(dst, Hostile().__dlpack__(max_version=(1, 0)))
    assert dst[1, 2] == 5.0
    with pytest.raises(TypeError):
        field() + Hostile().__dlpack__(max_version=(1, 0))
    with pytest.raises(TypeError, match="read once only"):
        gs.zeros((2, 3)) + Hostile().__dlpack__(max_version=(1, 0))


def test_values_that_a_refused_producer_makes_for_numpy_are_taken() -> None:
    class Sharded:
        def __dlpack__(self, **keywords: Any) -> Any:
            raise BufferError("on several devices")

        def __array__(self, *args: Any, **keywords: Any) -> Any:
            return SIX

    assert np.array_equal(gb.from_array(Sharded()), SIX)
    Sharded.__dlpack__ = lambda self, **keywords: 1 / 0  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        gb.from_array(Sharded())


def test_an_initial_that_is_no_number_is_not_shown() -> None:
    no_text = np.full(2, 0x41414141, "u4").view("U1")
    for initial in (no_text, no_text[0:1].reshape(()), memoryview(b"AA")):
        with pytest.raises(
            TypeError, match=r"^initial: expected one number, got an array of shape"
        ):
            add.reduce(np.ones(3), initial=initial)


def lying(shape: tuple[int, ...], typestr: str) -> Any:
    """An object whose elements are not in its buffer."""
    offset = {} if shape else {"offset": 2**62}
    described = {
        "shape": shape,
        "typestr": typestr,
        "strides": (2**33,) * len(shape),
        "data": bytes(64),
        "version": 3,
    }
    return With("__array_interface__", described | offset)


LIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "copyto of a list": ("src", lambda make: gb.copyto(np.zeros((1, 2, 3)), [make((2, 3))])),
    "from_array of a list": ("data", lambda make: gb.from_array([(make((3,)), [0, 1, 2])])),
    "a list to a Field": ("value", lambda make: assign(field(), [make((3,)), make((3,))])),
    "a list to a storage": (
        "data",
        lambda make: assign(gs.zeros((2, 3)), [make((3,)), make((3,))]),
    ),
    "a gufunc's list": ("input 0", lambda make: add([make((3,))], 1.0)),
    "a reduction's list": ("array", lambda make: add.reduce([make((3,))])),
    "a Field's key": ("key", lambda make: field()[make((3,))]),
    "a part of a Field's key": ("key", lambda make: field()[make((3,)), 0]),
    "a list in a Field's key": ("key", lambda make: field()[[make((3,))]]),
    "the key of an assignment": ("key", lambda make: field().__setitem__(make((3,)), 0.0)),
    "a storage's key": ("key", lambda make: gs.zeros((2, 3))[make((3,))]),
    "initial": ("initial", lambda make: add.reduce(np.ones(3), initial=make(()))),
    "a storage's fill_value": ("fill_value", lambda make: gs.full((3, 3), make(()))),
    "zeros_like": ("data", lambda make: gb.zeros_like(make((3,)))),
    "the mask of a reduction": ("where", lambda make: add.reduce(np.ones(3), where=make((3,)))),
}


@pytest.mark.parametrize("typestr", ["<i8", "|b1", "|O8", "<M8[s/0]"])
@pytest.mark.parametrize("door", LIES)
def test_a_wrong_description_is_refused_before_numpy_believes_it(door: str, typestr: str) -> None:
    argument, call = LIES[door]
    with pytest.raises(
        ValueError,
        match=rf"^{argument}: __array_interface__ of .*(elements leave|typestr: |offset)",
    ):
        call(lambda shape: lying(shape, typestr))


def test_lists_without_such_objects_are_read_as_they_are() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    with pytest.raises((ValueError, RecursionError)):
        gb.from_array(cyclic)
    assert gb.from_array([[1, 2.5], (3, 4)]).tolist() == [[1, 2.5], [3, 4]]
    assert gb.from_array([gb.Field.full((2,), 1.0), memoryview(np.zeros(2))]).tolist() == [
        [1, 1],
        [0, 0],
    ]
    assert field()[[0, 1], (2, 2)].shape == field()[([0, 1], (2, 2))].shape == (2,)


@pytest.mark.parametrize("shape", [(), (3,), (3, 2)])
@pytest.mark.parametrize("size", [1, 7, 8, 200])
def test_a_buffer_of_plain_bytes_is_one_of_plain_bytes(shape: tuple[int, ...], size: int) -> None:
    a = np.zeros(shape, f"V{size}")
    a[...] = np.frombuffer(bytes(range(size)), a.dtype)[0]
    for read in (gb.Field, gb.as_numpy, lambda x: gb.from_array(x, dtype=None)):
        found = np.asarray(gb.as_numpy(read(memoryview(a))))
        assert (
            found.dtype == a.dtype
            and found.shape == shape
            and found.tobytes() == bytes(range(size)) * math.prod(shape)
        )


def test_a_buffer_that_numpy_cannot_read_is_a_clear_error() -> None:
    empty = np.zeros(3, np.dtype({"names": [], "formats": [], "itemsize": 8}))
    for read, name in ((gb.Field, "data"), (gb.as_numpy, "obj"), (gb.from_array, "data")):
        with pytest.raises(TypeError, match=rf"{name}: the buffer of .* has the format 'T\{{\}}'"):
            read(memoryview(empty))
    assert gb.Field(empty).nbytes == 24, "the array itself says more than its buffer"
