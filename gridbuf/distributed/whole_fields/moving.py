"""Gathering a whole field on one rank and scattering it from there, and redistribution to another
decomposition of the same tiles.

At the root's end of a gather each tile is one block.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.distributed import arguments as read
from gridbuf.distributed.blocks import Blocks, on_grid
from gridbuf.distributed.blockwise import whole_tiles as partition_of_tiles
from gridbuf.distributed.calls import Topic
from gridbuf.distributed.geometry.between_decompositions import Copies, End
from gridbuf.distributed.geometry.blocks import Block, Cuts, Decomposition
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.plans.checks import check_apart
from gridbuf.distributed.plans.layouts import as_field, order_of
from gridbuf.distributed.plans.vectors import items_of, plain, sources_of
from gridbuf.distributed.whole_fields.collective_context import (
    Context,
    agreed_infos,
    check_rule,
    infos_of,
    names_of,
    read_root,
    way_of,
)
from gridbuf.distributed.whole_fields.field_info import FieldInfo, array_of, bring_back, info_of
from gridbuf.distributed.whole_fields.transfers import Transfer
from gridbuf.wrapping import check_masks


def whole_tiles(context: Context, one: FieldInfo, root: int) -> End:
    """A block for each whole tile, all of one rank, with as many places as a field has points
    there.
    """
    faces = {a for a, p in zip(one.geometry.axes, one.geometry.positions, strict=True) if not p}
    cuts = [tuple(Cuts(n + (a in faces), 1) for a, n in enumerate(tile)) for tile in context.tiles]
    return context.by_places(one, cuts, [root] * len(context.tiles))


def shapes(context: Context, one: FieldInfo) -> list[Index]:
    """Of a field on each whole tile, in the order of its dims."""
    faces = {
        context.dims[a]
        for a, p in zip(one.geometry.axes, one.geometry.positions, strict=True)
        if not p
    }
    extents = (
        {dim: n + (dim in faces) for dim, n in zip(context.dims, tile, strict=True)}
        for tile in context.tiles
    )
    return [one.shape(one.dims, along) for along in extents]


def make(
    context: Context, one: FieldInfo, fill_value: Any, keywords: Mapping[str, Any]
) -> list[_core.Field]:
    """The root's new fields, one a tile, filled where there is land."""
    read.refuse_those_of_the_result(keywords, "the field's", ("dims", "halo", "dtype", "shape"))
    found = []
    for shape in shapes(context, one):
        if context.decomposition.has_land:
            found.append(
                _core.Field.full(shape, fill_value, dtype=one.dtype, dims=one.dims, **keywords)
            )
        else:
            found.append(_core.Field.empty(shape, dtype=one.dtype, dims=one.dims, **keywords))
    return found


def gathering(
    ranks: Any,
    context: Context,
    given: Any,
    root: Any,
    fill_value: Any,
    keywords: Mapping[str, Any],
) -> Any:
    """The steps of `Grid.gather`."""
    (item,) = items_of((given,))
    sources = sources_of([item], context.builder)
    names = names_of(len(sources))
    root = read_root(root, context.size)
    at_root = root == context.rank
    mine = infos_of(context, item.fields, names)
    if mine:
        check_rule(context, item, mine, sources)
    made = [make(context, info, fill_value, keywords) for info in mine if at_root]
    orders = [order_of(each[0].dims, each[0].strides) for each in made] or [
        info.dims for info in mine
    ]
    orders = [orders[0] for _ in orders]  # two components travel in one order
    args = {"root": root, "rule": f"{item.kind}, sign {item.sign}"}
    infos, extra, _ = agreed_infos(
        ranks, context, "gather", args, context.speaker(root), mine, names, {"orders": orders}
    )
    orders = extra["orders"]
    if at_root and not context.blocks:  # the facts of the fields came from other ranks
        made = [make(context, info, fill_value, keywords) for info in infos]
    ways = []
    for info, source, order in zip(infos, sources, orders, strict=True):
        partner, end = context.partner(infos, source), whole_tiles(context, info, root)
        ways.append(
            way_of(
                context,
                ("gather", root, info.geometry, partner),
                info,
                source,
                order,
                context.copies(info, partner),
                (context.end(info), end),
                (context.blocks, end.decomposition.blocks_of(context.rank)),
                (context.decomposition.rank_of, lambda number: root),
            )
        )
    have = [context.arrays(info, order) for info, order in zip(infos, orders, strict=True)]
    want: list[dict[int, Any]] = [{} for _ in ways]
    for tiles, order, arrays in zip(made, orders, want, strict=bool(made)):
        arrays.update(enumerate(array_of(f, order) for f in tiles))
    Transfer(ways, have, want).pack().run(ranks)
    if not at_root:
        return None
    partition = partition_of_tiles(context.dims, context.tiles)
    found = [
        tiles[0] if len(tiles) == 1 else on_grid(tiles, bool(tiles), partition) for tiles in made
    ]
    return found[0] if len(found) == 1 else tuple(found)


