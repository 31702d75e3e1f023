"""One field of a call: the object's memory, read, acquired, touched and released once, and how to
make of it the array that the call needs.
"""

import warnings
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interface.reading import Description, Device, changed, check_extent, find, looked_up
from gridbuf.names import canonical, get_dims, read_names
from gridbuf.storage import devices
from gridbuf.wrapping import Described, naming, values


def array_over(obj: Any, description: Description, on_device: bool, described: bool) -> Any:
    """An array over the described memory of obj; it keeps obj alive. `described`: by its
    `__gt_interface__`.
    """
    interface = {key: description[key] for key in ("shape", "typestr", "data", "strides")} | {
        "version": 3
    }
    if on_device:
        return devices.current().asarray(Described("__cuda_array_interface__", interface, obj))
    if isinstance(obj, _core.Field) or not described:
        return _core.host_array(obj)  # knows dtypes that a typestr cannot say
    if 0 in description["shape"]:
        return np.empty(description["shape"], description["typestr"])
    return _core.host_array(Described("__array_interface__", interface, obj))


def copied(array: Any, on_device: bool, wanted_device: bool, dtype: np.dtype[Any]) -> Any:
    """A copy on the wanted device with the wanted dtype."""
    host = devices.current().to_host(array) if on_device else array
    host = host.astype(dtype)
    return devices.current().from_host(host) if wanted_device else host


def copy_back(copy: Any, array: Any, on_device: bool, wanted_device: bool) -> None:
    """The values of a copy into the memory that it stood for."""
    host = devices.current().to_host(copy) if wanted_device else copy
    if on_device:
        devices.current().upload(host.astype(array.dtype), array)
    else:
        np.copyto(array, host, casting="unsafe")


class Memory:
    """The memory that an object offers for the call: on the device where it runs, under "copy" also
    elsewhere.
    """

    __slots__ = (
        "_array",
        "_copies",
        "_described",
        "_device",
        "_name",
        "entry",
        "obj",
        "on_device",
        "reasons",
        "touched",
        "wanted_device",
    )

    def __init__(self, name: str, obj: Any, device: Device, policy: str) -> None:
        self._name, self.obj, self._device = name, obj, device
        self.wanted_device = self.on_device = device is not None
        self.reasons: list[str] = []  # why it has to be copied, whatever its dtype
        self.touched = False
        self._array: Any = None
        self._copies: dict[Any, Any] = {}
        found, self._described = looked_up(obj, device)
        if found is None:
            found = self._elsewhere(policy)
        self.entry: Description = found

    def _elsewhere(self, policy: str) -> Description:
        """The buffer on the other side, to be copied."""
        where = "the host" if self._device is None else str(self._device)
        other: Device = "gpu" if self._device is None else None
        found, self._described = looked_up(self.obj, other) if policy == "copy" else (None, False)
        if found is None and policy == "copy":
            return self._values(where)
        if found is None:
            raise ValueError(
                f"{self._name}: {type(self.obj).__name__} has no buffer for {where}; numpy.asarray"
                " or policy='copy' makes one of numbers"
            )
        self.reasons.append(f"there is no buffer for {where}")
        self._device, self.on_device = other, not self.wanted_device
        return found

    def _values(self, where: str) -> Description:
        """An object with numbers and no memory to share: a list, an array that is computed when it
        is asked for.
        """
        with naming(self._name):
            self._array = values(self.obj).copy()
        self._array.flags.writeable = False  # an output's values would be lost
        told = _core.host_description(self._array)
        if told is None:
            raise ValueError(
                f"{self._name}: {type(self.obj).__name__} has no buffer for {where}, and what it"
                f" holds are no numbers ({self._array.dtype})"
            )
        self._device, self.on_device = None, False
        self.reasons.append(f"a {type(self.obj).__name__} has no memory to share")
        dims = get_dims(self.obj)
        return told if dims is None else {**told, "dims": dims}

    def acquire(self) -> None:
        """Call the object's `acquire`, which may move the memory; what the memory is must stay."""
        if self.entry["acquire"] is not None:
            self.entry["acquire"]()

    def read_again(self) -> None:
        """After `acquire`: where the memory is now."""
        before = self.entry
        if before["acquire"] is None or isinstance(self.obj, _core.StorageBase):
            return
        now = find(self.obj, self._device)
        if now is None:
            raise ValueError(
                f"{self._name}: {type(self.obj).__name__} has no buffer any more after its acquire"
            )
        difference = changed(before, now)
        if difference:
            raise ValueError(
                f"{self._name}: {difference} after its acquire, which may move memory only"
            )
        if self.touched and now["data"][1]:
            raise ValueError(
                f"{self._name}: its memory is read-only after its acquire and cannot be an output"
            )
        self.entry = {**now, "touch": before["touch"], "release": before["release"]}

    def array(self) -> Any:
        """An array over the memory, once it is acquired."""
        if self._array is None:
            if self._described and not self.on_device:
                check_extent(self._name, self.obj, self.entry)
            self._array = array_over(self.obj, self.entry, self.on_device, self._described)
        return self._array

    def copy(self, dtype: np.dtype[Any]) -> Any:
        """A copy for the call; the same one for each field that needs this dtype."""
        made = self._copies.get(dtype)
        if made is None:
            made = self._copies[dtype] = copied(
                self.array(), self.on_device, self.wanted_device, dtype
            )
            if self.entry["data"][1]:
                made.flags.writeable = False
        return made

    def copy_back(self, dtype: np.dtype[Any]) -> None:
        """The values of a copy that was written into the memory it stands for."""
        if dtype in self._copies:
            copy_back(self._copies[dtype], self.array(), self.on_device, self.wanted_device)


