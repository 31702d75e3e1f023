"""Layouts of fields: dtype names as text, the layout of a field on each block, and the positions of
its points in the cells of the grid.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core, wrapping
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.boxes import Pairs
from gridbuf.distributed.geometry.linking import Geometry
from gridbuf.strides import slowest_first

Elements = np.dtype[Any]


def dtype_name(dtype: Elements) -> str:
    """The text of a dtype, which `dtype_of` reads."""
    if dtype.names is not None:
        return repr(described(dtype))
    name: str = dtype.name
    return name if dtype.kind == "V" and name != f"void{8 * dtype.itemsize}" else dtype.str


def described(dtype: Elements) -> Any:
    """The fields of a record, with offsets where they do not lie one after the other."""
    if dtype.subdtype is not None:
        return described(dtype.subdtype[0]), dtype.subdtype[1]
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    fields = [dtype.fields[name] for name in dtype.names]
    formats, offsets = [described(field[0]) for field in fields], [field[1] for field in fields]
    packed = {"names": [*dtype.names], "formats": formats}
    if np.dtype(packed) == dtype:  # type: ignore[call-overload]
        return dtype.descr
    return {**packed, "offsets": offsets, "itemsize": dtype.itemsize}


def dtype_of(name: str) -> Elements:
    kind: Any = ast.literal_eval(name) if name.startswith(("[", "{")) else name
    try:
        found: Elements = np.dtype(kind)
    except TypeError:
        import ml_dtypes

        found = np.dtype(getattr(ml_dtypes, name))
    return found


Extra = tuple[tuple[str, int, tuple[int, int]], ...]
HOST = {_core.HostField}
CENTRE, FACE = 1, 0
POSITIONS = "face", "centre"  # names in handshakes, manifests and errors


class Layout(NamedTuple):
    """Shape and place of a Field on one block: Fields of the same layout can replace each other in
    a plan.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dims: tuple[str, ...]
    halo: Pairs | None
    gpu: int | None = None  # number of the GPU; None: memory of the host


class Bound(NamedTuple):
    """A field of a plan: its name in errors, its geometry, and its layout on each of the rank's
    blocks.
    """

    name: str
    dtype: np.dtype[Any]
    geometry: Geometry
    dims: tuple[str, ...]
    # Dims that the grid does not cut: name, extent with halo, and the halo's points
    extra: Extra
    layouts: tuple[Layout, ...]
    # Dims from slowest to fastest in memory: the order of values in messages to this rank
    order: tuple[str, ...]
    key: int = -1  # equal for bounds of a grid that differ in their names alone


def as_field(given: Any, name: str) -> _core.Field:
    if isinstance(given, _core.Field):
        return given
    if given is None or isinstance(given, str | bytes | int | float | complex):
        raise TypeError(
            f"{name}: expected a Field or what gridbuf.Field takes, got {type(given).__name__}"
        )
    if isinstance(given, _core.StorageBase):
        with wrapping.naming(name):
            # StorageBase itself, which has no halo, has no instances
            return _core.Field(given, halo=given.halo)  # type: ignore[attr-defined]
    return wrapping.as_field(given, name)


def layout_of(field: _core.Field) -> Layout:
    gpu = int(field.device[1]) if isinstance(field, _core.DeviceField) else None
    return Layout(field.dtype, field.shape, field.strides, field.dims, field.halo, gpu)


def gpu_of(bounds: Sequence[Bound]) -> int | None:
    """The GPU that has all fields of a plan, or None; ValueError where they lie in several
    places.
    """
    for bound in bounds:
        first, other = bounds[0].layouts[0].gpu, bound.layouts[0].gpu
        if other != first:
            raise ValueError(
                f"{bound.name}: it lies {on(other)}, {bounds[0].name} {on(first)}; the fields of an"
                " exchange lie in one place"
            )
    return bounds[0].layouts[0].gpu if bounds else None


def on(gpu: int | None) -> str:
    return "on the host" if gpu is None else f"on GPU {gpu}"


def geometry_of(layout: Layout, block: Block, names: Sequence[str], field: str) -> Geometry:
    """The geometry of a field on a block; ValueError that names both sizes where the field does not
    fit.
    """
    halo = layout.halo or ((0, 0),) * len(layout.shape)
    axes, positions, halos = [], [], []
    for axis, name in enumerate(names):
        if name not in layout.dims:
            continue
        i = layout.dims.index(name)
        low, high = halo[i]
        own, n = layout.shape[i] - low - high, block.shape[axis]
        if own not in (n, n + 1):
            raise ValueError(
                f"{field}: its domain has {own} points along {name} ({layout.shape[i]} with its"
                f" halo of {low} and {high}), block {block.index} has {n}; allowed are {n}"
                f" (centres) and {n + 1} (faces)"
            )
        axes.append(axis)
        positions.append(CENTRE if own == n else FACE)
        halos.append((low, high))
    return Geometry(tuple(axes), tuple(positions), tuple(halos))


def bind(
    layouts: tuple[Layout, ...],
    blocks: Sequence[Block],
    names: Sequence[str],
    name: str,
    common: Callable[[Geometry, Block], Geometry] = lambda geometry, _: geometry,
) -> Bound:
    """A field on all blocks of a rank; ValueError where the blocks' parts differ. `common`: the
    geometry of one block as all have it.
    """
    first = layouts[0]
    geometry = common(geometry_of(first, blocks[0], names, name), blocks[0])
    extra = extra_of(first, names)
    for layout, block in zip(layouts[1:], blocks[1:], strict=True):
        other = common(geometry_of(layout, block, names, name), block)
        for what, a, b in (
            ("dtype", first.dtype, layout.dtype),
            ("dims", sorted(first.dims), sorted(layout.dims)),
            (
                "positions",
                *(tuple(POSITIONS[p] for p in each.positions) for each in (geometry, other)),
            ),
            ("halo", geometry.halos, other.halos),
            ("sizes", sorted(extra), sorted(extra_of(layout, names))),
            ("place", on(first.gpu), on(layout.gpu)),
        ):
            if a != b:
                raise ValueError(
                    f"{name}: its {what} on block {block.index} is {b}, on block {blocks[0].index}"
                    f" {a}; both must be the same"
                )
    return Bound(
        name, first.dtype, geometry, first.dims, extra, layouts, order_of(first.dims, first.strides)
    )


def order_of(dims: Sequence[str], strides: Sequence[int]) -> tuple[str, ...]:
    """Dims from slowest to fastest in memory."""
    return tuple([dims[i] for i in slowest_first(strides)])


def extra_of(layout: Layout, names: Sequence[str]) -> Extra:
    halo = layout.halo or ((0, 0),) * len(layout.shape)
    rows = zip(layout.dims, layout.shape, halo, strict=True)
    return tuple([(dim, n, pair) for dim, n, pair in rows if dim not in names])
