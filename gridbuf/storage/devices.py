"""The device side of storages, behind one small seam.

Internal: everything that storages ask of a GPU is the `Device` protocol below. `current()`
is cupy's, made when it is first asked for; `use` puts another in its place, which is how the
tests run the synchronisation logic on a machine without a GPU. The arrays that a Device
hands out have `__cuda_array_interface__`, `__array_ufunc__` and NumPy's way of indexing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core


class Request(NamedTuple):
    """Memory to allocate: element 0 lies `offset` bytes behind a multiple of `boundary`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    offset: int
    nbytes: int
    boundary: int
    device_id: int


class Device(Protocol):
    """The operations on a GPU that storages need."""

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


# ---- cupy


class _OnDevice:
    """Memory that may be managed, described as if it were on a device, for the driver to say what
    it is.
    """

    def __init__(self, obj: Any) -> None:
        found = getattr(obj, "__cuda_array_interface__", None) or obj.__array_interface__
        self._interface = {**found, "strides": found.get("strides"), "version": 3}
        self.keep = obj

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._interface


class CupyDevice:
    """cupy, checked once for a GPU that it can use."""

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            raise ImportError(
                "device: 'gpu' needs cupy, which is not installed (pip install cupy-cuda13x, or the"
                " one for your CUDA); device='cpu' gives the same layout on the host"
            ) from error
        try:
            self._count = _core.cuda_count()
        except RuntimeError as error:
            raise RuntimeError(f"device: 'gpu' needs a GPU and its driver: {error}") from error
        self._cp = cupy
        self._used: set[int] = set()

    def _check(self, device_id: int) -> None:
        if device_id >= self._count:
            raise RuntimeError(
                f"device: there is no GPU {device_id}; this machine has {self._count}"
            )

    def _over(self, kind: int, request: Request) -> tuple[Any, Any]:
        """A device array over gridbuf's memory, and the object that owns it."""
        self._check(request.device_id)
        self._used.add(request.device_id)
        owner, address = _core.cuda_block(
            kind, request.device_id, request.nbytes, request.boundary, request.offset
        )
        span = max(request.nbytes, 1)
        from gridbuf.cuda import array_over

        return (
            array_over(
                owner,
                address,
                0,
                span,
                request.device_id,
                request.shape,
                request.dtype,
                request.strides,
            ),
            owner,
        )

    def empty(self, request: Request) -> Any:
        return self._over(_core.MEMORY_DEVICE, request)[0]

    def managed(self, request: Request) -> tuple[NDArray[Any], Any]:
        device = self._over(_core.MEMORY_MANAGED, request)[0]
        return self._host_view(device), device

    def share_managed(self, obj: Any) -> tuple[NDArray[Any], Any]:
        try:
            field = obj if isinstance(obj, _core.Field) else _core.Field(_OnDevice(obj))
        except ValueError:  # not CUDA's at all
            field = None
        if not isinstance(field, _core.ManagedField):
            raise ValueError(
                "data: managed='cuda' needs CUDA managed memory, and this is not; storage() copies"
                " into some"
            )
        device = field.cupy()
        self._used.add(self.device_id(device))
        return self._host_view(device), device

    def _host_view(self, device: Any) -> NDArray[Any]:
        interface = {
            "shape": device.shape,
            "typestr": device.dtype.str,
            "data": (device.data.ptr, False),
            "strides": device.strides,
            "version": 3,
        }
        from gridbuf.wrapping import Described

        return np.asarray(Described("__array_interface__", interface, device))

    def asarray(self, obj: Any) -> Any:
        return self._cp.asarray(obj)

    def from_host(self, host: NDArray[Any]) -> Any:
        from gridbuf.arrays import from_array

        return from_array(host, dtype=None, device="gpu")

    def to_host(self, device: Any) -> NDArray[Any]:
        _core.cuda_synchronize(self.device_id(device))  # a kernel on another stream may still write
        found: NDArray[Any] = _core.Field(device).to(device="cpu").numpy()
        return found

    def upload(self, host: NDArray[Any], device: Any) -> None:
        # A kernel on another stream may still read the old values
        _core.cuda_synchronize(self.device_id(device))
        _core.copyto(device, host)

    def download(self, device: Any, host: NDArray[Any]) -> None:
        _core.cuda_synchronize(self.device_id(device))
        _core.copyto(host, device)

    def reduce(self, ufunc: Any, array: Any, **options: Any) -> Any:
        cp = self._cp
        known = {
            np.add: cp.sum, np.multiply: cp.prod, np.maximum: cp.max, np.minimum: cp.min,
            np.logical_and: cp.all, np.logical_or: cp.any,
        }  # fmt: skip
        if ufunc not in known:
            names = ", ".join(sorted(function.__name__ for function in known))
            raise TypeError(f"{ufunc.__name__}.reduce: not on the GPU; cupy reduces with {names}")
        given = {
            name: value
            for name, value in options.items()
            if (value is not None and value is not True) or name == "keepdims"
        }
        return known[ufunc](array, **given)

    def function(self, function: Any) -> Any:
        found = self._cp
        for part in (*getattr(function, "__module__", "numpy").split(".")[1:], function.__name__):
            found = getattr(found, part, None)
        if found is None:
            raise TypeError(
                f"{function.__name__}: cupy has no function of this name;"
                " gridbuf.storage.storage(s, device='cpu') copies to the host"
            )
        return found

    def device_id(self, device: Any) -> int:
        return int(device.data.device_id)

    def synchronize(self) -> None:
        for number in self._used:
            _core.cuda_synchronize(number)


# ---- the one in use

_current: Device | None = None


def current() -> Device:
    """The Device in use; ImportError or RuntimeError that says what is missing."""
    global _current
    if _current is None:
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
