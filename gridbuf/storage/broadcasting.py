"""Broadcasting by axis name: which shape, axes and metadata operands have together.

The answer depends on shapes and metadata only, not on values, so it is remembered.
"""

import math
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from gridbuf.joining import Adapt, intersected, into, lacking, sizes
from gridbuf.storage.axes import LETTERS, union
from gridbuf.storage.meta import Meta, meta_of

V = TypeVar("V")

# An operand as broadcasting sees it: None for a scalar, else the axes (None for an array
# that has no names), the shape, and the Meta of a storage.
Operand = tuple[str | None, tuple[int, ...], Meta | None] | None


class Resolution(NamedTuple):
    """What a combination of operands comes to."""

    adapts: tuple[Adapt, ...]  # one per input
    out_adapts: tuple[Adapt, ...]  # one per given output
    shape: tuple[int, ...]  # of a new output
    meta: Meta | None  # of a new output; None where no input is a storage


def name_array(shape: tuple[int, ...], base: tuple[str, tuple[int, ...]] | None, out: tuple[str, tuple[int, ...]] | None) -> str:
    """The axes that an array without names has beside storages; ValueError where none fit."""
    for candidate in (base, out):
        if candidate is not None and shape == candidate[1]:
            return candidate[0]
    if len(shape) == len(LETTERS):
        for candidate in (base, out):
            if candidate is not None and len(candidate[0]) == len(LETTERS):
                return candidate[0]
        return LETTERS
    expected = " or ".join(f"{c[1]} for the axes {c[0]!r}" for c in (base, out) if c is not None)
    raise ValueError(
        f"operands do not broadcast: an array of shape {shape} beside storages must have their shape ({expected}) or 3 dimensions"
    )


@lru_cache(maxsize=1024)
def resolve(inputs: tuple[Operand, ...], outputs: tuple[Operand, ...]) -> Resolution:
    """Work a combination out; ValueError where it does not broadcast."""
    storages = [(o[0], o[1], o[2]) for o in inputs if o is not None and o[0] is not None]
    named = [(axes, shape) for axes, shape, _ in storages]
    base = None
    if named:
        letters = union(*(axes for axes, _ in named))
        base = letters, sizes(named, letters)
    out = next(((o[0], o[1]) for o in outputs if o is not None and o[0] is not None), None)
    axes_of: list[str | None] = []
    for operand in inputs:
        if operand is None:
            axes_of.append(None)
        else:
            axes_of.append(operand[0] if operand[0] is not None else name_array(operand[1], base, out))
    together = [(axes, o[1]) for axes, o in zip(axes_of, inputs, strict=True) if o is not None and axes is not None]
    axes = union(*(letters for letters, _ in together))
    shape = sizes(together, axes)
    frame = axes
    if out is not None:
        frame = out[0]
        missing = "".join(lacking(axes, frame))
        if missing:
            raise ValueError(f"out: its axes {frame!r} lack {missing!r}; the result has {axes!r}")
        axes, shape = out  # a further output that has to be made is like the given one
    out_adapts = tuple(_into_out(o, frame, shape) for o in outputs)
    adapts = tuple(None if letters is None else into(letters, frame) for letters in axes_of)
    metas = [(own, m) for _, own, m in storages if m is not None]
    return Resolution(adapts, out_adapts, shape, _result_meta(metas, axes, shape) if metas else None)


def _into_out(operand: Operand, frame: str, shape: tuple[int, ...]) -> Adapt:
    if operand is None:
        return None
    if operand[0] is None:
        if operand[1] != shape:
            raise ValueError(f"out: an array of shape {operand[1]} was given, the result has {shape}")
        return None
    if sorted(operand[0]) != sorted(frame):
        raise ValueError(f"out: the axes {operand[0]!r} and {frame!r} of several outputs differ")
    return into(operand[0], frame)


def _result_meta(storages: list[tuple[tuple[int, ...], Meta]], axes: str, shape: tuple[int, ...]) -> Meta:
    """GDP-3's parameters of a new result."""
    halo, aligned = [], []
    for name, size in zip(axes, shape, strict=True):
        having = [(own[m.axes.index(name)], m, m.axes.index(name)) for own, m in storages if name in m.axes]
        # An input that is broadcast along the axis says nothing of where the domain lies.
        pairs = [m.halo[i] for own_size, m, i in having if own_size == size]
        halo.append(intersected(pairs, size))
        aligned.append(max((m.aligned_index[i] for _, m, i in having), default=0))
    alignment = math.lcm(*(m.alignment for _, m in storages))
    return meta_of(axes, storages[0][1].layout, tuple(halo), tuple(aligned), alignment)


class BoundedCache(dict[tuple[Any, ...], V], Generic[V]):
    """A dict that starts anew when it is full."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: tuple[Any, ...], value: V) -> None:
        if len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)