def read_whole(array: Any, context: Context, one: FieldInfo) -> list[Any]:
    """The arrays of a field's whole tiles that were given to be scattered, with their axes in the
    order of its dims.
    """
    several = isinstance(array, Blocks | list | tuple) and len(context.tiles) > 1
    given = list(array) if several else [array]
    if len(given) != len(context.tiles):
        raise ValueError(
            f"array: {len(given)} for {len(context.tiles)} tiles; give a list of one for each"
        )
    found = []
    for t, (each, shape) in enumerate(zip(given, shapes(context, one), strict=True)):
        what = "array" if len(given) == 1 else f"array[{t}]"
        if isinstance(each, _core.Field | _core.StorageBase):
            field = as_field(each, what).domain
            if sorted(field.dims) != sorted(one.dims):
                raise ValueError(
                    f"{what}: its dims are {field.dims}, those of the field {one.dims}"
                )
            its = array_of(field, one.dims)
        elif each is None or isinstance(each, str | bytes):
            raise TypeError(f"{what}: expected an array on the root, got {type(each).__name__}")
        else:
            check_masks([(what, each)])
            its = np.asarray(each)
        if its.dtype != one.dtype:
            raise ValueError(
                f"{what}: its dtype is {its.dtype}, that of the field {one.dtype}; convert it first"
            )
        if its.shape != shape:
            raise ValueError(
                f"{what}: its shape is {its.shape}, that of the whole field {shape} along"
                f" {one.dims}"
            )
        found.append(its)
    return found


def scattering(ranks: Any, context: Context, array: Any, given: Any, root: Any) -> None:
    """The steps of `Grid.scatter`."""
    root = read_root(root, context.size)
    at_root = root == context.rank
    mine = infos_of(context, [given], ["field"])
    if mine and mine[0].readonly:
        raise ValueError("field: it is read-only, and would be written")
    tiles = read_whole(array, context, mine[0]) if mine and at_root else []
    orders = {"orders": [info.order for info in mine]}
    infos, extra, _ = agreed_infos(
        ranks, context, "scatter", {"root": root}, context.speaker(root), mine, ["field"], orders
    )
    (info,), (order,) = infos, extra["orders"]
    if at_root and not context.blocks:  # the facts of the field came from other ranks
        tiles = read_whole(array, context, info)
    check_apart(("field", info.domains), ("the array", tiles))
    end = whole_tiles(context, info, root)
    way = way_of(
        context,
        ("scatter", root, info.geometry),
        info,
        plain(0),
        order,
        Copies(None, end),
        (end, context.end(info)),
        (end.decomposition.blocks_of(context.rank), context.blocks),
        (lambda number: root, context.decomposition.rank_of),
    )
    axes = [info.dims.index(dim) for dim in order]
    have = {t: tile.transpose(axes) for t, tile in enumerate(tiles)}
    Transfer([way], [have], [context.arrays(info, order)]).pack().run(ranks)
    bring_back(info)


