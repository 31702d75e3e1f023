"""Gathering a whole field on one rank and scattering it from there, and redistribution to another
decomposition of the same tiles.

At the root's end of a gather each tile is one block.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.distributed.calls import Topic
from gridbuf.distributed.geometry.between_decompositions import Copies, End
from gridbuf.distributed.geometry.blocks import Block, Cuts, Decomposition
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.plans.checks import check_apart
from gridbuf.distributed.plans.layouts import as_field, order_of
from gridbuf.distributed.plans.vectors import items_of, plain, sources_of
from gridbuf.distributed.whole_fields.collective_context import (
    Ground,
    agreed_subjects,
    check_rule,
    names_of,
    read_root,
    subjects_of,
    way_of,
)
from gridbuf.distributed.whole_fields.field_info import Subject, array_of, bring_back, subject
from gridbuf.distributed.whole_fields.transfers import Transfer


def whole_tiles(ground: Ground, one: Subject, root: int) -> End:
    """One block a tile, of one rank, with as many places as a field has points there."""
    faces = {a for a, p in zip(one.geometry.axes, one.geometry.positions, strict=True) if not p}
    cuts = [tuple(Cuts(n + (a in faces), 1) for a, n in enumerate(tile)) for tile in ground.tiles]
    return ground.by_places(one, cuts, [root] * len(ground.tiles))


def shapes(ground: Ground, one: Subject) -> list[Index]:
    """Of a field on each whole tile, in the order of its dims."""
    faces = {
        ground.dims[a]
        for a, p in zip(one.geometry.axes, one.geometry.positions, strict=True)
        if not p
    }
    extents = (
        {dim: n + (dim in faces) for dim, n in zip(ground.dims, tile, strict=True)}
        for tile in ground.tiles
    )
    return [one.shape(one.dims, along) for along in extents]


def make(
    ground: Ground, one: Subject, fill_value: Any, keywords: Mapping[str, Any]
) -> list[_core.Field]:
    """The root's new fields, one a tile, filled where there is land."""
    for name in ("dims", "halo", "dtype", "shape"):
        if name in keywords:
            raise TypeError(f"{name}: what is gathered has the field's")
    found = []
    for shape in shapes(ground, one):
        if ground.decomposition.has_land:
            found.append(
                _core.Field.full(shape, fill_value, dtype=one.dtype, dims=one.dims, **keywords)
            )
        else:
            found.append(_core.Field.empty(shape, dtype=one.dtype, dims=one.dims, **keywords))
    return found


def gathering(
    ranks: Any, ground: Ground, given: Any, root: Any, fill_value: Any, keywords: Mapping[str, Any]
) -> Any:
    """The steps of `Grid.gather`."""
    (item,) = items_of((given,))
    sources = sources_of([item], ground.builder)
    names = names_of(len(sources))

    def prepare() -> tuple[int, list[Subject], list[list[_core.Field]]]:
        where = read_root(root, ground.size)
        mine = subjects_of(ground, item.fields, names)
        if mine:
            check_rule(ground, item, mine, sources)
        return (
            where,
            mine,
            [make(ground, one, fill_value, keywords) for one in mine if where == ground.rank],
        )

    where, mine, made = prepare()
    speaker = ground.speaker(where)
    orders = [order_of(its[0].dims, its[0].strides) for its in made] or [one.dims for one in mine]
    orders = orders[:1] * len(
        orders
    )  # two that stand for each other where axes turn travel in one order
    said = {"root": where, "rule": f"{item.kind}, sign {item.sign}"}
    subjects, tale, _ = agreed_subjects(
        ranks, ground, "gather", said, speaker, mine, names, {"orders": orders}
    )

    def begin() -> tuple[list[list[_core.Field]], Transfer]:
        new = where == ground.rank and not ground.blocks  # the root did not know what to make
        filled = [make(ground, one, fill_value, keywords) for one in subjects] if new else made
        partners = [ground.partner(subjects, its) for its in sources]
        ways = [
            way_of(
                ground,
                ("gather", where, one.geometry, partner),
                one,
                sources[i],
                tale["orders"][i],
                ground.copies(one, partner),
                (ground.end(one), end := whole_tiles(ground, one, where)),
                (ground.blocks, end.decomposition.blocks_of(ground.rank)),
                (ground.decomposition.rank_of, lambda number: where),
            )
            for i, (one, partner) in enumerate(zip(subjects, partners, strict=True))
        ]
        have = [
            ground.arrays(one, order) for one, order in zip(subjects, tale["orders"], strict=True)
        ]
        want = [
            dict(enumerate(array_of(f, order) for f in its))
            for its, order in zip(filled, tale["orders"], strict=bool(filled))
        ]
        return filled, Transfer(ways, have, want or [{}] * len(ways)).pack()

    made, transfer = begin()
    transfer.run(ranks)
    if where != ground.rank:
        return None
    found = [its[0] if len(its) == 1 else its for its in made]
    return found[0] if len(found) == 1 else tuple(found)


def read_whole(array: Any, ground: Ground, one: Subject) -> list[Any]:
    """The arrays of a field's whole tiles that were given to be scattered, with their axes in the
    order of its dims.
    """
    given = list(array) if isinstance(array, list | tuple) and len(ground.tiles) > 1 else [array]
    if len(given) != len(ground.tiles):
        raise ValueError(
            f"array: {len(given)} for {len(ground.tiles)} tiles; give a list of one for each"
        )
    found = []
    for t, (each, shape) in enumerate(zip(given, shapes(ground, one), strict=True)):
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


