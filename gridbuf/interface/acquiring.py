"""acquire, run, touch, release: the order of calls around a computation on buffers."""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from gridbuf.interface.buffers import array_over, copied, copy_back
from gridbuf.interface.description import Description
from gridbuf.interface.layouts import warn_of_layout
from gridbuf.interface.reading import check_device, find
from gridbuf.names import canonical, read_names

POLICIES = ("raise", "copy")


class CopyWarning(UserWarning):
    """A field did not fit and is copied for the call."""


class _Operand:
    """One field of a call: its buffer, and how to make it what the call needs."""

    def __init__(self, name: str, obj: Any, device: Any, dims: Any, dtype: Any, output: bool, policy: str) -> None:
        self.name, self.obj, self.output = name, obj, output
        self.wanted_device = device is not None
        self.reasons: list[str] = []
        self.on_device, self.entry = self._buffer(device, policy)
        own = self.entry["dims"]
        self.dims, self.order = self._order(own, None if dims is None else read_names(dims, f"{name}: dims"))
        self.dtype = self._check_dtype(dtype, policy)
        if output and self.entry["data"][1]:
            raise ValueError(f"{name}: its memory is read-only and cannot be an output")

    def _buffer(self, device: Any, policy: str) -> tuple[bool, Description]:
        found = find(self.obj, device)
        if found is not None:
            return self.wanted_device, found
        where = "the host" if device is None else str(device)
        other = find(self.obj, "gpu" if device is None else None) if policy == "copy" else None
        if other is None:
            raise ValueError(f"{self.name}: {type(self.obj).__name__} has no buffer for {where}")
        self.reasons.append(f"there is no buffer for {where}")
        return not self.wanted_device, other

    def _order(self, own: Any, asked: Any) -> tuple[tuple[str, ...] | None, tuple[int, ...] | None]:
        if own is None:
            if asked is not None and len(asked) != len(self.entry["shape"]):
                raise ValueError(f"{self.name}: {len(self.entry['shape'])} indices were given, the dims are {asked}")
            return asked, None
        wanted = canonical(own) if asked is None else asked
        if sorted(wanted) != sorted(own):
            raise ValueError(f"{self.name}: its dims are {own}, {wanted} are needed")
        return wanted, None if wanted == own else tuple(own.index(d) for d in wanted)

    def _check_dtype(self, dtype: Any, policy: str) -> np.dtype[Any]:
        own = _dtype_of(self.obj, self.entry)
        if dtype is None or own == np.dtype(dtype):
            return own
        if policy == "raise":
            raise TypeError(f"{self.name}: its dtype is {own}, {np.dtype(dtype)} is needed")
        self.reasons.append(f"its dtype is {own} and not {np.dtype(dtype)}")
        wanted: np.dtype[Any] = np.dtype(dtype)
        return wanted

    def enter(self, stacklevel: int) -> Any:
        """The array for the call; what does not fit is copied, with a warning."""
        self.array = array_over(self.obj, self.entry, self.on_device)
        self.copy = None
        if self.reasons:
            warnings.warn(f"{self.name}: copied for this call, because {' and '.join(self.reasons)}", CopyWarning, stacklevel)
            self.copy = copied(self.array, self.on_device, self.wanted_device, self.dtype)
            if self.entry["data"][1]:
                self.copy.flags.writeable = False
        found = self.array if self.copy is None else self.copy
        return found if self.order is None else found.transpose(self.order)

    def copy_back(self) -> None:
        if self.copy is not None:
            copy_back(self.copy, self.array, self.on_device, self.wanted_device)


def _dtype_of(obj: Any, entry: Description) -> np.dtype[Any]:
    described: np.dtype[Any] = np.dtype(entry["typestr"])
    own: Any = getattr(obj, "dtype", None)
    # A typestr has no words for bfloat16 and the like; the object has.
    if described.kind == "V" and isinstance(own, np.dtype) and own.itemsize == described.itemsize:
        described = own
    return described


def _run_all(calls: list[Callable[[], Any] | None]) -> None:
    """Each call in turn, also after one has raised."""
    with ExitStack() as stack:
        for call in reversed(calls):
            if call is not None:
                stack.callback(call)


def _operands(
    fields: Mapping[str, Any],
    outputs: Collection[str],
    device: Any,
    dims: Mapping[str, Any] | None,
    dtypes: Mapping[str, Any] | None,
    policy: str,
) -> list[_Operand]:
    """Every check, before anything is acquired."""
    if policy not in POLICIES:
        raise ValueError(f"policy: {policy!r} is not one of {', '.join(map(repr, POLICIES))}")
    if isinstance(outputs, str):
        raise TypeError(f"outputs: expected a collection of names, got the str {outputs!r}")
    dims, dtypes, where = dims or {}, dtypes or {}, check_device(device)
    for argument, names in (("outputs", outputs), ("dims", dims), ("dtypes", dtypes)):
        unknown = [str(name) for name in names if name not in fields]
        if unknown:
            raise ValueError(f"{argument}: {', '.join(unknown)} is not among the fields {', '.join(fields)}")
    return [
        _Operand(name, obj, where, dims.get(name), dtypes.get(name), name in outputs, policy)
        for name, obj in fields.items()
    ]  # fmt: skip


@contextmanager
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
) -> Iterator[dict[str, Any]]:
    """Plain arrays over the memory of fields, for the duration of a with block.

    On entering, `acquire` of every field is called; on leaving, `touch` of the outputs and
    then `release` of every field, whatever happened in between.

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
        is copied back for outputs.
    backend : str, optional
        A preset: arrays whose layout is slow there get a `LayoutWarning`.
    stacklevel : int, optional
        Whose line the warnings name, as in warnings.warn.

    Yields
    ------
    dict
        Name to np.ndarray or cupy.ndarray.

    Examples
    --------
    >>> import gridbuf.interface, gridbuf.storage as gs
    >>> a, b = gs.ones((2, 3), axes="JI"), gs.zeros((3, 2), axes="IJ")
    >>> with gridbuf.interface.acquired({"a": a, "b": b}, outputs=("b",)) as buffers:
    ...     buffers["b"][...] = buffers["a"]
    >>> float(b[2, 1])
    1.0
    """
    operands = _operands(fields, outputs, device, dims, dtypes, policy)
    releases: list[Callable[[], Any] | None] = []
    try:
        for operand in operands:
            if operand.entry["acquire"] is not None:
                operand.entry["acquire"]()
            releases.append(operand.entry["release"])
        buffers = {}
        for operand in operands:  # a comprehension would be one more frame before Python 3.12
            buffers[operand.name] = operand.enter(stacklevel + 1)
        if backend is not None:
            for operand in operands:
                if operand.dims is not None:
                    warn_of_layout(operand.name, buffers[operand.name], operand.dims, backend, stacklevel + 1)
        written = [operand for operand in operands if operand.output]
        try:
            yield buffers
        finally:
            _run_all([*(operand.copy_back for operand in written), *(operand.entry["touch"] for operand in written)])
    finally:
        _run_all(releases)
