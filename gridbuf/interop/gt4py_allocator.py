"""Memory for fields of gt4py.next: the allocator's protocol, and what it hands out."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from gridbuf import _core

Kind = Literal["horizontal", "vertical", "local"]
HORIZONTAL_FIRST: tuple[Kind, ...] = ("horizontal", "vertical", "local")


@dataclasses.dataclass(frozen=True, eq=False)
class Buffer:
    """The result of `__gt_allocate__`: gt4py.next reads `ndarray`; the rest tells how that array
    was laid out.

    Attributes
    ----------
    ndarray : ndarray
        The array itself.
    spec : dict
        The keywords that it was made with, as `gridbuf.empty` takes them.
    aligned_index : tuple of int
        The element that lies on the boundary, counted from the first.
    device : Device
        gt4py's name of the device.
    dtype : DType
        gt4py's name of the dtype.
    """

    ndarray: Any
    spec: dict[str, Any]
    aligned_index: tuple[int, ...]
    device: Any
    dtype: Any

    @property
    def plan(self) -> _core.Plan:
        """The plan of the same request."""
        return _core.plan(self.shape, self.dtype.dtype, **self.spec)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""
        return tuple(self.ndarray.shape)

    @property
    def ndim(self) -> int:
        """Of the array."""
        return int(self.ndarray.ndim)

    @property
    def strides(self) -> tuple[int, ...]:
        """Of the array, in bytes."""
        return tuple(self.ndarray.strides)

    @property
    def layout_map(self) -> tuple[int, ...]:
        """For each dimension the rank of its stride, 0 for the largest."""
        return self.plan.layout

    @property
    def byte_alignment(self) -> int:
        """The boundary that `aligned_index` lies on, in bytes."""
        return self.plan.byte_alignment

    @property
    def buffer(self) -> Any:
        """The object that keeps the memory alive."""
        return self.ndarray.base

    @property
    def memory_address(self) -> int:
        """Where the allocation begins: `byte_offset` below the first element."""
        return self._first - self.byte_offset

    @property
    def byte_offset(self) -> int:
        """How far behind the start of the allocation the first element lies, in bytes."""
        return self.plan.offset

    @property
    def _first(self) -> int:
        on_host = self.plan.device == "cpu"
        return int(self.ndarray.ctypes.data if on_host else self.ndarray.data.ptr)

    def __array__(self, dtype: Any = None, /) -> Any:
        return self.ndarray.__array__(dtype)

    @property
    def __array_interface__(self) -> Any:
        return self.ndarray.__array_interface__

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.ndarray.__cuda_array_interface__

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.ndarray.__dlpack__(stream=stream)

    def __dlpack_device__(self) -> Any:
        return self.ndarray.__dlpack_device__()


@dataclasses.dataclass(frozen=True)
class Allocator:
    """An allocator for gt4py.next; made by `allocator`."""

    device: Literal["cpu", "gpu"] = "cpu"
    order: tuple[Kind, ...] = HORIZONTAL_FIRST
    byte_alignment: int | None = None
    padding: bool | int | None = None

    @property
    def __gt_device_type__(self) -> Any:
        from gt4py._core import definitions

        return (
            getattr(definitions, "CUPY_DEVICE_TYPE", None) or definitions.DeviceType.CUDA
            if self.device == "gpu"
            else definitions.DeviceType.CPU
        )

    @property
    def device_type(self) -> Any:
        """gt4py's name of the device."""
        return self.__gt_device_type__

    def __gt_allocate__(
        self,
        domain: Any,
        dtype: Any,
        device_id: int = 0,
        aligned_index: Sequence[Any] | None = None,
    ) -> Buffer:
        return allocate(
            domain,
            dtype,
            device=(self.__gt_device_type__, device_id),
            layout=self._layout(domain.dims),
            aligned_index=aligned_index,
            byte_alignment=self.byte_alignment,
            padding=self.padding,
        )

    def _layout(self, dims: Sequence[Any]) -> tuple[int, ...]:
        """The first dimension of the first kind gets the unit stride."""
        fastest = [i for kind in self.order for i, dim in enumerate(dims) if dim.kind.value == kind]
        return tuple(len(dims) - 1 - fastest.index(i) for i in range(len(dims)))


def allocate(
    domain: Any,
    dtype: Any,
    *,
    device: tuple[Any, int],
    aligned_index: Sequence[Any] | None,
    **spec: Any,
) -> Buffer:
    """Memory for a domain; device is gt4py's type and the number of one of these."""
    from gt4py._core import definitions

    kind, number = device
    on_host = kind == definitions.DeviceType.CPU
    if on_host and number != 0:
        raise ValueError(f"device_id: {number} is not allowed; memory of the host has the number 0")
    index = _relative(domain, aligned_index or ())
    spec |= {
        "aligned_index": index if aligned_index else None,
        "device": "cpu" if on_host else ("gpu", number),
    }
    array = _core.empty(tuple(int(n) for n in domain.shape), dtype.dtype, **spec)
    return Buffer(array, spec, index, definitions.Device(kind, number), dtype)


def _relative(domain: Any, aligned_index: Sequence[Any]) -> tuple[int, ...]:
    """gt4py counts from the domain's zero, gridbuf from the first element.

    One list may serve fields of cells and fields of edges: what it says of dimensions that a domain
    lacks is not about it.
    """
    wanted = {index.dim: int(index.value) for index in aligned_index}
    relative = []
    for dim, span in zip(domain.dims, domain.ranges, strict=True):
        index = wanted.get(dim, span.start)
        if dim in wanted and not span.start <= index < span.stop:
            raise ValueError(
                f"aligned_index: {index} along {dim.value} is outside the domain range,"
                f" {span.start} to {span.stop - 1}"
            )
        relative.append(index - span.start)
    return tuple(relative)