class Elsewhere(NamedTuple):
    """The grid that a field is moved to, on a rank that has it."""

    context: Context
    # the numbers of its ranks in the grid that the field comes from; None: the same
    ranks: list[int] | None
    make: Callable[[FieldInfo], Any]  # new fields

    def facts(self) -> Mapping[str, Any]:
        """The facts of the other grid, alike on its ranks and sent to the others."""
        there = self.context.decomposition
        return {
            "shape": self.context.tiles,
            "dims": self.context.dims,
            "cuts": [[described(axis) for axis in tile] for tile in there.cuts],
            "owners": there.owners,
            "size": there.size,
            "ranks": self.ranks,
        }


def described(axis: Cuts) -> list[Any]:
    return [
        axis.n,
        axis.count,
        None if axis.given is None else [b - a for a, b in pairwise(axis.given)],
    ]


def decomposition_from(facts: Mapping[str, Any]) -> Decomposition:
    cuts = [tuple(Cuts(*axis) for axis in tile) for tile in facts["cuts"]]
    return Decomposition(cuts, facts["size"], facts["owners"])


def redistributing(
    ranks: Any, context: Context, given: Any, other: Callable[[], Elsewhere | None], out: Any
) -> Any:
    """The steps of `Grid.redistribute`."""
    there = other()
    if there is not None:
        check_tiles(there.context, context)
    own = info_of(given, context.blocks, context.dims, "field")
    mine = [own] if own else []
    topic = Topic(there.facts() if there else None, there is not None and there.context.rank == 0)
    orders = {"orders": [info.order for info in mine]}
    (info,), extra, agreed = agreed_infos(
        ranks, context, "redistribute", {}, context.first, mine, ["field"], orders, also=[topic]
    )
    facts = agreed.topics[1][0]
    if facts is None:
        raise ValueError(
            "other: it is None on every rank; give the other grid on the ranks of its communicator"
        )
    decomposition, numbers = decomposition_from(facts), facts["ranks"]
    blocks: tuple[Block, ...] = there.context.blocks if there else ()
    (order,) = extra["orders"]

    def target_rank(number: int) -> int | None:
        rank = decomposition.rank_of(number)
        return rank if numbers is None or rank is None else int(numbers[rank])

    made, target = allocate(there, info, out)
    way = way_of(
        context,
        ("redistribute", info.geometry, str(facts)),
        info,
        plain(0),
        order,
        context.copies(info, straight=True),
        (context.end(info), End(decomposition, info.geometry.axes, info.geometry.positions)),
        (context.blocks, blocks),
        (context.decomposition.rank_of, target_rank),
    )
    domains = target.domains if target else ()
    want = {b.number: array_of(f, order) for b, f in zip(blocks, domains, strict=True)}
    Transfer([way], [context.arrays(info, order)], [want]).pack().run(ranks)
    if target is not None:
        bring_back(target)
    return made


def check_tiles(other: Context, context: Context) -> None:
    if (other.tiles, other.dims) != (context.tiles, context.dims):
        raise ValueError(
            f"other: its tiles are {other.tiles} along {other.dims}, those of this grid"
            f" {context.tiles} along {context.dims}"
        )


def allocate(there: Elsewhere | None, one: FieldInfo, out: Any) -> tuple[Any, FieldInfo | None]:
    """The fields that are filled on this rank, as given and as a FieldInfo."""
    if there is None:
        return None, None
    made = there.make(one) if out is None else out
    target = info_of(made, there.context.blocks, there.context.dims, "out")
    if target is None:
        return made, None
    for what, ours, theirs in (
        ("dtype", one.dtype, target.dtype),
        ("dims", sorted(one.dims), sorted(target.dims)),
        ("positions", one.facts()["positions"], target.facts()["positions"]),
        ("sizes", one.sizes, target.sizes),
    ):
        if ours != theirs:
            raise ValueError(f"out: its {what} is {theirs}, that of the field {ours}")
    if target.readonly:
        raise ValueError("out: it is read-only, and would be written")
    check_apart(("out", target.domains), ("field", one.domains))
    return made, target
