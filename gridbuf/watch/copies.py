"""What the collectors of hidden copies have in common: a function exchanged in its module, and why it had to copy."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.watch.allocations import maker
from gridbuf.watch.book import Book, Copy, clock
from gridbuf.watch.imports import Undo, put
from gridbuf.watch.layouts import address, sorted_ranks
from gridbuf.watch.lines import Line, here

LEAST = 1024  # bytes: what is smaller nobody waits for
_VALUES = (list, tuple, int, float, complex, bool, str, bytes, type(None))
Copied = Callable[[Any, Any, int], int]  # (what was given, the result, blocks taken before) -> bytes copied, 0 for none
Reason = Callable[[Any, Any], str | None]


def exchange(module: Any, name: str, book: Book, copied: Copied, reason: Reason = lambda given, made: None) -> Undo:
    """Put a function that looks what its result shares with its first argument in the place of another; the result puts it back.

    `reason` says why it copied, where the library knows more than `why`.
    """
    plain = getattr(module, name, None)
    if plain is None:
        return lambda: None
    found = _Found(book, f"{module.__name__}.{name}", reason)
    depth, looked = _core.watch_depth, _core.watch_copied
    never = name in ("asarray", "asanyarray") and module is np

    @functools.wraps(plain, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        if never and len(args) == 1 and not kwargs and type(args[0]) is np.ndarray:  # without a wish it is what was given
            return args[0]
        given = args[0] if args else None
        array = type(given) is np.ndarray
        if (not array and isinstance(given, _VALUES)) or depth() or not book.on:  # what a stencil copies is its own
            return plain(*args, **kwargs)
        before = 0 if array else _core.watch_total()[0]
        start = clock()
        result = plain(*args, **kwargs)
        book.events += 1
        if result is given:
            return result
        end = clock()
        key = looked(given, result, LEAST)
        known = found.known.get(key)
        if known is not None:  # as the same line copied before: what this costs is measured at the end
            known.count += 1
            known.bytes += result.nbytes
            known.seconds += end - start
        elif key is None or key:
            nbytes = copied(given, result, before) if getattr(result, "nbytes", LEAST) >= LEAST else 0
            if nbytes >= LEAST:
                found(key, given, result, here(2)).add(nbytes, end - start)
            book.own += clock() - end
        return result

    return put(module, name, watched)


class _Found:
    """The copies of one function; why it copied is found out once for each line and pair of layouts."""

    def __init__(self, book: Book, kind: str, reason: Reason) -> None:
        self.book, self.kind, self.reason = book, kind, reason
        self.known: dict[Any, Copy] = {}

    def __call__(self, key: int | None, given: Any, result: Any, line: Line) -> Copy:
        made = self._new(given, result, line)
        if key is not None:
            if len(self.known) >= 256:
                self.known.clear()
            self.known[key] = made
        return made

    def _new(self, given: Any, result: Any, line: Line) -> Copy:
        told = self.reason(given, result) or why(given, result)
        return self.book.copy(self.kind, told, line, lambda: maker(address(given)))


def why(given: Any, result: Any) -> str:
    """In a few words: what is different in the copy."""
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
    span, points = getattr(dtype, "itemsize", 1), 1
    for n, s in zip(shape, strides, strict=True):
        span += (n - 1) * abs(s)
        points *= n
    return bool(span == points * getattr(dtype, "itemsize", 1))
