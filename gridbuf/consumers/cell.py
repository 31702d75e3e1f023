"""A cell of the matrix, and the memory it is about: the same values in each layout, as a Field or
as somebody's array.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gridbuf import _core

Direction = Literal["take", "give"]
DIRECTIONS: tuple[Direction, ...] = ("take", "give")
SHAPE = (4, 5, 6)


@dataclass(frozen=True)
class Cell:
    """One thing to try, in the consumer's words: it takes our memory (an export), or gives us its
    own (an import, into a Field).
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
    """What the memory of a cell holds: every element another number, as far as the dtype has so
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
    """Somebody's flat memory of bytes as an array in a cell's layout, with its values."""
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
