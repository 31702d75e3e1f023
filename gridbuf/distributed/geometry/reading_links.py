"""Links as users write them: (destination, points, source, points), where axes turn the source's
axes, and a dict where components of vectors need one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gridbuf.distributed import arguments as read
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.geometry.given_links import Box, Given, Ints, targets
from gridbuf.distributed.geometry.linking import Rule
from gridbuf.validation import integer
from gridbuf.wrapping import check_masks

FORM = "a link is (destination, slices, source, slices) and, if need be, axes and a dict"
OWNED = "{}: it fills points that block {} owns; a link fills the halo"
COMPONENTS = 2  # of a vector


def read_links(
    links: Any, shapes: Sequence[Index], names: Sequence[str], inside: bool = False
) -> list[Given]:
    """The links of a list, by their destinations. No point has two; `inside`: halo points may stand
    among a block's own.
    """
    found = []
    for i, entry in enumerate(read.entries(links, "links")):
        what = f"links[{i}]"
        parts = read.entries(entry, what)
        rule = read_rule(parts.pop(), what) if parts and isinstance(parts[-1], dict) else None
        if len(parts) not in (4, 5):
            raise ValueError(f"{what}: {len(parts)} entries; {FORM}")
        dst, src = (_block(parts[k], what, len(shapes)) for k in (0, 2))
        turn = (
            _axes(parts[4], what, names)
            if len(parts) == 5
            else (tuple(range(len(names))), (1,) * len(names))
        )
        ends = (parts[1], shapes[dst]), (parts[3], shapes[src])
        if _is_slices(parts[1]) or _is_slices(parts[3]):
            box, origin = (_slices(given, what, shape, names) for given, shape in ends)
            one = _box(what, box, origin, src, shapes, names, *turn)
            if one is None:
                continue
            if not any([b <= 0 or a >= n for (a, b), n in zip(box, shapes[dst], strict=True)]):
                raise ValueError(OWNED.format(what, dst))
            found.append(Given(i, (dst, src), one, turn, rule, shapes[dst]))
            continue
        if len(parts) == 5:
            raise ValueError(f"{what}: axes are of slices; index arrays say where each point is")
        points = _points(what, parts[1], parts[3], names)
        if not len(points[0]):
            continue
        outside = (points[0] < 0) | (points[0] >= np.array(shapes[dst]))
        if not inside and not outside.any(axis=1).all():
            raise ValueError(OWNED.format(what, dst))
        _check_inside(what, src, points[1], shapes[src], names)
        found.append(Given(i, (dst, src), points, turn, rule, shapes[dst]))
    found.sort(key=lambda given: given.dst)
    _check_once(found)
    return found


def read_rule(given: dict[Any, Any], what: str) -> Rule:
    """Components and signs in the dict of a link."""
    for key in given:
        if key not in ("sign", "from", "to"):
            raise ValueError(f"{what}: {key!r} in its dict; allowed are 'sign', 'from' and 'to'")
    if ("from" in given) != ("to" in given):
        raise ValueError(f"{what}: of 'from' and 'to' one is missing in its dict")
    sign = integer(given.get("sign", 1), f"{what}: 'sign'")
    if sign not in (1, -1):
        raise ValueError(f"{what}: 'sign' is {sign}, which is neither 1 nor -1")
    ends = [integer(given[key], f"{what}: {key!r}", 0) for key in ("to", "from") if key in given]
    for key, end in zip(("to", "from"), ends, strict=False):
        if end >= COMPONENTS:
            raise ValueError(f"{what}: {key!r} is {end}; components of a vector are 0 and 1")
    return Rule(sign, *ends)


# ---- slices ----


def _is_slices(given: Any) -> bool:
    return isinstance(given, slice) or (
        isinstance(given, tuple | list) and any(isinstance(each, slice) for each in given)
    )


def _box(
    what: str,
    box: list[tuple[int, int]],
    origin: list[tuple[int, int]],
    src: int,
    shapes: Sequence[Index],
    names: Sequence[str],
    axes: Index,
    signs: Index,
) -> Box | None:
    """The box of a link of slices; None: it has no points."""
    for d, (axis, (first, last)) in enumerate(zip(axes, origin, strict=True)):
        start, stop = box[axis]
        if stop - start != last - first:
            raise ValueError(
                f"{what}: {stop - start} points along {names[axis]} come from {last - first}"
                f" along {names[d]}"
            )
        if not 0 <= first <= last <= shapes[src][d]:
            raise ValueError(
                f"{what}: its source is {first} to {last} along {names[d]}; block {src} owns 0"
                f" to {shapes[src][d]}"
            )
    if any(start == stop for start, stop in box):
        return None
    source_at = [
        first if sign > 0 else last - 1 for (first, last), sign in zip(origin, signs, strict=True)
    ]
    return Box(
        tuple([start for start, _ in box]),
        tuple([stop - start for start, stop in box]),
        tuple(source_at),
    )


def _slices(given: Any, what: str, shape: Index, names: Sequence[str]) -> list[tuple[int, int]]:
    slices = [given] if isinstance(given, slice) else read.entries(given, what)
    if len(slices) != len(names):
        raise ValueError(f"{what}: {len(slices)} slices, the dims are {tuple(names)}")
    box = []
    for each, n in zip(slices, shape, strict=True):
        if not isinstance(each, slice):
            raise TypeError(f"{what}: expected slices at both ends, got {type(each).__name__}")
        if each.step not in (None, 1):
            raise ValueError(
                f"{what}: {each} has the step {each.step}; links take all points between two"
            )
        start = 0 if each.start is None else integer(each.start, what)
        stop = n if each.stop is None else integer(each.stop, what)
        if stop < start:
            raise ValueError(
                f"{what}: {each} ends before it begins; negative numbers are in the low halo here"
            )
        box.append((start, stop))
    return box


# ---- index arrays ----


def _points(what: str, to: Any, come: Any, names: Sequence[str]) -> tuple[Ints, Ints]:
    """The points of two index arrays, one a row."""
    arrays = [_index(given, what, names) for given in (to, come)]
    shapes = [np.broadcast_shapes(*(each.shape for each in array)) for array in arrays]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"{what}: index arrays of the shape {shapes[0]} are filled from some of {shapes[1]}"
        )
    points = [
        np.stack([each.ravel() for each in np.broadcast_arrays(*array)], axis=1) for array in arrays
    ]
    return points[0], points[1]


def _index(
    given: Any, what: str, names: Sequence[str], expected: str = "slices, or index arrays"
) -> list[Ints]:
    """An index array for each dim; of one dim an array alone."""
    one = len(names) == 1 and not (
        isinstance(given, tuple | list) and len(given) == 1 and hasattr(given[0], "__len__")
    )
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise TypeError(f"{what}: expected {expected}, got {type(given).__name__}")
    entries = [given] if one else list(given)
    if len(entries) != len(names):
        raise ValueError(f"{what}: {len(entries)} index arrays, the dims are {tuple(names)}")
    found = []
    check_masks((what, entry) for entry in entries)
    for entry in entries:
        try:
            array = np.asarray(entry)
        except ValueError as error:  # rows of different lengths
            raise ValueError(f"{what}: no index array: {error}") from None
        if array.dtype.kind not in "iu" and array.size:
            raise TypeError(
                f"{what}: expected {expected} of integers, got elements of {array.dtype}"
            )
        highest = int(np.max(array, initial=0)) if array.size else 0
        if highest > np.iinfo(np.int64).max:
            raise ValueError(f"{what}: index {highest} does not fit into 64 bits with a sign")
        found.append(array.astype(np.int64))
    try:
        np.broadcast_shapes(*(each.shape for each in found))
    except ValueError:
        shapes = [each.shape for each in found]
        raise ValueError(f"{what}: the index arrays of one end have the shapes {shapes}") from None
    return found


# ---- points of both ----


def _check_inside(what: str, src: int, points: Ints, shape: Index, names: Sequence[str]) -> None:
    for d, n in enumerate(shape):
        low, high = int(np.min(points[:, d])), int(np.max(points[:, d]))
        if low < 0 or high >= n:
            raise ValueError(
                f"{what}: its source is {low} to {high + 1} along {names[d]}; block {src} owns 0"
                f" to {n}"
            )


def _check_once(links: Sequence[Given]) -> None:
    """Refuse two links that fill one point of one component."""
    by: dict[tuple[int, int], list[Given]] = {}
    for given in links:
        for component in given.rule.components if given.rule else range(COMPONENTS):
            by.setdefault((given.dst, component), []).append(given)
    for (dst, _), its in by.items():
        points, numbers = targets(its)
        order = np.lexsort(points.T)
        same = (np.diff(points[order], axis=0) == 0).all(axis=1)
        if same.any():
            k = int(same.argmax())
            a, b = sorted(numbers[order[k : k + 2]].tolist())
            if a == b:
                raise ValueError(f"links: links[{a}] fills a point of block {dst} twice")
            raise ValueError(
                f"links: links[{a}] and links[{b}] fill the same points of block {dst}"
            )


def _block(given: Any, what: str, count: int) -> int:
    number = integer(given, what, 0)
    if number >= count:
        raise ValueError(f"{what}: there is no block {number}; blocks are 0 to {count - 1}")
    return number


def _axes(given: Any, what: str, names: Sequence[str]) -> tuple[Index, Index]:
    """Of ("J", "-I"), the source's axis that each of the destination's goes along: which of the
    destination's each of the source's is.
    """
    entries = read.entries(given, what, len(names), f"dims {tuple(names)} are")
    axes, signs = [-1] * len(names), [1] * len(names)
    for axis, entry in enumerate(entries):
        if not isinstance(entry, str):
            raise TypeError(
                f"{what}: axes are names, such as {names[0]!r} or {'-' + names[0]!r}, got"
                f" {type(entry).__name__}"
            )
        name = entry.removeprefix("-")
        if name not in names or axes[names.index(name)] >= 0:
            raise ValueError(f"{what}: axes {tuple(entries)} are not each of {tuple(names)} once")
        axes[names.index(name)], signs[names.index(name)] = axis, -1 if entry.startswith("-") else 1
    return tuple(axes), tuple(signs)


# ---- global indices ----


def index_links(own: Any, halo: Any) -> list[tuple[Any, ...]]:
    """The links of blocks whose points are known by global index.

    Parameters
    ----------
    own : sequence of arrays of int
        Of each block the global indices of its own points, in their order: each index once, in one
        block.
    halo : sequence of arrays of int
        Of each block those of its halo points, which come after its own.

    Returns
    -------
    list of tuple
        For `gbd.links`: the block that owns an index fills every halo point of this index.

    Raises
    ------
    TypeError, ValueError
        When the indices are no integers, two blocks own one, or none does; the message names it.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> own, halo = [[4, 7, 1], [0, 2]], [[2, 0], [4]]
    >>> links = gbd.index_links(own, halo)
    >>> grid = gbd.links([(3,), (2,)], links, "I", halo=((0, 2),))
    >>> T = grid.zeros()
    >>> for f, indices in zip(T, own):
    ...     f[: len(indices)] = indices
    >>> grid.exchange(T)
    >>> T[0].numpy(), T[1].numpy()
    (array([4., 7., 1., 2., 0.]), array([0., 2., 4., 0.]))
    """
    ours, theirs = read_indices(own, halo)
    counts = [len(each) for each in ours]
    return links_of(
        [Points(each, np.arange(n)) for each, n in zip(ours, counts, strict=True)],
        [Points(each, n + np.arange(len(each))) for each, n in zip(theirs, counts, strict=True)],
    )


class Points(NamedTuple):
    """Points of a block: their global indices, and their places in the block's fields."""

    indices: Ints
    places: Ints


