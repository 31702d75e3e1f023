"""Types of the extension module."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import EllipsisType
from typing import (
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    final,
    overload,
)

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gridbuf.array_methods import ArrayMethods

Shape: TypeAlias = int | Sequence[int]
Dims: TypeAlias = str | Sequence[Any]
Halo: TypeAlias = int | Sequence[int | tuple[int, int]]
Padding: TypeAlias = bool | int
Device: TypeAlias = Literal["cpu", "gpu"] | tuple[Literal["gpu"], int]
Memory: TypeAlias = Literal["pinned", "managed"]
Axis: TypeAlias = str | int | Sequence[str | int] | None
_T = TypeVar("_T", bound=np.generic)
_Float64: TypeAlias = type[float] | Literal["float64", "f8", "<f8"] | None
_Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]

class Spec(TypedDict, total=False):
    """The keywords of `gridbuf.empty`."""

    backend: str
    dimensions: Dims | None
    dims: Dims | None
    aligned_index: Sequence[int] | None
    halo: Halo | None
    layout: str | Sequence[str] | Sequence[int] | None
    byte_alignment: int | None
    padding: Padding | None
    device: Device | None
    memory: Memory | None

class FieldSpec(Spec, total=False):
    """The keywords of `Field.empty`."""

    origin: Sequence[int] | None

class Require(TypedDict, total=False):
    """What `Field(data, require=...)` checks."""

    dtype: DTypeLike
    device: Device | None
    memory: Memory | None
    backend: str
    layout: str | Sequence[str] | Sequence[int] | None
    padding: Padding | None
    byte_alignment: int | None
    aligned_index: Sequence[int] | None

TYPE_CHARS: str  # NumPy's character of each type, at the type's number
MEMORY_HOST: int
MEMORY_DEVICE: int
MEMORY_PINNED: int
MEMORY_MANAGED: int
DL_CPU: int
DL_CUDA: int
DL_CUDA_HOST: int
DL_ROCM: int
DL_CUDA_MANAGED: int
NUMPY_LOOP: int
STATUS_LOOP: int
GO_LOOP: int
EXCLUSIVE: int
ONE_WORKER: int
PURE: int
MEASURED: int
RAISES: int
WEAK_INT: int
WEAK_FLOAT: int
WEAK_COMPLEX: int
FOLDS: int
GENERATED: int
SWAPPED: int
INVALID: int
DIVIDE: int
OVERFLOW: int
STATUS: int
PANIC: int
EXACT_WORDS: int
EXACT_CHUNKS: int
EXACT_BIAS: int

class BackendError(ValueError, RuntimeError):
    """A backend that is not registered; the message has the names that are known."""

@overload
def empty(shape: Shape, dtype: _Float64 = "float64", **spec: Unpack[Spec]) -> NDArray[np.float64]:
    """A new array with a backend's best layout, its values undefined.

    Parameters
    ----------
    shape : int or sequence of int
        Elements along each index; zeros are allowed, at most 32 indices.
    dtype : dtype_like, optional
        A sub-shape adds data dimensions at the end.
    backend : str, optional
        The name of a layout, from `gridbuf.backends()`: gt4py's, GDP-3's, 'C' and 'F'.
        Default: without a layout, the backend of `gridbuf.set_default_backend`, else 'C'.
    dimensions, dims : str or sequence of str, optional
        What each index means: 'I', 'J', 'K', or '0', '1', ... for data dimensions; in a sequence
        also names of one's own. Default: 'IJK' as far as it goes, then '0', '1', ...
    aligned_index : sequence of int, optional
        The element that sits on the alignment boundary. Default: the lower halo, else zeros.
    halo : int or sequence of int or (low, high) pairs, optional
        Elements around the domain, for each index; an int is for every index.
    layout : str, sequence of str or sequence of int, optional
        The names of the indices from the largest stride to the smallest, such as 'KJI', or the rank
        of each index's stride, 0 = largest. Overrides the backend's.
    byte_alignment : int, optional
        The boundary in bytes, a power of two; 64 on the host, 256 on a device; raised to what the
        backend asks for.
    padding : None, bool or int, optional
        None: rows as the backend says; False: none; True: rows to the boundary; an int: rows to
        that many items.
    device : None, 'cpu', 'gpu' or ('gpu', n), optional
        None: as the backend says. Arrays on a GPU are cupy's; Fields there need no cupy.
    memory : None, 'pinned' or 'managed', optional
        The kind of memory; pinned memory lies on the host.

    Returns
    -------
    numpy.ndarray
        Exactly that type; it owns its memory. On a GPU a cupy.ndarray.

    Raises
    ------
    TypeError, ValueError
        The message has the argument's name, its value and the allowed values.
    BackendError
        An unknown backend: a ValueError and a RuntimeError, with the known names.
    MemoryError
        No memory, or a limit (`gridbuf.memory.set_limit`); the message has the numbers.
    RuntimeError
        A device that is not there, or a new request in a forked child.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.empty((12, 12, 7), backend='gtmc', aligned_index=(2, 2, 0)).strides
    (8, 896, 128)
    """

@overload
def empty(shape: Shape, dtype: type[_T] | np.dtype[_T], **spec: Unpack[Spec]) -> NDArray[_T]: ...
@overload
def empty(shape: Shape, dtype: DTypeLike, **spec: Unpack[Spec]) -> NDArray[Any]: ...
@overload
def zeros(shape: Shape, dtype: _Float64 = "float64", **spec: Unpack[Spec]) -> NDArray[np.float64]:
    """A new array of zeros with a backend's best layout.

    As `empty`.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.zeros((2, 2), backend='gt:cpu_ifirst').tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """

@overload
def zeros(shape: Shape, dtype: type[_T] | np.dtype[_T], **spec: Unpack[Spec]) -> NDArray[_T]: ...
@overload
def zeros(shape: Shape, dtype: DTypeLike, **spec: Unpack[Spec]) -> NDArray[Any]: ...
@overload
def ones(shape: Shape, dtype: _Float64 = "float64", **spec: Unpack[Spec]) -> NDArray[np.float64]:
    """A new array of ones with a backend's best layout.

    As `empty`.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.ones((2, 2), backend='gt:cpu_ifirst').tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

