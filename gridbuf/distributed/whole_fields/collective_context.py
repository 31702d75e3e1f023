"""The context of a collective call about fields: the geometry of the grid, and the agreement about
the fields that take part.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gridbuf.common import BoundedCache
from gridbuf.distributed.calls import Agreed, Integers, Topic
from gridbuf.distributed.geometry.between_decompositions import Between, Copies, End
from gridbuf.distributed.geometry.blocks import Block, Cuts, Decomposition
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.geometry.linking import LinkBuilder, Schedule, sorted_out
from gridbuf.distributed.plans.checks import check
from gridbuf.distributed.plans.vectors import Item, Sources
from gridbuf.distributed.whole_fields.field_info import (
    FieldInfo,
    array_of,
    bound_of,
    from_peer,
    info_of,
)
from gridbuf.distributed.whole_fields.transfers import Way
from gridbuf.validation import integer

T = TypeVar("T")
RankOf = Callable[[int], int | None]  # the rank of a block; None for land


class Context(NamedTuple):
    """A grid in collective calls."""

    tiles: tuple[Index, ...]
    dims: tuple[str, ...]
    builder: LinkBuilder
    decomposition: Decomposition
    blocks: tuple[Block, ...]
    rank: int
    size: int
    known: BoundedCache[Any]  # results by key

    def memo(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """A result that depends on the grid and a key alone, made once."""
        found: T | None = self.known.get(key)
        if found is None:
            found = self.known[key] = make()
        return found

    def end(self, info: FieldInfo) -> End:
        return End(self.decomposition, info.geometry.axes, info.geometry.positions)

    def by_places(
        self, info: FieldInfo, cuts: Sequence[tuple[Cuts, ...]], owners: Sequence[int | None]
    ) -> End:
        """Blocks of other cuts and owners, of which a field has as many points as an array has
        elements.
        """
        axes = info.geometry.axes
        return End(Decomposition(cuts, self.size, owners), axes, (1,) * len(axes))

    def copies(self, one: FieldInfo, partner: Index = (), straight: bool = False) -> Copies:
        """The copies of a field's points and their keepers; `straight`: without seams that turn
        axes.
        """
        return Copies(self.builder.along(one.geometry.axes), self.end(one), partner, straight)

    def partner(self, infos: Sequence[FieldInfo], its: Sources) -> Index:
        """The positions of the other component."""
        return (
            infos[its.fields[-1 - its.component]].geometry.positions
            if its.item.kind != "scalar"
            else ()
        )

    @property
    def first(self) -> int:
        """The lowest rank that has a block, which speaks for all of them."""
        owners = self.decomposition.owners
        return (
            0 if owners is None else min((rank for rank in owners if rank is not None), default=0)
        )

    def speaker(self, root: int) -> int:
        return root if self.decomposition.numbers_of(root) else self.first

    def arrays(self, info: FieldInfo, order: Sequence[str]) -> dict[int, Any]:
        """The points of a field on this rank's blocks, by block."""
        if not info.domains:
            return {}
        return {
            block.number: array_of(f, order)
            for block, f in zip(self.blocks, info.domains, strict=True)
        }


def read_root(root: Any, size: int) -> int:
    found = integer(root, "root", 0)
    if found >= size:
        raise ValueError(f"root: there is no rank {found}; ranks are 0 to {size - 1}")
    return found


def infos_of(context: Context, given: Iterable[Any], names: Sequence[str]) -> list[FieldInfo]:
    """The given fields, by these names; none on a rank without blocks."""
    found = [
        info_of(each, context.blocks, context.dims, name)
        for each, name in zip(given, names, strict=True)
    ]
    return [one for one in found if one is not None]


def names_of(count: int) -> list[str]:
    return ["field"] if count == 1 else [f"fields[{i}]" for i in range(count)]


def check_rule(
    context: Context, item: Item, mine: Sequence[FieldInfo], sources: Sequence[Sources]
) -> None:
    """Refuse a rule that does not fit a seam of the grid; a field without one has values alone,
    which fit everywhere.
    """
    if item.kind != "scalar" or item.sign < 0:
        bounds = [bound_of(one) for one in mine]
        for bound, source in zip(bounds, sources, strict=True):
            check(context.builder, bounds, source, bound)


def agreed_infos(
    ranks: Any,
    context: Context,
    call: str,
    args: Mapping[str, Any],
    speaker: int,
    mine: Sequence[FieldInfo],
    names: Sequence[str],
    extras: Mapping[str, Any] | None = None,
    values: Integers | None = None,
    needed: bool = True,
    also: Sequence[Topic] = (),
) -> tuple[list[FieldInfo], Any, Agreed]:
    """Agree about the fields of a call.

    Returns
    -------
    tuple
        The fields, also on a rank without blocks; the speaker's extra, with the dims of each field;
        and the whole agreement.
    """
    facts = {one.name: one.facts() for one in mine} if context.blocks else None
    extra = {"dims": [one.dims for one in mine], **(extras or {})}
    topic = Topic(facts, speaker == context.rank, extra)
    agreed = ranks.agree(call, {"fields": len(names), **args}, [topic, *also], values, needed)
    if not agreed.known[0]:
        raise ValueError(f"{call}: no rank has a block of this grid")
    received, extra = agreed.topics[0]
    if context.blocks:
        return list(mine), extra, agreed
    return (
        [
            from_peer(name, received[name], extra["dims"][i], context.dims)
            for i, name in enumerate(names)
        ],
        extra,
        agreed,
    )


def summed(ranks: Any, values: Integers, agreed: Agreed) -> Integers:
    """Integers of all ranks added up: those for which an agreement has room have been, and the rest
    is now.
    """
    found = agreed.values[: len(values)]
    if len(values) <= ranks.room:
        return found
    rest = ranks.reduce(values[ranks.room :], "sum")
    return np.concatenate((found, rest))


def way_of(
    context: Context,
    key: Any,
    info: FieldInfo,
    sources: Sources,
    order: Sequence[str],
    copies: Copies,
    ends: tuple[End, End],
    blocks: tuple[Sequence[Block], Sequence[Block]],
    rank_of: tuple[RankOf, RankOf],
) -> Way:
    """The way of a field from this rank's blocks at one end to those at the other; the links of
    a key are worked out once.
    """

    def links() -> Schedule:
        between = Between(copies, *ends)
        giving = between.giving(blocks[0]) if context.size > 1 else ()
        return sorted_out(between.filling, giving, blocks[1], context.rank, *rank_of)

    axes = info.geometry.axes
    return Way(
        axes,
        info.places(order, context.dims),
        sources,
        info.shape(order),
        info.dtype.itemsize,
        context.memo(key, links),
    )
