"""Operands of a fused expression: memory of plain numbers that the host may read, and numbers;
and one operation: its loop, what its result is like, and its unfused call.

What a result is like (shape, names, halo, origin, class, order of strides) says the unfused call
itself, of a ufunc of the same types that computes nothing.
"""

import contextlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.names import dims_given

Field, StorageBase = _core.HostField, _core.StorageBase
WEAK = (int, float, complex)  # Python's numbers, which take the dtype of the arrays around them
NUMBERS = (*WEAK, bool)


def is_number(obj: Any) -> bool:
    """Whether an object is a number of Python's or NumPy's own classes."""
    return type(obj) in NUMBERS or (
        isinstance(obj, (np.number, np.bool_)) and type(obj).__module__ == "numpy"
    )


def is_integer(number: Any) -> bool:
    return type(number) is int or isinstance(number, np.integer)


def is_memory(obj: Any) -> bool:
    """Whether an object is an array, a Field or a storage of the host, of no derived class."""
    cls = type(obj)
    return (
        cls is np.ndarray
        or cls is Field
        or (issubclass(cls, StorageBase) and cls.__name__ == "CPUStorage")
    )


def attributes_of(obj: Any) -> dict[str, Any]:
    """The attributes of an object of a Python class, which may change between calls."""
    if isinstance(obj, (type, ModuleType, FunctionType)):
        return {}
    found: dict[str, Any] = {}
    for cls in type(obj).__mro__:
        slots = vars(cls).items() if "__slots__" in vars(cls) else ()
        for name, slot in slots:
            if isinstance(slot, MemberDescriptorType):
                with contextlib.suppress(AttributeError):  # it has no value
                    found[name] = slot.__get__(obj)
    own = getattr(obj, "__dict__", None) if type(obj).__dictoffset__ else None
    return found | own if type(own) is dict else found


def host(obj: Any) -> "np.ndarray[Any, Any]":
    """The memory as an array."""
    if type(obj) is np.ndarray:
        return obj
    array: np.ndarray[Any, Any] = obj.numpy() if type(obj) is Field else obj._host
    return array


def is_plain(dtype: "np.dtype[Any]") -> bool:
    """Whether the elements are numbers of at most 16 bytes in the machine's byte order."""
    return dtype.kind in "biufc" and dtype.char not in "gG" and dtype.isnative


def can_fuse(obj: Any) -> bool:
    return is_plain(obj.dtype) and host(obj).flags.aligned


def names_of(obj: Any) -> tuple[str, ...] | None:
    """The names of the indices; None where none were given."""
    if type(obj) is np.ndarray:
        return None
    if type(obj) is Field:
        return dims_given(obj)
    return tuple(obj.axes)


def axes_of(obj: Any, frame: Any) -> tuple[int, ...]:
    """For each index of a result, which index of the operand goes along; -1: it is broadcast."""
    own, names = names_of(obj), names_of(frame)
    if own is not None and names is not None:
        return tuple(own.index(name) if name in own else -1 for name in names)
    return tuple(max(d - frame.ndim + obj.ndim, -1) for d in range(frame.ndim))


def goes_along(obj: Any, frame: Any) -> bool:
    """Whether `axes_of` can tell: of an array beside storages an index of one element may go."""
    if not obj.ndim:
        return True
    if names_of(obj) is None and names_of(frame) is not None and obj.ndim != frame.ndim:
        return False
    axes = axes_of(obj, frame)
    return all(a < 0 or obj.shape[a] in (1, n) for a, n in zip(axes, frame.shape, strict=True))


def signature(obj: Any) -> Any:
    """The facts of an object's memory that a call depends on."""
    if not is_memory(obj):
        return type(obj)
    kind = (type(obj), obj.dtype, obj.dtype.num, obj.shape, obj.strides)
    return (*kind, *meaning(obj))


def structure(obj: Any) -> Any:
    """The signature without sizes, but for sizes of 1, which broadcast."""
    order = sorted(range(obj.ndim), key=lambda i: -abs(obj.strides[i]))
    ones = tuple(size == 1 for size in obj.shape)
    dense = obj.ndim > 0 and obj.strides[order[-1]] == obj.itemsize
    number = obj.dtype.num  # long and long long are equal dtypes
    return type(obj), obj.dtype, number, tuple(order), ones, dense, *meaning(obj)


def meaning(obj: Any) -> tuple[Any, ...]:
    if type(obj) is Field:
        return names_of(obj), obj.dims, obj.halo, obj.origin
    return () if type(obj) is np.ndarray else (obj._meta,)


LOOP, CAST, SELECT = 1, 2, 3  # as gufunc/fused.h has them
CLIP: Any = np.clip if isinstance(np.clip, np.ufunc) else getattr(np, "_core", np).umath.clip

Dtype = Any  # np.dtype


class Loop(NamedTuple):
    """A loop of a ufunc, or a conversion or selection of gridbuf's."""

    kind: int
    function: int
    data: int
    flags: int
    types: tuple[Dtype, ...]  # of inputs, then of outputs


class Operation(NamedTuple):
    """An operation on nodes."""

    name: str
    loop: Loop
    inputs: tuple[Any, ...]  # nodes, and numbers as they stand in the function
    dtypes: tuple[Dtype, ...]  # of the results; the loop's are converted to them
    like: Callable[[Sequence[Any]], tuple[Any, ...]]  # results without their values
    call: Callable[[Sequence[Any]], tuple[Any, ...]]  # unfused
    modes: dict[str, Any] | None  # np.errstate inside of the function
    line: str


