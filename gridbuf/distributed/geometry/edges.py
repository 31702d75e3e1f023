"""What halo points beyond the closed edges of a grid get: the rules that a user gives, and their
links.

A rule says for each point beyond an edge which point of the tile it repeats, with which sign. Links
lead to the block that has that point, through seams along the other dims, so that an exchange fills
these points in the same pass, corners too: along the first dim first, the next on what that gave.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.boxes import Box, Map
from gridbuf.distributed.geometry.linking import (
    BY_BLOCKS,
    Edge,
    Geometry,
    Link,
    LinkBuilder,
    kept,
    linked,
    own_points,
)

KINDS = "edge", "zero", "reflect", "odd", "linear", "wrap"
ALLOWED = "'edge', 'zero', ('constant', x), 'reflect', 'odd', 'linear', 'wrap' and None"


class EdgeRule(NamedTuple):
    """The rule of one side; `text` tells rules apart, values included."""

    kind: str
    text: str
    value: Any = None


Sides = tuple[EdgeRule | None, EdgeRule | None]


class Edges(NamedTuple):
    """The rules of a plan, low and high along each of the grid's dims."""

    sides: tuple[Sides, ...]
    text: str


def read_edges(given: Any, builder: LinkBuilder) -> Edges:
    """The argument edges= of a plan; TypeError and ValueError where it does not fit the grid."""
    names = builder.whole.names
    if not isinstance(given, Mapping):
        raise TypeError(f"edges: expected a dict of dims and rules, got {type(given).__name__}")
    for name in given:
        if name not in names:
            raise ValueError(f"edges: {name!r} is not among the grid's dims {names}")
    if given and not builder.has_edges:
        raise ValueError("edges: a grid of gbd.links has no edges; its links say what is filled")
    found = []
    for axis, name in enumerate(names):
        sides = read_sides(given.get(name), f"edges[{name!r}]")
        for side, rule in zip((-1, 1), sides, strict=True):
            if rule is not None:
                check_side(builder, axis, side, rule, f"edges[{name!r}]")
        found.append(sides)
    text = ", ".join(
        f"{name}: {' and '.join('None' if rule is None else rule.text for rule in sides)}"
        for name, sides in zip(names, found, strict=True)
        if sides != (None, None)
    )
    return Edges(tuple(found), text)


def read_sides(given: Any, what: str) -> Sides:
    """The rules of both ends of a dim, of one rule or of a pair of them."""
    if isinstance(given, tuple | list) and not is_constant(given):
        if len(given) != 2:
            raise ValueError(f"{what}: {given!r} is no pair of rules, low and high")
        return read_rule(given[0], f"{what}[0]"), read_rule(given[1], f"{what}[1]")
    rule = read_rule(given, what)
    return rule, rule


def is_constant(given: Any) -> bool:
    """Whether a pair is ("constant", x), and no pair of rules."""
    return bool(len(given) == 2 and isinstance(given[0], str) and given[0] == "constant")


def read_rule(given: Any, what: str) -> EdgeRule | None:
    if given is None:
        return None
    if isinstance(given, tuple | list) and is_constant(given):
        value = given[1]
        if not isinstance(value, Number | np.generic):
            raise TypeError(
                f"{what}: expected ('constant', number), got {type(value).__name__} as the number"
            )
        return EdgeRule("constant", f"constant {value!r}", value)
    if not isinstance(given, str):
        raise TypeError(
            f"{what}: expected a rule, got {type(given).__name__}; allowed are {ALLOWED}"
        )
    if given not in KINDS:
        raise ValueError(f"{what}: {given!r} is no rule; allowed are {ALLOWED}")
    return EdgeRule("constant", "zero", 0) if given == "zero" else EdgeRule(given, given)


def check_side(builder: LinkBuilder, axis: int, side: int, rule: EdgeRule, what: str) -> None:
    """ValueError where no tile ends at a side, or its outermost blocks are too small for a rule."""
    whole, cuts = builder.whole, builder.decomposition.cuts
    closed = [t for t in range(len(whole.tiles)) if (t, axis, side) not in whole.seams]
    if not closed:
        end = "low" if side < 0 else "high"
        why = "is periodic" if (0, axis) in whole.rings else "meets a seam"
        raise ValueError(
            f"{what}: the {end} end of {whole.names[axis]} {why}, and is filled by the exchange;"
            " allowed is None there"
        )
    if rule.kind == "linear":
        for tile in closed:
            cut = cuts[tile][axis]
            k = 0 if side < 0 else cut.count - 1
            n = cut.start(k + 1) - cut.start(k)
            if n < 2:
                raise ValueError(
                    f"{what}: 'linear' needs two points in the outermost block along"
                    f" {whole.names[axis]}, which has {n}"
                )


