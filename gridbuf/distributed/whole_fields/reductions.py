"""Numbers of a whole field, for any cut and layout: exact sums, counts, extremes, checksums. Every
point counts once.

Sums are added as integers over all ranks. Of extremes NaN wins, and -0.0 is below 0.0.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.arguments import some_fields
from gridbuf.distributed.calls import Integers
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.plans.layouts import dtype_name
from gridbuf.distributed.whole_fields.collective_context import (
    Context,
    agreed_infos,
    infos_of,
    names_of,
    summed,
)
from gridbuf.distributed.whole_fields.field_info import FieldInfo, array_of
from gridbuf.exact.sums import Total
from gridbuf.names import canonical

# Of words, the place of the first element along each axis, and a seed
Checksum = Callable[[NDArray[Any], Sequence[int], int], int]
AT_ONCE = 2**18  # points of one step of a checksum: words of some dtypes are copies


def header(dims: Sequence[str], dtype: np.dtype[Any]) -> int:
    """The part of a checksum that dims and dtype make."""
    import hashlib  # loads OpenSSL

    text = f"{canonical(dims)} {dtype.str} {dtype_name(dtype) if dtype.names else ''}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def of_block(
    field: _core.Field,
    axes: Sequence[int],
    block: Block,
    head: int,
    owned: Sequence[Sequence[tuple[int, int]]],
    names: Sequence[str],
    checksum: Checksum = _core.checksum,
) -> int:
    """The sum over the points that a block owns: each mixes its place on the grid with its
    bytes.
    """
    total = 0
    dims = canonical(field.dims)
    array = field.domain.transpose(dims).numpy()
    for part in owned:
        spans = dict(zip([names[axis] for axis in axes], part, strict=True))
        whole = [slice(*spans.get(dim, (0, n))) for dim, n in zip(dims, array.shape, strict=True)]
        for box in steps(whole):
            index: tuple[Any, ...] = (*box, ...)
            start = [
                each.start + (block.start[names.index(dim)] if dim in names else 0)
                for dim, each in zip(dims, box, strict=True)
            ]
            total += checksum(words_of(array[index]), start, head ^ block.tile)
    return total % 2**64


def steps(box: Sequence[slice]) -> Iterator[Sequence[slice]]:
    """A box in pieces of so many points, cut along its first axis."""
    if not box:
        yield box
        return
    first, *rest = box
    step = max(AT_ONCE // max(math.prod(each.stop - each.start for each in rest), 1), 1)
    for start in range(first.start, first.stop, step):
        yield slice(start, min(start + step, first.stop)), *rest


def words_of(values: NDArray[Any]) -> NDArray[Any]:
    """The bytes of each element in words of up to eight, along one more axis; of long doubles and
    records those that mean something.
    """
    if values.dtype.names is not None:
        fields = [
            words_of(values[name][..., None].reshape((*values.shape, -1)))
            for name in values.dtype.names
            if values.size
        ]
        fields = [each.reshape((*values.shape, -1)).astype(np.uint64) for each in fields]
        return np.concatenate([np.zeros((*values.shape, 0), np.uint64), *fields], axis=-1)
    size = values.dtype.itemsize
    # x87: ten bytes of each sixteen have values
    if values.dtype.char in "gG" and np.finfo(values.dtype).nmant == 63:
        raw, size = np.frombuffer(values.tobytes(), "u1").reshape((-1, 16)), size * 5 // 8
        raw = raw[:, :10].reshape((*values.shape, size))
    elif size in (1, 2, 4) or size % 8 == 0:  # as they lie
        words = values[..., None].view(f"<u{min(size, 8)}")
        return words.astype(words.dtype.newbyteorder("="), copy=False)
    else:
        raw = np.frombuffer(values.tobytes(), "u1").reshape((*values.shape, size))
    padded = np.zeros((*values.shape, -(-size // 8) * 8), "u1")
    padded[..., :size] = raw
    return padded.view("<u8").astype(np.uint64, copy=False)


Part = tuple[tuple[int, int], ...]


def owned(context: Context, one: FieldInfo) -> Iterator[tuple[Block, Any, Part]]:
    """Each block with its part of a field, and which of the points there it owns; along the
    geometry's axes.
    """

    def parts() -> list[list[Part]]:
        copies = context.copies(one)
        return [copies.owned(block) for block in context.blocks]

    for block, domain, its in zip(
        context.blocks, one.domains, context.memo(("owned", one.geometry), parts), strict=True
    ):
        yield from ((block, domain, part) for part in its)


def points(
    context: Context, one: FieldInfo, order: Sequence[str]
) -> Iterator[tuple[Block, Part, NDArray[Any]]]:
    """The points that this rank owns, as arrays with their axes in some order."""
    for block, domain, part in owned(context, one):
        index: list[Any] = [slice(None)] * len(order) + [...]
        for place, span in zip(one.places(order, context.dims), part, strict=True):
            index[place] = slice(*span)
        yield block, part, array_of(domain, order)[tuple(index)]


def counted(
    ranks: Any,
    context: Context,
    call: str,
    given: Sequence[Any],
    count: Callable[[Sequence[FieldInfo]], list[NDArray[np.int64]]],
    needed: bool = False,
) -> tuple[list[FieldInfo], list[NDArray[np.int64]], Any]:
    """Integers that each rank counts of its points, added up.

    Parameters
    ----------
    count
        The integers of some fields: arrays of the same lengths on every rank. Where there is no
        block, of none: zeros.
    needed
        Whether all ranks need the facts of the first one.
    """
    names = names_of(len(given))

    def prepare() -> tuple[list[FieldInfo], list[NDArray[np.int64]]]:
        some_fields(given, call)
        mine = infos_of(context, given, names)
        return mine, count(mine) if mine else []

    mine, values = prepare()
    flat: Integers = np.concatenate([*values, np.zeros(0, np.int64)]).view(np.uint64)
    infos, extra, agreed = agreed_infos(
        ranks, context, call, {}, context.first, mine, names, None, flat[: ranks.room], needed
    )
    if not mine:
        values = count([one._replace(domains=[]) for one in infos])
        flat = np.concatenate([*values, np.zeros(0, np.int64)]).view(np.uint64)
    found = summed(ranks, flat, agreed)
    ends = np.cumsum([len(each) for each in values])[:-1]
    return infos, np.split(found.copy().view(np.int64), ends), extra


def summing(
    ranks: Any, context: Context, call: str, given: Sequence[Any], finish: Callable[[Total], Any]
) -> list[Any]:
    """Exact sums of fields."""

    def count(mine: Sequence[FieldInfo]) -> list[NDArray[np.int64]]:
        found = []
        for one in mine:
            total = Total(one.dtype)
            for _, _, array in points(context, one, one.order) if one.domains else ():
                total.add(array)
            found.append(total.values)
        return found

    infos, values, _ = counted(ranks, context, call, given, count)
    return [finish(Total(one.dtype, each)) for one, each in zip(infos, values, strict=True)]


def product_of(infos: Sequence[FieldInfo], norm: bool) -> Total:
    """An empty total of what products of two fields are."""
    kinds = [one.dtype for one in infos]
    if norm:
        return Total("int64" if kinds[0].kind in "biu" else "float64")
    return Total(
        kinds[0] if kinds[0].kind == "c" else kinds[1] if kinds[1].kind not in "biu" else kinds[0]
    )


def multiplying(ranks: Any, context: Context, call: str, given: Sequence[Any], norm: bool) -> Total:
    """The exact sum of products of two fields, or of the squares of one."""

    def count(mine: Sequence[FieldInfo]) -> list[NDArray[np.int64]]:
        for one in mine:
            Total(one.dtype)  # refuses what is not summed
        if not norm:
            alike(*mine)
        total = product_of(mine, norm)
        first, other = mine[0], mine[-1]
        if first.domains:
            arrays = zip(
                points(context, first, first.order),
                points(context, other, first.order),
                strict=True,
            )
            for (_, _, a), (_, _, b) in arrays:
                for x, y in (
                    [(a.real, a.real), (a.imag, a.imag)]
                    if norm and a.dtype.kind == "c"
                    else [(a, b)]
                ):
                    total.add_product(x, y)
        return [total.values]

    infos, (values,), _ = counted(ranks, context, call, given, count)
    total = product_of(infos, norm)
    total.values = values.copy()
    return total


def alike(a: FieldInfo, b: FieldInfo) -> None:
    """Points of two fields belong to each other."""
    for what, ours, theirs in (
        ("dims", sorted(a.dims), sorted(b.dims)),
        ("positions", a.facts()["positions"], b.facts()["positions"]),
        ("sizes", sorted(a.sizes.items()), sorted(b.sizes.items())),
    ):
        if ours != theirs:
            raise ValueError(f"{b.name}: its {what} are {theirs}, those of {a.name} {ours}")


def checking(ranks: Any, context: Context, given: Any) -> int:
    """The checksum of a field's values and their places."""

    def count(mine: Sequence[FieldInfo]) -> list[NDArray[np.int64]]:
        (one,) = mine
        head, total = header(one.dims, one.dtype), 0
        for block, domain, part in owned(context, one) if one.domains else ():
            total += of_block(domain, one.geometry.axes, block, head, [part], context.dims)
        return [np.array([total % 2**64], np.uint64).view(np.int64)]

    _, ((found,),), _ = counted(ranks, context, "checksum", [given], count)
    return int(found) % 2**64