@overload
def ones(shape: Shape, dtype: type[_T] | np.dtype[_T], **spec: Unpack[Spec]) -> NDArray[_T]: ...
@overload
def ones(shape: Shape, dtype: DTypeLike, **spec: Unpack[Spec]) -> NDArray[Any]: ...
@overload
def full(
    shape: Shape, fill_value: Any, dtype: _Float64 = "float64", **spec: Unpack[Spec]
) -> NDArray[np.float64]:
    """A new array of one value with a backend's best layout.

    As `empty`.

    Parameters
    ----------
    fill_value : scalar
        The value of every element; converted as by assignment.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.full((2,), 1.7, 'int32').tolist()
    [1, 1]
    """

@overload
def full(
    shape: Shape, fill_value: Any, dtype: type[_T] | np.dtype[_T], **spec: Unpack[Spec]
) -> NDArray[_T]: ...
@overload
def full(shape: Shape, fill_value: Any, dtype: DTypeLike, **spec: Unpack[Spec]) -> NDArray[Any]: ...
def plan(
    shape: Shape,
    dtype: DTypeLike = "float64",
    *,
    alignment: int | None = None,
    **spec: Unpack[Spec],
) -> Plan:
    """The answer to a request, without allocating: strides, padding, alignment and size.

    The parameters are those of `gridbuf.empty`. A device need not be there.

    As `empty`.

    Parameters
    ----------
    alignment : int, optional
        Items. That of a backend, which rows and boundary follow.

    Returns
    -------
    Plan
        Equal requests give equal plans, however they are spelled.

    Examples
    --------
    >>> import gridbuf as gb
    >>> p = gb.plan((12, 12, 7), backend='gtcuda', aligned_index=(2, 2, 0))
    >>> p.strides, p.offset, p.byte_alignment
    ((8, 256, 3072), 240, 256)
    """

def explain(dims: Any, figures: bytes, /) -> str: ...
def unmet(
    data: Field, shape: Shape, dtype: DTypeLike, **spec: Unpack[Spec]
) -> (
    tuple[Literal["device", "memory", "order", "rows", "packed", "boundary"], Plan, int, int] | None
): ...
def empty_elements(
    shape: Shape,
    dtype: DTypeLike = ...,
    layout: Sequence[int] | None = ...,
    aligned_index: Sequence[int] | None = ...,
    *,
    alignment: int = ...,
    **spec: Any,
) -> NDArray[Any]: ...
def copyto(
    dst: Any,
    src: Any,
    *,
    casting: _Casting | None = "same_kind",
    progress: Callable[[float], object] | None = None,
) -> None:
    """Copy values from one buffer into another, whatever the strides, on all cores when that pays.

    Parameters
    ----------
    dst
        A Field, an ndarray or anything with writable host memory. Indices are matched by name where
        both sides have names, else by position; names that dst lacks are an error.
    src
        Values that broadcast to dst's shape. They may overlap dst: the result is as if they had
        been copied away first.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
        Which dtype conversions are allowed, as for np.copyto. An array's values that do not fit are
        converted without a warning, whatever np.errstate says; one number warns or raises as there.
    progress : callable, optional
        Called every 20 ms or so with the part that is done, 0.0 to 1.0, and at the end with 1.0. An
        exception from it, or Ctrl-C, ends the copy; dst is then written in part.

    Raises
    ------
    TypeError
        When the conversion is not allowed, or dst has no memory to write to.
    ValueError
        When src does not broadcast to dst, or dst is read-only.
    MemoryError
        When overlapping arrays need a temporary and there is no memory for it.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((2, 3))
    >>> gb.copyto(f, [1.0, 2.0, 3.0])
    >>> float(f[1, 2])
    3.0
    """

