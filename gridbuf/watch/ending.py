"""When the report is written: after everything of the program's has ended, its threads and its own exit handlers included."""

import atexit
import os
import signal
from collections.abc import Callable
from typing import Any

from gridbuf.watch.book import Book

SIGNALS = ("SIGTERM", "SIGHUP")  # these end a program that does nothing about them


class Ending:
    """Writes once, in the process that was started: at exit, or when a signal ends the program.

    Exit handlers run last in, first out, after all threads have ended: the program's own come before this one.
    Nothing is written where a process ends without Python's knowing, by `os._exit`, SIGKILL or a crash in C.
    """

    def __init__(self, book: Book, write: Callable[..., None]) -> None:
        self.book, self._write, self._done = book, write, False
        atexit.register(self.write)
        os.register_at_fork(after_in_parent=self._forked, after_in_child=self._in_child)
        self._before: dict[int, Any] = {}
        for name in SIGNALS:
            number = getattr(signal, name)
            if signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, self._ended)

    def cancel(self) -> None:
        """Write nothing."""
        self._done = True
        self._default_signals()

    def write(self, **how: bool) -> None:
        """The report, if this process is the one and has not written it yet."""
        if self._done or os.getpid() != self.book.process:
            return
        self._done, self.book.on = True, False
        self._write(**how)

    def _forked(self) -> None:
        if os.getpid() == self.book.process:
            self.book.children += 1

    def _in_child(self) -> None:
        self.book.on, self._done = False, True
        self._default_signals()

    def _default_signals(self) -> None:
        for number in self._before:
            if signal.getsignal(number) == self._ended:
                signal.signal(number, signal.SIG_DFL)

    def _ended(self, number: int, frame: Any) -> None:
        """The signal's own work is done afterwards, so that who waits for the process sees what ended it."""
        self.write(whole=False)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