def truths(ranks: Any, context: Context, call: str, given: Any) -> tuple[int, int]:
    """How many points are true, and how many there are."""

    def count(mine: Sequence[FieldInfo]) -> list[NDArray[np.int64]]:
        (one,) = mine
        found = np.zeros(2, np.int64)
        for _, _, array in points(context, one, one.order) if one.domains else ():
            found += np.array([np.count_nonzero(array), array.size])
        return [found]

    _, ((true, all_of_them),), _ = counted(ranks, context, call, [given], count)
    return int(true), int(all_of_them)


LOWEST, HIGHEST = -(2**63), 2**63 - 1


def check_order(one: FieldInfo) -> None:
    if one.dtype.kind not in "biu" and one.dtype.char not in "efd":
        raise TypeError(
            f"{one.name}: elements of dtype {one.dtype} have no order here; allowed are bool,"
            " integers, float16, float32 and float64"
        )


def key_of(value: Any, least: bool) -> int:
    """An int64 that has the order of the values."""
    if value.dtype.kind == "f":
        if np.isnan(value):
            return LOWEST if least else HIGHEST
        bits = int(np.float64(value).view(np.int64))
        return bits if bits >= 0 else -1 - (bits & HIGHEST)
    return int(value) - (2**63 if value.dtype.kind == "u" and value.dtype.itemsize == 8 else 0)