def fill(dst: Any, value: Any, *, progress: Callable[[float], object] | None = None) -> None:
    """Set every element of a Field, an ndarray or other writable host memory to one value.

    Parameters
    ----------
    dst
        A Field, an ndarray or anything with writable host memory; a Field may lie on a GPU.
    value : scalar
        Converted as by assignment.
    progress : callable, optional
        As for `gridbuf.copyto`.

    Raises
    ------
    TypeError
        When dst has no memory to write to, or the value does not convert.
    ValueError
        When dst is read-only, or the value is more than one.

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((2, 2))
    >>> gb.fill(a, 7.0)
    >>> float(a.sum())
    28.0
    """

def machine() -> tuple[int, int, int, str, str]: ...
def get_num_threads() -> int:
    """How many threads gridbuf uses.

    Returns
    -------
    int
        `set_num_threads`, else GRIDBUF_NUM_THREADS, else the processors of this process: those of
        its affinity mask, and no more than the CPU quota of its control groups.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.get_num_threads() >= 1
    True
    """

def cpu_quota(root: str, /) -> float: ...
def set_num_threads(n: int, /) -> None:
    """Use n threads from now on.

    Parameters
    ----------
    n : int
        1 or more.

    Raises
    ------
    TypeError, ValueError
        When n is no int, or below 1.

    Examples
    --------
    >>> import gridbuf as gb
    >>> before = gb.get_num_threads()
    >>> gb.set_num_threads(1)
    >>> gb.get_num_threads()
    1
    >>> gb.set_num_threads(before)
    """

def is_mapped(address: int, nbytes: int, /) -> bool: ...
def typestr_bytes(text: str, /) -> int | str: ...
def host_description(obj: Any, /) -> dict[str, Any] | None: ...
def reduced(function: Any, obj: Any, axis: Any, /) -> Any: ...
def elementwise(ufunc: Any, inputs: tuple[Any, ...], out: Any, /) -> bool: ...
def host_arrays(
    fields: Any, outputs: Any, dims: Any, dtypes: Any, backend: Any, /
) -> dict[str, Any] | None: ...
def constant(obj: Any, /) -> Any: ...
def registrations() -> int: ...
def preset(
    name: str, dims: Dims | None = None, /
) -> tuple[tuple[int, ...] | None, int, Literal["cpu"] | tuple[Literal["gpu"], int]]: ...
def known_storage(answers: Any, shape: Any, dtype: Any, spec: Any, zero: bool, /) -> Any: ...
def known_like(
    answers: Any, data: Any, dtype: Any, spec: Any, zero: bool, word: str | None, /
) -> Any: ...
def known_around(metas: Any, data: Any, dtype: Any, spec: Any, /) -> Any: ...
def like(data: Any, dtype: Any, zero: bool, value: Any = ..., /) -> Any: ...
def from_dlpack(
    x: Any,
    dims: Dims | None = None,
    *,
    origin: Sequence[int] | None = None,
    halo: Halo | None = None,
    copy: bool | None = None,
) -> Field:
    """A Field over the memory of any DLPack producer.

    Parameters
    ----------
    x
        An object with the DLPack C exchange API on its type (1.3) or with `__dlpack__` of any age.
    dims, origin, halo
        As for `Field`.
    copy : bool, optional
        True: a writable copy. False: never a copy. None: a copy only if the producer
        makes one.

    Returns
    -------
    Field
        Over the producer's memory, which it keeps alive, or over a copy.

    Raises
    ------
    TypeError
        When x has no DLPack, or its memory is not on the host.
    BufferError
        When the producer's tensor is malformed or cannot be shared.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> a = np.zeros((2, 3))
    >>> np.shares_memory(gb.from_dlpack(a, dims='IJ'), a)
    True
    """

def host_array(obj: Any, /) -> NDArray[Any]:
    """An ndarray over obj's host memory; TypeError when it has none, never a copy."""

def described_memory(
    obj: Any, door: str, shape: Any, typestr: Any, data: Any, strides: Any, /
) -> tuple[tuple[int, ...], tuple[int, bool], tuple[int, ...], np.dtype[Any]]: ...
def values(obj: Any, /) -> Any: ...
def import_capsule(capsule: Any, /) -> NDArray[Any]: ...
def register_backend(
    name: str,
    *,
    layout: str | Sequence[str] | Sequence[int] | Callable[[tuple[str, ...]], Sequence[int]],
    alignment: int = 1,
    device: Literal["cpu", "gpu"] = "cpu",
) -> None:
    """Add a backend preset of your own.

    Parameters
    ----------
    name : str
        A name given before is replaced; a built-in one cannot be.
    layout : str, sequence, or function
        The axes, slowest first, such as 'KJI', or the ranks of the strides of I, J and K, 0 =
        largest; or a function from a tuple of dims to such ranks.
    alignment : int, optional
        Items that rows are padded to and that the aligned element sits on.
    device : 'cpu' or 'gpu', optional
        Where its memory lies.

    Raises
    ------
    TypeError, ValueError
        The message has the argument's name, its value and the allowed values.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.register_backend('mine', layout='JIK', alignment=4)
    >>> gb.plan((3, 4, 5), backend='mine').strides
    (64, 192, 8)
    """

