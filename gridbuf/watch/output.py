"""The report's ways out: the error stream, files, --live while the program runs; and the moment,
after all that the program does.
"""

import atexit
import json as json_module
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import thread_time
from typing import Any

from gridbuf.commands import UsageError
from gridbuf.machine import JOB_VARIABLES
from gridbuf.watch import allocations, benchmark, ranks
from gridbuf.watch.recommendations import advice
from gridbuf.watch.records import Book
from gridbuf.watch.report import report
from gridbuf.watch.table import grids, page, seconds, text

# ---- the error stream ----


class Errors:
    """The error stream that the process began with; without one the report is dropped."""

    def __init__(self) -> None:
        self.stream = sys.stderr

    def say(self, words: str) -> None:
        """Write to it, or where it is closed to the one that the program has instead."""
        for stream in (self.stream, *([] if sys.stderr is self.stream else [sys.stderr])):
            with suppress(Exception):
                _write(stream, words)
                return

    def is_terminal(self) -> bool:
        """Whether it is a terminal."""
        return is_terminal(self.stream)

    def is_colored(self) -> bool:
        """Whether to write in color."""
        return self.is_terminal() and "NO_COLOR" not in os.environ


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; None, a closed stream and one of the program's making are
    not.
    """
    try:
        return bool(stream.isatty())
    except Exception:
        return False


def _write(stream: Any, words: str) -> None:
    """Write past the stream's buffer: Python flushes that at exit, and has a status of its own
    where the reader is gone.
    """
    stream.flush()
    try:
        number = stream.fileno()
    except OSError:  # memory
        stream.write(words)
        return
    with open(
        number, "w", encoding=stream.encoding, errors="backslashreplace", closefd=False
    ) as file:
        file.write(words)


# ---- at the end ----

SIGNALS = ("SIGTERM", "SIGHUP")  # end a program that does not handle them


class AtExit:
    """Writes once, in the process that was started: at exit, or when a signal ends the program.

    Exit handlers run last in, first out, after all threads have ended: the program's own come
    before this one. Nothing is written where a process ends without Python's knowing, by
    `os._exit`, SIGKILL or a crash in C.
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
        """Do the signal's own work afterwards, so that the parent process sees the signal."""
        self.write(whole=False)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


# ---- while the program runs ----

EVERY = 2.0  # seconds


