"""The parameters of a storage, searched in GDP-3's order: explicit, `defaults` preset, data,
fallback; and what a constructor was given as data: arrays, Fields, storages, on the host and on the
device.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.names import as_numpy, named, read_names, shared_halo
from gridbuf.storage import devices
from gridbuf.storage.base import Storage
from gridbuf.storage.meta import (
    LETTERS,
    ORDERS,
    Halo,
    Meta,
    check_axes,
    check_halo,
    check_layout,
    default_axes,
    layout_of_order,
    layout_of_strides,
    lower,
    meta_of,
    non_negative,
)
from gridbuf.validation import as_dtype, integer, suggestion
from gridbuf.wrapping import check_mask, values

KEYWORDS = (
    "aligned_index",
    "alignment",
    "axes",
    "defaults",
    "device",
    "halo",
    "layout",
    "managed",
    "shape",
)
# Keywords of `gridbuf.empty` for the same parameters
SPELLINGS = {"dims": "axes", "dimensions": "axes", "backend": "defaults"}
MANAGED = (None, "gt4py", "cuda")


@dataclass(frozen=True, slots=True)
class Known:
    """The parameters that given data have; None where they have none. `named`: the axes are
    their own, not a guess.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    axes: str
    named: bool
    layout: str | None = None
    halo: Halo | None = None
    aligned_index: tuple[int, ...] | None = None
    alignment: int | None = None
    device: int | None = None
    managed: str | None = "gt4py"

    def order(self, axes: str) -> tuple[int, ...]:
        """Where each of `axes` is among the data's indices."""
        if not self.named and len(axes) == len(self.axes):
            return tuple(range(len(axes)))
        if sorted(axes) != sorted(self.axes):
            raise ValueError(f"axes: {axes!r} does not fit data with the axes {self.axes!r}")
        return tuple(self.axes.index(name) for name in axes)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything a storage is made from; `explicit` names what the caller gave himself."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    meta: Meta
    device: int | None
    managed: str | None
    explicit: frozenset[str]


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype that storages support: booleans, integers, floats and complex numbers."""
    if isinstance(dtype, str) and dtype in _core.backends() and dtype not in ORDERS:
        raise TypeError(f"dtype: {dtype!r} is a backend, which goes by name: defaults={dtype!r}")
    found = as_dtype(dtype)
    if found.kind not in "biufc" or found.shape:
        raise TypeError(
            f"dtype: {found} is not supported; storages hold booleans, integers, floats and complex"
            " numbers"
        )
    return found


def check_managed(managed: Any) -> str | None:
    if managed is not None and not isinstance(managed, str):
        raise TypeError(f"managed: expected None, 'gt4py' or 'cuda', got {managed!r}")
    if managed not in MANAGED:
        raise ValueError(f"managed: {managed!r} is not None, 'gt4py' or 'cuda'")
    return managed


def check_device(device: Any) -> int | None:
    """The number of a GPU; -1 for the first or the data's own, None for the host."""
    if isinstance(device, str) and device in ("cpu", "gpu"):
        return None if device == "cpu" else -1
    if (
        isinstance(device, tuple)
        and len(device) == 2
        and device[0] == "gpu"
        and integer(device[1], "device") >= 0
    ):
        return integer(device[1], "device")
    # A storage's own `device`
    if isinstance(device, int) and not isinstance(device, bool) and device >= 0:
        return device
    raise ValueError(
        f"device: {device!r} is not None, 'cpu', 'gpu', ('gpu', number) or a GPU's number"
    )


def check_alignment(alignment: Any) -> int:
    count = integer(alignment, "alignment")
    if count < 1:
        raise ValueError(
            f"alignment: {count} elements is not possible; 1 (none) or more is allowed"
        )
    return count


