"""Fields of a collective call: their facts, for ranks without a block too, their parts on the host,
and regions of a field on one block.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.geometry.linking import Geometry
from gridbuf.distributed.plans.layouts import (
    POSITIONS,
    Bound,
    bind,
    dtype_name,
    dtype_of,
    layout_of,
)
from gridbuf.distributed.plans.plan import on_blocks


class FieldInfo(NamedTuple):
    """A field, without halo."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    geometry: Geometry
    sizes: dict[str, int]  # of the dims that the grid does not cut
    order: tuple[str, ...]  # of the dims, from slowest to fastest in memory
    domains: list[Any]  # on this rank's blocks, on the host
    # The domain of a Field on a GPU, and its copy on the host
    staged: list[tuple[Any, Any]] = []  # noqa: RUF012
    readonly: bool = False

    def facts(self) -> dict[str, Any]:
        """The facts that all ranks with a block have alike."""
        return {
            "dtype": dtype_name(self.dtype),
            "dims": sorted(self.dims),
            "positions": [POSITIONS[p] for p in self.geometry.positions],
            "sizes": sorted([dim, n] for dim, n in self.sizes.items()),
        }

    def places(self, order: Sequence[str], names: Sequence[str]) -> Index:
        """Which axis of an array with these dims each axis of the geometry is."""
        return tuple(order.index(names[a]) for a in self.geometry.axes)

    def shape(self, order: Sequence[str], along: Mapping[str, int] = {}) -> Index:
        """Of an array with these dims; those that the grid cuts are given, or 1."""
        return tuple(self.sizes.get(dim, along.get(dim, 1)) for dim in order)


def info_of(
    given: Any, blocks: Sequence[Block], names: Sequence[str], name: str
) -> FieldInfo | None:
    """A given field; None on a rank without blocks, where the argument is ignored."""
    if not blocks:
        return None
    there = [field.domain for field in on_blocks(given, len(blocks), name)]
    bound = bind(tuple(map(layout_of, there)), blocks, names, name)
    domains = [domain if domain.device == "cpu" else on_host(domain) for domain in there]
    staged = [(a, b) for a, b in zip(there, domains, strict=True) if a is not b]
    readonly = any(field.readonly for field in there)
    sizes = {dim: n for dim, n, _ in bound.extra}
    return FieldInfo(
        name, bound.dtype, bound.dims, bound.geometry, sizes, bound.order, domains, staged, readonly
    )


def on_host(field: _core.Field) -> _core.Field:
    """A copy of a Field on a GPU, in memory that the device reads and writes at full speed."""
    host = _core.Field.empty(field.shape, field.dtype, dims=field.dims, memory="pinned")
    _core.copyto(host, field)
    return host


def bring_back(one: FieldInfo) -> None:
    """Copy values that were filled on the host to the GPU."""
    for field, host in one.staged:
        _core.copyto(field, host)


def bound_of(one: FieldInfo) -> Bound:
    """The field as plans have it."""
    extra = tuple((dim, n, (0, 0)) for dim, n in one.sizes.items())
    return Bound(one.name, one.dtype, one.geometry, one.dims, extra, (), one.order)


def from_peer(
    name: str, facts: Mapping[str, Any], dims: Sequence[str], names: Sequence[str]
) -> FieldInfo:
    """The field of other ranks' facts."""
    axes = tuple(axis for axis, dim in enumerate(names) if dim in facts["dims"])
    positions = tuple(map(POSITIONS.index, facts["positions"]))
    geometry = Geometry(axes, positions, ((0, 0),) * len(axes))
    return FieldInfo(
        name, dtype_of(facts["dtype"]), tuple(dims), geometry, dict(facts["sizes"]), tuple(dims), []
    )


def array_of(field: _core.Field, order: Sequence[str]) -> NDArray[Any]:
    """The memory of a Field with its axes in some order."""
    return field.transpose(*order).numpy()


Spans = list[tuple[int, int]]


def spans(field: _core.Field, names: Sequence[str]) -> tuple[Spans, Spans]:
    """The domain of a field along each of its dims, and what of it no halo reaches: a stencil as
    wide as the halo stays within.
    """
    domain, core = [], []
    for dim, n, (low, high) in zip(
        field.dims, field.shape, field.halo or ((0, 0),) * field.ndim, strict=True
    ):
        domain.append((low, n - high))
        if dim in names:
            first = min(2 * low, n - high)
            core.append((first, max(first, n - 2 * high)))
        else:
            core.append((low, n - high))
    return domain, core


def cut_out(field: _core.Field, box: Spans) -> _core.Field:
    part: _core.Field = field[tuple(slice(*span) for span in box)]
    return part


def around(field: _core.Field, names: Sequence[str]) -> Iterator[_core.Field]:
    """The domain without its core, in slabs that do not overlap; none without points."""
    domain, core = spans(field, names)
    box = list(domain)
    for axis, (first, last) in enumerate(core):
        for span in ((box[axis][0], first), (last, box[axis][1])):
            part = [*box[:axis], span, *box[axis + 1 :]]
            if all(start < stop for start, stop in part):
                yield cut_out(field, part)
        box[axis] = first, last


def coordinates(
    field: _core.Field, block: Block, names: Sequence[str]
) -> dict[str, NDArray[np.int64]]:
    """The index on the grid of every point along each dim, halo included: below 0 and beyond the
    end they go on.
    """
    found = {}
    for dim, n, (low, _) in zip(
        field.dims, field.shape, field.halo or ((0, 0),) * field.ndim, strict=True
    ):
        start = block.start[names.index(dim)] if dim in names else 0
        found[dim] = np.arange(start - low, start - low + n)
    return found
