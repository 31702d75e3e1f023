"""An array's layout beside the one that a backend wants."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from gridbuf import _core
from gridbuf.checks import order_of
from gridbuf.strides import boundary, slowest_first


def address(array: Any) -> int | None:
    """Where element 0 lies, on the host or on a GPU; None without memory."""
    for name in ("__array_interface__", "__cuda_array_interface__"):
        interface = getattr(array, name, None)
        if isinstance(interface, dict) and interface.get("data"):
            return int(interface["data"][0])
    return None


def wanted_order(backend: str, dims: tuple[str, ...]) -> tuple[int, ...] | None:
    """The rank of each index's stride, 0 the largest; None for an unknown backend."""
    try:
        return tuple(_core.plan((2,) * len(dims), backend=backend, dimensions=dims).layout)
    except Exception:
        pass
    try:
        from gt4py.storage.cartesian.layout_registry import REGISTRY

        return tuple(REGISTRY[backend]["layout_map"](dims))
    except Exception:
        return None


def wanted_alignment(backend: str, itemsize: int) -> int:
    """The boundary in bytes that a backend wants the domain's first element on; 1 where it does not
    care or is not known.
    """
    try:
        return max(_core.plan((2,), backend=backend, dimensions=("I",)).byte_alignment, itemsize)
    except Exception:
        return itemsize


@lru_cache(maxsize=1024)
def orders(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dims: tuple[str, ...],
    layout: tuple[int, ...] | None,
) -> tuple[str, str]:
    """The names from the largest stride to the smallest: as it is, and as it is wanted; for an
    unknown backend, both as it is.

    An index of one element has no stride to speak of, and stands where it is wanted.
    """
    ranks = layout if layout is not None and len(layout) == len(dims) else sorted_ranks(strides)
    if all(len(dim) == 1 for dim in dims):
        return order_of(strides, shape, dims, ranks)
    found, wanted = order_of(strides, shape, tuple(f"{dim} " for dim in dims), ranks)
    return found.rstrip(), wanted.rstrip()


def sorted_ranks(strides: Sequence[int]) -> tuple[int, ...]:
    """The ranks that strides have, the largest 0."""
    by_size = slowest_first(strides)
    return tuple(by_size.index(i) for i in range(len(strides)))


@lru_cache(maxsize=1024)
def padding(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> float:
    """Bytes between elements, as a part of all bytes from the first row to the last."""
    points = prod(shape) * itemsize
    spans = [n * abs(s) for n, s in zip(shape, strides, strict=True) if n > 1 and s]
    whole = max(spans, default=points)
    return max(0.0, 1 - points / whole) if whole else 0.0


def facts(
    array: Any,
    dims: tuple[str, ...],
    layout: tuple[int, ...] | None,
    alignment: int,
    origin: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Of one array: shape, dtype, orders, alignment of the domain's first element, padding."""
    shape, strides, dtype = tuple(array.shape), tuple(array.strides), array.dtype
    at, first = address(array), 0
    if origin is not None and len(origin) == len(strides):
        first = sum(o * s for o, s in zip(origin, strides, strict=True))
    order, wanted = orders(shape, strides, dims, layout)
    return {
        "shape": list(shape),
        "strides": list(strides),
        "dtype": str(dtype),
        "order": order,
        "wanted": wanted,
        "first": first,  # bytes from element 0 to the domain's first
        "aligned": None if at is None else boundary(at + first),
        "wants_aligned": alignment,
        "padding": padding(shape, strides, dtype.itemsize),
    }
