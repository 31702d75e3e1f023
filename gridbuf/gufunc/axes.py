"""axes=, axis= and keepdims=: core dimensions that are not the last ones."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf.gufunc.errors import SignatureError

Dims = tuple[str, ...] | None
Finish = Callable[[Any, Dims], tuple[Any, Dims]] | None


def _tuple(entry: Any) -> tuple[int, ...]:
    return (int(entry),) if isinstance(entry, (int, np.integer)) else tuple(operator.index(e) for e in entry)


def arrange(g: Any, inputs: list[Any], outputs: list[Any], axes: Any, axis: int | None, keepdims: bool) -> list[Finish]:
    """Move the core axes of every operand last; returns what moves new outputs back."""
    if axes is None and axis is None and not keepdims:
        return [None] * g.nout
    in_cores, out_cores = g._cores[: g.nin], g._cores[g.nin :]
    if axes is not None and axis is not None:
        raise SignatureError("axes: it cannot be given together with axis")
    if keepdims and (any(out_cores) or len({len(c) for c in in_cores}) != 1 or not in_cores[0]):
        raise SignatureError(
            f"keepdims: {g.signature} needs inputs with the same number of core dimensions and outputs with none"
        )
    if axis is not None:
        if any(len(c) > 1 for c in g._cores) or len({k for c in g._cores for k in c}) != 1:
            raise SignatureError(f"axis: {g.signature} needs one core dimension that its operands share; use axes")
        axes = [(axis,) if c else () for c in g._cores]
    if axes is None:
        axes = [tuple(range(-len(c), 0)) for c in in_cores] + [() for _ in out_cores]
    entries = [_tuple(e) for e in axes]
    if len(entries) == g.nin and not any(out_cores):
        entries += [entries[0] if keepdims else ()] * g.nout
    elif keepdims and len(entries) == g.nargs:
        entries[g.nin :] = [e or entries[0] for e in entries[g.nin :]]
    if len(entries) != g.nargs:
        raise SignatureError(f"axes: {len(entries)} entries for {g.nargs} operands")
    for i, (o, core) in enumerate(zip(inputs, in_cores, strict=True)):
        if len(entries[i]) != len(core):
            raise SignatureError(f"axes: entry {i} has {len(entries[i])} axes, the operand's core has {len(core)}")
        _move(o, entries[i])
    finishers: list[Finish] = []
    for o, entry, core in zip(outputs, entries[g.nin :], out_cores, strict=True):
        if not keepdims and len(entry) != len(core):
            raise SignatureError(f"axes: an output's entry has {len(entry)} axes, its core has {len(core)}")
        finishers.append(_output(o, entry, keepdims, inputs[0].dims))
    return finishers


def _move(o: Any, entry: tuple[int, ...]) -> None:
    last = tuple(range(-len(entry), 0))
    if entry == last:
        return
    if o.dims is not None:
        names = list(o.dims)
        moved = [a % o.array.ndim for a in entry]
        o.dims = tuple([n for k, n in enumerate(names) if k not in moved] + [names[k] for k in moved])
    o.array = np.moveaxis(o.array, entry, last)


def _output(o: Any, entry: tuple[int, ...], keepdims: bool, names: Dims) -> Finish:
    last = tuple(range(-len(entry), 0))
    if o.array is not None:
        _move(o, entry)
        if keepdims:
            if o.array.shape[o.array.ndim - len(entry) :] != (1,) * len(entry):
                raise SignatureError(f"out: keepdims needs axes {entry} of size 1, the shape is {np.shape(o.given)}")
            o.array = o.array[(..., *([0] * len(entry)))]
        return None
    if not entry or (entry == last and not keepdims):
        return None

    def finish(result: Any, dims: Dims) -> tuple[Any, Dims]:
        if keepdims:
            result = np.asarray(result)[(..., *([None] * len(entry)))]
            dims = None if dims is None or names is None else (*dims, *names[-len(entry) :])
        return np.moveaxis(result, last, entry), dims and _moved_names(dims, entry)

    return finish


def _moved_names(names: tuple[str, ...], entry: tuple[int, ...]) -> tuple[str, ...]:
    """What np.moveaxis from the last places to entry does to names."""
    outer = len(names) - len(entry)
    core, rest = {e % len(names): n for e, n in zip(entry, names[outer:], strict=True)}, iter(names[:outer])
    return tuple(core[k] if k in core else next(rest) for k in range(len(names)))
