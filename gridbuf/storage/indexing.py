"""Reading and writing parts of a storage."""

import operator
from typing import Any

import numpy as np

from gridbuf.named.broadcasting import (
    Names,
    adapted,
    fitted,
    into,
    is_scalar,
    lacking,
    without_ones,
)
from gridbuf.storage import devices
from gridbuf.storage.base import Storage
from gridbuf.storage.buffers import SyncState
from gridbuf.storage.classes import SoftwareManagedGPUStorage
from gridbuf.storage.meta import Picks, meta_of_view
from gridbuf.storage.results import STORAGES, fetch, of_dtype, on_device, values_of

_Cuts = tuple[Any, ...]  # one int or slice per index


def _basic(key: Any, ndim: int) -> tuple[_Cuts, bool] | None:
    """The key per index, and whether it selects one element; None for an advanced key."""
    parts = key if isinstance(key, tuple) else (key,)
    cuts: list[Any] = []
    gap = -1
    for part in parts:
        if isinstance(part, slice):
            cuts.append(part)
        elif part is Ellipsis:
            if gap >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            gap = len(cuts)
        elif part is None:
            raise TypeError("key: None would add an axis without a name; storages have none such")
        elif isinstance(part, (bool, np.bool_, list, Storage)) or (
            isinstance(part, np.ndarray) and part.ndim
        ):
            return None
        else:
            try:
                cuts.append(operator.index(part))
            except TypeError:
                return None
    if len(cuts) > ndim:
        raise IndexError(f"too many indices: the storage has {ndim} axes, the key {len(cuts)}")
    single = gap < 0 and len(cuts) == ndim and not any(isinstance(cut, slice) for cut in cuts)
    at = len(cuts) if gap < 0 else gap
    cuts[at:at] = [slice(None)] * (ndim - len(cuts))
    return tuple(cuts), single


def _picks(shape: tuple[int, ...], cuts: _Cuts) -> Picks:
    """`cuts` as meta_of_view wants them."""
    found: list[tuple[int, Any]] = []
    for size, cut in zip(shape, cuts, strict=True):
        if isinstance(cut, slice):
            selected = range(*cut.indices(size))
            found.append(
                (size, (selected.start, selected.step, len(selected)) if selected else (0, 1, 0))
            )
        else:
            found.append((size, cut + size if cut < 0 else cut))
    return tuple(found)


def getitem(storage: Storage, key: Any) -> Any:
    """An element, a view, or for an advanced key a plain array."""
    found = _basic(key, storage.ndim)
    if found is None:
        device = storage._has_device
        array = storage._on_device() if device else storage._on_host()
        return array[_advanced(key, storage, device)]
    cuts, single = found
    if not single:
        return _viewed(storage, cuts)
    if storage._has_host:
        return storage._on_host()[cuts]
    return devices.current().to_host(storage._dev[(*cuts, ...)])[()]


def _viewed(storage: Storage, cuts: _Cuts) -> Storage:
    meta = meta_of_view(storage._meta, _picks(storage.shape, cuts))
    return storage._mapped(lambda array: array[(*cuts, ...)], meta)


def _advanced(key: Any, storage: Storage, device: bool) -> Any:
    """The key with its arrays on that side, and a storage's indices in the order of ours."""
    if isinstance(key, tuple) and len(key) == 1 and isinstance(key[0], Storage):
        (key,) = key
    if isinstance(key, Storage):
        if key.dtype.kind not in "biu":
            raise IndexError(
                f"key: a storage of dtype {key.dtype} cannot be a key; booleans and integers can"
            )
        if sorted(key.axes) != sorted(storage.axes):
            raise IndexError(
                f"key: a storage with the axes {key.axes!r} cannot select from one with"
                f" {storage.axes!r}"
            )
        order = into(tuple(key.axes), tuple(storage.axes))
        if adapted(key._array, order).shape != storage.shape:
            raise IndexError(
                f"key: its shape {key.shape} is not that of the storage, {storage.shape}"
            )
        return adapted(_key_on(key, device), order)
    if isinstance(key, tuple):
        if any(isinstance(part, Storage) for part in key):
            raise IndexError("key: a storage can be the whole key only, not a part of one")
        return tuple(_key_on(part, device) for part in key)
    return _key_on(key, device)


