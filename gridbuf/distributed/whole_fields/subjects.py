"""The fields that a call is about: what each rank says of its own, and what those without a block
are told.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.dtype_names import dtype_name, dtype_of
from gridbuf.distributed.geometry.blocks import Block, Index
from gridbuf.distributed.geometry.linking import Geometry
from gridbuf.distributed.plans.layouts import POSITIONS, Bound, bind, layout_of
from gridbuf.distributed.plans.plan import on_blocks


class Subject(NamedTuple):
    """A field, without halo."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    geometry: Geometry
    sizes: dict[str, int]  # of the dims that the grid does not cut
    order: tuple[str, ...]  # of the dims, from slowest to fastest in memory
    domains: list[Any]  # on this rank's blocks, on the host
    staged: list[tuple[Any, Any]] = []  # noqa: RUF012  # of those on a GPU the domain there and its copy here
    readonly: bool = False

    def facts(self) -> dict[str, Any]:
        """What all ranks with a block must say alike."""
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


def subject(given: Any, blocks: Sequence[Block], names: Sequence[str], name: str) -> Subject | None:
    """A field as it was given; None on a rank without blocks, where what is given says nothing."""
    if not blocks:
        return None
    there = [field.domain for field in on_blocks(given, len(blocks), name)]
    bound = bind(tuple(map(layout_of, there)), blocks, names, name)
    domains = [domain if domain.device == "cpu" else on_host(domain) for domain in there]
    staged = [(a, b) for a, b in zip(there, domains, strict=True) if a is not b]
    readonly = any(field.readonly for field in there)
    sizes = {dim: n for dim, n, _ in bound.extra}
    return Subject(
        name, bound.dtype, bound.dims, bound.geometry, sizes, bound.order, domains, staged, readonly
    )


def on_host(field: _core.Field) -> _core.Field:
    """A copy of a Field on a GPU, in memory that the device reads and writes at full speed."""
    host = _core.Field.empty(field.shape, field.dtype, dims=field.dims, memory="pinned")
    _core.copyto(host, field)
    return host


def bring_back(one: Subject) -> None:
    """What was filled on the host belongs on the GPU."""
    for field, host in one.staged:
        _core.copyto(field, host)


def bound_of(one: Subject) -> Bound:
    """As plans have it."""
    extra = tuple((dim, n, (0, 0)) for dim, n in one.sizes.items())
    return Bound(one.name, one.dtype, one.geometry, one.dims, extra, (), one.order)


def told(name: str, facts: Mapping[str, Any], dims: Sequence[str], names: Sequence[str]) -> Subject:
    """The same of what other ranks say."""
    axes = tuple(axis for axis, dim in enumerate(names) if dim in facts["dims"])
    positions = tuple(map(POSITIONS.index, facts["positions"]))
    geometry = Geometry(axes, positions, ((0, 0),) * len(axes))
    return Subject(
        name, dtype_of(facts["dtype"]), tuple(dims), geometry, dict(facts["sizes"]), tuple(dims), []
    )


def array_of(field: _core.Field, order: Sequence[str]) -> NDArray[Any]:
    """The memory of a Field with its axes in some order."""
    return field.transpose(*order).numpy()
