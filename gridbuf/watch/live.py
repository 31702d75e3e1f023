"""--live: the tables while the program runs, every two seconds: on a terminal in place, elsewhere one line each time."""

import sys
import threading
from collections.abc import Callable
from time import thread_time
from typing import Any

from gridbuf.watch.book import Book
from gridbuf.watch.table import grids, seconds

EVERY = 2.0  # seconds


class Live:
    """A thread that shows `found()` until it is stopped; it ends with the process, and nobody waits for it."""

    def __init__(self, book: Book, found: Callable[[], dict[str, Any]], every: float = EVERY) -> None:
        self.book, self.found, self.every = book, found, every
        self._stop = threading.Event()
        self._shown: Any = self._terminal()
        self._thread = threading.Thread(target=self._run, name="gridbuf watch --live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Show no more; what was shown last goes from the terminal."""
        self._stop.set()
        self._thread.join(timeout=self.every)
        if self._shown is not None:
            self._shown.stop()

    def _terminal(self) -> Any:
        """rich's place on the terminal that is written to again and again; None where there is none."""
        if not sys.stderr.isatty():
            return None
        try:
            from rich.console import Console
            from rich.live import Live as RichLive
        except ImportError:
            return None
        live = RichLive(console=Console(stderr=True), auto_refresh=False, transient=True)
        live.start()
        return live

    def _run(self) -> None:
        while not self._stop.wait(self.every):
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
        calls, blocks = sum(s["calls"] for s in found["stencils"]), sum(a["count"] for a in found["allocations"])
        copied, slowest = (
            sum(c["count"] for c in found["copies"]),
            max(found["stencils"], key=lambda s: s["seconds"], default=None),
        )
        most = "" if slowest is None else f"; most time in {slowest['name']}: {seconds(slowest['seconds'])}"
        print(
            f"gridbuf watch: {found['seconds']:.0f} s: {calls:,} stencil calls, {blocks:,} blocks, {copied:,} hidden copies{most}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
