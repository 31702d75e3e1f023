"""The memory of one object during a call: read, acquired, touched and released once, however many
fields it stands for.
"""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.interface.agreement import check_extent
from gridbuf.interface.buffers import array_over, copied, copy_back
from gridbuf.interface.description import Description
from gridbuf.interface.reading import Device, changed, find, looked_up
from gridbuf.names import get_dims
from gridbuf.wrapping import naming, values


class Memory:
    """What an object offers for the call: on the device where it runs, under "copy" also
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
        """What has no memory to share, but numbers: a list, an array that is computed when it is
        asked for.
        """
        with naming(self._name):
            self._array = values(self.obj).copy()
        self._array.flags.writeable = False  # what an output got would be lost
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
