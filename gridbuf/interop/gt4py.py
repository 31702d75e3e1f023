"""GT4Py: gridbuf's memory under `gt4py.storage` and `gt4py.next`, gridbuf's presets, and plain
arguments for stencils.

Stencils of `gt4py.cartesian` take Fields as they are, without this module. Its `install` is for
unchanged programs, `allocator` and `to_next` are for programs written for gridbuf.

Examples
--------
>>> import gt4py.next as gtx, gridbuf.interop.gt4py as gbg
>>> I, K = gtx.Dimension("I"), gtx.Dimension("K", gtx.DimensionKind.VERTICAL)
>>> field = gtx.zeros({I: (-2, 5), K: 4}, allocator=gbg.allocator())
>>> field.ndarray.strides
(8, 56)
"""

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import gt4py
import gt4py.storage.cartesian.interface as interface
import numpy as np

from gridbuf import _core
from gridbuf.arrays import from_array
from gridbuf.importing import forget, when_imported
from gridbuf.interface.domains import Sizing, find_domain, halo_of, resolve_origins
from gridbuf.interface.stencil import StencilCall
from gridbuf.interop.exchanging import doors, exchange
from gridbuf.interop.gt4py_allocator import HORIZONTAL_FIRST, Allocator, Buffer, Kind
from gridbuf.names import as_cupy, as_numpy
from gridbuf.strides import falling
from gridbuf.validation import mapping

try:
    import gt4py.storage.cartesian.layout_registry as registry
except ImportError:  # gt4py before 1.1.10 has the same names there
    import gt4py.storage.cartesian.layout as registry

# ---- programs that stay as they are ----


# The allocators of gt4py.next, and those of 1.0 and 1.1.
_NEXT = "gt4py.next.custom_layout_allocators", "gt4py.next.allocators"
_OF = " of gt4py "  # between the name of a layout and the version that has it


def _on() -> Callable[[], None]:
    theirs = {name: getattr(interface, name) for name in _OURS}
    ours = {name: _storage_function(theirs[name], function) for name, function in _OURS.items()}
    exchange((theirs[name], ours[name]) for name in _OURS)
    put_back: list[Callable[[], None]] = []

    waiting = {name: functools.partial(_in_next, name, put_back) for name in _NEXT}
    for name in _NEXT:
        when_imported(name, waiting[name])

    def off() -> None:
        exchange((ours[name], theirs[name]) for name in _OURS)
        for name in _NEXT:
            forget(name, waiting[name])
        for call in put_back:
            call()

    return off


def _in_next(name: str, put_back: list[Callable[[], None]]) -> None:
    put_back.append(_exchange_next(importlib.import_module(name)))


def _storage_function(theirs: Any, ours: Any) -> Any:
    """ours where the layout of the backend is gt4py's own, theirs for the rest."""
    answers: dict[Any, tuple[Any, str | None]] = {}

    @functools.wraps(theirs)
    def function(*args: Any, backend: Any, **kwargs: Any) -> Any:
        known = registry.REGISTRY.get(backend)
        answer = answers.get(backend)
        if answer is None or answer[0] is not known:  # not asked yet, or registered anew
            answer = answers[backend] = known, _preset_of(backend, known)
        if answer[1] is None:
            return theirs(*args, backend=backend, **kwargs)
        return ours(*args, backend=answer[1], **kwargs)

    return function


def _from_array(data: Any, dtype: Any = float, **asked: Any) -> Any:
    """gt4py converts as assignment does, also from float to int; where ours refuses, its own
    assigns to our memory.
    """
    try:
        return from_array(data, dtype=dtype, **asked)
    except TypeError:
        asked["backend"] = asked["backend"].partition(_OF)[0]
        return getattr(interface.from_array, "__wrapped__", interface.from_array)(
            data, dtype, **asked
        )


_OURS = {
    "empty": _core.empty,
    "zeros": _core.zeros,
    "ones": _core.ones,
    "full": _core.full,
    "from_array": _from_array,
}
_DIMS = (("I", "J", "K"), ("I", "J"), ("K",), ("I", "J", "K", "0"))


