"""A GPU that is not there: device arrays in host memory that NumPy cannot see into."""

from typing import Any

import numpy as np

from gridbuf.storage.devices import Request


def bare(obj: Any) -> Any:
    """The host array inside; a host array where a device array is needed is an error, as with
    cupy.
    """
    if isinstance(obj, (tuple, list)):
        return type(obj)(bare(part) for part in obj)
    if isinstance(obj, np.ndarray) and obj.ndim:
        raise TypeError("a host array reached the device")
    return obj.hidden if isinstance(obj, FakeArray) else obj


class FakeArray:
    """Has what cupy.ndarray has, as far as storages use it; no way to NumPy."""

    def __init__(self, hidden: np.ndarray) -> None:
        self.hidden = hidden

    shape = property(lambda self: self.hidden.shape)
    strides = property(lambda self: self.hidden.strides)
    dtype = property(lambda self: self.hidden.dtype)
    ndim = property(lambda self: self.hidden.ndim)
    size = property(lambda self: self.hidden.size)
    nbytes = property(lambda self: self.hidden.nbytes)
    flags = property(lambda self: self.hidden.flags)
    data = property(lambda self: self.hidden.ctypes.data)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.hidden.__array_interface__, "version": 3}

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("implicit conversion of a device array to a host array")

    def __getitem__(self, key: Any) -> "FakeArray":
        return FakeArray(np.asarray(self.hidden[bare(key)]))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.hidden[bare(key)] = bare(value)

    def transpose(self, order: Any) -> "FakeArray":
        return FakeArray(self.hidden.transpose(order))

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any
    ) -> Any:
        assert method == "__call__"
        getattr(ufunc, method)(*map(bare, inputs), out=bare(out), **kwargs)
        return out[0] if len(out) == 1 else out

    def reshape(self, shape: Any) -> "FakeArray":
        return FakeArray(self.hidden.reshape(shape))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class FakeDevice:
    """Counts transfers in `log`."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.managed_addresses: set[int] = set()

    def _room(self, request: Request) -> np.ndarray:
        raw = np.empty(request.nbytes + request.boundary, np.uint8)
        start = -raw.ctypes.data % request.boundary + request.offset
        raw[:] = 0xA5
        return np.ndarray(request.shape, request.dtype, raw, start, request.strides)

    def empty(self, request: Request) -> FakeArray:
        return FakeArray(self._room(request))

    def managed(self, request: Request) -> tuple[np.ndarray, FakeArray]:
        room = self._room(request)
        self.managed_addresses.add(room.ctypes.data)
        return room, FakeArray(room)

    def share_managed(self, obj: Any) -> tuple[np.ndarray, FakeArray]:
        array = bare(obj) if isinstance(obj, FakeArray) else obj
        if array.ctypes.data not in self.managed_addresses:
            raise ValueError("data: not managed memory")
        return array, FakeArray(array)

    def asarray(self, obj: Any) -> FakeArray:
        if isinstance(obj, FakeArray):
            return obj
        interface = obj.__cuda_array_interface__

        class View:
            __array_interface__ = interface
            keep = obj

        return FakeArray(np.asarray(View()))

    def from_host(self, host: np.ndarray) -> FakeArray:
        assert isinstance(host, np.ndarray)
        self.log.append("upload")
        return FakeArray(host.copy())

    def to_host(self, device: FakeArray) -> np.ndarray:
        self.log.append("download")
        return device.hidden.copy()

    def upload(self, host: np.ndarray, device: FakeArray) -> None:
        self.log.append("upload")
        device.hidden[...] = host

    def download(self, device: FakeArray, host: np.ndarray) -> None:
        self.log.append("download")
        host[...] = device.hidden

    def reduce(self, ufunc: Any, array: FakeArray, **options: Any) -> Any:
        return self.function(ufunc.reduce)(array, **options)

    def function(self, function: Any) -> Any:
        def on_device(*args: Any, **options: Any) -> Any:
            found = function(
                *map(bare, args), **{name: bare(value) for name, value in options.items()}
            )
            return (
                FakeArray(np.asarray(found))
                if isinstance(found, (np.ndarray, np.generic))
                else found
            )

        return on_device

    def device_id(self, device: FakeArray) -> int:
        return 0

    def synchronize(self) -> None:
        self.log.append("synchronize")
