"""storage and as_storage: storages from data, with a copy or around the data's own memory."""

from typing import Any, Unpack

import numpy as np

from gridbuf import _core
from gridbuf.common import BoundedCache
from gridbuf.storage import devices
from gridbuf.storage.base import Storage
from gridbuf.storage.buffers import BufferPair, SyncState, device_empty, host_empty
from gridbuf.storage.classes import (
    CPUStorage,
    CUDAManagedGPUStorage,
    GPUStorage,
    SoftwareManagedGPUStorage,
    class_of,
)
from gridbuf.storage.constructors import ANSWERS, DataSpec, allocate, remember
from gridbuf.storage.meta import Meta, layout_fits, layout_of_strides
from gridbuf.storage.parameters import Known, Parameters, Source, is_list, read, resolve
from gridbuf.validation import boolean

# The Meta of a storage around memory of such a shape and strides, as ANSWERS.
AROUND: BoundedCache[Meta] = BoundedCache(1024)


def as_storage(
    data: Any = None,
    device_data: Any = None,
    *,
    sync_state: SyncState | None = None,
    dtype: Any = None,
    **spec: Unpack[DataSpec],
) -> Storage:
    """A storage around existing memory; nothing is copied.

    Parameters
    ----------
    data : array_like
        A host array, a device array or a storage.
    device_data : array_like, optional
        The device's array where both sides are given.
    sync_state : SyncState, optional
        For managed="gt4py" with both sides: which of them is up to date. The storage
        uses this very object.
    dtype : dtype_like, optional
        The data's; another one is an error.
    **spec
        The keywords of `empty`: parameters that contradict the data are an error;
        those that come only from the `defaults` preset and do not fit are dropped.

    Returns
    -------
    Storage
        Of the data's own class where data is a storage, sharing its SyncState.

    Raises
    ------
    TypeError, ValueError
        When a parameter is wrong or contradicts the data; the message names it and the call
        that copies.
    ImportError, RuntimeError
        When device="gpu" and there is no cupy or no GPU.

    Examples
    --------
    >>> import numpy as np, gridbuf.storage as gs
    >>> a = np.zeros((3, 4, 5), order="F")
    >>> s = gs.as_storage(a)
    >>> s.layout, np.shares_memory(s.to_numpy(), a)
    ('KJI', True)
    """
    key = None
    if device_data is None and sync_state is None:
        key = _core.known_around(AROUND, data, dtype, spec)
        if type(key) is CPUStorage:
            return key
    _check_state(sync_state)
    host, dev, known = read(data, device_data, copying=False)
    parameters = resolve(dtype, dict(spec), known)
    made = _as_storage(host, dev, known, parameters, sync_state)
    # Where an alignment is asked for, the answer depends on the address.
    if key is not None and type(made) is CPUStorage and parameters.meta.alignment == 1:
        AROUND[key] = made._meta
    return made


def _as_storage(
    host: Source | None,
    dev: Source | None,
    known: Known | None,
    parameters: Parameters,
    sync_state: SyncState | None,
) -> Storage:
    if known is None:
        return allocate(parameters)
    if parameters.dtype != known.dtype:
        raise ValueError(
            f"dtype: {parameters.dtype} was given, the data have {known.dtype}; storage() converts"
        )
    if known.named and parameters.meta.axes != known.axes:
        raise ValueError(
            f"axes: {parameters.meta.axes!r} was given, the data have {known.axes!r}; see"
            " reinterpret and np.transpose"
        )
    if host is not None and host.storage is not None and dev is None:
        return _of_storage(host.storage, parameters)
    if host is not None and dev is None and host.device is not None:
        host, dev = None, host
    arrays = (
        None if host is None else host.values(False),
        None if dev is None else dev.values(True),
    )
    return _around(arrays, parameters, known, sync_state)


def _check_state(sync_state: Any) -> None:
    if sync_state is not None and not isinstance(sync_state, SyncState):
        raise TypeError(f"sync_state: expected a SyncState, got {sync_state!r}")


