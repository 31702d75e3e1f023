"""A consumer's description: how memory passes, how it is read and written over there, and
what it cannot; and the cells that are tried, the same values in each layout.
"""

import contextlib
import importlib
import importlib.util
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Literal

import numpy as np

from gridbuf import _core

# ---- cells ----


Direction = Literal["take", "give"]
DIRECTIONS: tuple[Direction, ...] = ("take", "give")
SHAPE = (4, 5, 6)


@dataclass(frozen=True)
class Cell:
    """A case to try, in the consumer's words: take our memory (an export), or give us its own
    (an import, into a Field).
    """

    direction: Direction
    layout: str = "C"
    dtype: str = "float64"

    def __str__(self) -> str:
        return f"{self.direction} {self.layout} {self.dtype}"


@dataclass(frozen=True)
class Layout:
    """How memory lies: the spec of a Field, and the same from an array of `base` by its own
    means.
    """

    field: Callable[[str], _core.Field]
    base: tuple[int, ...] = SHAPE
    axes: tuple[int, ...] | None = None
    slices: tuple[slice, ...] | None = None
    readonly: bool = False


def _empty(shape: tuple[int, ...] = SHAPE, **spec: Any) -> Callable[[str], _core.Field]:
    return lambda dtype: _core.Field.empty(shape, dtype, dims="IJK"[: len(shape)], **spec)


_SLICES = (slice(None), slice(None, None, 2), slice(1, None, 2))
_WIDE = (4, 10, 13)

LAYOUTS: dict[str, Layout] = {
    "C": Layout(_empty()),
    "F": Layout(_empty(backend="F"), SHAPE[::-1], (2, 1, 0)),
    "permuted": Layout(_empty(layout=(1, 2, 0), padding=False), (6, 4, 5), (1, 2, 0)),
    "padded": Layout(
        _empty(padding=True), (4, 5, 8), slices=(slice(None), slice(None), slice(0, 6))
    ),
    "sliced": Layout(lambda dtype: _empty(_WIDE)(dtype)[_SLICES], _WIDE, slices=_SLICES),
    "reversed": Layout(lambda dtype: _empty()(dtype)[::-1], slices=(slice(None, None, -1),)),
    "read-only": Layout(_empty(), readonly=True),
    "0-d": Layout(_empty(()), ()),
    "size 0": Layout(_empty((4, 0, 6)), (4, 0, 6)),
}
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64",
    "complex64", "complex128", ">f8",
)  # fmt: skip


def cells(direction: Direction) -> Iterator[Cell]:
    """Each layout in float64, then each other dtype in C order."""
    for layout in LAYOUTS:
        yield Cell(direction, layout)
    for dtype in DTYPES:
        if dtype != "float64":
            yield Cell(direction, "C", dtype)


def values(layout: str, dtype: str) -> np.ndarray[Any, Any]:
    """The values of a cell's memory: every element another number, as far as the dtype has so
    many.
    """
    shape = {"0-d": (), "size 0": (4, 0, 6)}.get(layout, SHAPE)
    numbers = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    found = numpy_dtype(dtype)
    return (
        numbers % 2 == 1
        if found.kind == "b"
        else (numbers + 0.5j if found.kind == "c" else numbers).astype(found)
    )


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """bfloat16 comes with the package ml_dtypes."""
    if dtype == "bfloat16":
        import ml_dtypes  # NumPy knows the name from then on

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def field(cell: Cell) -> _core.Field:
    """Our memory in a cell's layout, with its values."""
    layout = LAYOUTS[cell.layout]
    numpy_dtype(cell.dtype)
    made = layout.field(cell.dtype)
    made[...] = values(cell.layout, cell.dtype)
    if not layout.readonly:
        return made
    array = made.numpy()
    array.setflags(write=False)
    return _core.Field(array, made.dims)


def viewed(memory: Any, cell: Cell) -> np.ndarray[Any, Any]:
    """Foreign flat memory of bytes as an array in a cell's layout, with its values."""
    layout = LAYOUTS[cell.layout]
    base = np.ndarray(layout.base, numpy_dtype(cell.dtype), memory)
    return arranged(base, cell)


