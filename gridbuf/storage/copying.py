"""Copies of storages."""

from typing import TypeVar, cast

from gridbuf.storage.allocation import new
from gridbuf.storage.base import Storage
from gridbuf.storage.sync import Pair

S = TypeVar("S", bound=Storage)


def copied(storage: S) -> S:
    """New memory of the same class, parameters and values; its own SyncState, with the same
    state.
    """
    made = cast(S, new(type(storage), storage.shape, storage.dtype, storage._meta, storage.device))
    with storage._writing():
        if storage._host is not None:
            made._host[...] = (
                storage._host if isinstance(storage._pair, Pair) else storage._on_host()
            )
        if storage._dev is not None and (storage._pair is not None or storage._host is None):
            made._dev[...] = storage._dev
        if storage._pair is not None and made._pair is not None:
            made._pair.state.state = storage._pair.state.state
    return made
