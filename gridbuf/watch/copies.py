"""Hidden copies: converting functions of NumPy, JAX and PyTorch, pickles, deep copies.

A function is watched where programs take it from. Its result is a copy where it lies elsewhere than
the first argument. Copies of arrays' methods are seen as allocations of their line.
"""

import copy
import functools
import pickle
from collections.abc import Callable
from math import prod
from multiprocessing import reduction
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.strides import XLA_ALIGNMENT, boundary, extent, packed
from gridbuf.watch.allocations import is_of_gridbuf, maker
from gridbuf.watch.lines import caller
from gridbuf.watch.patches import Undo, between, from_import_on, put, together
from gridbuf.watch.records import Book, Copy, address, clock, sorted_ranks

LEAST = 1024  # bytes: a smaller copy takes no time to speak of
OWN = "in gridbuf"  # follows the name of a function that gridbuf itself called
# (argument, result, blocks taken before) -> bytes copied, 0 for none
Copied = Callable[[Any, Any, int], int]
Reason = Callable[[Any, Any], str | None]


def install(book: Book) -> Undo:
    """Watch all of them; the others from the import of their library on."""
    return together(
        [_install_numpy(book), _install_pickles(book), _install_jax(book), _install_torch(book)]
    )


def note(
    book: Book, kind: str, why: str, nbytes: int, seconds: float | None, given: Any = None
) -> Copy:
    """Put a copy down to the program's line, and apart where gridbuf's own code made it."""
    line, own = caller(2)
    key = f"{kind}, {OWN}" if own else kind, why, line
    record = book.copies.get(key)
    if record is None:
        record = book.copies[key] = Copy()
        record.own = own
        at = None if given is None else address(given)
        record.made_by, record.of_gridbuf = maker(at), is_of_gridbuf(at)
    record.add(nbytes, seconds)
    return record


# ---- functions that may copy their first argument ----


