"""--live: the tables while the program runs, every two seconds: on a terminal in place, elsewhere one line each time."""

import os
import sys
import threading
from collections.abc import Callable
from time import thread_time
from typing import Any

from gridbuf.watch.book import Book
from gridbuf.watch.streams import Errors, is_terminal
from gridbuf.watch.table import grids, seconds

EVERY = 2.0  # seconds


class Live:
    """A thread that shows `found()` until it is stopped; it ends with the process, and nobody waits for it."""

    def __init__(self, book: Book, found: Callable[[], dict[str, Any]], errors: Errors) -> None:
        self.book, self.found, self.errors = book, found, errors
        self._stop = threading.Event()
        self._shown: Any = self._terminal()
        self._thread = threading.Thread(target=self._run, name="gridbuf watch --live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Show no more; what was shown last goes from the terminal."""
        self._stop.set()
        self._thread.join(timeout=EVERY)
        if self._shown is not None:
            self._shown.stop()

    def _terminal(self) -> Any:
        """rich's place on the terminal that is written to again and again; None where there is none.

        What the program writes to the same terminal goes above it, by rich; what it writes elsewhere is none of rich's business.
        """
        if not self.errors.is_terminal():
            return None
        try:
            from rich.console import Console
            from rich.live import Live as RichLive
        except ImportError:
            return None
        streams = sys.stdout, sys.stderr
        console = Console(file=self.errors.stream)
        live = RichLive(console=console, auto_refresh=False, transient=True, redirect_stdout=is_terminal(sys.stdout))
        live.start()
        self._proxies = sys.stdout, sys.stderr
        os.register_at_fork(after_in_child=lambda: self._without_us(streams))
        return live

    def _without_us(self, streams: Any) -> None:
        """A forked child has no thread that shows, and what that held is held for ever."""
        for name, ours, before in zip(("stdout", "stderr"), self._proxies, streams, strict=True):
            if getattr(sys, name) is ours:
                setattr(sys, name, before)

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            if not self.book.on:
                continue
            began = thread_time()
            try:
                self._show()
            except Exception:  # what is counted changes meanwhile: the next time it will be there
                continue
            finally:
                self.book.own += thread_time() - began

    def _show(self) -> None:
        found = self.found()
        if self._shown is not None:
            self._shown.update(grids(found, most=6), refresh=True)
            return
        calls = sum(s["calls"] for s in found["stencils"])
        blocks = sum(a["count"] for a in found["allocations"])
        copied = sum(c["count"] for c in found["copies"])
        slowest = max(found["stencils"], key=lambda s: s["seconds"], default=None)
        most = "" if slowest is None else f"; most time in {slowest['name']}: {seconds(slowest['seconds'])}"
        self.errors.say(
            f"gridbuf watch: {found['seconds']:.0f} s: {calls:,} stencil calls, {blocks:,} blocks, {copied:,} hidden copies{most}\n"
        )
