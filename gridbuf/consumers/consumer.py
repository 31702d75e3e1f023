"""What a consumer says of itself: how memory passes, how it is read and written over there, and
what it cannot.
"""

import contextlib
import importlib
import importlib.util
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.cell import LAYOUTS, Cell, arranged, field, numpy_dtype


class Missing(Exception):
    """The package, or what it needs of the machine, is not there."""


@dataclass(frozen=True)
class Cannot:
    """An expected refusal: why, in a few words; a pattern that the error must match; what to do
    instead.
    """

    why: str
    says: str
    instead: str


@dataclass(frozen=True)
class Absent:
    """The consumer has no such objects, so that there is nothing to try."""

    why: str


@dataclass(frozen=True)
class Unprotected:
    """Memory is shared, but the consumer has no read-only objects and would write to it."""

    why: str
    instead: str


Expected = Cannot | Absent | Unprotected | None
Refusals = Mapping[tuple[str, str], Expected]  # (direction; layout, dtype or "*"); None: it works


def outcome(expected: Expected) -> str:
    """What `run` says where things are as expected."""
    return {Cannot: "no", Absent: "none", Unprotected: "unprotected"}.get(type(expected), "yes")


class Consumer:
    """One library that memory is exchanged with; the defaults are for objects that are NumPy
    arrays.
    """

    name: str = ""
    package: ClassVar[str | None] = None  # on the package index; None: comes with Python
    modules: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[str] = ""  # the call, as the table shows it
    gives: ClassVar[str] = "gb.Field(theirs)"
    refuses: ClassVar[Refusals] = {}  # all else works
    constant: ClassVar[bool] = False  # its objects cannot be written to
    keeps: ClassVar[bool] = (
        True  # it has an object that holds our memory; else it sees it during a call only
    )
    notes: ClassVar[str] = ""

    def expected(self, cell: Cell) -> Expected:
        """What is known not to work in a cell."""
        keys = [(cell.direction, key) for key in (cell.dtype, cell.layout, "*")]
        return next((self.refuses[key] for key in keys if key in self.refuses), None)

    def version(self) -> str:
        """Of the installed package."""
        if self.package is None:
            return "(Python's own)"
        try:
            return version(self.package)
        except PackageNotFoundError:
            module = importlib.util.find_spec(
                self.modules[0]
            )  # CuPy's distributions are called otherwise
            return (
                "not installed"
                if module is None
                else str(importlib.import_module(self.modules[0]).__version__)
            )

    def start(self) -> None:
        """Import what is needed; Missing says what is not there."""
        for module in self.modules:
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise Missing(str(error).splitlines()[0]) from error

    def context(self) -> contextlib.AbstractContextManager[Any]:
        """Held while a cell runs."""
        return contextlib.nullcontext()

    # ---- how memory passes ----

    def field(self, cell: Cell) -> _core.Field:
        """Our memory in a cell's layout, with its values."""
        return field(cell)

    def take(self, field: _core.Field) -> Any:
        """Their object over our memory."""
        raise NotImplementedError

    def make(self, cell: Cell) -> Any:
        """Memory of their own in a cell's layout, with its values."""
        return arranged(np.empty(LAYOUTS[cell.layout].base, numpy_dtype(cell.dtype)), cell)

    def give(self, theirs: Any) -> _core.Field:
        """A Field over their memory."""
        return _core.Field(theirs)

    # ---- their object ----

    def array(self, theirs: Any) -> np.ndarray[Any, Any]:
        """Their object's memory as NumPy sees it, from which the rest is read unless the library
        says it itself.
        """
        return np.asarray(theirs)

    def address(self, theirs: Any) -> int | None:
        """Where its first element lies; None where the library does not say."""
        return int(self.array(theirs).ctypes.data)

    def strides(self, theirs: Any) -> tuple[int, ...] | None:
        """In bytes; None where the library does not say."""
        return self.array(theirs).strides

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        """A copy of what it holds."""
        return np.array(self.array(theirs), copy=True)

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        """Set one element by its own means."""
        theirs[index] = value

    def readonly(self, theirs: Any) -> bool:
        """Whether it knows that it must not write."""
        return not self.array(theirs).flags.writeable

    def watch(self, theirs: Any) -> weakref.ref[Any] | None:
        """A reference that dies with it; None where it has none."""
        try:
            return weakref.ref(theirs)
        except TypeError:
            return None
