"""Boxes of points and signed permutations of axes, in doubled coordinates: integers only.

The centre of cell i lies at 2i + 1 and its low face at 2i, so that one map serves every position of
a point in its cell. A box has (first, last) along each axis, both within, in steps of 2: all its
points have the same parity along an axis.
"""

from collections.abc import Iterator
from typing import NamedTuple

Index = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]  # (low, high) along each of some dims
Box = tuple[tuple[int, int], ...]
# sign * x[axis] + shift, as (axis, sign, shift); sign 0 is a constant
Linear = tuple[int, int, int]


class Map(NamedTuple):
    """x'[d] = signs[d] * x[axes[d]] + shift[d]: a signed permutation and a shift."""

    axes: tuple[int, ...]
    signs: tuple[int, ...]
    shift: tuple[int, ...]

    def of(self, box: Box) -> Box:
        """The image of a box."""
        return tuple([
            (box[axis][0] + shift, box[axis][1] + shift) if sign > 0 else (shift - box[axis][1],
            shift - box[axis][0])
            for axis, sign, shift in zip(*self, strict=True)
        ])  # fmt: skip

    def back(self, image: Box) -> Box:
        """The box that has this image."""
        box = [(0, 0)] * len(image)
        for (first, last), axis, sign, shift in zip(image, *self, strict=True):
            box[axis] = (first - shift, last - shift) if sign > 0 else (shift - last, shift - first)
        return tuple(box)

    def after(self, first: "Map") -> "Map":
        """The map that applies `first`, then this."""
        axes, signs, shifts = first
        return Map(
            tuple([axes[a] for a in self.axes]),
            tuple([s * signs[a] for a, s in zip(self.axes, self.signs, strict=True)]),
            tuple([s * shifts[a] + c for a, s, c in zip(*self, strict=True)]),
        )

    @property
    def turns(self) -> bool:
        """Whether axes change places."""
        return self.axes != tuple(range(len(self.axes)))

    @property
    def turns_back(self) -> bool:
        """Whether the first two axes go on in the other direction, as beyond a fold."""
        return not self.turns and self.signs[:2] == (-1, -1)

    @property
    def moves_only(self) -> bool:
        return not self.turns and min(self.signs, default=1) > 0


def identity(ndim: int) -> Map:
    return Map(tuple(range(ndim)), (1,) * ndim, (0,) * ndim)


def is_empty(box: Box) -> bool:
    return any([first > last for first, last in box])


def clip(box: Box, axis: int, low: int, high: int) -> Box:
    """The points with low <= x[axis] <= high."""
    first, last = box[axis]
    low += (low ^ first) & 1
    high -= (high ^ first) & 1
    return (*box[:axis], (max(first, low), min(last, high)), *box[axis + 1 :])


def intersect(a: Box, b: Box) -> Box:
    """Common points of boxes of one parity."""
    return tuple([(max(p, r), min(q, s)) for (p, q), (r, s) in zip(a, b, strict=True)])


def meet(a: Box, b: Box) -> bool:
    """Whether boxes overlap, of whatever parity."""
    return all([p <= s and r <= q for (p, q), (r, s) in zip(a, b, strict=True)])


def subtract(box: Box, hole: Box) -> Iterator[Box]:
    """Disjoint boxes that have the points of `box` outside `hole`, which has its parity."""
    if box == hole:
        return
    common = intersect(box, hole)
    if is_empty(common):
        if not is_empty(box):
            yield box
        return
    for axis, ((low, high), (first, last)) in enumerate(zip(box, common, strict=True)):
        before, after = common[:axis], box[axis + 1 :]
        if low < first:
            yield (*before, (low, first - 2), *after)
        if last < high:
            yield (*before, (last + 2, high), *after)


def compare(box: Box, f: Linear, g: Linear) -> Iterator[tuple[Box, int]]:
    """Parts of a box with the sign of f - g there: where it changes along a diagonal, one slice
    each.
    """
    if f == g:
        yield box, 0
        return
    (af, sf, cf), (ag, sg, cg) = f, g
    if af != ag and sf and sg:
        for first, last, axis, other in ((*box[af], af, g), (*box[ag], ag, f)):
            if first == last:  # constant along that axis
                swapped = -1 if other is f else 1
                one = (axis, 0, (sf if axis == af else sg) * first + (cf if axis == af else cg))
                yield from ((part, sign * swapped) for part, sign in compare(box, one, other))
                return
        for x in range(box[af][0], box[af][1] + 1, 2):
            yield from compare(clip(box, af, x, x), (af, 0, sf * x + cf), g)
        return
    axis, slope, rest = (af if sf else ag), sf - sg, cf - cg
    if slope == 0:
        yield box, (rest > 0) - (rest < 0)
        return
    ends = [slope * x + rest for x in box[axis]]
    if min(ends) > 0 or max(ends) < 0:
        yield box, 1 if ends[0] > 0 else -1
        return
    zero, whole = divmod(-rest, slope)  # slope * x + rest is 0 at zero when whole is 0
    below = zero if whole else zero - 1
    falls = 1 if slope > 0 else -1
    low, high = box[axis]
    for part, sign in (
        (clip(box, axis, low, below), -falls),
        (clip(box, axis, zero, zero if not whole else zero - 1), 0),
        (clip(box, axis, zero + 1, high), falls),
    ):
        if not is_empty(part):
            yield part, sign