def set_default_backend(name: str | None, ask: Callable[[], str | None] | None, /) -> None: ...
def backends() -> tuple[str, ...]:
    """The known backend names.

    Returns
    -------
    tuple of str
        Sorted; those of `register_backend` are among them.

    Examples
    --------
    >>> import gridbuf as gb
    >>> 'gt:cpu_ifirst' in gb.backends()
    True
    """

def memory_stats(kind: int, device: int, /) -> dict[str, Any]: ...
def memory_live(
    n: int, /
) -> list[tuple[int, int, int, int, str | None, Plan | None, int, int]]: ...
def memory_id(obj: Any, /) -> int | None:
    """The number of the buffer that an array, a view of one or a Field lies in.

    A number is never used again, unlike an address: a cache keyed by it cannot take new memory
    for old.

    Parameters
    ----------
    obj
        Any object.

    Returns
    -------
    int or None
        None for memory that is not gridbuf's.

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((2, 3))
    >>> gb.memory.buffer_id(a) == gb.memory.buffer_id(gb.Field(a)[1:])
    True
    """

def memory_trim(kind: int, device: int, /) -> int: ...
def memory_set_limit(kind: int, device: int, nbytes: int, /) -> None: ...
def numpy_allocations() -> int: ...
def cuda_start() -> None: ...
def cuda_started() -> bool: ...
def cuda_count() -> int: ...
def cuda_devices() -> list[dict[str, Any]]: ...
def cuda_synchronize(device: int, /) -> None: ...
def cuda_set_stream(handle: int, /) -> int: ...
def cuda_get_stream() -> int: ...
def cuda_block(
    kind: int, device: int, span: int, boundary: int, offset: int, /
) -> tuple[_DeviceBlock, int]: ...
def cuda_wait_for(*fields: Field) -> None: ...
def cuda_copy_begin(dst: Any, src: Any, casting: str, stream: int, /) -> _AsyncCopy: ...
def cuda_copy_sides(dst: Any, src: Any, stream: int, asked: bool, /) -> tuple[Field, Any, bool]: ...
def cuda_exports() -> dict[str, int]: ...
def numpy_handler() -> tuple[Any, bool]: ...
def set_numpy_handler(handler: Any, /) -> Any: ...
def run_with_handler(thread: Any, run: Any, handler: Any, own: Any = ..., /) -> Any: ...
def watch_start(skipped: tuple[str, ...], least: int, /) -> Any: ...
def watch_stop() -> None: ...
def watch_enter() -> int: ...
def watch_leave(began: int, /) -> float: ...
def watch_apart(seconds: float, /) -> None: ...
def watch_depth() -> int: ...
def watch_stand_in(plain: Any, before: Any, after: Any, /) -> Any: ...
def watch_lines() -> list[tuple[str, int, int, int, int, int, int, int, int]]: ...
def watch_block(address: int, /) -> tuple[str, int, int, int, int] | None: ...
def watch_total() -> tuple[int, int]: ...
def fuse(words: Sequence[int], /) -> tuple[Any, int, int]: ...
def idle_ufunc(name: str, types: bytes, inputs: int, /) -> Any: ...
def gufunc_loops(ufunc: Any, /) -> list[tuple[bytes, int, int]]: ...
def gufunc_capsule(capsule: Any, /) -> int: ...
def gufunc_builtins() -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]: ...
def gufunc_scalar_loop(inputs: int, single: bool, /) -> int: ...
def gufunc_go_names() -> str: ...
def gufunc_go_kernel(name: str, /) -> tuple[str, str]: ...
def gufunc_panic_text() -> str: ...