def _preset_of(backend: Any, known: Any) -> str | None:
    """The preset for a layout of gt4py's; None where the layout is of a GPU, or the program's
    own.
    """
    if known is None or known["device"] != "cpu" or backend not in _core.backends():
        return None
    if _is_as_here(backend, known):
        return str(backend)
    layout = known["layout_map"]
    if not getattr(layout, "__module__", "").startswith("gt4py."):
        return None
    name = f"{backend}{_OF}{gt4py.__version__}"  # older versions have other orders of strides
    if name not in _core.backends():
        _core.register_backend(name, layout=layout, alignment=known["alignment"])
    return name


def _is_as_here(backend: str, known: Any) -> bool:
    """Whether a layout of gt4py's is that of the preset of this name."""
    _, alignment, device = _core.preset(backend)
    if device != "cpu" or alignment % known["alignment"]:
        return False
    try:
        return all(
            tuple(known["layout_map"](dims)) == _core.preset(backend, dims)[0] for dims in _DIMS
        )
    except Exception:  # a layout that is not for all of these
        return False


def _exchange_next(allocators: Any) -> Callable[[], None]:
    """All of gt4py.next's own allocators, those that its backends carry included, are of one
    class.
    """
    from gt4py._core import definitions

    from gridbuf.interop.gt4py_allocator import allocate

    cls: Any = allocators.BaseFieldBufferAllocator
    theirs = cls.__gt_allocate__

    @functools.wraps(theirs)
    def __gt_allocate__(
        self: Any, domain: Any, dtype: Any, device_id: int = 0, aligned_index: Any = None
    ) -> Any:
        if self.device_type != definitions.DeviceType.CPU:
            return theirs(self, domain, dtype, device_id, aligned_index)
        return allocate(
            domain,
            dtype,
            device=(self.device_type, device_id),
            layout=tuple(self.layout_mapper(domain.dims)),
            aligned_index=aligned_index,
            byte_alignment=self.byte_alignment,
            padding=True,  # as theirs
        )

    cls.__gt_allocate__ = __gt_allocate__

    def put_back() -> None:
        if cls.__gt_allocate__ is __gt_allocate__:
            cls.__gt_allocate__ = theirs

    return put_back


_installation, install, uninstall, installed = doors(
    __name__,
    _on,
    "gt4py",
    """`empty`, `zeros`, `ones`, `full` and `from_array` of gt4py.storage are exchanged in every
module that has imported them, so also in programs that said `from gt4py.storage import zeros`. They
take what they took and return NumPy arrays. gt4py.next, also where it is imported later, allocates
its fields by `gridbuf.empty` with its own order of strides and alignment. Storages of GPUs, and of
layouts that a program has registered, stay gt4py's. Calling it again changes nothing.""",
    'import gt4py.storage; a = gt4py.storage.zeros((4, 5, 6), backend="gt:cpu_ifirst")',
)


def hold() -> Callable[[], None]:
    """Install, until the result is called."""
    return _installation.hold()


# ---- programs that are written for gridbuf ----


def allocator(
    device: Literal["cpu", "gpu"] = "cpu",
    *,
    order: Sequence[Kind] = HORIZONTAL_FIRST,
    byte_alignment: int | None = None,
    padding: bool | int | None = None,
) -> Allocator:
    """An allocator object for `gtx.zeros(..., allocator=)`, `dataclasses.replace(backend,
    allocator=)` and `device_allocators`.

    Parameters
    ----------
    device : {"cpu", "gpu"}, optional
        Where its memory lies.
    order : sequence of {"horizontal", "vertical", "local"}, optional
        The kinds of dimensions from the smallest stride to the largest; the default is gt4py's own.
    byte_alignment, padding : optional
        As for `gridbuf.empty`.

    Returns
    -------
    Allocator

    Raises
    ------
    ValueError
        When device or order is not one of these.

    Examples
    --------
    >>> import gt4py.next as gtx, gridbuf.interop.gt4py as gbg
    >>> from gt4py.next.custom_layout_allocators import device_allocators
    >>> ours = gbg.allocator(padding=True)
    >>> theirs = device_allocators[ours.device_type]
    >>> device_allocators[ours.device_type] = ours  # before the first field
    >>> cells, levels = gtx.Dimension("Cell"), gtx.Dimension("K", gtx.DimensionKind.VERTICAL)
    >>> gtx.empty({cells: 10, levels: 3}).ndarray.strides
    (8, 128)
    >>> device_allocators[ours.device_type] = theirs
    """
    if not isinstance(device, str) or device not in ("cpu", "gpu"):
        raise ValueError(f"device: {device!r} is neither 'cpu' nor 'gpu'")
    if not isinstance(order, Sequence):
        raise TypeError(f"order: expected a sequence of kinds, got {order!r}")
    if sorted(map(str, order)) != sorted(HORIZONTAL_FIRST):
        raise ValueError(
            f"order: {tuple(order)} does not name each of {', '.join(HORIZONTAL_FIRST)} once"
        )
    return Allocator(device, tuple(order), byte_alignment, padding)


