"""The part of a plan that lies beyond the closed edges of the grid: links of rules in the schedules
of ranks, and constants.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from gridbuf.distributed.geometry import edges as rules
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.edges import Edges
from gridbuf.distributed.geometry.linking import Geometry, Link, LinkBuilder, Schedule, Scheduler
from gridbuf.distributed.plans.binding import Binding, Constant, Place, has_sign
from gridbuf.distributed.plans.layouts import Bound
from gridbuf.padding import element

NO_EDGES = Edges((), "")


class EdgePlanner:
    """Links and constants of one plan beyond the edges of the grid."""

    def __init__(
        self, builder: LinkBuilder, scheduler: Scheduler, edges: Edges, corners: bool
    ) -> None:
        self._builder, self._scheduler = builder, scheduler
        self._edges, self._corners = edges, corners

    def check(self, bound: Bound) -> None:
        """ValueError where elements of a field do not have what a rule needs."""
        names = self._builder.whole.names
        for axis, sides in enumerate(self._edges.sides):
            for rule in sides:
                if rule is None or axis not in bound.geometry.axes:
                    continue
                what = f"edges[{names[axis]!r}]"
                if rule.kind == "constant":
                    constant(rule.value, bound, what)
                if rule.kind in ("odd", "linear") and not has_sign(bound.dtype):
                    raise ValueError(
                        f"{what}: {rule.kind!r} needs elements with a sign, {bound.name} has"
                        f" {bound.dtype}"
                    )
                if rule.kind == "linear" and not can_add(bound.dtype):
                    raise ValueError(
                        f"{what}: 'linear' needs elements that are added, {bound.name} has"
                        f" {bound.dtype}"
                    )

    def schedule(self, geometry: Geometry) -> Schedule:
        """The links beyond edges of one kind of field."""
        builder, known = self._builder, dict[int, list[Link]]()

        def filling(block: Block) -> list[Link]:
            found = known.get(block.number)
            if found is None:
                found = rules.links(builder, self._edges, geometry, block, self._corners)
                known[block.number] = found
            return found

        def giving(block: Block) -> Iterable[Link]:
            for other in rules.at_edges(builder, self._edges, geometry):
                if other.number != block.number:
                    yield from rules.source_blocks(filling(other), block.number)

        key = f"edges {self._corners} {self._edges.text}"
        return self._scheduler.find((geometry, key), filling, giving)

    def constants(self, binding: Binding, field: int) -> list[Constant]:
        """The boxes of a field that get constants, on all blocks of the rank."""
        bound, found = binding.bounds[field], list[Constant]()
        for block in self._scheduler.blocks:
            boxes = rules.fills(self._builder, self._edges, bound.geometry, block, self._corners)
            for fill in boxes:
                link = Link(fill.dst, fill.dst, fill.at, fill.shape, fill.at, (), ())
                place = Place(*binding.destination(field, link, bound.order))
                (shape,) = binding.shapes(bound, [link], bound.order)
                value = constant(fill.value, bound, "edges")
                found.append(Constant(place, shape, -value if fill.negative else value))
        return found


def joined(halos: Schedule, beyond: Schedule) -> Schedule:
    """Two schedules one after the other, in one order at both ends."""
    return Schedule(
        halos.local + beyond.local,
        {
            peer: halos.receives.get(peer, []) + beyond.receives.get(peer, [])
            for peer in {*halos.receives, *beyond.receives}
        },
        {
            peer: halos.sends.get(peer, []) + beyond.sends.get(peer, [])
            for peer in {*halos.sends, *beyond.sends}
        },
    )


def constant(given: Any, bound: Bound, what: str) -> np.ndarray[Any, np.dtype[Any]]:
    """A number as one element of a field; ValueError where the field cannot hold it."""
    found = element(np.asarray(given), bound.dtype)
    if found is None:
        raise ValueError(f"{what}: {given!r} is no {bound.dtype}, which {bound.name} has")
    return found.reshape(1)


def can_add(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "ifc" and dtype.isnative