def _preset(name: Any, axes: str, word: str) -> dict[str, Any]:
    """The parameters that a `defaults` preset, given as `word`, sets; C and F set the layout
    only.
    """
    if not isinstance(name, str):
        raise TypeError(f"{word}: expected the name of a preset, got {name!r}")
    if name in ORDERS:
        return {"layout": layout_of_order(name, axes)}
    if name not in _core.backends():
        near = suggestion(name, _core.backends())
        raise ValueError(
            f"{word}: {name!r} is not known; there are {', '.join(_core.backends())}{near}"
        )
    ranks, alignment, device = _core.preset(name, "IJK")
    assert ranks is not None
    letters = "".join(LETTERS[ranks.index(rank)] for rank in range(3))
    return {
        "layout": letters,
        "alignment": alignment,
        "device": "cpu" if device == "cpu" else "gpu",
    }


def _shape_and_axes(spec: dict[str, Any], known: Known | None) -> tuple[tuple[int, ...], str]:
    shape = spec.get("shape")
    if isinstance(shape, (int, np.integer)) or getattr(shape, "shape", None) == ():
        shape = (shape,)
    elif isinstance(shape, Iterator):
        shape = tuple(shape)
    if "axes" in spec:
        axes = check_axes(spec["axes"])
    elif known is not None:
        axes = known.axes
    elif shape is not None and hasattr(shape, "__len__"):
        axes = default_axes(len(shape), "shape")
    else:
        axes = LETTERS
    if known is None:
        if shape is None:
            raise TypeError("shape: neither a shape nor data to take it from were given")
        return non_negative(shape, axes, "shape"), axes
    own = tuple(known.shape[i] for i in known.order(axes))
    if shape is not None and non_negative(shape, axes, "shape") != own:
        raise ValueError(f"shape: {shape!r} was given, the data have {own}")
    return own, axes


def _spelled(spec: dict[str, Any]) -> dict[str, Any]:
    """The keywords by their names here; names of indices may come as a sequence."""
    found = {name: value for name, value in spec.items() if name not in SPELLINGS}
    for name in SPELLINGS.keys() & spec.keys():
        own, value = SPELLINGS[name], spec[name]
        if value is None:
            continue
        if found.get(own) is not None:
            raise TypeError(f"{name} and {own} mean the same; give one of them")
        found[own] = "".join(read_names(value, f"{name}:")) if own == "axes" else value
    return found


def resolve(dtype: Any, spec: dict[str, Any], known: Known | None = None) -> Parameters:
    """Check what was given and complete it; None counts as not given, except for managed."""
    word = "defaults" if spec.get("backend") is None else "backend"
    if not SPELLINGS.keys().isdisjoint(spec):
        spec = _spelled(spec)
    for name in spec:
        if name not in KEYWORDS:
            near = suggestion(name, (*KEYWORDS, *SPELLINGS))
            raise TypeError(
                f"{name}: not a parameter of storages; there are {', '.join(KEYWORDS)}{near}"
            )
    given = {name: value for name, value in spec.items() if value is not None or name == "managed"}
    shape, axes = _shape_and_axes(given, known)
    preset = _preset(given["defaults"], axes, word) if "defaults" in given else {}
    order = range(len(axes)) if known is None else known.order(axes)
    found = check_dtype(dtype if dtype is not None or known is None else known.dtype)

    halo: Halo = ((0, 0),) * len(axes)
    if "halo" in given:
        halo = check_halo(given["halo"], shape, axes)
    elif known is not None and known.halo is not None:
        halo = tuple(known.halo[i] for i in order)
    aligned = lower(halo)
    if "aligned_index" in given:
        aligned = non_negative(given["aligned_index"], axes, "aligned_index")
    elif known is not None and known.aligned_index is not None:
        aligned = tuple(known.aligned_index[i] for i in order)

    chosen = {**preset, **given}
    if "layout" in chosen:
        letters = check_layout(chosen["layout"], axes)
    else:
        letters = known.layout if known is not None and known.layout is not None else LETTERS
    if "alignment" in chosen:
        alignment = check_alignment(chosen["alignment"])
    else:
        alignment = known.alignment if known is not None and known.alignment is not None else 1
    own_device = None if known is None else known.device
    device = check_device(chosen["device"]) if "device" in chosen else own_device
    if device == -1:
        device = 0 if own_device is None else own_device
    managed = (
        check_managed(given["managed"])
        if "managed" in given
        else "gt4py"
        if known is None
        else known.managed
    )
    meta = meta_of(axes, letters, halo, aligned, alignment)
    return Parameters(shape, found, meta, device, managed, frozenset(given))