def register_presets() -> tuple[str, ...]:
    """Make gridbuf's presets known to `gt4py.storage` under their names; its own stay as they are.

    Returns
    -------
    tuple of str
        The names that were added.

    Examples
    --------
    >>> import gt4py.storage, gridbuf.interop.gt4py as gbg
    >>> known = gt4py.storage.cartesian.layout_registry.REGISTRY
    >>> "gtcuda" in gbg.register_presets() or "gtcuda" in known
    True
    >>> gt4py.storage.empty((4, 5, 6), backend="F").strides
    (8, 32, 160)
    """
    names = tuple(name for name in _core.backends() if name not in registry.REGISTRY)
    for name in names:
        _, alignment, device = _core.preset(name)

        def layout_map(dimensions: Sequence[str], name: str = name) -> tuple[int, ...]:
            return _core.preset(name, dimensions)[0] or ()

        def is_optimal(array: Any, dimensions: Sequence[str], of: Any = layout_map) -> bool:
            return falling(
                array.shape,
                array.strides,
                sorted(range(array.ndim), key=of(dimensions).__getitem__),
            )

        info: Any = {
            "alignment": alignment,
            "device": "cpu" if device == "cpu" else "gpu",
            "layout_map": layout_map,
            "is_optimal_layout": is_optimal,
        }
        registry.register(name, info)
    return names


def stencil_args(
    stencil: Any, *args: Any, origin: Any = None, domain: Any = None, **kwargs: Any
) -> dict[str, Any]:
    """The keywords of a call with plain arrays: for frozen stencils, for timing, and for callers
    that do not read Fields.

    Parameters
    ----------
    stencil
        A gt4py.cartesian stencil, or a frozen one.
    *args
        The arguments of the call: Fields, storages, arrays, scalars.
    origin, domain : optional
        As gt4py's; else the origin that the fields carry, and the points inside every halo.
    **kwargs
        The keywords of the call.

    Returns
    -------
    dict
        Arrays over the same memory, each in the stencil's order of indices, the scalars, `origin`,
        and `domain` where it was given or a field has a halo: `stencil(**stencil_args(stencil,
        inp=f, out=g))`.

    Raises
    ------
    TypeError
        When stencil is not one of gt4py.cartesian's, or the arguments are not its own.

    Examples
    --------
    >>> from gridbuf.interop.gt4py import stencil_args
    >>> arguments = stencil_args(copy_stencil, inp=f, out=g)  # doctest: +SKIP
    >>> copy_stencil(**arguments)  # doctest: +SKIP
    """
    call = StencilCall(stencil)
    given = call._signature.bind(*args, **kwargs).arguments
    fields = {name: given[name] for name in call.stencil.field_info if given.get(name) is not None}
    dims = {name: call._dims[name] for name in fields}
    plain = as_numpy if call._device is None else as_cupy
    arrays = {name: plain(obj, dims[name]) for name, obj in fields.items()}
    origins = resolve_origins(fields, origin, dims)
    halos = {name: halo_of(obj) for name, obj in fields.items()}
    if domain is None and any(halo is not None for halo in halos.values()):
        written, infos = dict(call._fields), call.stencil.field_info
        sizing = [
            Sizing(
                name,
                infos[name],
                arrays[name].shape,
                origins[name],
                halos[name],
                output=written[name],
                told=origin is not None,
            )
            for name in fields
        ]
        domain = find_domain(sizing, None, halos_count=origin is None, stacklevel=3)
    return {**given, **arrays, "origin": origins} | (
        {} if domain is None else {"domain": tuple(domain)}
    )