class _Function:
    """Compares the result of a function with its first argument."""

    # Values without memory to share, and the most frequent arguments.
    VALUES = (int, float, complex, list, tuple, str, bytes, type(None))

    def __init__(self, plain: Any, kind: str, book: Book, copied: Copied, reason: Reason) -> None:
        self.kind, self.book, self.copied, self.reason = kind, book, copied, reason
        self.returns_arrays = plain in (np.asarray, np.asanyarray)
        # A library compiles or begins in the first call of a line, and calls other watched
        # functions.
        self.library = not kind.startswith("numpy.")

    def before(self, *args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else next(iter(kwargs.values()), None)
        if type(given) in self.VALUES or not self.book.on or _core.watch_depth():
            return None
        if self.returns_arrays and type(given) is np.ndarray and len(args) == 1 and not kwargs:
            return None  # returned as it is
        blocks = _core.watch_total()[0]
        return given, blocks, _core.watch_enter() if self.library else clock()

    def after(self, token: Any, *result: Any) -> None:
        given, blocks, began = token
        seconds = _core.watch_leave(began) if self.library else clock() - began
        self.book.events += 1
        if not result or result[0] is given:
            return
        (made,) = result
        start = clock()
        nbytes = self.copied(given, made, blocks) if getattr(made, "nbytes", LEAST) >= LEAST else 0
        if nbytes >= LEAST:
            why = self.reason(given, made) or why_copied(given, made)
            record = note(self.book, self.kind, why, nbytes, seconds, given)
            if self.library and record.count == 1:
                record.not_timed, record.seconds = 1, 0.0
        self.book.own += clock() - start


def exchange(
    module: Any, name: str, book: Book, copied: Copied, reason: Reason = lambda given, made: None
) -> Undo:
    """Watch a function of a module; the result puts it back.

    `reason` says why it copied, where the library knows more than `why_copied`.
    """
    plain = getattr(module, name, None)
    if plain is None:
        return lambda: None
    # A function that passes itself to `__array_function__`
    dispatched = type(plain).__name__ == "_ArrayFunctionDispatcher"
    called = plain._implementation if dispatched else plain
    seen = _Function(called, f"{module.__name__}.{name}", book, copied, reason)
    ours: Any = _core.watch_stand_in(called, seen.before, seen.after)
    if dispatched:
        ours = type(plain)(lambda *args, **kwargs: args[:1] or (kwargs.get("a"),), ours)
        vars(ours).update(vars(plain))
    return put(module, name, ours)


def why_copied(given: Any, result: Any) -> str:
    """The difference between an array and its copy in a few words; a result that does not say its
    strides has none.
    """
    dtype, strides, shape = (getattr(given, name, None) for name in ("dtype", "strides", "shape"))
    made = (
        getattr(result, "dtype", dtype),
        getattr(result, "strides", None),
        getattr(result, "shape", None),
    )
    try:
        return _difference(dtype, strides, shape, *made)
    except TypeError:  # of something that is no array: these are no tuples
        return "copied"


@functools.lru_cache(maxsize=1024)
def _difference(
    dtype: Any, strides: Any, shape: Any, made_dtype: Any, made_strides: Any, made_shape: Any
) -> str:
    made = str(made_dtype).removeprefix("torch.")
    if dtype is not None and str(dtype).removeprefix("torch.") != made:
        return f"{dtype} to {made}"
    if strides is None or not shape or made_strides is None:
        return "copied"
    if _order(strides, shape) != _order(made_strides, made_shape) and len(shape) > 1:
        return f"{_letter(strides, shape)} order to {_letter(made_strides, made_shape)}"
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


# ---- NumPy ----

FUNCTIONS = (
    *("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"),
    *("require", "ravel", "reshape", "from_dlpack", "asarray_chkfinite"),
)
_PLAIN = {name: getattr(np, name) for name in FUNCTIONS}


def unwatched() -> ModuleType:
    """NumPy without ours: for modules of libraries that call these in every stencil."""
    made = ModuleType(np.__name__)
    vars(made).update({**vars(np), **_PLAIN})
    return made


def _install_numpy(book: Book) -> Undo:
    """The functions of `numpy`; NumPy's own modules call others."""
    return together([exchange(np, name, book, numpy_copied) for name in FUNCTIONS])


def numpy_copied(given: Any, result: Any, before: int) -> int:
    """The bytes of the result where its memory is new: of an array by its bounds, of anything else
    by when it was taken.
    """
    if not isinstance(result, np.ndarray) or not result.nbytes:
        return 0
    if isinstance(given, np.ndarray):
        return (
            0 if result.base is not None and np.may_share_memory(given, result) else result.nbytes
        )
    block = _core.watch_block(result.__array_interface__["data"][0])
    return result.nbytes if block is not None and block[3] > before and _has_memory(given) else 0


def _has_memory(given: Any) -> bool:
    """Whether there was something to share: a range or a queue of numbers has nothing."""
    if any(
        hasattr(type(given), name)
        for name in ("__array_interface__", "__array_struct__", "__array__", "__dlpack__")
    ):
        return True
    try:
        memoryview(given).release()
    except TypeError:
        return False
    return True


# ---- JAX and PyTorch: copies of host memory for alignment, gaps or a dtype ----


def _install_jax(book: Book) -> Undo:
    def begin(undo: list[Undo]) -> None:
        import jax
        import jax.numpy as jnp

        each = (
            (jnp, "asarray", why_jax),
            (jnp, "from_dlpack", why_jax),
            (jnp, "array", asked_for),
            (jax, "device_put", why_jax),
        )
        undo.extend(
            exchange(module, name, book, library_copied, reason) for module, name, reason in each
        )
        book.not_seen["arrays that are arguments of JAX's compiled functions"] = None

    return from_import_on(book, "jax", begin)


def _install_torch(book: Book) -> Undo:
    def begin(undo: list[Undo]) -> None:
        import torch

        names = ("tensor", "as_tensor", "asarray", "from_dlpack")
        undo.extend(exchange(torch, name, book, library_copied) for name in names)

    return from_import_on(book, "torch", begin)


def library_copied(given: Any, result: Any, before: int) -> int:
    """The bytes of the result where it lies elsewhere on the host."""
    at, there = address(given), _address(result)
    return 0 if at is None or there is None or at == there else int(result.nbytes)


def _address(result: Any) -> int | None:
    try:
        if hasattr(result, "data_ptr"):
            return int(result.data_ptr()) if result.device.type == "cpu" else None
        if {device.platform for device in result.devices()} != {"cpu"}:
            return None  # to a GPU there is no other way
        return int(result.unsafe_buffer_pointer())
    except Exception:  # a traced value, or one in several parts
        return None


def why_jax(given: Any, result: Any) -> str:
    """The reason why JAX, whose arrays are C-ordered, did not share."""
    strides = packed(result.shape, result.dtype.itemsize)
    why = why_copied(
        given, SimpleNamespace(dtype=result.dtype, shape=result.shape, strides=strides)
    )
    at = address(given)
    misaligned = why == "same layout" and at is not None and at % XLA_ALIGNMENT
    return (
        f"aligned to {boundary(at)} of {XLA_ALIGNMENT} bytes"
        if at is not None and misaligned
        else why
    )


def asked_for(given: Any, result: Any) -> str:
    """The difference in a copy that is made in any case."""
    why = why_jax(given, result)
    return f"asked for, {why}" if why.startswith("aligned") else why


# ---- pickles and deep copies: bytes that leave an array's memory, and lose its layout ----


def _install_pickles(book: Book) -> Undo:
    """pickle.dumps and dump, the pickles of multiprocessing, and copy.deepcopy."""
    return together(
        [
            _dumps(book, pickle, "pickle.dumps"),
            put(pickle, "dump", _dump(book, pickle.dump)),
            _dumps(book, reduction.ForkingPickler, "multiprocessing"),
            _deepcopy(book),
        ]
    )


def _noted(book: Book, kind: str, why: str, nbytes: int, start: float) -> None:
    end = clock()
    if nbytes >= LEAST:
        note(book, kind, why, nbytes, end - start)
    book.events += 1
    book.own += clock() - end


def _dumps(book: Book, owner: Any, kind: str) -> Undo:
    def before(*args: Any, **kwargs: Any) -> Any:
        return clock() if book.on else None

    def after(start: float, *result: Any) -> None:
        if result:
            _noted(book, kind, "pickled", len(result[0]), start)

    if isinstance(owner, ModuleType):
        return between(owner, "dumps", before, after)
    plain = vars(owner)["dumps"].__func__
    return put(owner, "dumps", classmethod(_core.watch_stand_in(plain, before, after)))


def _dump(book: Book, plain: Any) -> Any:
    @functools.wraps(plain, updated=())
    def dump(obj: Any, file: Any, *args: Any, **kwargs: Any) -> None:
        if not book.on or not hasattr(file, "write"):
            plain(obj, file, *args, **kwargs)
            return
        counted, start = _Counted(file), clock()
        plain(obj, counted, *args, **kwargs)
        _noted(book, "pickle.dump", "pickled", counted.nbytes, start)

    return dump


class _Counted:
    """A file that counts the bytes written to it."""

    def __init__(self, file: Any) -> None:
        self.file, self.nbytes = file, 0

    def write(self, data: Any) -> Any:
        self.nbytes += memoryview(data).nbytes
        return self.file.write(data)


def _deepcopy(book: Book) -> Undo:
    def before(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not book.on or args or kwargs:  # with a memo it is a part of another
            return None
        return _core.watch_total()[1], clock()

    def after(token: Any, *result: Any) -> None:
        nbytes, start = token
        if result:
            _noted(book, "copy.deepcopy", "deep copy", _core.watch_total()[1] - nbytes, start)

    return between(copy, "deepcopy", before, after)
