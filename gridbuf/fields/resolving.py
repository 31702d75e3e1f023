"""What operands come to together: the frame, its size, halo and origin. Depends on no values, so it
is remembered.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gridbuf.fields.operands import Operand
from gridbuf.joining import Adapt, Names, Pair, intersected, into, into_out, lacking, sizes, union

_Base = tuple[Names, tuple[int, ...]] | None


class Resolution(NamedTuple):
    """What a combination of operands comes to."""

    adapts: tuple[Adapt, ...]  # one per input
    out_adapts: tuple[Adapt, ...]  # one per given output
    shape: tuple[int, ...]  # of a new output
    names: tuple[str, ...] | None  # of a new output; None: it has none
    halo: tuple[Pair, ...] | None
    origin: tuple[int, ...] | None
    defaults: tuple[str, ...] | None = (
        None  # of a new output without names: those that its indices have by default
    )


@lru_cache(maxsize=1024)
def resolve(inputs: tuple[Operand | None, ...], outputs: tuple[Operand | None, ...]) -> Resolution:
    """Work a combination out; ValueError where it does not broadcast."""
    named = [o for o in inputs if o is not None and o.names is not None]
    out = next(((o.names, o.shape) for o in outputs if o is not None and o.names is not None), None)
    if not named and out is None:
        return _by_position(inputs, len(outputs))
    base: _Base = None
    if named:
        own = [(o.names or (), o.shape) for o in named]
        letters = union(names for names, _ in own)
        base = letters, sizes(own, letters)
    axes = [
        None if o is None else o.names if o.names is not None else _name_array(o.shape, base, out)
        for o in inputs
    ]
    together = [
        (names, o.shape)
        for names, o in zip(axes, inputs, strict=True)
        if o is not None and names is not None
    ]
    frame: Names = union(names for names, _ in together) if together else ()
    shape = sizes(together, frame)
    if out is not None:
        if missing := lacking(frame, out[0]):
            raise ValueError(
                f"out: its dims {out[0]} lack {', '.join(missing)}; the result has {tuple(frame)}"
            )
        frame, shape = out
    having = [(o, names) for names, o in zip(axes, inputs, strict=True) if o is not None]
    halo, origin = _domain(having, tuple(frame), shape)
    out_adapts = tuple(into_out(o, tuple(frame), shape, "dims") for o in outputs)
    return Resolution(
        tuple(None if a is None else into(a, frame) for a in axes),
        out_adapts,
        shape,
        tuple(frame),
        halo,
        origin,
    )


def _name_array(shape: tuple[int, ...], base: _Base, out: _Base) -> Names:
    """The names that an array without any has beside Fields with names: those in their order, where
    it has as many indices.
    """
    candidates = [c for c in (base, out) if c is not None]
    for candidate in (
        *(c for c in candidates if c[1] == shape),
        *(c for c in candidates if len(c[0]) == len(shape)),
    ):
        return candidate[0]
    expected = " or ".join(f"{len(names)} for the dims {tuple(names)}" for names, _ in candidates)
    raise ValueError(
        f"operands do not broadcast: an array of shape {shape} beside Fields with names must have"
        f" as many indices ({expected}); gridbuf.Field(array, dims=...) names its indices"
    )


def _by_position(inputs: tuple[Operand | None, ...], outputs: int) -> Resolution:
    """Fields without names broadcast as arrays do."""
    shape = np.broadcast_shapes(*(o.shape for o in inputs if o is not None))
    frame = tuple(str(i) for i in range(len(shape)))
    halo, origin = _domain(
        [(o, frame[len(frame) - len(o.shape) :]) for o in inputs if o is not None], frame, shape
    )
    return Resolution((None,) * len(inputs), (None,) * outputs, shape, None, halo, origin)


def _domain(
    having: list[tuple[Operand, Names | None]], frame: tuple[str, ...], shape: tuple[int, ...]
) -> tuple[tuple[Pair, ...] | None, tuple[int, ...] | None]:
    """Where all domains meet. An input that is broadcast along an index says nothing of where the
    domain lies there.
    """
    halo, origin = [], []
    for name, size in zip(frame, shape, strict=True):
        at = [(o, names.index(name)) for o, names in having if names is not None and name in names]
        at = [(o, i) for o, i in at if o.shape[i] == size]
        halo.append(intersected([o.halo[i] for o, i in at if o.halo is not None], size))
        origin.append(
            min(max((o.origin[i] for o, i in at if o.origin is not None), default=0), size)
        )
    return (
        tuple(halo) if any(o.halo is not None for o, _ in having) else None,
        tuple(origin) if any(o.origin is not None for o, _ in having) else None,
    )
