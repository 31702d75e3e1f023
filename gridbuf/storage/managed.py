"""Storages with memory that both sides reach: kept equal by us, or by CUDA."""

from typing import Any

from gridbuf.storage import devices
from gridbuf.storage.protocols import DeviceBuffer, HostBuffer
from gridbuf.storage.sync import Pair, SyncState
from gridbuf.validation import boolean


class SoftwareManagedGPUStorage(HostBuffer, DeviceBuffer):
    """A host and a device buffer; whichever is older is brought up to date when it is read."""

    __slots__ = ()
    __array_priority__ = 11

    _pair: Pair

    @property
    def sync_state(self) -> SyncState:
        """Which buffer is newer; shared with every view."""
        return self._pair.state

    @property
    def device(self) -> int:
        return devices.current().device_id(self._dev)

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

    @property
    def device(self) -> int:
        return devices.current().device_id(self._dev)

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
