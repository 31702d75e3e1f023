"""What the collectors of hidden copies have in common: a function exchanged in its module, and why it had to copy."""

import functools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.strides import extent
from gridbuf.watch.allocations import maker
from gridbuf.watch.book import Book, Copy, clock
from gridbuf.watch.imports import Undo, put
from gridbuf.watch.layouts import address, sorted_ranks
from gridbuf.watch.lines import here

LEAST = 1024  # bytes: what is smaller nobody waits for
Copied = Callable[[Any, Any, int], int]  # (what was given, the result, blocks taken before) -> bytes copied, 0 for none
Reason = Callable[[Any, Any], str | None]


def exchange(module: Any, name: str, book: Book, copied: Copied, reason: Reason = lambda given, made: None) -> Undo:
    """Put a function that looks what its result shares with its first argument in the place of another; the result puts it back.

    `reason` says why it copied, where the library knows more than `why`. A library other than NumPy may compile or begin in the first
    call of a line, which is not timed.
    """
    plain = getattr(module, name, None)
    if plain is None:
        return lambda: None
    dispatched = type(plain).__name__ == "_ArrayFunctionDispatcher"  # hands itself to what overrides it
    seen = _Function(plain._implementation if dispatched else plain, f"{module.__name__}.{name}", book, copied, reason)
    book.looked.append(seen.take)
    ours: Any = seen.stands
    if dispatched:
        ours = type(plain)(lambda *args, **kwargs: args[:1] or (kwargs.get("a"),), ours)
        vars(ours).update(vars(plain))
    return put(module, name, ours)


class _Function:
    """The copies of one function; why it copied is found out once for each line and pair of layouts."""

    def __init__(self, plain: Any, kind: str, book: Book, copied: Copied, reason: Reason) -> None:
        self.kind, self.book, self.copied, self.reason = kind, book, copied, reason
        self.way = 1 if plain in (np.asarray, np.asanyarray) else 0 if kind.startswith("numpy.") else 2
        self.stands = _core.watch_function(plain, self._slow(plain), self.note, LEAST, self.way)

    def _slow(self, plain: Any) -> Any:
        """C does not look."""

        @functools.wraps(plain, updated=())
        def watched(*args: Any, **kwargs: Any) -> Any:
            if _core.watch_depth() or not self.book.on:
                return plain(*args, **kwargs)
            given = args[0] if args else next(iter(kwargs.values()))
            before, start = _core.watch_total()[0], clock()
            result = plain(*args, **kwargs)
            end = clock()
            self.book.events += 1
            if result is not given:
                self.note(given, result, 0, end - start, before)
            return result

        return watched

    def note(self, given: Any, result: Any, key: int, seconds: float, before: int) -> None:
        """Take down what may be a copy; from now on C counts those with the same key."""
        if not self.book.on:
            return
        began = clock()
        nbytes = self.copied(given, result, before) if getattr(result, "nbytes", LEAST) >= LEAST else 0
        if nbytes >= LEAST:
            told = self.reason(given, result) or why(given, result)
            record = self.book.copy(self.kind, told, here(2), lambda: maker(address(given)))
            record.add(nbytes, None if self.way == 2 and not record.count else seconds)
            if key:
                self.take(key, record)
        self.book.own += clock() - began

    def take(self, key: int = 0, record: Copy | None = None) -> None:
        """What C has counted."""
        looks, copies = _core.watch_copies(self.stands, key, record)
        self.book.events += looks
        for each, count, nbytes, seconds in copies:
            each.count += count
            each.bytes += nbytes
            each.seconds += seconds


def why(given: Any, result: Any) -> str:
    """In a few words: what is different in the copy; a result that does not say its strides has none."""
    dtype, strides, shape = (getattr(given, name, None) for name in ("dtype", "strides", "shape"))
    made = str(getattr(result, "dtype", dtype)).removeprefix("torch.")
    if dtype is not None and str(dtype).removeprefix("torch.") != made:
        return f"{dtype} to {made}"
    if strides is None or not shape or getattr(result, "strides", None) is None:
        return "copied"
    if _order(strides, shape) != _order(result.strides, result.shape) and len(shape) > 1:
        return f"{_letter(strides, shape)} order to {_letter(result.strides, result.shape)}"
    if _is_compact(shape, strides, dtype):
        return "same layout"
    return "rows apart to rows together"


def _order(strides: Any, shape: Any) -> tuple[int, ...]:
    return sorted_ranks([s for s, n in zip(strides, shape, strict=True) if n > 1])


def _letter(strides: Any, shape: Any) -> str:
    ranks = _order(strides, shape)
    rising = tuple(range(len(ranks)))
    return "C" if ranks == rising else "Fortran" if ranks == rising[::-1] else "mixed"


def _is_compact(shape: Any, strides: Any, dtype: Any) -> bool:
    itemsize = getattr(dtype, "itemsize", 1)
    first, end = extent(0, shape, strides, itemsize)
    return bool(end - first == prod(shape) * itemsize)
