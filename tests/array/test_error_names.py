"""Invariant 11: errors begin with the word that the user wrote or sees."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

A = np.zeros((2, 3))
LOCKED = np.zeros(3)
LOCKED.flags.writeable = False

CASES: list[tuple[str, Callable[[], Any]]] = [
    ("dtype", lambda: gb.empty((2,), "foo")),
    ("dtype", lambda: gb.empty((2,), 5)),
    ("dtype", lambda: gb.Field.zeros((2,), [("a",)])),
    ("dtype", lambda: gb.empty((2,), object)),
    ("fill_value", lambda: gb.full((2,), 1 + 2j)),
    ("fill_value", lambda: gb.full((2,), "x")),
    ("fill_value", lambda: gb.full((2,), [1, 2, 3])),
    ("fill_value", lambda: gb.full((2,), 300, "u1")),
    ("fill_value", lambda: gb.Field.full((2,), 1 + 2j)),
    ("fill_value", lambda: gb.full_like(A, 1 + 2j)),
    ("value", lambda: gb.fill(A, 1 + 2j)),
    ("value", lambda: gb.fill(A, [1, 2])),
    ("value", lambda: gb.fill(A, object())),
    ("dst", lambda: gb.fill([1, 2], 1)),
    ("dst", lambda: gb.fill(LOCKED, 1)),
    ("dst", lambda: gb.fill(b"abc", 1)),
    ("dst", lambda: gb.fill(memoryview(b"abc"), 1)),
    ("dst", lambda: gb.copyto([1, 2], A)),
    ("dst", lambda: gb.copyto(None, A)),
    ("dst", lambda: gb.copyto(LOCKED, 1)),
    ("dst", lambda: gb.copyto(memoryview(b"abc"), 1)),
    ("src", lambda: gb.copyto(A, 1j)),
    ("src", lambda: gb.copyto(A, "abc")),
    ("src", lambda: gb.copyto(A, np.zeros(7))),
    ("src", lambda: gb.copyto(A, object())),
    ("src", lambda: gb.copyto(A, np.zeros((2, 3), complex))),
    ("src", lambda: gb.copyto(np.zeros(3, "i4"), 1.5)),
    ("progress", lambda: gb.copyto(A, A, progress=3)),  # type: ignore[arg-type]
    ("x", lambda: gb.from_dlpack(5)),
    ("data", lambda: gb.Field(5)),
    ("shape", lambda: gb.empty("a")),
    ("halo", lambda: gb.empty((3,), halo="a")),
    ("name", lambda: gb.register_backend("a\nb", layout="IJK")),
]


class Nothing:
    pass


F, S = gb.Field.from_array(A, dims="IJ"), gb.storage.storage(A, axes="IJ")
OF_NUMPYS: dict[str, list[Any]] = {
    "dtype": ["no dtype", 1.5, Nothing()],
    "out": ["x", [1.0], 1.5, np.float64(1), Nothing(), np.array(Nothing(), object),
    np.zeros(3, object)],
    "where": ["x", Nothing()], "initial": ["x", Nothing()], "decimals": ["x", 1.5],
    "min": ["x", Nothing()], "max": ["x", Nothing()],
    "offset": ["x", 1.5], "kth": ["x", 1.5], "indices": ["x", Nothing()],
    "repeats": ["x", Nothing()], "ddof": ["x", Nothing()],
}  # fmt: skip
METHODS = [
    (of, method, name, value)
    for of, methods in (
        (F,
        {"sum": "dtype out where initial", "all": "out where", "max": "out initial where",
        "std": "dtype out ddof where", "argmax": "out",
             "cumsum": "dtype out", "clip": "min max", "round": "decimals", "astype": "dtype"}),
        (S,
        {"sum": "dtype out where initial", "all": "out where", "max": "out initial where",
        "std": "dtype out ddof where", "argmax": "out",
             "cumsum": "dtype out", "clip": "min max out", "round": "decimals", "astype": "dtype",
             "diagonal": "offset", "trace": "offset",
             "argpartition": "kth", "take": "indices", "repeat": "repeats"}),
    )
    for method, names in methods.items() for name in names.split() for value in OF_NUMPYS[name]
]  # fmt: skip


@pytest.mark.parametrize(("of", "method", "name", "value"), METHODS)
def test_methods_that_numpy_computes_name_the_argument(
    of: Any, method: str, name: str, value: Any
) -> None:
    along = {"axis": "J"} if method == "cumsum" else {}
    with pytest.raises((TypeError, ValueError), match=rf"^{name}: "):
        getattr(of, method)(**along, **{name: value})


def test_an_error_about_nothing_that_was_given_stays_as_it_is() -> None:
    with pytest.raises(ValueError, match=r"^zero-size array"):
        gb.Field.zeros((0,), dims="I").max(keepdims=False)


@pytest.mark.parametrize(("word", "call"), CASES)
def test_errors_name_the_argument(word: str, call: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, BufferError), match=rf"^{word}: "):
        call()


def test_an_error_keeps_its_type_and_where_it_was_raised() -> None:
    class Mine(ValueError):
        pass

    class Value:
        def __float__(self) -> float:
            raise Mine("as it was")

    with pytest.raises(Mine, match=r"^as it was$"):
        gb.fill(A, Value())


def test_versions_that_nothing_has_are_errors_of_the_protocol() -> None:
    """A ValueError is none that consumers expect, a TypeError makes them call again as before
    DLPack 1.0.
    """
    field = gb.Field.zeros((3,))
    for keywords in (
        {"max_version": (1 << 70, 0)},
        {"max_version": (1, 1 << 70)},
        {"dl_device": (1 << 70, 0)},
        {"dl_device": (1, -(1 << 70))},
    ):
        with pytest.raises(BufferError, match=next(iter(keywords))):
            field.__dlpack__(**keywords)


def test_one_element_by_numbers_and_as_a_view() -> None:
    """As an ndarray: numbers alone select the value, with an Ellipsis it is a view."""
    for shape in ((), (3,), (2, 3)):
        field, numbers = gb.Field.zeros(shape), (0,) * len(shape)
        assert isinstance(field[numbers], np.float64)
        for key in ((*numbers, ...), (..., *numbers)):
            view = field[key]
            assert isinstance(view, gb.Field) and view.shape == ()
            view[...] = 5.0
            assert field[numbers] == 5.0


@pytest.mark.parametrize("dtype", ["V7", "S3", "U2", "M8[s]", [("a", "i4"), ("b", "S3")]])
def test_copies_of_a_field_without_indices(dtype: Any) -> None:
    source = np.zeros((), dtype)
    source.view(np.dtype((np.void, source.itemsize)))[()] = b"A" * source.itemsize
    for wanted in (
        np.dtype(dtype),
        *(
            np.dtype(f"V{n}")
            for n in (3, 7, 9)
            if source.dtype.kind == "V" and source.dtype.names is None
        ),
    ):
        target, expected = np.zeros(3, wanted), np.zeros(3, wanted)
        gb.copyto(target, gb.Field(source), casting="unsafe")
        np.copyto(expected, source, casting="unsafe")
        assert target.tobytes() == expected.tobytes() != bytes(expected.nbytes)