class Term(NamedTuple):
    """A point of the tile that a point beyond an edge gets: x' = sign * x + shift in doubled
    coordinates, times `factor`.
    """

    sign: int
    shift: int
    factor: int = 1


HERE = Term(1, 0)


class Run(NamedTuple):
    """Indices along one axis of a block, counted on the tile, and the terms of each; `rule`: the
    edge that they lie beyond.
    """

    first: int
    last: int
    terms: tuple[Term, ...]
    rule: EdgeRule | None = None


class Fill(NamedTuple):
    """Points that get a constant: a box counted from the block's first own point."""

    dst: int
    at: tuple[int, ...]
    shape: tuple[int, ...]
    value: Any
    negative: bool


def runs(
    rule: EdgeRule, side: int, first: int, last: int, cells: int, position: int, what: str
) -> Iterator[Run]:
    """The runs of the points first..last beyond one end of an axis with so many cells."""
    points, width = cells + 1 - position, last - first + 1
    reach = {"reflect": points - 1 + position, "odd": points - 1 + position, "wrap": points}
    reached = -first if side < 0 else last - points + 1
    if reached > reach.get(rule.kind, reached):
        raise ValueError(
            f"{what}: {rule.kind!r} of a halo of {reached} points needs as many on the tile, which"
            f" has {reach[rule.kind]} to give"
        )
    if rule.kind == "constant":
        yield Run(first, last, (), rule)
    elif rule.kind in ("reflect", "odd"):
        shift = 0 if side < 0 else 4 * cells
        yield Run(first, last, (Term(-1, shift, -1 if rule.kind == "odd" else 1),), rule)
    elif rule.kind == "wrap":
        yield Run(first, last, (Term(1, -2 * side * points),), rule)
    else:
        outermost = 0 if side < 0 else points - 1
        for i in range(first, first + width):
            terms = [Term(1, 2 * (outermost - i))]
            if rule.kind == "linear":  # x0 + k * (x0 - x1)
                steps = abs(i - outermost)
                terms += [Term(1, 2 * (outermost - i))] * steps
                terms += [Term(1, 2 * (outermost - side - i), -1)] * steps
            yield Run(i, i, tuple(terms), rule)


def runs_of(
    builder: LinkBuilder, edges: Edges, geometry: Geometry, block: Block, d: int
) -> list[Run]:
    """The runs of one axis of a block: what lies on the tile or beyond a seam, and what lies beyond
    an edge that has a rule.
    """
    axis, position, (low, high) = geometry.axes[d], geometry.positions[d], geometry.halos[d]
    cells = builder.whole.tiles[block.tile][axis]
    points = cells + 1 - position
    first = block.start[axis] - low
    last = block.stop[axis] - position + high
    found: list[Run] = []
    what = f"edges[{builder.whole.names[axis]!r}]"
    for side, rule in zip((-1, 1), edges.sides[axis], strict=True):
        if (block.tile, axis, side) in builder.whole.seams:
            continue
        if side < 0 and first < 0:
            if rule is not None:
                found += runs(rule, side, first, min(last, -1), cells, position, what)
            first = 0
        if side > 0 and last >= points:
            if rule is not None:
                found += runs(rule, side, max(first, points), last, cells, position, what)
            last = points - 1
    if first <= last:
        found.append(Run(first, last, (HERE,)))
    return found


