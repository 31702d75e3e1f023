"""Where NumPy's converting functions copied. What the methods of an array copy is seen as an allocation of their line."""

from types import ModuleType
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.watch.book import Book
from gridbuf.watch.copies import exchange
from gridbuf.watch.imports import Undo, together

FUNCTIONS = (
    *("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"),
    *("require", "ravel", "reshape", "from_dlpack", "asarray_chkfinite"),
)
_PLAIN = {name: getattr(np, name) for name in FUNCTIONS}


def unwatched() -> ModuleType:
    """NumPy without ours: for a library's module that calls these in every stencil, where nobody looks."""
    made = ModuleType(np.__name__)
    vars(made).update({**vars(np), **_PLAIN})
    return made


def install(book: Book) -> Undo:
    """Watch the functions of `numpy`; those that call each other inside NumPy are left alone."""
    return together([exchange(np, name, book, copied) for name in FUNCTIONS])


def copied(given: Any, result: Any, before: int) -> int:
    """The bytes of the result where its memory is new: of an array by its bounds, of anything else by when it was taken."""
    if not isinstance(result, np.ndarray) or not result.nbytes:
        return 0
    if isinstance(given, np.ndarray):
        return 0 if result.base is not None and np.may_share_memory(given, result) else result.nbytes
    block = _core.watch_block(result.__array_interface__["data"][0])
    return result.nbytes if block is not None and block[3] > before and _has_memory(given) else 0


def _has_memory(given: Any) -> bool:
    """Whether there was something to share: a range or a queue of numbers has nothing."""
    if any(hasattr(type(given), name) for name in ("__array_interface__", "__array_struct__", "__array__", "__dlpack__")):
        return True
    try:
        memoryview(given).release()
    except TypeError:
        return False
    return True