class GUFunc:
    def __new__(cls, name: str, signature: str | None, flags: int, /) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def reduce(
        self,
        array: Any,
        axis: int | str | tuple[int | str, ...] | None = 0,
        *,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = ...,
        where: Any = True,
        ordered: bool = False,
        errors: str = "raise",
        workers: int | None = None,
    ) -> Any:
        """Fold an array along axes, as NumPy's ufuncs do.

        The result does not depend on `workers`. A kernel without an identity, or ``ordered=True``,
        is folded from left to right. An output fails when something that went into it did.

        Parameters
        ----------
        array : array_like
            A Field gives a Field with the dims, origin and halo that stay.
        axis : int, str, tuple of them, or None, optional
            Numbers or names of a Field's indices ("I", "IJ"); None: all.
        dtype : dtype_like, optional
            The dtype in which the values are folded. Default: the choice of the kernels, or of
            NumPy for an adopted ufunc.
        out : array, optional
            The array that receives the result, and is returned.
        keepdims : bool, optional
            Whether the folded axes stay, with one element.
        initial : scalar, optional
            The value that the fold begins with. Default: the identity, else the first element.
        where : array_like of bool, optional
            True for the elements that take part.
        ordered : bool, optional
            Whether to fold from left to right, one after the other.
        errors : {'raise', 'return', 'warn', 'ignore'}, optional
            What happens when elements fail, as in a call.
        workers : int, optional
            How many threads may share the work; default as many as pay.

        Returns
        -------
        ndarray, Field or scalar
            With ``errors='return'`` a pair of it and an `ErrorInfo`.

        Raises
        ------
        SignatureError
            When no kernel folds these types, or axes do not fit.
        ValueError
            When there is nothing to fold, no identity and no initial.
        PartialSuccess, TotalFailure
            When some, or all, of the outputs failed, with ``errors='raise'``.

        Examples
        --------
        >>> import numpy as np
        >>> from gridbuf import gufunc
        >>> gufunc.from_ufunc(np.add).reduce(np.ones((3, 4)), axis=1)
        array([4., 4., 4.])
        """

    def _describe(self) -> tuple[int, int, int, str, bytes]: ...
    def _add(
        self, form: int, function: int, data: int, go_name: str | None, types: bytes, flags: int, /
    ) -> int: ...
    def _types(self, kernel: int, /) -> bytes: ...
    def _select(self, types: bytes, weak: bytes, wanted: bytes, casting: str, /) -> int: ...
    def _ask_sizes(self) -> None: ...
    def _resolve(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], /
    ) -> tuple[
        int,
        bytes,
        tuple[int, ...],
        int,
        int,
        int,
        tuple[int, ...],
        tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...] | None] | None, ...],
    ]: ...
    def _add_state(
        self, step: int, merge: int, final: int, init: bytes, types: bytes, any_order: bool, /
    ) -> int: ...

