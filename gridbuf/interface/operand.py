"""One field of a call: the object's memory, and how to make it what the call needs."""

import warnings
from typing import Any

import numpy as np

from gridbuf.interface.description import Description
from gridbuf.interface.memory import Memory
from gridbuf.names import canonical, read_names


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
