"""What a picture of a layout shows, in numbers: the contiguous index, halo, padding, boundary.

`svg.py` draws it for a notebook, the demo draws the same with matplotlib.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from gridbuf.strides import extent

# Mid-tones, readable on white and on black.
COLORS = {"domain": "#3b82f6", "halo": "#f59e0b", "padding": "#94a3b8", "boundary": "#e11d48"}
DIVISIONS = 6  # lines drawn along an index that is not contiguous, however long it is

Point = tuple[float, float]
Halo = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Patch:
    """One visible piece of the box: its corners, and its position in memory from 0 (first) to 1
    (last).
    """

    corners: tuple[Point, ...]
    position: float


@dataclass(frozen=True)
class Box:
    """The visible faces of an array drawn in space, cut into runs of contiguous elements.

    Attributes
    ----------
    axes : tuple of int
        The indices drawn: two or three of the plan's.
    fastest : int
        Which of them is contiguous.
    patches : tuple of Patch
        What is filled.
    outlines : tuple of tuple of Point
        Where the halo ends, on each face.
    arrows : tuple of (int, Point, Point)
        For each index, a line along it.
    """

    axes: tuple[int, ...]
    fastest: int
    patches: tuple[Patch, ...]
    outlines: tuple[tuple[Point, ...], ...]
    arrows: tuple[tuple[int, Point, Point], ...]


# How far a whole index reaches on paper, by its place among those drawn.
_DIRECTIONS = {2: ((1.0, 0.0), (0.0, 1.0)), 3: ((1.0, -0.22), (0.62, 0.42), (0.0, 1.0))}
# A face is two indices that vary and one that is held at its first (0) or last (1) element.
_FACES = {2: ((0, 1, None, 0.0),), 3: ((0, 2, 1, 0.0), (1, 2, 0, 1.0), (0, 1, 2, 1.0))}


def is_described(plan: Any) -> bool:
    """Whether a plan was read off memory that is there: what lies between its elements may belong
    to others.
    """
    first, end = extent(0, plan.shape, plan.strides, plan.dtype.itemsize)
    return bool(plan.alloc_nbytes <= end - first)


def drawn_axes(dims: Sequence[str]) -> tuple[int, ...]:
    """The indices to draw: up to three, I, J and K first."""
    return tuple(sorted(range(len(dims)), key=lambda i: (dims[i] not in "IJK", dims[i]))[:3])


def box(plan: Any, pairs: Halo) -> Box | None:
    """The faces to draw for a plan, or None for fewer than two indices."""
    axes = drawn_axes(plan.dims)
    if len(axes) < 2:
        return None
    slow_to_fast = sorted(range(len(axes)), key=lambda a: plan.layout[axes[a]])
    cuts = [DIVISIONS] * len(axes)
    cuts[slow_to_fast[-1]] = 1

    def on_paper(at: Sequence[float]) -> Point:
        directions = _DIRECTIONS[len(axes)]
        x, y = (sum(a * d[c] for a, d in zip(at, directions, strict=True)) for c in (0, 1))
        return x, y

    def face_point(face: tuple[int, int, int | None, float], p: float, q: float) -> Point:
        at = [face[3]] * len(axes)
        at[face[0]], at[face[1]] = p, q
        return on_paper(at)

    patches, outlines = [], []
    for face in _FACES[len(axes)]:
        patches += [
            Patch(tuple(face_point(face, p, q) for p, q in corners), position)
            for corners, position in _cells(face, cuts, slow_to_fast)
        ]
        inset = [_inset(plan.shape[axes[a]], pairs[axes[a]]) for a in face[:2]]
        if any(i != (0.0, 1.0) for i in inset):
            (p0, p1), (q0, q1) = inset
            outlines.append(
                tuple(face_point(face, p, q) for p, q in ((p0, q0), (p1, q0), (p1, q1), (p0, q1)))
            )
    return Box(
        axes, axes[slow_to_fast[-1]], tuple(patches), tuple(outlines), _arrows(axes, on_paper)
    )


def _cells(
    face: tuple[int, int, int | None, float], cuts: list[int], slow_to_fast: list[int]
) -> Iterator[tuple[tuple[Point, ...], float]]:
    p_axis, q_axis, held, end = face
    total = prod(cuts)
    for p in range(cuts[p_axis]):
        for q in range(cuts[q_axis]):
            at = {p_axis: p, q_axis: q}
            if held is not None:
                at[held] = int(end * (cuts[held] - 1))
            position = 0
            for a in slow_to_fast:
                position = position * cuts[a] + at[a]
            p0 = p / cuts[p_axis]
            p1 = (p + 1) / cuts[p_axis]
            q0 = q / cuts[q_axis]
            q1 = (q + 1) / cuts[q_axis]
            yield ((p0, q0), (p1, q0), (p1, q1), (p0, q1)), position / max(total - 1, 1)


def _inset(size: int, pair: tuple[int, int]) -> Point:
    """Where the domain begins and ends on paper; a thin halo is drawn wide enough to be seen."""
    low, high = (max(h / size, 0.07) if h and size else 0.0 for h in pair)
    return low, 1.0 - high


def _arrows(axes: tuple[int, ...], on_paper: Any) -> tuple[tuple[int, Point, Point], ...]:
    n, gap = len(axes), 0.09
    starts = [[-gap] * n for _ in range(n)]
    if n == 3:  # below the front, below the side, left of the front
        starts = [[0.0, 0.0, -gap], [1.0 + gap / 2, 0.0, -gap], [-gap, 0.0, 0.0]]
    lines = []
    for a in range(n):
        first, last = list(starts[a]), list(starts[a])
        first[a], last[a] = 0.05, 0.95
        lines.append((axes[a], on_paper(first), on_paper(last)))
    return tuple(lines)


@dataclass(frozen=True)
class Cell:
    """One element of a row: its index (None stands for elements left out), what it is, and whether
    it begins at a boundary.
    """

    index: int | None
    kind: str
    on_boundary: bool


@dataclass(frozen=True)
class Row:
    """A row of elements along the contiguous index, through the aligned element."""

    fastest: int
    lead_nbytes: int
    cells: tuple[Cell, ...]


def row(plan: Any, pairs: Halo, *, limit: int = 26) -> Row | None:
    """The start and the end of the row that holds the aligned element; None for scalars and empty
    arrays.
    """
    if plan.ndim == 0 or 0 in plan.shape:
        return None
    fastest = max(range(plan.ndim), key=lambda i: plan.layout[i])
    size = plan.shape[fastest]
    padded = size if is_described(plan) else plan.padded_shape[fastest]
    step, (low, high) = plan.strides[fastest], pairs[fastest]
    lead = -plan.aligned_index[fastest] * step % plan.byte_alignment

    def cell(i: int) -> Cell:
        kind = "padding" if i >= size else "halo" if i < low or i >= size - high else "domain"
        return Cell(i, kind, (lead + i * step) % plan.byte_alignment == 0)

    tail = min(high, 4) + 2 + min(padded - size, 8)
    if padded <= limit:
        return Row(fastest, lead, tuple(cell(i) for i in range(padded)))
    shown = size + min(padded - size, 8)
    head = [cell(i) for i in range(limit - tail - 1)]
    return Row(
        fastest,
        lead,
        (*head, Cell(None, "more", False), *(cell(i) for i in range(shown - tail, shown))),
    )
