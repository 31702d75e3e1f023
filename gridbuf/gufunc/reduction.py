"""g.reduce: folding along axes, the same bits for any number of workers.

A long axis is cut into blocks whose size depends on nothing else; a first call folds
the blocks, a second one folds their results.
"""

import math
import operator
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.gufunc.errors import SignatureError
from gridbuf.gufunc.kernels import EXCLUSIVE, MEASURED, NUMPY_LOOP, ONE_WORKER, RAISES, STATUS_LOOP, Kernel
from gridbuf.gufunc.operands import Operand, read_input, read_mask, read_output
from gridbuf.gufunc.states import StateKernel
from gridbuf.gufunc.types import DTYPES, number_of

if TYPE_CHECKING:
    from gridbuf.gufunc.call import GUFunc

BLOCK = 16384  # elements that lie along memory
SIDE_BLOCK = 64  # rows that lie side by side
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "<none>"})()  # no initial= was given
_engines: dict[Any, Any] = {}
_Parts = tuple[tuple[NDArray[Any], ...], Any]  # results, and codes or None


def _engine(signature: str, types: bytes, loop: int, flags: int, how: int = 0, form: int = STATUS_LOOP) -> Any:
    """A gufunc of the engine for one loop of fold.c."""
    key = (signature, types, loop, flags, how)
    if key not in _engines:
        engine = _core.GUFunc("reduce", signature, flags)
        engine._add(form, loop, 0, None, types, how)
        _engines[key] = engine
    return _engines[key]


def _run(engine: Any, operands: tuple[Any, ...], data: bytes | None, workers: int, ignore: bool) -> _Parts:
    results, _, codes, _, _ = engine._execute(0, operands, None, None, data, workers, ignore, False)
    return tuple(np.asarray(r) for r in results), codes


def _blocks(a: NDArray[Any], size: int) -> NDArray[Any]:
    """The last axis cut into whole blocks, as a view."""
    n = a.shape[-1] // size
    return as_strided(a, (*a.shape[:-1], n, size), (*a.strides[:-1], size * a.strides[-1], a.strides[-1]), writeable=False)


def _join(codes: Any, more: Any) -> Any:
    """Failures of blocks are failures of what they contribute to."""
    if codes is None:
        return more
    codes = np.bitwise_or.reduce(codes, axis=-1)  # type: ignore[call-overload]
    if not codes.any():
        return more
    return codes if more is None else codes | more


class _Fold:
    """One reduction with a two-input loop."""

    def __init__(self, g: "GUFunc", kernel: Kernel, number: int, ordered: bool, workers: int, ignore: bool) -> None:
        self.kernel, self.number, self.ordered, self.workers, self.ignore = kernel, number, ordered, workers, ignore
        self.flags, self.identity = g._describe()[2], g.identity
        self.dtype = DTYPES[number]
        self.how = kernel.flags & (EXCLUSIVE | ONE_WORKER | RAISES | MEASURED)  # a fold is what its kernel is
        char = self.dtype.char
        self.sum_loop = _core.gufunc_shipped_loop("sum", f"{char}->{char}") if g._adds and not ordered else 0

    def data(self, start: Any) -> bytes:
        def as_bytes(value: Any) -> bytes:
            return bytes(np.asarray(value, self.dtype).tobytes().ljust(16, b"\0"))

        nothing, k = bytes(16), self.kernel
        return struct.pack(
            "@PPqiiii16s16s", k.address, k.data, self.dtype.itemsize, k.form, int(self.ordered), int(start is not MISSING), 0,
            nothing if start is MISSING else as_bytes(start), nothing if self.identity is None else as_bytes(self.identity),
        )  # fmt: skip

    def once(self, a: NDArray[Any], mask: Any, start: Any) -> _Parts:
        loops = _core.gufunc_fold_loops()
        t = bytes([self.number])
        if mask is None and start is MISSING and self.sum_loop:
            engine = _engine("(n)->()", t + t, self.sum_loop, self.flags, 0, NUMPY_LOOP)
            return _run(engine, (a, None), None, self.workers, self.ignore)
        if mask is None:
            engine = _engine("(n)->()", t + t, loops[0], self.flags, self.how)
            return _run(engine, (a, None), self.data(start), self.workers, self.ignore)
        engine = _engine("(n),(n)->()", t + b"\1" + t, loops[1], self.flags, self.how)
        return _run(engine, (a, mask, None), self.data(start), self.workers, self.ignore)

    def along_last(self, a: NDArray[Any], mask: Any, start: Any) -> tuple[NDArray[Any], Any]:
        n = a.shape[-1]
        beside = mask is None and any(
            s > 8 and 0 < abs(step) < abs(a.strides[-1]) for s, step in zip(a.shape, a.strides, strict=True)
        )
        block = SIDE_BLOCK if beside else BLOCK
        if self.ordered or n < 2 * block:
            (result,), codes = self.once(a, mask, start if self.ordered or start is MISSING or n == 0 else MISSING)
            if start is not MISSING and not self.ordered and n:
                return self._with_start(result, codes, start)
            return result, codes
        whole = n // block * block
        (parts,), codes = self.once(_blocks(a, block), None if mask is None else _blocks(mask, block), MISSING)
        if whole < n:
            (rest,), more = self.once(a[..., whole:], None if mask is None else mask[..., whole:], MISSING)
            parts = np.concatenate([parts, rest[..., None]], axis=-1)
            if codes is not None or more is not None:
                blank = np.zeros(parts.shape[:-1], np.uint8)
                codes = np.zeros((*parts.shape[:-1], parts.shape[-1] - 1), np.uint8) if codes is None else codes
                codes = np.concatenate([codes, (blank if more is None else more)[..., None]], axis=-1)
        result, last = self.along_last(parts, None, start)
        return result, _join(codes, last)

    def _with_start(self, result: NDArray[Any], codes: Any, start: Any) -> tuple[NDArray[Any], Any]:
        first = np.full(result.shape, start, self.dtype)
        (joined,), more = self.once(np.stack([first, result], axis=-1), None, MISSING)
        return joined, more if codes is None else codes if more is None else codes | more


