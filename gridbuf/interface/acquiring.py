"""acquire, run, touch, release: the order of calls around a computation on buffers, and warnings
about their layouts.
"""

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from functools import lru_cache
from types import TracebackType
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interface.operand import Memory, Operand
from gridbuf.interface.reading import check_device
from gridbuf.names import canonical, read_names
from gridbuf.strides import falling

# ---- layouts ----


class LayoutWarning(UserWarning):
    """A field's strides are not what the backend reads fastest."""


def slow_layout(
    shape: tuple[int, ...], strides: tuple[int, ...], dims: tuple[str, ...], backend: str
) -> str:
    """The order in which the backend wants the strides, the largest first; "" where the array's are
    so.
    """
    return _slow_layout(shape, strides, dims, backend, _core.registrations())


@lru_cache(maxsize=1024)
def _slow_layout(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dims: tuple[str, ...],
    backend: str,
    registrations: int,
) -> str:
    if backend not in _core.backends():
        return ""
    ranks = _core.preset(backend, dims)[0] or ()
    order = sorted(range(len(dims)), key=ranks.__getitem__)
    return "" if falling(shape, strides, order) else "".join(dims[i] for i in order)


def warn_of_layouts(
    fields: Iterable[tuple[str, Any, tuple[str, ...]]], backend: str, stacklevel: int
) -> None:
    """Warn, with the remedy, of each field (name, array, dims) whose strides are not in the
    backend's order.
    """
    slow = [
        (name, array, dims, best)
        for name, array, dims in fields
        if (best := slow_layout(array.shape, array.strides, dims, backend))
    ]
    if not slow:
        return
    kinds = {(array.strides, dims, best) for _, array, dims, best in slow}
    told = "; ".join(
        ", ".join(name for name, array, own, _ in slow if (array.strides, own) == (strides, dims))
        + f": strides {strides} for {''.join(dims)} are slow on {backend!r}, which wants {best}"
        " from the largest to the smallest"
        for strides, dims, best in sorted(kinds)
    )
    warnings.warn(
        f"{told}; allocate with gridbuf.empty(..., backend={backend!r}) or copy once with"
        f" gridbuf.from_array(..., backend={backend!r})",
        LayoutWarning,
        stacklevel=stacklevel,
    )


# ---- acquired ----


POLICIES = ("raise", "copy")


def _run_all(calls: list[Callable[[], Any] | None]) -> None:
    """Each call in turn, also after one has raised."""
    with ExitStack() as stack:
        for call in reversed(calls):
            if call is not None:
                stack.callback(call)


def _check_names(fields: Any, outputs: Any, dims: Any, dtypes: Any, policy: str) -> Any:
    """The outputs, which may come from what can be read once only."""
    if not isinstance(fields, Mapping):
        raise TypeError(f"fields: expected a map from name to object, got {type(fields).__name__}")
    if policy not in POLICIES:
        raise ValueError(f"policy: {policy!r} is not one of {', '.join(map(repr, POLICIES))}")
    if isinstance(outputs, str) or not hasattr(outputs, "__iter__"):
        raise TypeError(
            f"outputs: expected a collection of names, got the {type(outputs).__name__} {outputs!r}"
        )
    outputs = tuple(outputs)
    for argument, given in (("dims", dims), ("dtypes", dtypes)):
        if not isinstance(given, Mapping):
            raise TypeError(
                f"{argument}: expected a map from the names of fields, got {type(given).__name__}"
            )
    for argument, names in (("outputs", outputs), ("dims", dims), ("dtypes", dtypes)):
        unknown = [str(name) for name in names if name not in fields]
        if unknown:
            raise ValueError(
                f"{argument}: {', '.join(unknown)} is not among the fields {', '.join(fields)}"
            )
    return outputs


def way(
    own: Any,
    asked: Any,
    ndim: int,
    dtype: np.dtype[Any],
    needed: Any,
    backend: str | None,
    shape: Any,
    strides: Any,
) -> Any:
    """The order in which a call gets the indices, () for as they are; None where there is something
    to explain or to warn of.

    pyext/storage/interface.c remembers it, so it must depend on nothing else.
    """
    if dtype.hasobject or (needed is not None and dtype != needed):
        return None
    wanted = None if asked is None else read_names(asked, "dims")
    own_order = order = tuple(range(ndim))
    if own is None and wanted is not None and len(wanted) != ndim:
        return None
    if own is not None:
        dims = tuple(own)
        wanted = canonical(dims) if wanted is None else wanted
        if sorted(wanted) != sorted(dims):
            return None
        order = tuple(dims.index(name) for name in wanted)
    if backend is not None and wanted is not None:
        slow = slow_layout(
            tuple(shape[i] for i in order), tuple(strides[i] for i in order), wanted, backend
        )
        if slow:
            return None
    return () if order == own_order else order


_COLLECTIONS = (tuple, list, set, frozenset)