def known_of_storage(storage: Storage) -> Known:
    meta = storage._meta
    managed = storage._managed if storage._has_device else "gt4py"
    return Known(
        storage.shape, storage.dtype, meta.axes, True, meta.layout, meta.halo, meta.aligned_index,
        meta.alignment, storage.device, managed
    )  # fmt: skip


def _own_axes(obj: Any, ndim: int) -> str | None:
    """The axes that an object names itself, if they are a storage's."""
    dims = named(obj)
    if (
        dims is None
        and isinstance(own := getattr(obj, "dims", None), tuple)
        and not isinstance(obj, _core.Field)
        and any(own)
    ):
        raise ValueError(
            f"data: its dims {own} are not all I, J or K; say which is which: "
            "gridbuf.interop.xarray.from_dataarray(data, axes={'lon': 'I', ...})"
        )
    if dims is None or len(dims) != ndim:
        return None
    if not set(dims) <= set(LETTERS):
        raise ValueError(
            f"data: its dims {dims} are not all among I, J and K, which are all that a storage has"
        )
    return "".join(dims)


def known_of_array(obj: Any, array: Any, device: int | None = None) -> Known:
    """The parameters of a foreign object over `array`."""
    axes = _own_axes(obj, array.ndim)
    named = axes is not None
    letters = default_axes(array.ndim, "data") if axes is None else axes
    halo = (
        obj.halo
        if isinstance(obj, _core.Field)
        else shared_halo(obj, None if axes is None else tuple(axes))[1]
    )
    return Known(
        array.shape,
        array.dtype,
        letters,
        named,
        layout_of_strides(array.strides, letters),
        halo,
        device=device,
    )


def is_list(obj: Any) -> bool:
    """Whether NumPy is to make an array of an object's entries, and so checks Python's numbers."""
    return isinstance(obj, (list, tuple)) or (isinstance(obj, Sequence) and named(obj) is None)


class Source:
    """A piece of data: `host` and `device` arrays as far as it has them, and its known
    parameters.
    """

    def __init__(self, obj: Any, copying: bool) -> None:
        self.obj = obj
        self.storage = obj if isinstance(obj, Storage) else None
        self.host: Any = None
        self.device: Any = None
        if self.storage is not None:
            self.known = known_of_storage(self.storage)
        elif devices.is_device_array(obj):
            self.device = devices.current().asarray(obj)[...]
            self.known = known_of_array(obj, self.device, devices.current().device_id(self.device))
        else:
            if isinstance(obj, np.ndarray):
                check_mask(obj)
            # A view, since the caller may set the shape of his array
            self.host = values(obj) if copying else as_numpy(obj)[...]
            self.known = known_of_array(obj, self.host)

    def values(self, on_device: bool) -> Any:
        """The newest values on that side: a view where it has a buffer there, else a new array."""
        if self.storage is not None:
            has = self.storage._has_device if on_device else self.storage._has_host
            if has:
                return self.storage._on_device() if on_device else self.storage._on_host()
            other = self.storage._array
        else:
            own = self.device if on_device else self.host
            if own is not None:
                return own
            other = self.host if on_device else self.device
        device = devices.current()
        return device.from_host(other) if on_device else device.to_host(other)


def read(
    data: Any, device_data: Any, copying: bool
) -> tuple[Source | None, Source | None, Known | None]:
    """The data, the device data, and what both say together."""
    first = None if data is None else Source(data, copying)
    second = None if device_data is None else Source(device_data, copying)
    if first is None or second is None:
        only = first or second
        return first, second, None if only is None else only.known
    if first.known.shape != second.known.shape or first.known.dtype != second.known.dtype:
        raise ValueError(
            f"device_data: shape {second.known.shape} and dtype {second.known.dtype} differ from"
            f" the data's {first.known.shape} and {first.known.dtype}"
        )
    known = first.known
    return (
        first,
        second,
        known if known.device is not None else replace(known, device=second.known.device),
    )