NO_POINTS = Points(np.zeros(0, np.int64), np.zeros(0, np.int64))


def links_of(own: Sequence[Points], halo: Sequence[Points]) -> list[tuple[Any, ...]]:
    """The links that fill the halo points of each block from the own points of their indices."""
    if not own:
        return []
    unsorted = np.concatenate([each.indices for each in own])
    order = np.argsort(unsorted, kind="stable")
    ids = unsorted[order]
    blocks = np.repeat(np.arange(len(own)), [len(each.indices) for each in own])[order]
    places = np.concatenate([each.places for each in own])[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        k = twice[0]
        raise ValueError(f"own: blocks {blocks[k]} and {blocks[k + 1]} both own index {ids[k]}")
    found: list[tuple[Any, ...]] = []
    for dst, (wanted, its_places) in enumerate(halo):
        unknown = ~np.isin(wanted, ids)
        if unknown.any():
            raise ValueError(f"halo: no block owns index {wanted[unknown][0]} of block {dst}")
        at = np.searchsorted(ids, wanted)
        for src in np.unique(blocks[at]).tolist():
            mine = np.flatnonzero(blocks[at] == src)
            found.append((dst, its_places[mine], src, places[at[mine]]))
    return found


def read_indices(own: Any, halo: Any) -> tuple[list[Ints], list[Ints]]:
    """Arrays of global indices: of the own points and of the halo of each block."""
    ours, theirs = (
        read_index_arrays(given, what) for given, what in ((own, "own"), (halo, "halo"))
    )
    if len(ours) != len(theirs):
        raise ValueError(f"halo: {len(theirs)} blocks, own has {len(ours)}")
    return ours, theirs


def read_index_arrays(given: Any, what: str) -> list[Ints]:
    """Arrays of global indices, one a block."""
    return [
        _index(each, f"{what}[{i}]", ("I",), "an index array")[0].ravel()
        for i, each in enumerate(read.entries(given, what))
    ]