def arranged(base: Any, cell: Cell) -> Any:
    """A NumPy-like array of a layout's base shape, permuted and sliced, with its values, and no
    longer writable if so.
    """
    layout = LAYOUTS[cell.layout]
    view = base if layout.axes is None else base.transpose(layout.axes)
    view = view if layout.slices is None else view[layout.slices]
    view[...] = values(cell.layout, cell.dtype)
    if layout.readonly:
        view.setflags(write=False)
    return view


# ---- consumers ----


class Missing(Exception):
    """The package, or what it needs of the machine, is not there."""


@dataclass(frozen=True)
class Cannot:
    """An expected refusal: why, in a few words; a pattern that the error must match; what to do
    instead.
    """

    why: str
    says: str
    instead: str


@dataclass(frozen=True)
class Absent:
    """The consumer has no such objects, so that there is nothing to try."""

    why: str


@dataclass(frozen=True)
class Unprotected:
    """Memory is shared, but the consumer has no read-only objects and would write to it."""

    why: str
    instead: str


Expected = Cannot | Absent | Unprotected | None
Refusals = Mapping[tuple[str, str], Expected]  # (direction; layout, dtype or "*"); None: it works


def outcome(expected: Expected) -> str:
    """The outcome of `run` where things are as expected."""
    return {Cannot: "no", Absent: "none", Unprotected: "unprotected"}.get(type(expected), "yes")


class Consumer:
    """A library that memory is exchanged with; the defaults are for objects that are NumPy
    arrays.
    """

    name: str = ""
    package: ClassVar[str | None] = None  # name on the package index; None: part of Python
    modules: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[str] = ""  # the call, as the table shows it
    gives: ClassVar[str] = "gb.Field(theirs)"
    refuses: ClassVar[Refusals] = {}  # all else works
    constant: ClassVar[bool] = False  # True: objects cannot be written to
    # True: an object holds our memory; False: a call sees it while it runs
    keeps: ClassVar[bool] = True
    notes: ClassVar[str] = ""

    def expected(self, cell: Cell) -> Expected:
        """The known refusal in a cell."""
        keys = [(cell.direction, key) for key in (cell.dtype, cell.layout, "*")]
        return next((self.refuses[key] for key in keys if key in self.refuses), None)

    def version(self) -> str:
        """Of the installed package."""
        if self.package is None:
            return "(Python's own)"
        try:
            return version(self.package)
        except PackageNotFoundError:
            # CuPy's distributions have names of their own (cupy-cuda12x)
            module = importlib.util.find_spec(self.modules[0])
            return (
                "not installed"
                if module is None
                else str(importlib.import_module(self.modules[0]).__version__)
            )

    def start(self) -> None:
        """Import what is needed; Missing says what is not there."""
        for module in self.modules:
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise Missing(str(error).splitlines()[0]) from error

    def context(self) -> contextlib.AbstractContextManager[Any]:
        """Held while a cell runs."""
        return contextlib.nullcontext()

    # ---- how memory passes ----

    def field(self, cell: Cell) -> _core.Field:
        """Our memory in a cell's layout, with its values."""
        return field(cell)

    def take(self, field: _core.Field) -> Any:
        """Their object over our memory."""
        raise NotImplementedError

    def make(self, cell: Cell) -> Any:
        """Memory of their own in a cell's layout, with its values."""
        return arranged(np.empty(LAYOUTS[cell.layout].base, numpy_dtype(cell.dtype)), cell)

    def give(self, theirs: Any) -> _core.Field:
        """A Field over their memory."""
        return _core.Field(theirs)

    # ---- their object ----

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        """Their object's memory as NumPy sees it, from which the rest is read unless the library
        says it itself.
        """
        return np.asarray(theirs)

    def address(self, theirs: Any) -> int | None:
        """Where its first element lies; None where the library does not say."""
        return int(self.array(theirs).ctypes.data)

    def strides(self, theirs: Any) -> tuple[int, ...] | None:
        """In bytes; None where the library does not say."""
        return self.array(theirs).strides

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        """A copy of what it holds."""
        return np.array(self.array(theirs), copy=True)

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        """Set one element by its own means."""
        theirs[index] = value

    def readonly(self, theirs: Any) -> bool:
        """Whether it knows that it must not write."""
        return not self.array(theirs).flags.writeable

    def watch(self, theirs: Any) -> weakref.ref[Any] | None:
        """A reference that dies with it; None where it has none."""
        try:
            return weakref.ref(theirs)
        except TypeError:
            return None
