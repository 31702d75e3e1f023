"""What the collectors of hidden copies have in common: a function exchanged in its module, and why it had to copy."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.watch.allocations import maker
from gridbuf.watch.book import Book, clock
from gridbuf.watch.layouts import address, sorted_ranks
from gridbuf.watch.lines import here

LEAST = 1024  # bytes: what is smaller nobody waits for
_VALUES = (list, tuple, int, float, complex, bool, str, bytes, type(None))
Copied = Callable[[Any, Any, int], int]  # (what was given, the result, blocks taken before) -> bytes copied, 0 for none
Reason = Callable[[Any, Any], str | None]


def exchange(module: Any, name: str, book: Book, copied: Copied, reason: Reason = lambda given, made: None) -> Callable[[], None]:
    """Put a function that looks what its result shares with its first argument in the place of another; the result puts it back.

    `reason` says why it copied, where the library knows more than `why`.
    """
    plain = getattr(module, name, None)
    if plain is None:
        return lambda: None
    called = f"{module.__name__}.{name}"

    reasons: dict[Any, str] = {}
    inside, never = book.inside, np.ndarray if name in ("asarray", "asanyarray") and module is np else None

    @functools.wraps(plain, updated=())
    def watched(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is never and not kwargs:  # without a wish there is no copy
            return plain(args[0])
        if not book.on or not args or isinstance(args[0], _VALUES) or inside.depth:  # a stencil's are its own
            return plain(*args, **kwargs)
        before = _core.watch_total()[0]
        start = clock()
        result = plain(*args, **kwargs)
        book.events += 1
        if result is args[0]:
            return result
        end = clock()
        nbytes = copied(args[0], result, before)
        if nbytes >= LEAST:
            told = _told(reasons, args[0], result, reason)
            book.copy(called, told, here(2), nbytes, end - start, lambda: maker(address(args[0])))
        book.own += clock() - end
        return result

    setattr(module, name, watched)

    def put_back() -> None:
        if getattr(module, name, None) is watched:
            setattr(module, name, plain)

    return put_back


def _told(reasons: dict[Any, str], given: Any, result: Any, reason: Reason) -> str:
    """Why, found out once for each pair of layouts."""
    try:
        key = given.dtype.num, given.strides, given.shape, result.dtype.num, result.strides
        found = reasons.get(key)
    except (AttributeError, TypeError):
        return reason(given, result) or why(given, result)
    if found is None:
        if len(reasons) >= 256:
            reasons.clear()
        found = reasons[key] = reason(given, result) or why(given, result)
    return found


def why(given: Any, result: Any) -> str:
    """In a few words: what is different in the copy."""
    dtype, strides, shape = (getattr(given, name, None) for name in ("dtype", "strides", "shape"))
    made = getattr(result, "dtype", None)
    if dtype is not None and made is not None and str(dtype) != str(made):
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