def _of_storage(storage: Storage, p: Parameters) -> Storage:
    if "device" in p.explicit and p.device != storage.device:
        raise ValueError(
            f"device: {p.device!r} was given, the data are a storage on {storage.device!r};"
            " storage() copies"
        )
    if "managed" in p.explicit and storage._has_device and p.managed != storage._managed:
        raise ValueError(
            f"managed: {p.managed!r} was given, the data are managed={storage._managed!r};"
            " storage() copies"
        )
    return storage._mapped(lambda array: array, _fitted(storage._array, p, storage.alignment))


def _fitted(array: Any, p: Parameters, own_alignment: int = 1) -> Meta:
    """p's metadata as far as the buffer has it; ValueError where the caller insisted."""
    meta = p.meta
    if not layout_fits(meta.layout, meta.axes, array.shape, array.strides):
        own = layout_of_strides(array.strides, meta.axes)
        if "layout" in p.explicit:
            raise ValueError(
                f"layout: {meta.layout!r} was given, the data's strides {array.strides} are {own!r}"
            )
        meta = meta.replaced(layout=own)
    insisted = "alignment" in p.explicit
    if (insisted or meta.alignment != own_alignment) and not _aligned(array, meta):
        if insisted:
            raise ValueError(
                f"alignment: {meta.alignment} elements were given; the data's element"
                f" {meta.aligned_index} or its rows (strides {array.strides}) are not on such a"
                " boundary"
            )
        meta = meta.replaced(alignment=own_alignment)
    return meta


def _aligned(array: Any, meta: Meta) -> bool:
    """Whether the aligned element lies on the boundary, and all rows with it."""
    if meta.alignment == 1:
        return True
    boundary = meta.alignment * array.dtype.itemsize
    interface = getattr(array, "__cuda_array_interface__", None) or array.__array_interface__
    address = interface["data"][0] + sum(
        i * s for i, s in zip(meta.aligned_index, array.strides, strict=True)
    )
    fastest = len(meta.axes) - 1
    rows = [
        s
        for s, n, rank in zip(array.strides, array.shape, meta.ranks, strict=True)
        if rank != fastest and n > 1
    ]
    return not any(number % boundary for number in (address, *rows))


def _around(
    arrays: tuple[Any, Any], p: Parameters, known: Known, sync_state: SyncState | None
) -> Storage:
    """A storage of the class that p asks for around the arrays there are."""
    host, dev = arrays
    cls = class_of(p.device, p.managed)
    missing = (cls is CPUStorage and host is None) or (cls is GPUStorage and dev is None)
    if missing and "device" in p.explicit:
        wanted, there = ("host", "device") if cls is CPUStorage else ("device", "host")
        raise ValueError(
            f"device: a {cls.__name__} needs {wanted} memory, the data are on the {there};"
            " storage() copies"
        )
    if missing:  # the device came from a preset
        cls = class_of(known.device, p.managed)
    if cls is CPUStorage:
        return cls._of(host, None, _fitted(host, p))
    if cls is GPUStorage:
        return cls._of(None, dev, _fitted(dev, p))
    if cls is CUDAManagedGPUStorage:
        host, dev = devices.current().share_managed(dev if host is None else host)
        return cls._of(host, dev, _fitted(host, p))
    return _software_managed(host, dev, p, sync_state)


def _software_managed(host: Any, dev: Any, p: Parameters, state: SyncState | None) -> Storage:
    given = host if host is not None else dev
    meta = _fitted(given, p)
    state = SyncState() if state is None else state
    if host is None or dev is None:
        dirty, lost = SyncState.SYNC_HOST_DIRTY, SyncState.SYNC_DEVICE_DIRTY
        if host is None:
            dirty, lost = lost, dirty
        if state.state == lost:
            raise ValueError(
                f"sync_state: {state} says that the side which was not given is up to date"
            )
        if host is None:
            host = host_empty(p.shape, p.dtype, meta)
        else:
            dev = device_empty(p.shape, p.dtype, meta, p.device)
        state.state = dirty
    return SoftwareManagedGPUStorage._of(host, dev, meta, BufferPair(host, dev, state))


