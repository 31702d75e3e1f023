"""The four classes of storages: where their buffers are, and how two of them are kept equal."""

from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gridbuf import _core
from gridbuf.storage import devices
from gridbuf.storage.base import Storage
from gridbuf.storage.buffers import BufferPair, SyncState, device_empty, device_request, host_empty
from gridbuf.storage.meta import Meta
from gridbuf.validation import boolean
from gridbuf.wrapping import array_protocol

_CPU = 1  # DLPack's device type


class HostBuffer(Storage):
    """A storage that has a host buffer."""

    __slots__ = ()
    _has_host = True

    @property
    def __array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self._on_host().__array_interface__
        return interface

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return array_protocol(self._on_host()[...], dtype, copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if self._has_device and isinstance(dl_device, tuple) and dl_device[:1] != (_CPU,):
            return self._on_device().__dlpack__(
                stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
            )
        field = _core.Field(self._on_host())
        return field.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0)


class DeviceBuffer(Storage):
    """A storage that has a device buffer."""

    __slots__ = ()
    _has_device = True

    @property
    def device(self) -> int:
        return devices.current().device_id(self._dev)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self._on_device().__cuda_array_interface__
        return interface


class CPUStorage(HostBuffer):
    """A storage over a NumPy array."""

    __slots__ = ()

    @classmethod
    def _new(
        cls,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        meta: Meta,
        device: int | None = None,
        state: SyncState | None = None,
    ) -> Self:
        return cls._of(host_empty(shape, dtype, meta), None, meta)


class GPUStorage(DeviceBuffer):
    """A storage over a cupy array, without a host buffer."""

    __slots__ = ()

    @classmethod
    def _new(
        cls,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        meta: Meta,
        device: int | None = None,
        state: SyncState | None = None,
    ) -> Self:
        return cls._of(None, device_empty(shape, dtype, meta, device), meta)

    def _values(self) -> NDArray[Any]:
        return devices.current().to_host(self._dev)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(
            "a GPUStorage has no host buffer for NumPy; use to_cupy(), or copy:"
            " gridbuf.storage.storage(s, device='cpu')"
        )

    def __dlpack__(self, **request: Any) -> Any:
        return self._dev.__dlpack__(**request)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._dev.__dlpack_device__()
        return device


class SoftwareManagedGPUStorage(HostBuffer, DeviceBuffer):
    """A host and a device buffer; whichever is older is brought up to date when it is read."""

    __slots__ = ()
    __array_priority__ = 11
    _managed = "gt4py"

    _pair: BufferPair

    @classmethod
    def _new(
        cls,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        meta: Meta,
        device: int | None = None,
        state: SyncState | None = None,
    ) -> Self:
        dev = device_empty(shape, dtype, meta, device)
        host = host_empty(shape, dtype, meta)
        pair = BufferPair(host, dev, SyncState() if state is None else state)
        return cls._of(host, dev, meta, pair)

    @property
    def sync_state(self) -> SyncState:
        """Which buffer is newer; shared with every view."""
        return self._pair.state

    def _on_host(self) -> Any:
        self._pair.state.to_host()
        return self._host

    def _on_device(self) -> Any:
        self._pair.state.to_device()
        return self._dev

    def _wrote(self, device: bool) -> None:
        self._pair.state.mark(SyncState.SYNC_DEVICE_DIRTY if device else SyncState.SYNC_HOST_DIRTY)

    def _prefers_device(self) -> bool:
        return self._pair.state.state != SyncState.SYNC_HOST_DIRTY

    def device_to_host(self, *, force: bool = False) -> None:
        self._pair.state.to_host(force)

    def host_to_device(self, *, force: bool = False) -> None:
        self._pair.state.to_device(force)

    def set_device_modified(self, *, force: bool = False) -> None:
        self._pair.state.mark(SyncState.SYNC_DEVICE_DIRTY, force)

    def set_host_modified(self, *, force: bool = False) -> None:
        self._pair.state.mark(SyncState.SYNC_HOST_DIRTY, force)

    def set_synchronized(self) -> None:
        self._pair.state.state = SyncState.SYNC_CLEAN

    def synchronize(self) -> None:
        self._pair.state.to_host()
        self._pair.state.to_device()


class CUDAManagedGPUStorage(HostBuffer, DeviceBuffer):
    """One buffer in CUDA managed memory, which host and device both reach."""

    __slots__ = ()
    __array_priority__ = 11
    _managed = "cuda"

    @classmethod
    def _new(
        cls,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        meta: Meta,
        device: int | None = None,
        state: SyncState | None = None,
    ) -> Self:
        host, dev = devices.current().managed(device_request(shape, dtype, meta, device or 0))
        return cls._of(host, dev, meta)

    def _on_host(self) -> Any:
        devices.current().synchronize()  # the host must not look while a kernel writes
        return self._host

    def device_to_host(self, *, force: bool = False) -> None:
        boolean(force, "force")
        devices.current().synchronize()

    def synchronize(self) -> None:
        devices.current().synchronize()


GT4PySyncedGPUStorage = SoftwareManagedGPUStorage
CUDASyncedGPUStorage = CUDAManagedGPUStorage
CudaManagedGPUStorage = CUDAManagedGPUStorage


def class_of(device: int | None, managed: str | None) -> type[Storage]:
    """The class that these two parameters mean."""
    if device is None:
        return CPUStorage
    if managed is None:
        return GPUStorage
    return SoftwareManagedGPUStorage if managed == "gt4py" else CUDAManagedGPUStorage
