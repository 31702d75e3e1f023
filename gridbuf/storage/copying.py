"""Copies: copy, deepcopy and pickle."""

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gridbuf.storage.allocation import class_of, new
from gridbuf.storage.base import Storage
from gridbuf.storage.meta import Meta, meta_of
from gridbuf.storage.sources import managed_of
from gridbuf.storage.sync import Pair

S = TypeVar("S", bound=Storage)


def copied(storage: S) -> S:
    """New memory of the same class, parameters and values; its own SyncState, with the same state."""
    made = cast(S, new(type(storage), storage.shape, storage.dtype, storage._meta, storage.device))
    if storage._host is not None:
        made._host[...] = storage._host if isinstance(storage._pair, Pair) else storage._on_host()
    if storage._dev is not None and (storage._pair is not None or storage._host is None):
        made._dev[...] = storage._dev
    if storage._pair is not None and made._pair is not None:
        made._pair.state.state = storage._pair.state.state
    return made


def reduced(storage: Storage) -> tuple[Any, ...]:
    """For pickle: the newest values and what to make a storage of them from."""
    meta: Meta = storage._meta
    parameters = (meta.axes, meta.layout, meta.halo, meta.aligned_index, meta.alignment)
    values = np.ascontiguousarray(storage._values()).reshape(storage.shape)
    return rebuilt, (values, parameters, storage.device, managed_of(storage))


def rebuilt(values: NDArray[Any], parameters: tuple[Any, ...], device: int | None, managed: str | None) -> Storage:
    """The storage of a pickle; both sides are filled."""
    made = new(class_of(device, managed), values.shape, values.dtype, meta_of(*parameters), device)
    if made._host is not None:
        made._host[...] = values
        if made._pair is not None:
            made.host_to_device(force=True)
    else:
        from gridbuf.storage import _device

        _device.current().upload(values, made._dev)
    return made