def storage(
    data: Any = None,
    device_data: Any = None,
    *,
    dtype: Any = None,
    copy: bool = True,
    sync_state: SyncState | None = None,
    **spec: Unpack[DataSpec],
) -> Storage:
    """A storage with the values of given data.

    Parameters
    ----------
    data : array_like
        The values: an array, a list, a Field, a storage, on the host or a device.
    device_data : array_like, optional
        The device's values, where they are given separately.
    dtype : dtype_like, optional
        The data's unless given.
    copy : bool, optional
        False shares the data's memory: then this is `as_storage`.
    sync_state : SyncState, optional
        For managed="gt4py": which of data and device_data is up to date.
    **spec
        The keywords of `empty`.

    Returns
    -------
    Storage
        In new memory unless copy=False.

    Raises
    ------
    TypeError, ValueError
        When a parameter is wrong; the message names it.
    ImportError, RuntimeError
        When device="gpu" and there is no cupy or no GPU.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> gs.storage([[1, 2], [3, 4]], defaults="F").layout
    'KJI'
    """
    if not boolean(
        copy, "copy", "True or False (as_storage, or copy=False, shares memory or refuses)"
    ):
        return as_storage(data, device_data, sync_state=sync_state, dtype=dtype, **spec)
    key = None
    if device_data is None and sync_state is None:
        key = _core.known_like(ANSWERS, data, dtype, spec, False, "copied")
        if type(key) is CPUStorage:
            key[...] = data
            return key
    _check_state(sync_state)
    first, second, known = read(data, device_data, copying=True)
    parameters = resolve(dtype, dict(spec), known)
    if known is None:
        return allocate(parameters)
    if first is not None and first.storage is None and is_list(data):
        first.host = np.asarray(_core.values(data), parameters.dtype)
    order = known.order(parameters.meta.axes)
    cls = class_of(parameters.device, parameters.managed)
    made = cls._new(
        parameters.shape, parameters.dtype, parameters.meta, parameters.device, sync_state
    )
    if cls is SoftwareManagedGPUStorage:
        _fill_both(made, first, second, order, sync_state)
    elif cls is CPUStorage or (cls is CUDAManagedGPUStorage and first is not None):
        _copy(made._on_host(), _one(first, second).values(False), order)
    else:
        _copy(made._on_device(), _one(second, first).values(True), order)
    remember(key, made)
    return made


def _one(preferred: Source | None, other: Source | None) -> Source:
    source = other if preferred is None else preferred
    if source is None:
        raise TypeError("data: neither data nor device_data were given")
    return source


def _copy(target: Any, source: Any, order: tuple[int, ...]) -> None:
    target[...] = source.transpose(order)


def _fill_both(
    made: Any,
    first: Source | None,
    second: Source | None,
    order: tuple[int, ...],
    state: SyncState | None,
) -> None:
    """Each side gets its own data; a side without data is filled when it is next read."""
    only = first if second is None else second if first is None else None
    if only is None:
        _copy(made._host, first.values(False), order)  # type: ignore[union-attr]
        _copy(made._dev, second.values(True), order)  # type: ignore[union-attr]
    elif isinstance(only.storage, SoftwareManagedGPUStorage):
        _copy(made._host, only.storage._host, order)
        _copy(made._dev, only.storage._dev, order)
        made.sync_state.state = only.storage.sync_state.state
    elif only.device is not None or isinstance(only.storage, GPUStorage):
        _copy(made._dev, only.values(True), order)
        made.sync_state.state = SyncState.SYNC_DEVICE_DIRTY
    else:
        _copy(made._host, only.values(False), order)
        made.sync_state.state = SyncState.SYNC_HOST_DIRTY