class Live:
    """A thread that shows `found()` until it is stopped; it is a daemon, and ends with the
    process.
    """

    def __init__(self, book: Book, found: Callable[[], dict[str, Any]], errors: Errors) -> None:
        self.book, self.found, self.errors = book, found, errors
        self._stop = threading.Event()
        self._shown: Any = self._terminal()
        self._thread = threading.Thread(target=self._run, name="gridbuf watch --live", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Show no more, and clear the last tables from the terminal."""
        self._stop.set()
        self._thread.join(timeout=EVERY)
        if self._shown is not None:
            self._shown.stop()

    def _terminal(self) -> Any:
        """The part of the terminal that rich writes again and again; None without rich or a
        terminal.

        Output of the program to the same terminal goes above it, by rich; its other output does not
        pass through rich.
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
        live = RichLive(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=is_terminal(sys.stdout),
        )
        live.start()
        self._proxies = sys.stdout, sys.stderr
        os.register_at_fork(after_in_child=lambda: self._without_us(streams))
        return live

    def _without_us(self, streams: Any) -> None:
        """Give a forked child its streams back: it has no thread that shows, and the locks of that
        stay taken.
        """
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
            except Exception:  # counts change meanwhile: the next time they will be there
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
        most = (
            ""
            if slowest is None
            else f"; most time in {slowest['name']}: {seconds(slowest['seconds'])}"
        )
        self.errors.say(
            f"gridbuf watch: {found['seconds']:.0f} s: {calls:,} stencil calls, {blocks:,} blocks,"
            f" {copied:,} hidden copies{most}\n"
        )


# ---- all of it ----


class Output:
    """Files are opened for writing before the program runs, by the names they had then; so is the
    error stream known from then.
    """

    def __init__(
        self,
        book: Book,
        program: list[str],
        *,
        json: str | None = None,
        html: str | None = None,
        live: bool = False,
        apply: bool = False,
    ) -> None:
        self.book, self.program, self.apply, self.errors = book, program, apply, Errors()
        self.json = None if json is None else _writable("--json", json)
        self.html = None if html is None else _writable("--html", html)
        self.folder, self.environment = os.getcwd(), dict(os.environ)
        self.status: Any = None  # the program's, as `sys.exit` takes it
        self.returned = False  # whether the program has ended by itself, with this status
        self.live = (
            Live(book, lambda: report(book, program, final=False), self.errors) if live else None
        )

    def write(self, *, whole: bool = True) -> None:
        """Everything, once; with whole=False nothing that takes time, because a signal ends the
        program. One failure leaves the rest.
        """
        if self.live is not None:
            self.live.stop()
        try:
            found = self.found(whole)
        except Exception:
            self._failed("the report")
            return
        try:
            whole_job = self._of_all_ranks(found) if whole else found
        except Exception:
            self._failed("the report for all ranks")
            whole_job = found
        if whole_job is not None and "ranks" in whole_job:
            found["ranks"] = whole_job["ranks"]
        self._each(
            "--json", lambda: self._write(self.json, lambda: json_module.dumps(found, indent=1))
        )
        if whole_job is not None:
            self._each(
                "the table",
                lambda: self.errors.say(f"\n{text(whole_job, color=self.errors.is_colored())}"),
            )
        self._each("--html", lambda: self._write(self.html, lambda: page(whole_job or found)))

    def _of_all_ranks(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """On rank 0 the report for all; None where rank 0 has this rank's. A rank that has failed
        does not wait: the launcher ends the others.
        """
        rank = self.book.rank
        if rank is None or rank[1] == 1 or not self.returned or self.status:
            return found
        came = ranks.gather(found)
        if came is None:
            return found
        return ranks.together(came, rank[1]) if came else None

    def _each(self, what: str, write: Callable[[], Any]) -> None:
        try:
            write()
        except Exception:
            self._failed(what)

    def _failed(self, what: str) -> None:
        self.errors.say(f"gridbuf watch: {what} failed:\n{traceback.format_exc()}")

    def found(self, whole: bool) -> dict[str, Any]:
        """The whole report; Ctrl-C ends the measurements for it, and nothing else."""
        found = report(self.book, self.program)
        try:
            if whole:
                benchmark.add_savings(found["allocations"], allocations.plain_handler())
            if whole and self.apply:
                found["applied"] = self._applied()
        except KeyboardInterrupt:
            found["not_seen"].append("the measurements at the end: interrupted")
        found["advice"] = advice(found)
        return found

    def _applied(self) -> dict[str, Any]:
        rank, environment = self.book.rank, self.environment
        if rank is not None and rank[1] > 1:
            return {
                "why": (
                    f"--apply is for one process, and these are {rank[1]}: compare mpirun with and"
                    " without `python -m gridbuf run`"
                )
            }
        if rank is not None:  # a child would join mpirun's job
            environment = {
                name: value
                for name, value in environment.items()
                if not name.startswith(JOB_VARIABLES)
            }
        return benchmark.applied(self.program, self.folder, environment, self.status)

    def _write(self, path: Path | None, made: Callable[[], str]) -> None:
        """Ranks but the first write beside it: each has its own report."""
        if path is None:
            return
        if self.book.rank is not None and self.book.rank[0]:
            path = path.with_name(f"{path.stem}.{self.book.rank[0]}{path.suffix}")
        path.write_text(made(), encoding="utf-8", errors="backslashreplace")


def _writable(option: str, name: str) -> Path:
    path = Path(name).absolute()
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"{option}: {name}: {error.strerror}") from error
    return path
