"""Numbers of whole fields that are sums of integers over all ranks: exact sums, checksums, counts.
Every point counts once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf.distributed.alone import Integers
from gridbuf.distributed.arguments import some_fields
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.whole_fields.checksums import header, of_block
from gridbuf.distributed.whole_fields.ground import (
    Ground,
    agreed_subjects,
    names_of,
    subjects_of,
    summed,
)
from gridbuf.distributed.whole_fields.subjects import Subject, array_of
from gridbuf.exact.sums import Total

Part = tuple[tuple[int, int], ...]


def owned(ground: Ground, one: Subject) -> Iterator[tuple[Block, Any, Part]]:
    """Each block with its part of a field, and which of the points there it owns; along the
    geometry's axes.
    """

    def parts() -> list[list[Part]]:
        copies = ground.copies(one)
        return [copies.owned(block) for block in ground.blocks]

    for block, domain, its in zip(
        ground.blocks, one.domains, ground.memo(("owned", one.geometry), parts), strict=True
    ):
        yield from ((block, domain, part) for part in its)


def points(
    ground: Ground, one: Subject, order: Sequence[str]
) -> Iterator[tuple[Block, Part, NDArray[Any]]]:
    """The points that this rank owns, as arrays with their axes in some order."""
    for block, domain, part in owned(ground, one):
        index: list[Any] = [slice(None)] * len(order) + [...]
        for place, span in zip(one.places(order, ground.dims), part, strict=True):
            index[place] = slice(*span)
        yield block, part, array_of(domain, order)[tuple(index)]


def counted(
    ranks: Any,
    ground: Ground,
    call: str,
    given: Sequence[Any],
    count: Callable[[Sequence[Subject]], list[NDArray[np.int64]]],
    needed: bool = False,
) -> tuple[list[Subject], list[NDArray[np.int64]], Any]:
    """Integers that each rank counts of its points, added up.

    Parameters
    ----------
    count
        The integers of some fields: arrays of the same lengths on every rank. Where there is no
        block, of none: zeros.
    needed
        Whether all ranks need what the first one tells.
    """
    names = names_of(len(given))

    def prepare() -> tuple[list[Subject], list[NDArray[np.int64]]]:
        some_fields(given, call)
        mine = subjects_of(ground, given, names)
        return mine, count(mine) if mine else []

    mine, values = prepare()
    flat: Integers = np.concatenate([*values, np.zeros(0, np.int64)]).view(np.uint64)
    subjects, tale, agreed = agreed_subjects(
        ranks, ground, call, {}, ground.first, mine, names, None, flat[: ranks.room], needed
    )
    if not mine:
        values = count([one._replace(domains=[]) for one in subjects])
        flat = np.concatenate([*values, np.zeros(0, np.int64)]).view(np.uint64)
    found = summed(ranks, flat, agreed)
    ends = np.cumsum([len(each) for each in values])[:-1]
    return subjects, np.split(found.copy().view(np.int64), ends), tale


def summing(
    ranks: Any, ground: Ground, call: str, given: Sequence[Any], finish: Callable[[Total], Any]
) -> list[Any]:
    """Exact sums of fields."""

    def count(mine: Sequence[Subject]) -> list[NDArray[np.int64]]:
        found = []
        for one in mine:
            total = Total(one.dtype)
            for _, _, array in points(ground, one, one.order) if one.domains else ():
                total.add(array)
            found.append(total.values)
        return found

    subjects, values, _ = counted(ranks, ground, call, given, count)
    return [finish(Total(one.dtype, each)) for one, each in zip(subjects, values, strict=True)]


def product_of(subjects: Sequence[Subject], norm: bool) -> Total:
    """An empty total of what products of two fields are."""
    kinds = [one.dtype for one in subjects]
    if norm:
        return Total("int64" if kinds[0].kind in "biu" else "float64")
    return Total(
        kinds[0] if kinds[0].kind == "c" else kinds[1] if kinds[1].kind not in "biu" else kinds[0]
    )


def multiplying(ranks: Any, ground: Ground, call: str, given: Sequence[Any], norm: bool) -> Total:
    """The exact sum of products of two fields, or of the squares of one."""

    def count(mine: Sequence[Subject]) -> list[NDArray[np.int64]]:
        for one in mine:
            Total(one.dtype)  # refuses what is not summed
        if not norm:
            alike(*mine)
        total = product_of(mine, norm)
        first, other = mine[0], mine[-1]
        if first.domains:
            arrays = zip(
                points(ground, first, first.order), points(ground, other, first.order), strict=True
            )
            for (_, _, a), (_, _, b) in arrays:
                for x, y in (
                    [(a.real, a.real), (a.imag, a.imag)]
                    if norm and a.dtype.kind == "c"
                    else [(a, b)]
                ):
                    total.add_product(x, y)
        return [total.values]

    subjects, (values,), _ = counted(ranks, ground, call, given, count)
    total = product_of(subjects, norm)
    total.values = values.copy()
    return total


def alike(a: Subject, b: Subject) -> None:
    """Points of two fields belong to each other."""
    for what, ours, theirs in (
        ("dims", sorted(a.dims), sorted(b.dims)),
        ("positions", a.facts()["positions"], b.facts()["positions"]),
        ("sizes", sorted(a.sizes.items()), sorted(b.sizes.items())),
    ):
        if ours != theirs:
            raise ValueError(f"{b.name}: its {what} are {theirs}, those of {a.name} {ours}")


def checking(ranks: Any, ground: Ground, given: Any) -> int:
    """A number of a field's values and places."""

    def count(mine: Sequence[Subject]) -> list[NDArray[np.int64]]:
        (one,) = mine
        head, total = header(one.dims, one.dtype), 0
        for block, domain, part in owned(ground, one) if one.domains else ():
            total += of_block(domain, one.geometry.axes, block, head, [part], ground.dims)
        return [np.array([total % 2**64], np.uint64).view(np.int64)]

    _, ((found,),), _ = counted(ranks, ground, "checksum", [given], count)
    return int(found) % 2**64


def truths(ranks: Any, ground: Ground, call: str, given: Any) -> tuple[int, int]:
    """How many points are true, and how many there are."""

    def count(mine: Sequence[Subject]) -> list[NDArray[np.int64]]:
        (one,) = mine
        found = np.zeros(2, np.int64)
        for _, _, array in points(ground, one, one.order) if one.domains else ():
            found += np.array([np.count_nonzero(array), array.size])
        return [found]

    _, ((true, all_of_them),), _ = counted(ranks, ground, call, [given], count)
    return int(true), int(all_of_them)
