"""What a constructor was given as data: arrays, Fields, storages, on the host and on the device."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.names import as_numpy, named, shared_halo
from gridbuf.storage import devices
from gridbuf.storage.base import Storage
from gridbuf.storage.meta import LETTERS, default_axes, layout_of_strides
from gridbuf.storage.parameters import Known
from gridbuf.wrapping import check_mask, values


def known_of_storage(storage: Storage) -> Known:
    meta = storage._meta
    managed = storage._managed if storage._has_device else "gt4py"
    return Known(
        storage.shape, storage.dtype, meta.axes, True, meta.layout, meta.halo, meta.aligned_index,
        meta.alignment, storage.device, managed
    )  # fmt: skip


def _own_axes(obj: Any, ndim: int) -> str | None:
    """The axes that an object names itself, if they are a storage's."""
    dims = named(obj)
    if (
        dims is None
        and isinstance(own := getattr(obj, "dims", None), tuple)
        and not isinstance(obj, _core.Field)
        and any(own)
    ):
        raise ValueError(
            f"data: its dims {own} are not all I, J or K; say which is which: "
            "gridbuf.interop.xarray.from_dataarray(data, axes={'lon': 'I', ...})"
        )
    if dims is None or len(dims) != ndim:
        return None
    if not set(dims) <= set(LETTERS):
        raise ValueError(
            f"data: its dims {dims} are not all among I, J and K, which are all that a storage has"
        )
    return "".join(dims)


def known_of_array(obj: Any, array: Any, device: int | None = None) -> Known:
    """The parameters of a foreign object over `array`."""
    axes = _own_axes(obj, array.ndim)
    named = axes is not None
    letters = default_axes(array.ndim, "data") if axes is None else axes
    halo = (
        obj.halo
        if isinstance(obj, _core.Field)
        else shared_halo(obj, None if axes is None else tuple(axes))[1]
    )
    return Known(
        array.shape,
        array.dtype,
        letters,
        named,
        layout_of_strides(array.strides, letters),
        halo,
        device=device,
    )


def is_list(obj: Any) -> bool:
    """Whether NumPy is to make an array of an object's entries, and so checks Python's numbers."""
    return isinstance(obj, (list, tuple)) or (isinstance(obj, Sequence) and named(obj) is None)


class Source:
    """A piece of data: `host` and `device` arrays as far as it has them, and its known
    parameters.
    """

    def __init__(self, obj: Any, copying: bool) -> None:
        self.obj = obj
        self.storage = obj if isinstance(obj, Storage) else None
        self.host: Any = None
        self.device: Any = None
        if self.storage is not None:
            self.known = known_of_storage(self.storage)
        elif devices.is_device_array(obj):
            self.device = devices.current().asarray(obj)[...]
            self.known = known_of_array(obj, self.device, devices.current().device_id(self.device))
        else:
            if isinstance(obj, np.ndarray):
                check_mask(obj)
            # A view, since the caller may set the shape of his array
            self.host = values(obj) if copying else as_numpy(obj)[...]
            self.known = known_of_array(obj, self.host)

    def values(self, on_device: bool) -> Any:
        """The newest values on that side: a view where it has a buffer there, else a new array."""
        if self.storage is not None:
            has = self.storage._has_device if on_device else self.storage._has_host
            if has:
                return self.storage._on_device() if on_device else self.storage._on_host()
            other = self.storage._array
        else:
            own = self.device if on_device else self.host
            if own is not None:
                return own
            other = self.host if on_device else self.device
        device = devices.current()
        return device.from_host(other) if on_device else device.to_host(other)


def read(
    data: Any, device_data: Any, copying: bool
) -> tuple[Source | None, Source | None, Known | None]:
    """The data, the device data, and what both say together."""
    first = None if data is None else Source(data, copying)
    second = None if device_data is None else Source(device_data, copying)
    if first is None or second is None:
        only = first or second
        return first, second, None if only is None else only.known
    if first.known.shape != second.known.shape or first.known.dtype != second.known.dtype:
        raise ValueError(
            f"device_data: shape {second.known.shape} and dtype {second.known.dtype} differ from"
            f" the data's {first.known.shape} and {first.known.dtype}"
        )
    known = first.known
    return (
        first,
        second,
        known if known.device is not None else replace(known, device=second.known.device),
    )
