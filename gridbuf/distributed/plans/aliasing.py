"""One memory that is given twice: harmless where both are filled alike, and refused otherwise."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.distributed.plans.binding import Binding

EFFORT: Any = 10_000  # of NumPy, to find out whether interleaved views share an element


def check_same(binding: Binding, flat: Sequence[Any]) -> None:
    """Refuse an object that stands for two fields under different rules."""
    seen: dict[int, int] = {}
    for slot, each in enumerate(flat):
        first = seen.setdefault(id(each), slot)
        if first == slot:
            continue
        a, b = first // binding.count, slot // binding.count
        if first % binding.count != slot % binding.count:
            raise ValueError(f"{binding.bounds[b].name}: one Field is given for two blocks")
        ours, theirs = binding.sources[a], binding.sources[b]
        alike = (ours.item.kind, ours.item.sign, ours.component) == (
            theirs.item.kind,
            theirs.item.sign,
            theirs.component,
        )
        partners = [
            [id(flat[f * binding.count + slot % binding.count]) for f in each.fields]
            for each in (ours, theirs)
        ]
        if not binding.plain and not (alike and partners[0] == partners[1]):
            raise ValueError(
                f"{binding.bounds[b].name}: it is {binding.bounds[a].name} as well, and its halo"
                " would be filled in two ways"
            )


def shared(a: Any, b: Any) -> bool:
    """Whether two arrays have an element in common. Interleaved views that NumPy cannot tell apart
    quickly count as different.
    """
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=EFFORT))
    except np.exceptions.TooHardError:
        return False


class OnGPU:
    """Where a Field of a GPU lies, for what compares addresses and reads nothing."""

    def __init__(self, field: _core.DeviceField) -> None:
        known = getattr(field, "__cuda_array_interface__", None)  # not every dtype has one
        self.__array_interface__ = (
            {"shape": (0,), "typestr": "|u1", "data": (1, True), "version": 3}
            if known is None
            else known
        )


def memory_of(field: _core.Field) -> Any:
    """An array that lies where a Field does; of a GPU's memory only the addresses can be
    looked at.
    """
    return np.asarray(OnGPU(field)) if isinstance(field, _core.DeviceField) else field.numpy()


def check_shared(binding: Binding, flat: Sequence[_core.Field]) -> None:
    """Refuse different Fields that have elements in common: what one gets, the other may have to
    send.
    """
    arrays = [memory_of(field) for field in flat]
    for (i, a), (j, b) in combinations(enumerate(arrays), 2):
        if flat[i] is not flat[j] and shared(a, b):
            names = [binding.bounds[slot // binding.count].name for slot in (i, j)]
            raise ValueError(
                f"{names[1]}: it shares memory with {names[0]}; each field of an exchange has"
                " its own"
            )


def check_apart(filled: tuple[str, Sequence[_core.Field]], read: tuple[str, Sequence[Any]]) -> None:
    """Refuse to fill points that are read meanwhile, or that two blocks would fill."""
    name, fields = filled
    arrays = [field.numpy() for field in fields]
    if any(shared(a, b) for a, b in combinations(arrays, 2)):
        raise ValueError(f"{name}: two of its blocks share memory")
    if any(shared(a, np.asarray(b)) for a in arrays for b in read[1]):
        raise ValueError(
            f"{name}: it shares memory with {read[0]}, which is read while it is filled"
        )
