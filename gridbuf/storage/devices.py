"""The device side of storages, behind one small seam.

Internal: everything that storages ask of a GPU is the `Device` protocol below. `current()`
is cupy's, made when it is first asked for; `use` puts another in its place, which is how the
tests run the synchronisation logic on a machine without a GPU. The arrays that a Device
hands out have `__cuda_array_interface__`, `__array_ufunc__` and NumPy's way of indexing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from numpy.typing import NDArray

from gridbuf.storage.request import Request


class Device(Protocol):
    """What storages ask of a GPU."""

    def empty(self, request: Request) -> Any:
        """New device memory."""

    def managed(self, request: Request) -> tuple[NDArray[Any], Any]:
        """New memory that both sides reach: the host's and the device's array over it."""

    def share_managed(self, obj: Any) -> tuple[NDArray[Any], Any]:
        """Both arrays over existing managed memory; ValueError where it is not managed."""

    def asarray(self, obj: Any) -> Any:
        """A device array over the memory of obj, without a copy."""

    def from_host(self, host: NDArray[Any]) -> Any:
        """A new device array with the values of a host array."""

    def to_host(self, device: Any) -> NDArray[Any]:
        """A new host array with the values of a device array."""

    def upload(self, host: NDArray[Any], device: Any) -> None:
        """Copy values from host to device; both have the same shape, strides may differ."""

    def download(self, device: Any, host: NDArray[Any]) -> None:
        """Copy values from device to host."""

    def reduce(self, ufunc: Any, array: Any, **options: Any) -> Any:
        """`ufunc.reduce(array, **options)` on the device; TypeError where it cannot."""

    def function(self, function: Any) -> Any:
        """The device library's function of the same name as NumPy's; TypeError where it has
        none.
        """

    def device_id(self, device: Any) -> int:
        """The number of the GPU that an array lies on."""

    def synchronize(self) -> None:
        """Wait for pending work, before the host looks at managed memory."""


_current: Device | None = None


def current() -> Device:
    """The Device in use; ImportError or RuntimeError that says what is missing."""
    global _current
    if _current is None:
        from gridbuf.storage.cupy_device import CupyDevice

        _current = CupyDevice()
    return _current


@contextmanager
def use(device: Device) -> Iterator[Device]:
    """Put another Device in place for the duration of a with block."""
    global _current
    before, _current = _current, device
    try:
        yield device
    finally:
        _current = before


def is_device_array(obj: Any) -> bool:
    """Whether a foreign object offers device memory. Storages are asked by their class instead."""
    # The instance, not the type: jax's CPU arrays have the attribute on the type only.
    return hasattr(obj, "__cuda_array_interface__")