class Acquired:
    """The with block of `acquired`."""

    __slots__ = (
        "_backend",
        "_device",
        "_dims",
        "_dtypes",
        "_fields",
        "_memories",
        "_operands",
        "_outputs",
        "_policy",
        "_stacklevel",
    )

    def __init__(
        self,
        fields: Any,
        outputs: Any,
        device: Any,
        dims: Any,
        dtypes: Any,
        policy: str,
        backend: Any,
        stacklevel: int,
    ) -> None:
        self._fields = fields
        self._outputs = outputs
        self._device = device
        self._dims = dims
        self._dtypes = dtypes
        self._policy, self._backend, self._stacklevel = policy, backend, stacklevel
        self._operands: list[Operand] = []
        self._memories: list[Memory] = []  # acquired so far

    def __enter__(self) -> dict[str, Any]:
        fields = self._fields
        outputs = self._outputs
        dims = self._dims or {}
        dtypes = self._dtypes or {}
        if (
            self._device in (None, "cpu")
            and self._policy in POLICIES
            and type(outputs) in _COLLECTIONS
        ):
            found = _core.host_arrays(fields, outputs, dims, dtypes, self._backend)
            if found is not None:
                return found
        outputs = self._outputs = _check_names(fields, outputs, dims, dtypes, self._policy)
        device = check_device(self._device)
        shared: dict[int, Memory] = {}
        operands = []
        for name, obj in fields.items():
            memory = shared.get(id(obj))
            if memory is None:
                memory = shared[id(obj)] = Memory(name, obj, device, self._policy)
            operands.append(
                Operand(
                    name, memory, dims.get(name), dtypes.get(name), name in outputs, self._policy
                )
            )
        _check_copies(operands)
        try:
            for memory in shared.values():
                memory.acquire()
                self._memories.append(memory)
                memory.read_again()
            buffers = {}
            for operand in operands:  # a comprehension would be one more frame before Python 3.12
                buffers[operand.name] = operand.enter(self._stacklevel)
            if self._backend is not None:
                named = [
                    (one.name, buffers[one.name], one.dims)
                    for one in operands
                    if one.dims is not None
                ]
                warn_of_layouts(named, self._backend, self._stacklevel)
        except BaseException:
            _run_all([memory.entry["release"] for memory in self._memories])
            raise
        self._operands = operands
        return buffers

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        where: TracebackType | None = None,
    ) -> None:
        operands, memories = self._operands, self._memories
        self._operands, self._memories = [], []
        if memories:
            backs = [operand.copy_back for operand in operands if operand.output]
            touches = [memory.entry["touch"] for memory in memories if memory.touched]
            _run_all([*backs, *touches, *(memory.entry["release"] for memory in memories)])


def _check_copies(operands: list[Operand]) -> None:
    """An output that is copied must not stand beside another copy of the same object, or its values
    were lost there.
    """
    for one in operands:
        for other in operands:
            if (
                one.output
                and one.memory is other.memory
                and (bool(one.reasons), one.dtype) != (bool(other.reasons), other.dtype)
            ):
                raise ValueError(
                    f"{one.name}: it is the same object as {other.name}, which needs the dtype"
                    f" {other.dtype} and not {one.dtype}: what is written to one copy would not be"
                    " in the other"
                )


def acquired(
    fields: Mapping[str, Any],
    outputs: Collection[str] = (),
    device: Any = None,
    dims: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    policy: str = "raise",
    *,
    backend: str | None = None,
    stacklevel: int = 3,
) -> Acquired:
    """Plain arrays over the memory of fields, for the duration of a with block.

    On entering, `acquire` of every object is called, which may move its memory but not
    change its shape, dtype or dims; on leaving, `touch` of those that are outputs and then
    `release` of every one, also after an error. An object that stands for several
    fields is acquired, touched and released once.

    Parameters
    ----------
    fields : mapping
        Name to object: anything that `read` understands.
    outputs : collection of str, optional
        The names of fields that are written.
    device : None, "cpu", "gpu" or ("gpu", n), optional
        Where the computation runs.
    dims : mapping, optional
        Name to the order of indices that is needed. Objects that name their indices are
        transposed; others are taken to be in that order. Default: I, J, K, 0, 1, ...
    dtypes : mapping, optional
        Name to the dtype that is needed.
    policy : {"raise", "copy"}, optional
        What to do about a wrong dtype or device: an error, or a copy for this call, which
        is copied back for outputs. Copies convert as casting="same_kind" does; a
        conversion that this refuses is an error under either policy.
    backend : str, optional
        A preset: arrays whose layout is slow there get a `LayoutWarning`.
    stacklevel : int, optional
        The caller that the warnings name, as in warnings.warn.

    Returns
    -------
    context manager
        It gives the block a dict: name to np.ndarray or cupy.ndarray.

    Raises
    ------
    TypeError, ValueError
        On entering, when a field does not fit; the message names it.

    Examples
    --------
    >>> import gridbuf.interface, gridbuf.storage as gs
    >>> a, b = gs.ones((2, 3), axes="JI"), gs.zeros((3, 2), axes="IJ")
    >>> with gridbuf.interface.acquired({"a": a, "b": b}, outputs=("b",)) as buffers:
    ...     buffers["b"][...] = buffers["a"]
    >>> float(b[2, 1])
    1.0
    """
    return Acquired(fields, outputs, device, dims, dtypes, policy, backend, stacklevel)