def _states(kernel: StateKernel, a: NDArray[Any], nout: int, flags: int, workers: int, ignore: bool) -> _Parts:
    loops = _core.gufunc_fold_loops()
    size, data = (
        len(kernel.init),
        struct.pack("@PPPPqq", kernel.step, kernel.merge, kernel.final, 0, len(kernel.init), nout) + kernel.init,
    )
    source = bytes([number_of(np.dtype(kernel.types[0]))])
    outs = bytes(number_of(np.dtype(c)) for c in kernel.types.partition("->")[2])
    stepper = _engine(
        f"(n),()->({size})", source + bytes([number_of(np.dtype("l")), number_of(np.dtype("B"))]), loops[2], flags, MEASURED
    )
    n = a.shape[-1]
    whole = n // BLOCK * BLOCK
    parts, codes = [], []
    for piece, first in ((_blocks(a, BLOCK), np.arange(0, whole, BLOCK)), (a[..., None, whole:], np.array([whole]))):
        if piece.shape[-1] and piece.shape[-2]:
            (states,), bad = _run(stepper, (piece, first, None), data, workers, ignore)
            parts.append(states)
            codes.append(np.zeros(states.shape[:-1], np.uint8) if bad is None else bad)
    states = np.concatenate(parts, axis=-2) if parts else np.zeros((*a.shape[:-1], 0, size), np.uint8)
    merger = _engine(
        f"(b,{size})->" + ",".join(["()"] * nout), bytes([number_of(np.dtype("B"))]) + outs, loops[3], flags, MEASURED
    )
    results, more = _run(merger, (states, *[None] * nout), data, workers, ignore)
    bad = np.concatenate(codes, axis=-1) if parts else None
    return results, _join(bad if bad is not None and bad.any() else None, more)


def _kernel_of(g: "GUFunc", a: Any, dtype: Any) -> tuple[Kernel, int]:
    """A kernel with one type for its three operands."""
    number = 0 if dtype is None else number_of(np.dtype(dtype))
    if dtype is None and g._widens and a.dtype.kind in "biu" and a.dtype.itemsize < 8:
        number = number_of(np.dtype("L" if a.dtype.kind == "u" else "l"))
    if dtype is None and not number:
        operand = read_input(a, 0)
        number = g._types(g._kernel([operand, operand], None, None, "same_kind"))[2]
    for n in range(g._describe()[3]):
        if g._types(n) == bytes([number] * 3) and g._owners[n].go_name is None:
            return g._owners[n], number
    raise SignatureError(
        f"{g.name}: reducing needs a C kernel with one type for its operands; its kernels are {', '.join(g.types)}"
    )


