"""How storages look: the parameters and, as with arrays, the values."""

from typing import Any

import numpy as np

from gridbuf._core import Field
from gridbuf.storage import devices
from gridbuf.storage.base import Storage
from gridbuf.storage.sync import Pair, SyncState


def _shown(storage: Storage) -> Any:
    """The newest values, or None: looking at a storage moves no data from the device to its host
    buffer, and never much.
    """
    if isinstance(storage._pair, Pair):
        return None if storage._pair.state.state == SyncState.SYNC_DEVICE_DIRTY else storage._host
    if storage._has_host:
        return storage._on_host()
    return (
        devices.current().to_host(storage._dev)
        if storage.size <= np.get_printoptions()["threshold"]
        else None
    )


def parameters(storage: Storage) -> str:
    """The line without values."""
    halo = f", halo={storage.halo}" if any(map(any, storage.halo)) else ""
    return (
        f"{type(storage).__name__}(axes={storage.axes!r}, shape={storage.shape},"
        f" dtype={storage.dtype}, layout={storage.layout!r}{halo})"
    )


def _repr(self: Storage) -> str:
    values = _shown(self)
    return parameters(self) if values is None else f"{parameters(self)}\n{np.array2string(values)}"


def _str(self: Storage) -> str:
    return repr(self) if self.ndim else str(self._scalar())


def _format(self: Storage, spec: str) -> str:
    if not self.ndim:
        return format(self._scalar(), spec)
    if spec:
        raise TypeError(
            f"a storage with axes has no format {spec!r}; format its elements, or"
            " np.array2string(s)"
        )
    return str(self)


def _html(self: Storage) -> str:
    """The layout, drawn for a notebook; values stay where they are."""
    from gridbuf import explain

    buffer = (
        self._host
        if isinstance(self._pair, Pair)
        else self._on_host()
        if self._has_host
        else self._dev
    )
    plan = Field(buffer, self.axes, halo=self.halo).plan
    return explain.html(plan, halo=self.halo, title=f"{type(self).__name__} {self.axes}")


for _name, _function in {
    "__repr__": _repr,
    "__str__": _str,
    "__format__": _format,
    "_repr_html_": _html,
}.items():
    setattr(Storage, _name, _function)