class CopyWarning(UserWarning):
    """A field did not fit and is copied for the call."""


class Operand:
    """Checked when made, before anything is acquired."""

    def __init__(
        self, name: str, memory: Memory, dims: Any, dtype: Any, output: bool, policy: str
    ) -> None:
        self.name, self.memory, self.output = name, memory, output
        entry = memory.entry
        self.reasons = list(memory.reasons)
        self.dims, self.order = self._order(
            entry, None if dims is None else read_names(dims, f"{name}: dims")
        )
        self.dtype = self._check_dtype(dtype, policy)
        if output and entry["data"][1]:
            raise ValueError(f"{name}: its memory is read-only and cannot be an output")
        memory.touched |= output

    def _order(
        self, entry: Description, asked: Any
    ) -> tuple[tuple[str, ...] | None, tuple[int, ...] | None]:
        own = entry["dims"]
        if own is None:
            if asked is not None and len(asked) != len(entry["shape"]):
                raise ValueError(
                    f"{self.name}: {len(entry['shape'])} indices were given, the dims are {asked}"
                )
            return asked, None
        wanted = canonical(own) if asked is None else asked
        if sorted(wanted) != sorted(own):
            raise ValueError(f"{self.name}: its dims are {own}, {wanted} are needed")
        return wanted, None if wanted == own else tuple(own.index(d) for d in wanted)

    def _check_dtype(self, dtype: Any, policy: str) -> np.dtype[Any]:
        own = _dtype_of(self.memory.obj, self.memory.entry)
        if dtype is None or own == np.dtype(dtype):
            return own
        wanted: np.dtype[Any] = np.dtype(dtype)
        if policy == "raise":
            raise TypeError(
                f"{self.name}: its dtype is {own}, {wanted} is needed; convert it once, a Field by"
                f" field.to(dtype={wanted.name!r}), or let policy='copy' do so in each call"
            )
        steps = [(own, wanted), (wanted, own)] if self.output else [(own, wanted)]
        for source, target in steps:
            if not np.can_cast(source, target, "same_kind"):
                raise TypeError(
                    f"{self.name}: its dtype is {own}, {wanted} is needed, and a copy from {source}"
                    f" to {target} would lose values; policy='copy' converts as casting='same_kind'"
                    " does"
                )
        self.reasons.append(f"its dtype is {own} and not {wanted}")
        return wanted

    def enter(self, stacklevel: int) -> Any:
        """The array for the call; what does not fit is copied, with a warning."""
        if self.reasons:
            warnings.warn(
                f"{self.name}: copied for this call, because {' and '.join(self.reasons)}",
                CopyWarning,
                stacklevel,
            )
        found = self.memory.copy(self.dtype) if self.reasons else self.memory.array()
        return found[...] if self.order is None else found.transpose(self.order)

    def copy_back(self) -> None:
        if self.reasons:
            self.memory.copy_back(self.dtype)


def _dtype_of(obj: Any, entry: Description) -> np.dtype[Any]:
    described: np.dtype[Any] = np.dtype(entry["typestr"])
    own: Any = getattr(obj, "dtype", None)
    # A typestr has no words for bfloat16 and the like; the object has.
    if described.kind == "V" and isinstance(own, np.dtype) and own.itemsize == described.itemsize:
        described = own
    return described