def scattering(ranks: Any, ground: Ground, array: Any, given: Any, root: Any) -> None:
    """The steps of `Grid.scatter`."""

    def prepare() -> tuple[int, list[Subject], list[Any]]:
        where = read_root(root, ground.size)
        mine = subjects_of(ground, [given], ["field"])
        for one in mine:
            if one.readonly:
                raise ValueError("field: it is read-only, and would be written")
        return (
            where,
            mine,
            read_whole(array, ground, mine[0]) if mine and where == ground.rank else [],
        )

    where, mine, tiles = prepare()
    tell = {"orders": [one.order for one in mine]}
    subjects, tale, _ = agreed_subjects(
        ranks, ground, "scatter", {"root": where}, ground.speaker(where), mine, ["field"], tell
    )
    one, order = subjects[0], tale["orders"][0]

    def begin() -> Transfer:
        new = where == ground.rank and not ground.blocks  # the root did not know what to expect
        whole = read_whole(array, ground, one) if new else tiles
        check_apart(("field", one.domains), ("the array", whole))
        end = whole_tiles(ground, one, where)
        way = way_of(
            ground,
            ("scatter", where, one.geometry),
            one,
            plain(0),
            order,
            Copies(None, end),
            (end, ground.end(one)),
            (end.decomposition.blocks_of(ground.rank), ground.blocks),
            (lambda number: where, ground.decomposition.rank_of),
        )
        axes = [one.dims.index(dim) for dim in order]
        have = {t: its.transpose(axes) for t, its in enumerate(whole)}
        return Transfer([way], [have], [ground.arrays(one, order)]).pack()

    begin().run(ranks)
    bring_back(one)


class Elsewhere(NamedTuple):
    """The grid that a field is moved to, on a rank that has it."""

    ground: Ground
    ranks: (
        list[int] | None
    )  # of its own ranks those of the grid that the field comes from; None: the same
    make: Callable[[Subject], Any]  # new fields

    def facts(self) -> Mapping[str, Any]:
        """The facts of the other grid, alike on its ranks and sent to the others."""
        there = self.ground.decomposition
        return {
            "shape": self.ground.tiles,
            "dims": self.ground.dims,
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


def heard(facts: Mapping[str, Any]) -> Decomposition:
    cuts = [tuple(Cuts(*axis) for axis in tile) for tile in facts["cuts"]]
    return Decomposition(cuts, facts["size"], facts["owners"])


def redistributing(
    ranks: Any, ground: Ground, given: Any, other: Callable[[], Elsewhere | None], out: Any
) -> Any:
    """The steps of `Grid.redistribute`."""

    def prepare() -> tuple[Elsewhere | None, list[Subject]]:
        there = other()
        if there is not None and (there.ground.tiles, there.ground.dims) != (
            ground.tiles,
            ground.dims,
        ):
            raise ValueError(
                f"other: its tiles are {there.ground.tiles} along {there.ground.dims}, those of"
                f" this grid {ground.tiles} along {ground.dims}"
            )
        mine = subject(given, ground.blocks, ground.dims, "field")
        return there, [mine] if mine else []

    there, mine = prepare()
    topic = Topic(there.facts() if there else None, there is not None and there.ground.rank == 0)
    tell = {"orders": [one.order for one in mine]}
    subjects, tale, agreed = agreed_subjects(
        ranks, ground, "redistribute", {}, ground.first, mine, ["field"], tell, also=[topic]
    )
    facts = agreed.topics[1][0]
    if facts is None:
        raise ValueError(
            "other: None on every rank; where a rank is in the other grid's communicator it is that"
            " grid"
        )
    (one,), order, decomposition = subjects, tale["orders"][0], heard(facts)

    theirs = facts["ranks"]
    blocks: tuple[Block, ...] = there.ground.blocks if there else ()

    def target_rank(number: int) -> int | None:
        rank = decomposition.rank_of(number)
        return rank if theirs is None or rank is None else int(theirs[rank])

    def begin() -> tuple[tuple[Any, Subject | None], Transfer]:
        made, its = allocate(there, one, out)
        way = way_of(
            ground,
            ("redistribute", one.geometry, str(facts)),
            one,
            plain(0),
            order,
            ground.copies(one, straight=True),
            (ground.end(one), End(decomposition, one.geometry.axes, one.geometry.positions)),
            (ground.blocks, blocks),
            (ground.decomposition.rank_of, target_rank),
        )
        want = {
            block.number: array_of(f, order)
            for block, f in zip(blocks, its.domains if its else (), strict=True)
        }
        return (made, its), Transfer([way], [ground.arrays(one, order)], [want]).pack()

    (made, its), transfer = begin()
    transfer.run(ranks)
    if its is not None:
        bring_back(its)
    return made


def allocate(there: Elsewhere | None, one: Subject, out: Any) -> tuple[Any, Subject | None]:
    """The fields that are filled on this rank, as given and as a Subject."""
    if there is None:
        return None, None
    made = there.make(one) if out is None else out
    its = subject(made, there.ground.blocks, there.ground.dims, "out")
    if its is None:
        return made, None
    for what, ours, theirs in (
        ("dtype", one.dtype, its.dtype),
        ("dims", sorted(one.dims), sorted(its.dims)),
        ("positions", one.facts()["positions"], its.facts()["positions"]),
        ("sizes", one.sizes, its.sizes),
    ):
        if ours != theirs:
            raise ValueError(f"out: its {what} is {theirs}, that of the field {ours}")
    if its.readonly:
        raise ValueError("out: it is read-only, and would be written")
    check_apart(("out", its.domains), ("field", one.domains))
    return made, its
