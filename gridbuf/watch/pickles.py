"""Pickles and deep copies: bytes that leave an array's memory, and lose its layout."""

import copy
import functools
import pickle
from multiprocessing import reduction
from typing import Any

from gridbuf import _core
from gridbuf.watch.book import Book, clock
from gridbuf.watch.copies import LEAST
from gridbuf.watch.imports import Undo, put, together
from gridbuf.watch.lines import here


def install(book: Book) -> Undo:
    """Watch pickle.dumps and dump, what multiprocessing sends, and copy.deepcopy."""
    forking: Any = vars(reduction.ForkingPickler)["dumps"]
    return together(
        [
            put(pickle, "dumps", _dumps(book, pickle.dumps, "pickle.dumps")),
            put(pickle, "dump", _dump(book, pickle.dump)),
            put(reduction.ForkingPickler, "dumps", classmethod(_dumps(book, forking.__func__, "multiprocessing"))),
            put(copy, "deepcopy", _deepcopy(book, copy.deepcopy)),
        ]
    )


def _dumps(book: Book, plain: Any, kind: str) -> Any:
    @functools.wraps(plain, updated=())
    def dumps(*args: Any, **kwargs: Any) -> Any:
        if not book.on:
            return plain(*args, **kwargs)
        start = clock()
        result = plain(*args, **kwargs)
        _note(book, kind, "pickled", len(result), start)
        return result

    return dumps


def _dump(book: Book, plain: Any) -> Any:
    @functools.wraps(plain, updated=())
    def dump(obj: Any, file: Any, *args: Any, **kwargs: Any) -> None:
        if not book.on or not hasattr(file, "write"):
            plain(obj, file, *args, **kwargs)
            return
        counted, start = _Counted(file), clock()
        plain(obj, counted, *args, **kwargs)
        _note(book, "pickle.dump", "pickled", counted.nbytes, start)

    return dump


def _deepcopy(book: Book, plain: Any) -> Any:
    @functools.wraps(plain)
    def deepcopy(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not book.on or args or kwargs:  # with a memo it is a part of another
            return plain(x, *args, **kwargs)
        before, start = _core.watch_total()[1], clock()
        result = plain(x)
        _note(book, "copy.deepcopy", "deep copy", _core.watch_total()[1] - before, start)
        return result

    return deepcopy


def _note(book: Book, kind: str, why: str, nbytes: int, start: float) -> None:
    end = clock()
    if nbytes >= LEAST:
        book.copy(kind, why, here(3)).add(nbytes, end - start)
    book.events += 1
    book.own += clock() - end


class _Counted:
    """A file that counts what is written to it."""

    def __init__(self, file: Any) -> None:
        self.file, self.nbytes = file, 0

    def write(self, data: Any) -> Any:
        self.nbytes += memoryview(data).nbytes
        return self.file.write(data)
