"""The attributes of a storage: what its indices mean, what NumPy's arrays have as well, and what
GT4Py asks.
"""

from typing import Any, Self

import numpy as np

from gridbuf.storage.buffers import Buffers
from gridbuf.storage.halo import Halo, check_halo
from gridbuf.storage.interface import described


class Attributes(Buffers):
    """What can be asked of a storage without calling it."""

    __slots__ = ()

    @property
    def axes(self) -> str:
        """The name of each index."""
        return self._meta.axes

    @property
    def layout(self) -> str:
        """All three axes, the one with the largest stride first."""
        return self._meta.layout

    @property
    def alignment(self) -> int:
        """On a boundary of how many elements `aligned_index` lies, as given at creation."""
        return self._meta.alignment

    @property
    def aligned_index(self) -> tuple[int, ...]:
        """The point that memory is aligned to, as given at creation."""
        return self._meta.aligned_index

    @property
    def halo(self) -> Halo:
        """Per axis the points at the low and the high end that are not in the domain; can be
        set.
        """
        return self._meta.halo

    @halo.setter
    def halo(self, value: Any) -> None:
        self._meta = self._meta.replaced(halo=check_halo(value, self.shape, self.axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each index."""
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each index."""
        strides: tuple[int, ...] = self._array.strides
        return strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of indices."""
        return len(self._meta.axes)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._array.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding."""
        return int(self._array.nbytes)

    @property
    def data(self) -> memoryview | None:
        """The host buffer's `data`, or None."""
        return None if self._host is None else self._on_host().data

    @property
    def flags(self) -> Any:
        """The host buffer's `flags`, or None."""
        return None if self._host is None else self._host.flags

    @property
    def device(self) -> int | None:
        """The number of the GPU that the device buffer lies on, or None."""
        return None

    @property
    def device_data(self) -> Any:
        """The device buffer's `data`, or None."""
        return None if self._dev is None else self._on_device().data

    @property
    def device_flags(self) -> Any:
        """The device buffer's `flags`, or None."""
        return None if self._dev is None else self._dev.flags

    @property
    def domain_view(self) -> Self:
        """A view of the points that are not in the halo."""
        found: Self = self._inside()
        if found is NotImplemented:
            found = self[
                (
                    *(
                        slice(low, size - high)
                        for (low, high), size in zip(self._meta.halo, self.shape, strict=True)
                    ),
                    ...,
                )
            ]
        return found

    @domain_view.setter
    def domain_view(
        self, value: Any
    ) -> None:  # `s.domain += 1` ends here, with the view that it was done in
        self.domain_view[...] = value

    domain = domain_view

    @property
    def __gt_dims__(self) -> tuple[str, ...]:
        return tuple(self._meta.axes)

    @property
    def __gt_origin__(self) -> tuple[int, ...]:
        # gt4py reads it in the order I, J, K, whatever the order of the indices.
        meta = self._meta
        return tuple(meta.halo[meta.axes.index(name)][0] for name in sorted(meta.axes))

    @property
    def __gt_interface__(self) -> dict[Any, dict[str, Any]]:
        """The buffers by device; reading copies nothing, `acquire` does."""
        told = self._told()
        if told is not None:
            return {None: told}
        entries: dict[Any, dict[str, Any]] = {}
        host, dev = self._host, self._dev
        if host is not None:
            acquire, touch = self.device_to_host, self.set_host_modified
            entries[None] = described(
                host, host.__array_interface__, self.__gt_dims__, acquire, touch
            )
        if dev is not None:
            acquire, touch = self.host_to_device, self.set_device_modified
            entries["gpu"] = described(
                dev, dev.__cuda_array_interface__, self.__gt_dims__, acquire, touch
            )
        return entries
