"""Pickles and deep copies: bytes that leave an array's memory, and lose its layout."""

import copy
import functools
import pickle
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any

from gridbuf import _core
from gridbuf.watch.book import Book, clock
from gridbuf.watch.copies import LEAST
from gridbuf.watch.lines import here


def install(book: Book) -> Callable[[], None]:
    """Watch pickle.dumps and dump, what multiprocessing sends, and copy.deepcopy."""

    def dumped(plain: Any, kind: str) -> Any:
        @functools.wraps(plain, updated=())
        def watched(*args: Any, **kwargs: Any) -> Any:
            if not book.on:
                return plain(*args, **kwargs)
            start = clock()
            result = plain(*args, **kwargs)
            end = clock()
            nbytes = len(result)
            if nbytes >= LEAST:
                book.copy(kind, "pickled", here(2), nbytes, end - start)
            book.events += 1
            book.own += clock() - end
            return result

        return watched

    def dump(obj: Any, file: Any, *args: Any, **kwargs: Any) -> None:
        counted = _Counted(file)
        if not book.on:
            return plain_dump(obj, file, *args, **kwargs)
        start = clock()
        plain_dump(obj, counted, *args, **kwargs)
        if counted.nbytes >= LEAST:
            book.copy("pickle.dump", "pickled", here(2), counted.nbytes, clock() - start)
        book.events += 1
        return None

    def deepcopy(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not book.on or args or kwargs:  # with a memo it is a part of another
            return plain_deepcopy(x, *args, **kwargs)
        before = _core.watch_total()[1]
        start = clock()
        result = plain_deepcopy(x)
        nbytes = _core.watch_total()[1] - before
        if nbytes >= LEAST:
            book.copy("copy.deepcopy", "deep copy", here(2), nbytes, clock() - start)
        book.events += 1
        return result

    plain_dumps, plain_dump, plain_deepcopy = pickle.dumps, pickle.dump, copy.deepcopy
    plain_forking = vars(reduction.ForkingPickler)["dumps"]
    pickle.dumps = dumped(plain_dumps, "pickle.dumps")
    pickle.dump = functools.wraps(plain_dump, updated=())(dump)
    copy.deepcopy = functools.wraps(plain_deepcopy)(deepcopy)
    forking = dumped(plain_forking.__func__, "multiprocessing")
    reduction.ForkingPickler.dumps = classmethod(forking)  # type: ignore[assignment]
    ours = (pickle.dumps, pickle.dump, copy.deepcopy)

    def uninstall() -> None:
        if pickle.dumps is ours[0]:
            pickle.dumps = plain_dumps
        if pickle.dump is ours[1]:
            pickle.dump = plain_dump
        if copy.deepcopy is ours[2]:
            copy.deepcopy = plain_deepcopy
        reduction.ForkingPickler.dumps = plain_forking  # type: ignore[method-assign]

    return uninstall


class _Counted:
    """A file that counts what is written to it."""

    def __init__(self, file: Any) -> None:
        self.file, self.nbytes = file, 0

    def write(self, data: Any) -> Any:
        self.nbytes += memoryview(data).nbytes
        return self.file.write(data)