def _key_on(part: Any, device: bool) -> Any:
    if isinstance(part, Storage):
        if device:
            return (
                part._on_device()
                if part._has_device
                else devices.current().from_host(part._on_host())
            )
        return part._on_host() if part._has_host else part._values()
    if (
        isinstance(part, (slice, int, np.integer))
        or part is Ellipsis
        or (hasattr(part, "__index__") and not hasattr(part, "shape"))
    ):
        return part
    if devices.is_device_array(part):
        return part if device else devices.current().to_host(part)
    array = values_of(part, "key")
    if not array.size and not hasattr(part, "dtype"):
        array = array.astype(np.intp)  # an empty list is one of floats
    return devices.current().from_host(array) if device else array


def setitem(storage: Storage, key: Any, value: Any) -> None:
    """Write values, broadcast by axis name; advanced keys as NumPy does."""
    value = of_dtype(value, storage.dtype)
    device = _side(storage, value)
    source = value if is_scalar(value) else fetch(value, STORAGES.lead((storage, value)), device)
    found = _basic(key, storage.ndim)
    advanced = None
    if found is None:
        advanced = _advanced(key, storage, device)
        source = _where_selected(source, value, key, storage)
    with storage._writing():
        target = fetch(storage, storage, device, "storage")
        if found is None:
            target[advanced] = source
        else:
            cuts, _ = found
            view = target[(*cuts, ...)]
            axes = tuple(
                name for name, cut in zip(storage.axes, cuts, strict=True) if isinstance(cut, slice)
            )
            view[...] = source if is_scalar(source) else _named(source, value, axes, view.shape)
        storage._wrote(device)


def _where_selected(source: Any, value: Any, key: Any, storage: Storage) -> Any:
    """The value's array for an advanced key: by name where one list or mask stands for one axis,
    else only in the same order.

    What several lists or a mask of many axes select has no names; what a list selects along an axis
    is that axis.
    """
    described = STORAGES.describe(value)
    if described is None or described.names is None:
        return source
    parts = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in [part for part in parts if part is Ellipsis]:
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (storage.ndim - len(parts) + 1)
    parts += [slice(None)] * (storage.ndim - len(parts))
    lists = [part for part in parts if not isinstance(part, (slice, int, np.integer))]
    if (
        len(lists) != 1
        or len(parts) != storage.ndim
        or isinstance(lists[0], Storage)
        or np.ndim(lists[0]) != 1
    ):
        raise TypeError(
            f"value: a storage with the axes {STORAGES.show(described.names)} goes by name, and"
            " what the key selects has no names; numpy.copyto(s, value, where=mask) does,"
            " numpy.asarray(value) goes by position"
        )
    kept = [
        name
        for name, part in zip(storage.axes, parts, strict=True)
        if not isinstance(part, (int, np.integer))
    ]
    listed = next(name for name, part in zip(storage.axes, parts, strict=True) if part is lists[0])
    # As in NumPy: the selected axis comes first, unless list and ints stand together
    if any(isinstance(part, (int, np.integer)) for part in parts):
        picked = [i for i, part in enumerate(parts) if not isinstance(part, slice)]
        if picked != list(range(picked[0], picked[-1] + 1)):
            kept = [listed, *(name for name in kept if name != listed)]
    return _fitting(source, described.names, tuple(kept))


def _named(source: Any, value: Any, axes: tuple[str, ...], shape: tuple[int, ...]) -> Any:
    """The value's array with its indices where the target has those of the same name."""
    described = STORAGES.describe(value)
    if described is None:
        return source
    if described.names is not None:
        return _fitting(source, described.names, axes)
    own = STORAGES.name_array(described.shape, None, (axes, shape))
    if not lacking(without_ones(own, described.shape, axes)[0], axes):
        return adapted(source, fitted(own, described.shape, axes))
    return _fitting(source, own, axes)


def _fitting(source: Any, own: Names, axes: tuple[str, ...]) -> Any:
    """An array with the indices `own` in the order of axes; ValueError where axes lack some."""
    if missing := lacking(own, axes):
        raise ValueError(
            f"value: its axes {STORAGES.show(own)} do not fit into {STORAGES.show(axes)}, which"
            f" lack {STORAGES.listed(missing)}"
        )
    return adapted(source, into(own, axes))


def _side(storage: Storage, value: Any) -> bool:
    """Whether to write on the device."""
    if not isinstance(storage, SoftwareManagedGPUStorage):
        lead = STORAGES.lead((storage, value))
        return on_device(lead, (value,), (storage,))
    if isinstance(value, SoftwareManagedGPUStorage):
        states = {storage.sync_state.state, value.sync_state.state}
        # Newer host values are transferred only if others are newer on the device.
        return SyncState.SYNC_HOST_DIRTY not in states or SyncState.SYNC_DEVICE_DIRTY in states
    if isinstance(value, Storage):
        return value._has_device
    return not is_scalar(value) and devices.is_device_array(value)
