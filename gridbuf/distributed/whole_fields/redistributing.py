"""Moving a field from one decomposition to another of the same tiles: of the same ranks, or of some
of them.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from gridbuf.distributed.alone import Topic
from gridbuf.distributed.geometry.between_decompositions import End
from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.cuts import Cuts
from gridbuf.distributed.plans.aliasing import check_apart
from gridbuf.distributed.plans.planning import plain
from gridbuf.distributed.whole_fields.ground import Ground, agreed_subjects, way_of
from gridbuf.distributed.whole_fields.subjects import Subject, array_of, bring_back, subject
from gridbuf.distributed.whole_fields.transfers import Transfer


class Elsewhere(NamedTuple):
    """The grid that a field is moved to, on a rank that has it."""

    ground: Ground
    ranks: (
        list[int] | None
    )  # of its own ranks those of the grid that the field comes from; None: the same
    make: Callable[[Subject], Any]  # new fields

    def facts(self) -> Mapping[str, Any]:
        """What those ranks that have it say alike, and the others hear."""
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
    """What is filled on this rank, and as a subject."""
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