def reduce(
    g: "GUFunc",
    array: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
    ordered: bool,
    errors: str,
    workers: int | None,
) -> Any:
    """What GUFunc.reduce does."""
    operand = read_input(array, 0)
    a = operand.array
    axes = tuple(range(a.ndim)) if axis is None else (axis,) if not isinstance(axis, tuple) else axis
    axes = () if a.ndim == 0 and axes in ((0,), (-1,)) else _normal(axes, a.ndim)
    kept = [d for d in range(a.ndim) if d not in axes]
    mask = None if where is True else _mask(read_mask(where), operand)
    moved = a.transpose(*kept, *axes)
    state = next((k for k in g._states if np.can_cast(a.dtype, np.dtype(k.types[0]), "safe")), None)
    ignore = errors == "ignore"
    if state is not None:
        if mask is not None or initial is not MISSING or dtype is not None:
            raise SignatureError(f"{g.name}: a StateKernel takes no where, initial or dtype")
        results, codes = _states(state, _flat(moved, len(kept)), g.nout, g._describe()[2], workers or 0, ignore)
    else:
        result, codes = _fold(g, moved, len(kept), mask, axes, kept, a, dtype, initial, ordered, workers or 0, ignore)
        results = (result,)
    finished = [_finish(r, operand, axes, keepdims, o) for r, o in zip(results, _outs(g, out), strict=True)]
    selected = int(np.prod(moved.shape[: len(kept)], dtype=np.int64))
    failed = 0 if codes is None else int(np.count_nonzero(codes))
    return g._conclude(
        finished[0] if g._reduced == 1 else tuple(finished), codes, failed, selected, errors, moved.shape[: len(kept)]
    )


def _normal(axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    found = tuple(operator.index(i) + ndim if i < 0 else operator.index(i) for i in axes)
    if any(not 0 <= i < ndim for i in found) or len(set(found)) < len(found):
        raise ValueError(f"axis: {axes} does not fit {ndim} dimensions")
    return found


def _outs(g: "GUFunc", out: Any) -> tuple[Any, ...]:
    given = out if isinstance(out, tuple) else (out,) * 1 if g._reduced == 1 else (out,) * g._reduced if out is None else (out,)
    if len(given) != g._reduced:
        raise SignatureError(f"out: {len(given)} arrays given, the reduction has {g._reduced} results")
    return given


def _mask(mask: Operand, operand: Operand) -> NDArray[np.bool_]:
    """The mask with its axes where the operand has them, by name when both have names."""
    found: NDArray[np.bool_] = mask.array
    if mask.dims is None or operand.dims is None:
        return found
    if unknown := set(mask.dims) - set(operand.dims):
        raise SignatureError(f"where: its index {min(unknown)} is none of the operand's {operand.dims}")
    found = found.transpose([mask.dims.index(n) for n in operand.dims if n in mask.dims])
    return found[tuple(slice(None) if n in mask.dims else None for n in operand.dims)]


def _finish(result: NDArray[Any], operand: Operand, axes: tuple[int, ...], keepdims: bool, out: Any) -> Any:
    if keepdims:
        result = np.expand_dims(result, axes)
    if out is None:
        dims = operand.dims and tuple(n for d, n in enumerate(operand.dims) if keepdims or d not in axes)
        return _core.Field(result, dims=dims) if dims else result if result.ndim else result[()]
    target = read_output(out).array
    if target.shape != result.shape:
        raise ValueError(f"out: its shape is {target.shape}, the result's {result.shape}")
    np.copyto(target, result, casting="same_kind")
    return out


def _fold(
    g: "GUFunc", moved: NDArray[Any], nkept: int, mask: Any, axes: tuple[int, ...], kept: list[int], a: NDArray[Any], dtype: Any,
    initial: Any, ordered: bool, workers: int, ignore: bool,
) -> tuple[NDArray[Any], Any]:  # fmt: skip
    if g.nin != 2 or g.nout != 1 or any(g._cores):
        raise SignatureError(
            f"{g.name}: only two inputs and one output without core dimensions reduce, or a StateKernel; this is {g.signature}"
        )
    kernel, number = _kernel_of(g, a, dtype)
    free = g._reorderable
    if not free and len(axes) > 1:
        raise ValueError(f"{g.name}: the operation is not reorderable, so at most one axis may be given")
    if initial is None or (initial is MISSING and g.identity is None):
        start: Any = MISSING
        if mask is not None:
            raise ValueError(f"{g.name}: where= needs an identity or initial=")
        if any(a.shape[i] == 0 for i in axes):
            raise ValueError(f"{g.name}: nothing to reduce, and there is no identity; give initial=")
    else:
        start = initial
        if initial is MISSING and any(a.shape[i] == 0 for i in axes):
            start = g.identity
    by_hand = ordered or not free or (mask is not None and g.identity is None)
    if by_hand and mask is not None and start is MISSING:
        start = g.identity
    fold = _Fold(g, kernel, number, by_hand, workers, ignore)
    masks = None if mask is None else np.broadcast_to(mask, a.shape).transpose(*kept, *axes)
    flat = _flat(moved, nkept)
    return fold.along_last(flat, None if masks is None else _flat(masks, nkept), start)


def _flat(a: NDArray[Any], nkept: int) -> NDArray[Any]:
    """The reduced axes, which are the last ones, as one."""
    return a if a.ndim == nkept + 1 else a.reshape(*a.shape[:nkept], math.prod(a.shape[nkept:]))