def to_next(field: _core.Field, dims: Mapping[str, Any]) -> Any:
    """A gt4py.next field over the memory of a Field; nothing is copied.

    Parameters
    ----------
    field : Field
        Its origin, or else its lower halo, becomes the domain's zero.
    dims : mapping
        Each of the Field's dims to a `gtx.Dimension`.

    Returns
    -------
    gt4py.next.Field

    Raises
    ------
    TypeError
        When field is no Field.
    ValueError
        When gt4py.next has no such dtype, or dims lacks one of the Field's.

    Examples
    --------
    >>> import gridbuf as gb, gt4py.next as gtx, gridbuf.interop.gt4py as gbg
    >>> cells = gtx.Dimension("Cells")
    >>> gbg.to_next(gb.Field.zeros(8, dims="I", halo=((2, 1),)), {"I": cells}).domain
    Domain(dims=(Dimension(value='Cells', kind=<DimensionKind.HORIZONTAL: 'horizontal'>),), ranges=(UnitRange(-2, 6),))
    """  # noqa: E501
    from gt4py._core import definitions
    from gt4py.next import common

    if not isinstance(field, _core.Field):
        raise TypeError(
            f"field: expected a gridbuf.Field, got {type(field).__name__}; wrap it:"
            " gridbuf.Field(data, dims)"
        )
    if not issubclass(field.dtype.type, definitions.SCALAR_TYPES):
        known = ", ".join(
            np.dtype(t).name for t in definitions.SCALAR_TYPES if issubclass(t, np.generic)
        )
        raise ValueError(
            f"field: gt4py.next has no dtype for {field.dtype!r}; it knows bool, {known}"
        )
    mapping(dims, "dims", "names and gtx.Dimensions")
    missing = [dim for dim in field.dims if dim not in dims]
    if missing:
        raise ValueError(
            f"dims: no gtx.Dimension for {missing[0]!r}; the field's dims are {field.dims}"
        )
    start = [-i for i in field.origin] if field.origin is not None else [0] * field.ndim
    spans = [(low, low + n) for low, n in zip(start, field.shape, strict=True)]
    array = field.numpy() if field.device == "cpu" else as_cupy(field)
    return common._field(
        array,
        domain=common.domain({dims[d]: span for d, span in zip(field.dims, spans, strict=True)}),
    )


def from_next(field: Any, dims: Mapping[Any, str]) -> _core.Field:
    """A Field over the memory of a gt4py.next field; the zero of its domain becomes the origin
    where it lies inside.

    Parameters
    ----------
    field : gt4py.next.Field
        On the host or on a GPU.
    dims : mapping
        Each `gtx.Dimension` of the field to "I", "J", "K", "0", ...

    Returns
    -------
    Field

    Raises
    ------
    TypeError
        When field is not one of gt4py.next's.
    ValueError
        When dims lacks one of its dimensions.

    Examples
    --------
    >>> import gt4py.next as gtx, gridbuf.interop.gt4py as gbg
    >>> cells = gtx.Dimension("Cells")
    >>> gbg.from_next(gtx.zeros({cells: (-2, 6)}), {cells: "I"}).origin
    (2,)
    """
    if not hasattr(field, "domain") or not hasattr(field, "ndarray"):
        raise TypeError(
            f"field: expected a field of gt4py.next, got {type(field).__name__}; gridbuf.Field"
            " wraps other memory"
        )
    mapping(dims, "dims", "gtx.Dimensions and names")
    names = [dims.get(dim) for dim in field.domain.dims]
    if None in names:
        dim = field.domain.dims[names.index(None)]
        raise ValueError(
            f"dims: no name for {dim.value!r}; the field's dimensions are"
            f" {[d.value for d in field.domain.dims]}"
        )
    origin = tuple(-span.start for span in field.domain.ranges)
    inside = all(0 <= at < max(n, 1) for at, n in zip(origin, field.ndarray.shape, strict=True))
    return _core.Field(field.ndarray, names, origin=origin if inside else None)


__all__ = [
    "Allocator",
    "Buffer",
    "allocator",
    "from_next",
    "install",
    "installed",
    "register_presets",
    "stencil_args",
    "to_next",
    "uninstall",
]
