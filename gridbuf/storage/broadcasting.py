"""Broadcasting by axis name: which shape, axes and metadata operands have together.

The answer depends on shapes and metadata only, not on values, so it is remembered.
"""

from functools import lru_cache
from typing import NamedTuple

from gridbuf.joining import Adapt, into, into_out, lacking, sizes
from gridbuf.storage import results
from gridbuf.storage.axes import LETTERS, union
from gridbuf.storage.halo import Halo
from gridbuf.storage.meta import Meta


class Operand(NamedTuple):
    """An array as broadcasting sees it; numbers are None instead."""

    axes: str | None  # None: an array without names
    shape: tuple[int, ...]
    meta: Meta | None = None  # a storage's
    halo: Halo | None = None  # a Field's


class Resolution(NamedTuple):
    """What a combination of operands comes to."""

    adapts: tuple[Adapt, ...]  # one per input
    out_adapts: tuple[Adapt, ...]  # one per given output
    shape: tuple[int, ...]  # of a new output
    meta: Meta | None  # of a new output; None where no input is a storage


def name_array(
    shape: tuple[int, ...],
    base: tuple[str, tuple[int, ...]] | None,
    out: tuple[str, tuple[int, ...]] | None,
) -> str:
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
        f"operands do not broadcast: an array of shape {shape} beside storages must have their"
        f" shape ({expected}) or 3 dimensions"
    )


def without_ones(axes: str, shape: tuple[int, ...], target: str) -> tuple[str, tuple[int, ...]]:
    """The axes and sizes that an array without names has to fit with: those of size 1 that the
    target lacks were never meant.
    """
    kept = [i for i, name in enumerate(axes) if name in target or shape[i] != 1]
    return "".join(axes[i] for i in kept), tuple(shape[i] for i in kept)


def fitted(axes: str, shape: tuple[int, ...], target: str) -> Adapt:
    """`into` for an array without names: axes of size 1 that the target lacks are dropped."""
    kept = without_ones(axes, shape, target)[0]
    if kept == axes:
        return into(axes, target)
    order, index = into(kept, target) or (None, None)
    dropped = tuple(i for i, name in enumerate(axes) if name not in kept)
    rest = tuple(i for i, name in enumerate(axes) if name in kept)
    whole = (*dropped, *(rest if order is None else (rest[i] for i in order)))
    return whole, (*(0,) * len(dropped), *((slice(None),) * len(rest) if index is None else index))


@lru_cache(maxsize=1024)
def resolve(inputs: tuple[Operand | None, ...], outputs: tuple[Operand | None, ...]) -> Resolution:
    """Work a combination out; ValueError where it does not broadcast."""
    named = [(o.axes, o.shape) for o in inputs if o is not None and o.axes is not None]
    base = None
    if named:
        letters = union(*(axes for axes, _ in named))
        base = letters, sizes(named, letters)
    out = next(((o.axes, o.shape) for o in outputs if o is not None and o.axes is not None), None)
    axes_of: list[str | None] = []
    for operand in inputs:
        if operand is None:
            axes_of.append(None)
        else:
            axes_of.append(
                operand.axes if operand.axes is not None else name_array(operand.shape, base, out)
            )
    there = out[0] if out is not None else base[0] if base is not None else LETTERS
    together = [
        (letters, o.shape) if o.axes is not None else without_ones(letters, o.shape, there)
        for letters, o in zip(axes_of, inputs, strict=True)
        if o is not None and letters is not None
    ]
    axes = union(*(letters for letters, _ in together))
    shape = sizes(together, axes)
    frame = axes
    if out is not None:
        frame = out[0]
        missing = "".join(lacking(axes, frame))
        if missing:
            raise ValueError(f"out: its axes {frame!r} lack {missing!r}; the result has {axes!r}")
        axes, shape = out  # a further output that has to be made is like the given one
    out_adapts = tuple(into_out(o, frame, shape, "axes") for o in outputs)
    adapts = tuple(
        (
            None
            if o is None or letters is None
            else into(letters, frame)
            if o.axes is not None
            else fitted(letters, o.shape, frame)
        )
        for letters, o in zip(axes_of, inputs, strict=True)
    )
    storages = [(o.shape, o.meta) for o in inputs if o is not None and o.meta is not None]
    fields = [
        (letters, o.shape, o.halo)
        for letters, o in zip(axes_of, inputs, strict=True)
        if o is not None and letters is not None and o.halo is not None
    ]
    return Resolution(
        adapts,
        out_adapts,
        shape,
        results.joined(storages, axes, shape, fields) if storages else None,
    )