def value_of(key: int, dtype: np.dtype[Any], least: bool) -> Any:
    if dtype.kind == "f":
        if key == (LOWEST if least else HIGHEST):
            return math.nan
        return float(np.int64(key if key >= 0 else (-1 - key) | LOWEST).view(np.float64))
    if dtype.kind == "b":
        return bool(key)
    return key + (2**63 if dtype.kind == "u" and dtype.itemsize == 8 else 0)


def extreme_of(array: NDArray[Any], least: bool) -> Any:
    """The smallest or largest element, of zeros the one with the right sign."""
    found = array.min() if least else array.max()
    if array.dtype.kind == "f" and found == 0:
        zeros = np.signbit(array[array == 0])
        negative = zeros.any() if least else zeros.all()
        found = np.copysign(array.dtype.type(0), -1.0 if negative else 1.0).astype(array.dtype)
    return found


def extreme(ranks: Any, context: Context, call: str, given: Any, least: bool, where: bool) -> Any:
    """The steps of `Grid.min`, `max`, `argmin` and `argmax`."""
    keys: list[int] = []

    def count(mine: Sequence[FieldInfo]) -> list[NDArray[np.int64]]:
        (one,) = mine
        check_order(one)
        size = 0
        for _, _, array in points(context, one, one.order) if one.domains else ():
            if array.size:
                size += array.size
                keys.append(key_of(extreme_of(array, least), least))
        return [np.array([size])]

    (one,), ((size,),), extra = counted(ranks, context, call, [given], count, where)
    if not size:
        raise ValueError(f"{call}: the field has no points")
    mine = (min if least else max)(keys, default=HIGHEST if least else LOWEST)
    (key,) = ranks.reduce(np.array([mine], np.int64), "min" if least else "max")
    if not where:
        return value_of(int(key), one.dtype, least)
    dims = tuple(extra["dims"][0] if extra else one.dims)
    extents = extents_of(context, one, dims)
    lowest = min(
        numbers(context, one, dims, extents, int(key), least) if one.domains else (),
        default=HIGHEST,
    )
    (number,) = ranks.reduce(np.array([lowest], np.int64), "min")
    index = tuple(int(i) for i in np.unravel_index(int(number), (len(context.tiles), *extents)))
    return index if len(context.tiles) > 1 else index[1:]


def extents_of(context: Context, one: FieldInfo, dims: Sequence[str]) -> tuple[int, ...]:
    """As many points along each dim as any tile has."""
    return tuple(
        (
            one.sizes[dim]
            if dim in one.sizes
            else 1 + max(tile[context.dims.index(dim)] for tile in context.tiles)
        )
        for dim in dims
    )


def numbers(
    context: Context,
    one: FieldInfo,
    dims: Sequence[str],
    extents: Sequence[int],
    key: int,
    least: bool,
) -> Iterator[int]:
    """Of every part the first point with this key, as a number that has the order of the
    indices.
    """
    value = value_of(key, one.dtype, least)
    for block, part, array in points(context, one, dims):
        if not array.size:
            continue
        if isinstance(value, float):
            same = np.isnan(array) if math.isnan(value) else array == value
            if value == 0:
                same &= np.signbit(array) == (math.copysign(1.0, value) < 0)
        else:
            same = array == value
        if not same.any():
            continue
        index = [int(i) for i in np.unravel_index(int(np.argmax(same)), same.shape)]
        for place, axis, (start, _) in zip(
            one.places(dims, context.dims), one.geometry.axes, part, strict=True
        ):
            index[place] += start + block.start[axis]
        yield int(np.ravel_multi_index((block.tile, *index), (len(context.tiles), *extents)))
