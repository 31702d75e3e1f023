"""GRIDBUF_DEBUG=1: poisoned halos, sealed messages, compared copies.

Halo points that a plan fills hold NaN (or a pattern of bytes) from its start until their values
arrive, so a program that reads them too early sees it. A message ends with the number of its
exchange and a checksum of its values. Points that exist twice are compared with their owner's.
"""

import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gridbuf._core import CopyProgram, Field
from gridbuf.distributed.plans.binding import Entry, Message

PATTERN = 0xA5
SEAL = 16  # bytes at the end of a message: the exchange's number, the values' checksum


def poison_of(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An element of the pattern that marks points without a value."""
    if dtype.kind in "fc":
        return np.full(1, complex(np.nan, np.nan) if dtype.kind == "c" else np.nan, dtype)
    return (
        np.frombuffer(bytes([PATTERN]) * dtype.itemsize, dtype).copy()
        if dtype.itemsize
        else np.zeros(1, dtype)
    )


def poisoning(
    slots: Sequence[Any], copies: Iterable[Entry], receives: Iterable[Message], gpu: int | None
) -> CopyProgram | None:
    """The program that poisons all points that a plan fills."""
    targets = [
        (slot, at, strides, shape, dtype) for slot, at, strides, _, _, _, shape, dtype, _ in copies
    ]
    targets += [
        (c.place.slot, c.place.at, c.place.strides, c.shape, c.dtype)
        for m in receives
        for c in m.chunks
    ]
    if not targets:
        return None
    constants: dict[np.dtype[Any], int] = {}
    for *_, dtype in targets:
        constants.setdefault(dtype, len(slots) + len(constants))
    entries = [
        (slot, at, strides, constants[dtype], 0, (0,) * len(shape), shape, dtype, 0)
        for slot, at, strides, shape, dtype in targets
    ]
    values = [poison_of(dtype) for dtype in constants]
    return CopyProgram(
        [
            *slots,
            *(values if gpu is None else (Field(each).to(device=("gpu", gpu)) for each in values)),
        ],
        entries,
        gpu,
    )


def compare_copies(synchronise: Callable[[], None], fields: Sequence[tuple[str, Any]]) -> None:
    """RuntimeWarning where own points are not what their owners have. Fields are unchanged
    afterwards.
    """
    before = [field.numpy().copy() for _, field in fields]
    try:
        synchronise()
        for (name, field), values in zip(fields, before, strict=True):
            array = field.numpy()
            differs = array != values
            if array.dtype.kind in "fc":
                differs &= (array == array) | (values == values)  # NaN is NaN
            if differs.any():
                at = tuple(int(i) for i in np.argwhere(differs)[0])
                warnings.warn(
                    f"{name}: {np.count_nonzero(differs)} points that exist twice are not what"
                    f" their owner has; the first, [{', '.join(map(str, at))}], is {values[at]},"
                    f" and the owner's {array[at]}; grid.sync makes them equal",
                    RuntimeWarning,
                    stacklevel=4,
                )
    finally:
        for (_, field), values in zip(fields, before, strict=True):
            field.numpy()[...] = values


class Guard:
    """Seals and checks the messages of one direction of a plan.

    Parameters
    ----------
    poison
        Makes the points that the exchange fills unreadable; None for an adjoint, which reads them.
    outgoing, incoming
        The messages by peer, the last SEAL bytes of each this guard's.
    ledger
        By peer: how many exchanges have begun with values for it, and from it.
    """

    def __init__(
        self,
        name: str,
        poison: CopyProgram | None,
        outgoing: Mapping[int, Any],
        incoming: Mapping[int, Any],
        ledger: Mapping[int, Any],
    ) -> None:
        self.name = name
        self.poison = poison
        self.outgoing = outgoing
        self.incoming = incoming
        self.ledger = ledger
        self.fields: Sequence[Any] = ()  # of the exchange that begins
        # By peer: which of its messages comes in the exchange under way
        self._awaited: dict[int, int] = {}

    def close(self) -> None:
        """Seal the packed messages, and poison the points that the exchange fills."""
        fields, self.fields = self.fields, ()
        for peer, buffer in self.outgoing.items():
            memory: Any = np.asarray(buffer)
            memory[-SEAL:].view("i8")[:] = self.ledger[peer][0] + 1, zlib.crc32(memory[:-SEAL])
        self._awaited = {peer: int(self.ledger[peer][1]) + 1 for peer in self.incoming}
        if self.poison is not None:
            self.poison.run(*fields)

    def check(self) -> None:
        """RuntimeError where a received message is not the awaited one."""
        for peer, buffer in self.incoming.items():
            memory: Any = np.asarray(buffer)
            number, checksum = memory[-SEAL:].view("i8").tolist()
            if number != self._awaited[peer]:
                raise RuntimeError(
                    f"{self.name}: rank {peer} sent its exchange {number}, expected was"
                    f" {self._awaited[peer]}"
                )
            if checksum != zlib.crc32(memory[:-SEAL]):
                raise RuntimeError(
                    f"{self.name}: the values from rank {peer} are not those it sent: their"
                    " checksums differ"
                )
