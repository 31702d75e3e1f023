"""Copies between fields by NumPy, one after the other: what a plan of the local engine runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf.distributed.binding import ADD, CLEAR, SIGN, Entry


class _Memory:
    """Elements at an address and strides, as memory that holds its owner."""

    def __init__(self, owner: Any, at: int, strides: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.owner = owner
        data = (owner.__array_interface__["data"][0] + at, False)
        self.__array_interface__ = {"shape": shape, "strides": strides, "typestr": dtype.str, "data": data, "version": 3}


class CopyProgram:
    """Entries over slots, each slot a field that every run is given anew."""

    def __init__(self, slots: Sequence[Any], entries: Sequence[Entry]) -> None:
        self._slots, self._entries = slots, tuple(entries)

    def run(self, *fields: Any) -> None:
        for field, (name, *wanted, _) in zip(fields, self._slots, strict=True):
            for what, there, known in zip(
                ("dtype", "shape", "strides"), (field.dtype, field.shape, field.strides), wanted, strict=True
            ):
                if there != known:
                    raise ValueError(f"{name}: its {what} is {there}, the plan was made for {known}")
            if field.readonly:
                raise ValueError(f"{name}: it is read-only, and its halo is to be written")
        for slot, at, strides, source, source_at, source_strides, shape, dtype, mode in self._entries:
            dtype = dtype if mode else np.dtype(f"V{dtype.itemsize}")  # bytes, where values do not matter
            target = np.asarray(_Memory(fields[slot], at, strides, shape, dtype))
            values = np.asarray(_Memory(fields[source], source_at, source_strides, shape, dtype))
            moved = np.negative(values) if mode & SIGN else values
            target[...] = target + moved if mode & ADD else moved
            if mode & CLEAR:
                values[...] = 0