@final
class Plan:
    """The layout of an array before it has memory; made by `gridbuf.plan`.

    Immutable and hashable; equal requests give equal plans.

    Attributes
    ----------
    shape : tuple of int
        Elements along each index, those of a sub-shape dtype at the end.
    dtype : numpy.dtype
    dims : tuple of str
        What each index means: 'I', 'J', 'K', '0', '1', ...
    ndim : int
    layout : tuple of int
        The rank of each index's stride, 0 = largest.
    strides : tuple of int
        In bytes.
    padded_shape : tuple of int
        Elements reserved along each index, padding included.
    aligned_index : tuple of int
        The element that sits on the alignment boundary.
    byte_alignment : int
        That boundary, in bytes.
    offset : int
        The address of element 0 modulo `byte_alignment`, in bytes.
    nbytes : int
        Bytes of the elements alone.
    alloc_nbytes : int
        Bytes that are reserved: padding, alignment and the block's size class included.
    device : 'cpu' or ('gpu', n)
        Where the memory lies.
    memory : None, 'pinned' or 'managed'
        Its kind.
    """

    @staticmethod
    def of(array_or_field: Any, /) -> Plan: ...
    def empty(self) -> Any:
        """An uninitialised array as planned: `gridbuf.empty` without reading the request again.

        Returns
        -------
        numpy.ndarray or cupy.ndarray
            Its values are undefined.

        Raises
        ------
        MemoryError
            No memory, or a limit (`gridbuf.memory.set_limit`).
        RuntimeError, ImportError
            A plan for a GPU without a GPU or without cupy.

        Examples
        --------
        >>> import gridbuf as gb
        >>> plan = gb.plan((4, 5, 6), backend="gt:cpu_ifirst")
        >>> plan.empty().strides
        (8, 32, 160)
        """

    def zeros(self) -> Any:
        """An array of zeros as planned.

        Returns
        -------
        numpy.ndarray or cupy.ndarray

        Raises
        ------
        MemoryError, RuntimeError, ImportError
            As `empty`.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.plan(3).zeros()
        array([0., 0., 0.])
        """

    def full(self, fill_value: Any, /) -> Any:
        """An array of one value as planned.

        Parameters
        ----------
        fill_value : scalar
            The value of every element; converted as by assignment.

        Returns
        -------
        numpy.ndarray or cupy.ndarray

        Raises
        ------
        MemoryError, RuntimeError, ImportError
            As `empty`.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.plan(3, "int32").full(7)
        array([7, 7, 7], dtype=int32)
        """

    def field(self, *, halo: Any = None, origin: Any = None) -> Field:
        """An uninitialised Field as planned, with the plan's dims.

        Parameters
        ----------
        halo : int or sequence of int or of (low, high) pairs, optional
            Elements around the domain, one entry for each index.
        origin : sequence of int, optional
            The first point of the domain; the lower halo unless given.

        Returns
        -------
        Field
            Its values are undefined.

        Raises
        ------
        TypeError, ValueError
            A halo or an origin that does not fit the shape.
        MemoryError, RuntimeError
            As `empty`.

        Examples
        --------
        >>> import gridbuf as gb
        >>> plan = gb.plan((4, 5, 6), backend="gt:cpu_ifirst", halo=(1, 1, 0))
        >>> f = plan.field(halo=(1, 1, 0))
        >>> f.dims, f.domain.shape
        (('I', 'J', 'K'), (2, 3, 6))
        """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def dims(self) -> tuple[str, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def layout(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def padded_shape(self) -> tuple[int, ...]: ...
    @property
    def aligned_index(self) -> tuple[int, ...]: ...
    @property
    def byte_alignment(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def alloc_nbytes(self) -> int: ...
    @property
    def device(self) -> Literal["cpu"] | tuple[Literal["gpu"], int]: ...
    @property
    def memory(self) -> Memory | None: ...
    def __hash__(self) -> int: ...
    def _repr_html_(self) -> str: ...

def spans_meet(*fields: Field) -> tuple[int, ...] | None: ...
def exact_add(values: NDArray[np.int64], x: Any, y: Any, negative: bool, /) -> None: ...
def exact_merge(values: NDArray[np.int64], other: NDArray[np.int64], /) -> None: ...
def checksum(words: NDArray[Any], start: Sequence[int], seed: int, /) -> int: ...

@final
class FusedCall:
    def __new__(
        cls,
        program: Any,
        counts: tuple[int, int],
        objects: tuple[Any, ...],
        roles: tuple[int, ...],
        scalars: tuple[Any, ...],
        parameters: tuple[Any, ...],
        leaves: tuple[Any, ...],
        shape: tuple[int, ...],
        results: tuple[Any, ...],
        names: tuple[str, ...],
        flags: int,
        in_tuple: bool,
        saved: int,
        /,
    ) -> Self: ...
    @property
    def saved(self) -> int: ...
    def run(
        self, arguments: tuple[Any, ...], outs: tuple[Any, ...], workers: int, /
    ) -> tuple[Any, bytes]: ...

class FusedFunction:
    _direct: Any
    saved: int
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class CopyProgram:
    SIGN: ClassVar[int]
    ADD: ClassVar[int]
    CLEAR: ClassVar[int]
    def __new__(
        cls, slots: Iterable[Any], entries: Iterable[Any], gpu: int | None = None
    ) -> Self: ...
    def run(self, /, *objects: Any) -> None: ...
    def check(self, /, *objects: Any) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def __len__(self) -> int: ...

@final
class MessageExchange:
    def __new__(
        cls,
        programs: tuple[CopyProgram, CopyProgram | None, CopyProgram | None],
        begin: Callable[[list[Any]], object],
        ended: Callable[[list[Any]], bool],
        check: Callable[[], object] | None,
        requests: list[Any] | dict[tuple[int, ...], list[Any]],
        counters: tuple[Any, ...],
        spin: float,
        requests_at: Callable[[tuple[int, ...]], list[Any]] | None = None,
        inside: tuple[int, ...] | None = None,
    ) -> Self: ...
    def run(self, /, *objects: Any) -> bool | None: ...
    def again(self, /, *objects: Any) -> bool | None: ...
    def arm(self, yes: bool, /) -> None: ...
    @staticmethod
    def disarm() -> None: ...
    def start(self, /, *objects: Any) -> None: ...
    def test(self) -> bool: ...
    def poll(self) -> bool: ...
    def drop(self) -> bool: ...
    @property
    def active(self) -> list[Any] | None: ...

class StorageBase:
    _dev: Any
    _host: Any
    _meta: Any
    _pair: Any
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    @classmethod
    def _of(cls, host: Any, dev: Any, meta: Any, pair: Any = ..., /) -> Self: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any, /) -> Any: ...
    def _host_entry(self) -> Any: ...
    def _inside(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __delitem__(self, key: Any, /) -> None: ...

class Field(ArrayMethods):
    """Memory that remembers what its indices mean and where the halo ends.

    Wraps without copying; `Field.empty`, `zeros`, `ones`, `full` and `from_array` make memory.
    The Field of a stencil call needs no origin and no dimension order: gt4py reads both.

    Parameters
    ----------
    data
        An ndarray, a Field, or an object with the buffer protocol, an array interface or DLPack.
    dims : str or sequence of str, optional
        What each index means. Default: what data itself says.
    origin : sequence of int, optional
        The first point of the domain, in index order. Default: the lower halo.
    halo : int or sequence of int or (low, high) pairs, optional
        Elements around the domain.
    require : dict, optional
        What the memory must satisfy, in the keywords of `gridbuf.empty` and dtype: the Field shares
        the memory, or a ValueError names the first requirement missed, what was expected and found,
        and the call that makes a proper copy.
    dimensions : str or sequence of str, optional
        The same as dims.

    Attributes
    ----------
    shape, strides : tuple of int
        Elements, and bytes, along each index.
    dtype : numpy.dtype
    ndim, size, nbytes : int
        Indices, elements, and bytes of the elements.
    dims : tuple of str
        What each index means.
    origin : tuple of int or None
        The first point of the domain.
    halo : tuple of (int, int) or None
        Elements below and above the domain, for each index.
    device : 'cpu' or ('gpu', n)
        Where the memory lies.
    readonly : bool
    plan : Plan
        Its layout.
    domain : Field
        The same memory without the halo.
    T : Field
        The same memory with the indices in reverse.
    flags : numpy.flagsobj
        Those of the array over the same memory.

    Raises
    ------
    TypeError
        When data has no memory to share.
    ValueError
        When dims, origin or halo do not fit, or a requirement is missed.
    BufferError
        When a DLPack tensor is malformed or cannot be shared.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> a = np.zeros((5, 6, 7))
    >>> f = gb.Field(a, 'KJI', halo=(0, 1, 1))
    >>> f.domain.shape, f.__gt_origin__
    ((5, 4, 5), (1, 1, 0))
    >>> np.shares_memory(f, a)
    True
    >>> wanted = {'backend': 'gt:cpu_ifirst', 'dtype': 'f8', 'byte_alignment': 8}
    >>> gb.Field(a, 'KJI', require=wanted).dims
    ('K', 'J', 'I')
    """

    __dlpack_c_exchange_api__: Any
    def __new__(
        cls,
        data: Any,
        dims: Dims | None = None,
        *,
        origin: Sequence[int] | None = None,
        halo: Halo | None = None,
        require: Require | None = None,
        dimensions: Dims | None = None,
    ) -> Self: ...
    @staticmethod
    def empty(shape: Shape, dtype: DTypeLike = "float64", **spec: Unpack[FieldSpec]) -> Field:
        """A Field over new memory with a backend's best layout, its values undefined.

        As `empty`.

        Parameters
        ----------
        origin : sequence of int, optional
            The first point of the domain, in index order. Default: the lower halo.

        Returns
        -------
        Field
            Over new memory.

        Examples
        --------
        >>> import gridbuf as gb
        >>> f = gb.Field.empty((10, 10, 10), dims='IJK', halo=(2, 2, 0), backend='gt:cpu_ifirst')
        >>> f.origin, f.strides
        ((2, 2, 0), (8, 80, 800))
        """
    @staticmethod
    def zeros(shape: Shape, dtype: DTypeLike = "float64", **spec: Unpack[FieldSpec]) -> Field:
        """A Field of zeros over new memory with a backend's best layout.

        As `Field.empty`.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.zeros((2, 3), dims='KI').tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
    @staticmethod
    def ones(shape: Shape, dtype: DTypeLike = "float64", **spec: Unpack[FieldSpec]) -> Field:
        """A Field of ones over new memory with a backend's best layout.

        As `Field.empty`.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.ones((2, 3), dims='KI').tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
        """
    @staticmethod
    def full(
        shape: Shape, fill_value: Any, dtype: DTypeLike = "float64", **spec: Unpack[FieldSpec]
    ) -> Field:
        """A Field of one value over new memory with a backend's best layout.

        As `Field.empty`.

        Parameters
        ----------
        fill_value : scalar
            The value of every element; converted as by assignment.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.full((2,), 7, 'int32', dims='K').tolist()
        [7, 7]
        """
    @staticmethod
    def from_array(
        data: Any = ..., device_data: Any = ..., *, dtype: DTypeLike | None = ..., **spec: Any
    ) -> Field: ...
    @classmethod
    def _around(cls, field: Field, /) -> Self: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def dims(self) -> tuple[str, ...]: ...
    @property
    def origin(self) -> tuple[int, ...] | None: ...
    @property
    def halo(self) -> tuple[tuple[int, int], ...] | None: ...
    @property
    def device(self) -> Literal["cpu"] | tuple[Literal["gpu"], int]: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def plan(self) -> Plan: ...
    _dims_given: bool
    @property
    def _own_plan(self) -> Plan | None: ...
    def _plan_at(self, index: Any, /) -> Plan: ...
    @property
    def domain(self) -> Self: ...
    @property
    def T(self) -> Self: ...
    @property
    def flags(self) -> Any: ...
    @property
    def __gt_interface__(self) -> dict[Any, dict[str, Any]]: ...
    @property
    def __gt_data_interface__(self) -> dict[Any, dict[str, Any]]: ...
    @property
    def __gt_dims__(self) -> tuple[str, ...]: ...
    @property
    def gt_domain(self) -> tuple[int, int, int]: ...
    @property
    def __gt_origin__(self) -> tuple[int, ...]: ...
    def _empty_like(self) -> Self | None: ...
    def numpy(self) -> NDArray[Any]:
        """An np.ndarray over the same memory.

        Returns
        -------
        numpy.ndarray
            A view that keeps the Field's memory; writable where the Field is.

        Raises
        ------
        TypeError
            When the memory is a GPU's: `field.to(device='cpu').numpy()` copies.

        Examples
        --------
        >>> import gridbuf as gb
        >>> f = gb.Field.zeros((2, 3), dims='KI')
        >>> f.numpy()[0, 0] = 1.0
        >>> float(f[0, 0])
        1.0
        """
    def transpose(self, *dims: Dims | int | None) -> Self:
        """The same memory with the indices in another order.

        Parameters
        ----------
        *dims : str or int
            Names or numbers, one by one or in a sequence; in reverse without any.

        Returns
        -------
        Field
            A view.

        Raises
        ------
        TypeError, ValueError
            When dims is no permutation of the Field's.

        Examples
        --------
        >>> import gridbuf as gb
        >>> f = gb.Field.zeros((2, 3, 4), dims='IJK')
        >>> f.transpose('KJI').shape, f.transpose('K', 'J', 'I').shape, f.transpose(2, 0, 1).dims
        ((4, 3, 2), (4, 3, 2), ('K', 'I', 'J'))
        """
    def copy(self) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any) -> Self: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __contains__(self, value: Any, /) -> bool: ...
    def to(
        self,
        dtype: DTypeLike | None = ...,
        *,
        dims: Dims | None = ...,
        dimensions: Dims | None = ...,
        **spec: Any,
    ) -> Self: ...
    def to_numpy(self) -> NDArray[Any]: ...
    def astype(
        self, dtype: DTypeLike, order: str = ..., casting: _Casting = ..., copy: bool = ...
    ) -> Self: ...
    def fill(self, value: Any) -> None: ...
    def plot(self, *, ax: Any = None, **options: Any) -> Any: ...
    def view(self, kind: Any = None) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __rmod__(self, other: Any, /) -> Any: ...
    def __divmod__(self, other: Any, /) -> Any: ...
    def __rdivmod__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rlshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __rrshift__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, modulus: None = ..., /) -> Any: ...
    def __rpow__(self, other: Any, modulus: None = ..., /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    __array_priority__: ClassVar[float]
    def __iadd__(self, other: Any, /) -> Self: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __imul__(self, other: Any, /) -> Self: ...
    def __itruediv__(self, other: Any, /) -> Self: ...
    def __ifloordiv__(self, other: Any, /) -> Self: ...
    def __imod__(self, other: Any, /) -> Self: ...
    def __imatmul__(self, other: Any, /) -> Self: ...
    def __ilshift__(self, other: Any, /) -> Self: ...
    def __irshift__(self, other: Any, /) -> Self: ...
    def __iand__(self, other: Any, /) -> Self: ...
    def __ior__(self, other: Any, /) -> Self: ...
    def __ixor__(self, other: Any, /) -> Self: ...
    def __ipow__(self, other: Any, /) -> Self: ...  # type: ignore[misc]
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __invert__(self) -> Self: ...
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's protocol of ufuncs: operands meet along indices of the same name, and a Field
        comes back.
        """
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any, /) -> Any:
        """NumPy's protocol of functions: by name where they reduce or join, else on plain
        arrays.
        """
    @overload
    def __getitem__(
        self, key: slice | EllipsisType | tuple[slice | EllipsisType, ...], /
    ) -> Self: ...
    @overload
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __bool__(self) -> bool: ...
    # Of Fields that the host can read, which is what type checkers take a Field for.
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __array__(
        self, dtype: DTypeLike | None = ..., *, copy: bool | None = ...
    ) -> NDArray[Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        stream: int | None = None,
        *,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over the same memory (DLPack 1.3)."""
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def _repr_html_(self) -> str: ...

@final
class HostField(Field):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __array__(
        self, dtype: DTypeLike | None = ..., *, copy: bool | None = ...
    ) -> NDArray[Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class DeviceField(Field):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: DTypeLike | None = ..., *, copy: bool | None = ...) -> NoReturn: ...
    def __cupy_get_ndarray__(self) -> Any: ...
    def cupy(self) -> Any:
        """A cupy.ndarray over the same memory, the same one each time.

        Returns
        -------
        cupy.ndarray
            A view that keeps the Field's memory.

        Raises
        ------
        ImportError
            When cupy is not installed.

        Examples
        --------
        >>> import gridbuf as gb
        >>> gb.Field.zeros((2, 3), device='gpu').cupy().shape  # doctest: +SKIP
        (2, 3)
        """

@final
class ManagedField(Field):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __array__(
        self, dtype: DTypeLike | None = ..., *, copy: bool | None = ...
    ) -> NDArray[Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __cupy_get_ndarray__(self) -> Any: ...
    def cupy(self) -> Any: ...

@final
class _DeviceBlock: ...

class _AsyncCopy:
    @property
    def host_free(self) -> bool: ...
    def wait(self, nanoseconds: int, /) -> bool: ...
