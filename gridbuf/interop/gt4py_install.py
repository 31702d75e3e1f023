"""gt4py's own allocation functions exchanged for gridbuf's, for programs that stay as they are."""

import functools
from collections.abc import Callable
from typing import Any

import gt4py.storage.cartesian.interface as interface
import gt4py.storage.cartesian.layout_registry as registry

from gridbuf import _core
from gridbuf.arrays import from_array
from gridbuf.importing import forget, when_imported
from gridbuf.interop.exchanging import Installation, Installed, exchange

_NEXT = "gt4py.next.custom_layout_allocators"


def install() -> Installed:
    """Let gt4py allocate host memory from gridbuf: gt4py.storage's functions, and the fields of
    gt4py.next.

    `empty`, `zeros`, `ones`, `full` and `from_array` are exchanged in every module that has
    imported them, so also in programs that said `from gt4py.storage import zeros`. They take what
    they took and return NumPy arrays. gt4py.next, also where it is imported later, allocates by
    `gridbuf.empty` with its own order of strides and alignment. Storages of GPUs, and of layouts
    that somebody else has registered, stay gt4py's. Calling it again changes nothing.

    Returns
    -------
    Installed
        As a context, it undoes this at the end.

    Examples
    --------
    >>> import gt4py.storage, gridbuf as gb, gridbuf.interop.gt4py as gbg
    >>> with gbg.install():
    ...     a = gt4py.storage.zeros((4, 5, 6), backend="gt:cpu_ifirst")
    >>> gb.memory.buffer_id(a) is not None, gbg.installed()
    (True, False)
    """
    return _installation.on()


def uninstall() -> None:
    """Undo `install`: every module has gt4py's own functions again.

    Arrays that live stay as they are.

    Examples
    --------
    >>> import gridbuf.interop.gt4py as gbg
    >>> _ = gbg.install()
    >>> gbg.uninstall()
    >>> gbg.installed()
    False
    """
    _installation.off()


def installed() -> bool:
    """Whether gt4py allocates from gridbuf now.

    Returns
    -------
    bool

    Examples
    --------
    >>> import gridbuf.interop.gt4py as gbg
    >>> gbg.installed()
    False
    """
    return _installation.is_on


def _on() -> Callable[[], None]:
    theirs = {name: getattr(interface, name) for name in _OURS}
    ours = {name: _storage_function(theirs[name], function) for name, function in _OURS.items()}
    exchange((theirs[name], ours[name]) for name in _OURS)
    put_back: list[Callable[[], None]] = []

    def in_next() -> None:
        put_back.append(_exchange_next())

    when_imported(_NEXT, in_next)

    def off() -> None:
        exchange((ours[name], theirs[name]) for name in _OURS)
        forget(_NEXT, in_next)
        for call in put_back:
            call()

    return off


def _storage_function(theirs: Any, ours: Any) -> Any:
    """ours where the backend is one that both know, theirs for the rest."""
    answers: dict[Any, tuple[Any, bool]] = {}

    @functools.wraps(theirs)
    def function(*args: Any, backend: Any, **kwargs: Any) -> Any:
        known = registry.REGISTRY.get(backend)
        answer = answers.get(backend)
        if answer is None or answer[0] is not known:  # not asked yet, or registered anew
            answer = answers[backend] = known, _is_ours(backend, known)
        return (ours if answer[1] else theirs)(*args, backend=backend, **kwargs)

    return function


def _from_array(data: Any, dtype: Any = float, **asked: Any) -> Any:
    """gt4py converts as assignment does, also from float to int; where ours refuses, its own
    assigns to our memory.
    """
    try:
        return from_array(data, dtype=dtype, **asked)
    except TypeError:
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


def _is_ours(backend: Any, known: Any) -> bool:
    """Whether the preset that gt4py has under this name is the one of that name here, and not
    somebody's own.
    """
    if known is None or known["device"] != "cpu" or backend not in _core.backends():
        return False
    plans = [_core.plan((2,) * len(dims), backend=backend, dimensions=dims) for dims in _DIMS]
    if any(
        plan.device != "cpu" or plan.byte_alignment % (8 * known["alignment"]) for plan in plans
    ):
        return False
    try:
        return all(
            tuple(known["layout_map"](dims)) == plan.layout
            for dims, plan in zip(_DIMS, plans, strict=True)
        )
    except Exception:  # a layout that is not for all of these
        return False


def _exchange_next() -> Callable[[], None]:
    """All of gt4py.next's own allocators, those that its backends carry included, are of one
    class.
    """
    from gt4py._core import definitions
    from gt4py.next import custom_layout_allocators

    from gridbuf.interop.gt4py_allocator import allocate

    cls: Any = custom_layout_allocators.BaseFieldBufferAllocator
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


_installation = Installation(_on)


def with_numpy() -> Callable[[], None]:
    """For programs on gt4py that allocate by NumPy, too: `install` and
    `gridbuf.interop.numpy.enable`, until the result is called.
    """
    from gridbuf.interop import numpy as handler

    storage, memory = _installation.hold(), handler.hold()

    def off() -> None:
        memory()
        storage()

    return off