def edge_boxes(
    builder: LinkBuilder, edges: Edges, geometry: Geometry, block: Block, corners: bool
) -> Iterator[tuple[Run, ...]]:
    """The boxes of a block's halo beyond edges: one run along each axis, one of them beyond."""
    if any([block.start[a] == block.stop[a] for a in geometry.axes]):
        return
    rows = [runs_of(builder, edges, geometry, block, d) for d in range(len(geometry.axes))]
    if not any(run.rule for row in rows for run in row):
        return
    own = [
        (block.start[a], block.stop[a] - p)
        for a, p in zip(geometry.axes, geometry.positions, strict=True)
    ]
    for box in product(*rows):
        beyond = sum(run.rule is not None for run in box)
        if not beyond or (beyond > 1 and not corners):
            continue
        if not corners:
            inner = [
                run if run.rule else Run(max(run.first, a), min(run.last, b), run.terms)
                for run, (a, b) in zip(box, own, strict=True)
            ]
            box = tuple(inner)
        yield box


def constant_of(box: Sequence[Run]) -> tuple[bool, Any, bool]:
    """Whether a box gets a constant, which, and whether its sign is changed."""
    found, value, negative = False, None, False
    for run in box:
        if run.rule is not None and run.rule.kind == "constant":
            found, value, negative = True, run.rule.value, False
        elif found and run.rule is not None and run.rule.kind == "odd":
            negative = not negative
    return found, value, negative


def fills(
    builder: LinkBuilder, edges: Edges, geometry: Geometry, block: Block, corners: bool
) -> list[Fill]:
    """The boxes of a block that get constants."""
    found = []
    for box in edge_boxes(builder, edges, geometry, block, corners):
        constant, value, negative = constant_of(box)
        if constant:
            starts = [block.start[a] for a in geometry.axes]
            at = tuple([run.first - start for run, start in zip(box, starts, strict=True)])
            shape = tuple([run.last - run.first + 1 for run in box])
            found.append(Fill(block.number, at, shape, value, negative))
    return found


def links(
    builder: LinkBuilder, edges: Edges, geometry: Geometry, block: Block, corners: bool
) -> list[Link]:
    """The links into a block's halo beyond edges: sums begin with a copy, and one block has all
    points of a sum.
    """
    found: list[Link] = []
    axes, topology = geometry.axes, builder.along(geometry.axes)
    domain = own_points(block, axes, geometry.positions)
    land = builder.decomposition.has_land
    for box in edge_boxes(builder, edges, geometry, block, corners):
        if constant_of(box)[0]:
            continue
        points: Box = tuple(
            [
                (2 * run.first + p, 2 * run.last + p)
                for run, p in zip(box, geometry.positions, strict=True)
            ]
        )
        for i, terms in enumerate(product(*[run.terms for run in box])):
            signs, shifts, factors = zip(*terms, strict=True)
            how = Map(tuple(range(len(axes))), signs, shifts)
            factor = int(np.prod(factors))
            for piece in topology.trace(block.tile, how.of(points)):
                copies = topology.copies(piece.tile, piece.map.of(piece.box), land)
                for number, way, part in kept(builder.decomposition, axes, copies, block.index):
                    whole = way.after(piece.map).after(how)
                    link = linked(axes, domain, block.number, builder.block(number), whole, part)
                    mirror = tuple([signs[a] for a in link.axes])
                    found.append(link._replace(edge=Edge(factor, mirror, i > 0)))
    found.sort(key=BY_BLOCKS)  # stable: a sum stays in its order
    return found


def at_edges(builder: LinkBuilder, edges: Edges, geometry: Geometry) -> Iterator[Block]:
    """All blocks that touch an edge with a rule."""
    whole, layout = builder.whole, builder.decomposition
    ruled = [(a, side) for a in geometry.axes for side, rule in
             zip((-1, 1), edges.sides[a], strict=True) if rule is not None]  # fmt: skip
    for tile, counts in enumerate(layout.counts):
        open_sides = [(a, side) for a, side in ruled if (tile, a, side) not in whole.seams]
        if not open_sides:
            continue
        reach = {a: geometry.halos[geometry.axes.index(a)] for a, _ in open_sides}
        for index in np.ndindex(*counts):
            block = builder.block(layout.number_at(tile, index))
            for a, side in open_sides:
                low, high = reach[a]
                if (side < 0 and block.start[a] < low) or (
                    side > 0 and block.stop[a] + high > whole.tiles[tile][a]
                ):
                    yield block
                    break


def source_blocks(found: Iterable[Link], number: int) -> list[Link]:
    """The links that come from one block."""
    return [link for link in found if link.src == number]
