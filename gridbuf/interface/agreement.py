"""Several interfaces on one object must describe the same memory (GRIDBUF_DEBUG=1)."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.strides import extent


class _Seen(NamedTuple):
    """The memory as one interface describes it; strides of indices without extent say nothing."""

    data: int
    shape: tuple[int, ...]
    typestr: str
    strides: tuple[int, ...]


def _seen(interface: Any) -> _Seen:
    keys = ("shape", "typestr", "data", "strides")
    shape, data, strides, dtype = _core.described_memory(
        interface, "an interface", *map(interface.get, keys)
    )
    if 0 in shape:
        return _Seen(0, shape, dtype.str, (0,) * len(shape))
    told = tuple(stride if size > 1 else 0 for stride, size in zip(strides, shape, strict=True))
    return _Seen(data[0], shape, dtype.str, told)


def _entry(obj: Any, device: bool) -> Any:
    for name in ("__gt_interface__", "__gt_data_interface__"):
        entries = getattr(obj, name, None)
        if isinstance(entries, Mapping):
            numbered = [key for key in entries if isinstance(key, tuple)]
            # Of several GPUs, the other interfaces cannot say which one they mean.
            keys = ("gpu", *(numbered if len(numbered) == 1 else ())) if device else (None, "cpu")
            return next((entries[key] for key in keys if key in entries), None)
    return None


def _of_host(obj: Any) -> Iterator[tuple[str, Any]]:
    yield "__gt_interface__", _entry(obj, device=False)
    yield "__array_interface__", getattr(obj, "__array_interface__", None)
    with suppress(
        TypeError, BufferError, ValueError
    ):  # no buffer, or one that says less than an array
        yield "the buffer protocol", np.asarray(memoryview(obj)).__array_interface__
    on_host = (_core.DL_CPU, _core.DL_CUDA_HOST)
    if (
        hasattr(obj, "__dlpack__")
        and hasattr(obj, "__dlpack_device__")
        and int(obj.__dlpack_device__()[0]) in on_host
    ):
        with suppress(TypeError, BufferError):  # read-only, or a dtype that DLPack does not know
            yield "DLPack", _core.from_dlpack(obj).numpy().__array_interface__


def _of_device(obj: Any) -> Iterator[tuple[str, Any]]:
    yield "__gt_interface__", _entry(obj, device=True)
    yield "__cuda_array_interface__", getattr(obj, "__cuda_array_interface__", None)


def check_agreement(obj: Any) -> None:
    """ValueError naming the two interfaces and what they disagree on."""
    if isinstance(
        obj, _core.StorageBase
    ):  # the same in several words, and reading some of them transfers
        return
    for described in (_of_host(obj), _of_device(obj)):
        told = [(name, _seen(interface)) for name, interface in described if interface is not None]
        for name, other in told[1:]:
            first, reference = told[0]
            for key, mine, theirs in zip(_Seen._fields, reference, other, strict=True):
                if mine != theirs:
                    raise ValueError(
                        f"data: the interfaces of {type(obj).__name__} disagree on {key}: {mine} in"
                        f" {first}, {theirs} in {name}"
                    )


def check_extent(name: str, obj: Any, found: Mapping[str, Any]) -> None:
    """ValueError where a `__gt_interface__` describes memory that is not there.

    Known are which addresses the process has, and what else the object says of the memory that
    begins there.
    """
    if isinstance(obj, (np.ndarray, _core.Field, _core.StorageBase)) or 0 in found["shape"]:
        return
    start = found["data"][0]
    first, last = extent(
        start, found["shape"], found["strides"], np.dtype(found["typestr"]).itemsize
    )
    if not _core.is_mapped(first, last - first):
        raise ValueError(
            f"{name}: shape {found['shape']} and strides {found['strides']} reach {last - first}"
            f" bytes from address {first:#x} on, where this process has no memory"
        )
    other = getattr(obj, "__array_interface__", None)
    if other is None:
        return
    seen = _seen(other)
    if 0 in seen.shape:
        return
    begin, end = extent(seen.data, seen.shape, seen.strides, np.dtype(seen.typestr).itemsize)
    if any(begin <= at < end for at in (start, first)) and (first < begin or end < last):
        raise ValueError(
            f"{name}: shape {found['shape']} and strides {found['strides']} in __gt_interface__"
            f" reach {max(last - end, begin - first)} bytes beyond the memory that"
            f" {type(obj).__name__} has by its __array_interface__"
        )
