"""GPUStorage: memory on the device only."""

from typing import Any, NoReturn

from numpy.typing import NDArray

from gridbuf.storage import devices
from gridbuf.storage.protocols import DeviceBuffer


class GPUStorage(DeviceBuffer):
    """A storage over a cupy array, without a host buffer."""

    __slots__ = ()

    @property
    def device(self) -> int:
        return devices.current().device_id(self._dev)

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
