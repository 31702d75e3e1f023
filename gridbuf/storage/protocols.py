"""How a storage's buffers are offered to others: array interfaces, `__array__`, DLPack."""

from typing import Any

from numpy.typing import DTypeLike, NDArray

from gridbuf import _core
from gridbuf.storage.base import Storage
from gridbuf.wrapping import array_protocol

_CPU = 1


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
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self._on_device().__cuda_array_interface__
        return interface