def find_loop(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> Loop | None:
    """NumPy's choice for dtypes and kinds of Python numbers; None: nothing that can be fused."""
    return _find_loop(ufunc, kinds, tuple(getattr(kind, "num", None) for kind in kinds))


@lru_cache(maxsize=1024)
def _find_loop(ufunc: np.ufunc, kinds: tuple[Any, ...], numbers_of_kinds: Any) -> Loop | None:
    """The same; `numbers_of_kinds` tell dtypes that are equal apart, as long and long long."""
    if ufunc.signature is not None or len(kinds) != ufunc.nin or ufunc.nin + ufunc.nout > 8:
        return None
    try:
        resolved = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except (TypeError, ValueError):
        return None
    numbers = bytes(d.num for d in resolved) if all(map(is_plain, resolved)) else None
    for raw, function, data in _core.gufunc_loops(ufunc):
        if raw == numbers:
            return Loop(LOOP, function, data, _flags(ufunc, resolved), resolved)
    return None


def _flags(ufunc: np.ufunc, types: tuple[Dtype, ...]) -> int:
    """NumPy's own loops are quick and raise nothing but powers of ints; others are unknown."""
    if ufunc is not CLIP and getattr(np, ufunc.__name__, None) is not ufunc:
        return _core.MEASURED | _core.RAISES
    return _core.RAISES if ufunc is np.power and types[0].kind in "iu" else 0


@lru_cache(maxsize=4096)
def _idle(name: str, numbers: bytes, inputs: int) -> Any:
    # The same ufunc each time: C remembers calls of Fields by it (pyext/named/ufuncs.c)
    return _core.idle_ufunc(name, numbers, inputs)


def counts(value: Any) -> bool:
    """Whether a result takes its frame from an operand; numbers and arrays without indices have
    none.
    """
    return is_memory(value) and (value.ndim > 0 or type(value) is not np.ndarray)


def idle(name: str, dtypes: Sequence[Dtype]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that makes a ufunc's results, without values, from its operands."""

    def like(values: Sequence[Any]) -> tuple[Any, ...]:
        memory = [v for v in values if counts(v)]
        numbers = bytes(d.num for d in (*(v.dtype for v in memory), *dtypes))
        made = _idle(name, numbers, len(memory))(*memory)
        return made if len(dtypes) > 1 else (made,)

    return like


def of_ufunc(ufunc: np.ufunc, loop: Loop) -> tuple[Any, Any]:
    """A function that makes a ufunc's results without values, and one that calls the ufunc."""

    def call(values: Sequence[Any]) -> tuple[Any, ...]:
        made = ufunc(*values)
        return made if ufunc.nout > 1 else (made,)

    return idle(ufunc.__name__, loop.types[ufunc.nin :]), call


def in_place(ufunc: np.ufunc, loop: Loop) -> tuple[Any, Any]:
    """Results and call of a ufunc that writes into a copy of its first input."""
    whole = idle(ufunc.__name__, loop.types[ufunc.nin :])

    def like(values: Sequence[Any]) -> tuple[Any, ...]:
        if not same_frame(whole(values)[0], values[0]):
            raise ValueError("non-broadcastable output operand")
        return (values[0],)

    def call(values: Sequence[Any]) -> tuple[Any, ...]:
        target = empty_like(values[0], values[0].dtype)
        target[...] = values[0]
        return (ufunc(target, *values[1:], out=target),)

    return like, call


def empty_like(value: Any, dtype: Dtype) -> Any:
    """Memory such as `value.astype(dtype)` makes."""
    if type(value) is np.ndarray:
        return np.empty_like(value, dtype)
    if isinstance(value, _core.Field):
        from gridbuf.arrays import empty_like as of_field

        return of_field(value, dtype=dtype)
    from gridbuf.storage import empty_like as of_storage

    return of_storage(value, dtype=dtype)


def converting(dtype: Dtype) -> tuple[Any, Any]:
    """`astype`."""
    return (
        lambda values: (empty_like(values[0], dtype),),
        lambda values: (values[0].astype(dtype),),
    )


def copying() -> tuple[Any, Any]:
    """`copy()`, which is in C order for arrays."""

    def like(values: Sequence[Any]) -> tuple[Any, ...]:
        (value,) = values
        if type(value) is np.ndarray:
            return (np.empty(value.shape, value.dtype),)
        return (empty_like(value, value.dtype),)

    return like, lambda values: (values[0].copy(),)


def selecting(dtype: Dtype) -> tuple[Any, Any]:
    """`np.where` with three arguments."""
    return idle("where", (dtype,)), lambda values: (np.where(*values),)


def as_bytes(value: Any, dtype: Dtype) -> bytes | None:
    """A number of the function's text as an element; None where NumPy warns of it or refuses."""
    try:
        with np.errstate(all="raise"):
            return np.array(value, dtype).tobytes()
    except (OverflowError, FloatingPointError, TypeError, ValueError):
        return None


def number_bytes(value: Any, wanted: Dtype) -> bytes | None:
    return as_bytes(value, wanted if type(value) in WEAK else np.dtype(type(value)))


def same_frame(value: Any, other: Any) -> bool:
    return value.shape == other.shape and names_of(value) == names_of(other)


def kind_of(value: Any) -> Any:
    """How a value enters NumPy's choice of a loop."""
    return (
        type(value)
        if type(value) in WEAK
        else np.dtype(bool)
        if type(value) is bool
        else value.dtype
    )
