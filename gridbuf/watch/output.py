"""Where the report goes: the table to the error stream, so that the program's own output stays its own; pages to files."""

import json as json_module
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridbuf.errors import UsageError
from gridbuf.mpirun import OF_A_JOB
from gridbuf.watch import allocations, pool
from gridbuf.watch.advice import advice
from gridbuf.watch.applying import applied
from gridbuf.watch.book import Book
from gridbuf.watch.live import Live
from gridbuf.watch.page import page
from gridbuf.watch.report import report
from gridbuf.watch.streams import Errors
from gridbuf.watch.table import text


class Output:
    """Files are opened for writing before the program runs, by the names they had then; so is the error stream known from then."""

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
        self.live = Live(book, lambda: report(book, program, final=False), self.errors) if live else None

    def write(self, *, whole: bool = True) -> None:
        """Everything, once; with whole=False what takes no time, because a signal ends the program. What fails leaves the others be."""
        if self.live is not None:
            self.live.stop()
        try:
            found = self.found(whole)
        except Exception:
            self._failed("the report")
            return
        self._each("the table", lambda: self.errors.say(f"\n{text(found, color=self.errors.is_colored())}"))
        self._each("--json", lambda: self._write(self.json, lambda: json_module.dumps(found, indent=1)))
        self._each("--html", lambda: self._write(self.html, lambda: page(found)))

    def _each(self, what: str, write: Callable[[], Any]) -> None:
        try:
            write()
        except Exception:
            self._failed(what)

    def _failed(self, what: str) -> None:
        self.errors.say(f"gridbuf watch: {what} failed:\n{traceback.format_exc()}")

    def found(self, whole: bool) -> dict[str, Any]:
        """The whole report; Ctrl-C ends what is measured for it, and nothing else."""
        found = report(self.book, self.program)
        try:
            if whole:
                pool.add_savings(found["allocations"], allocations.plain_handler())
            if whole and self.apply:
                found["applied"] = self._applied()
        except KeyboardInterrupt:
            found["not_seen"].append("what is measured at the end: interrupted")
        found["advice"] = advice(found)
        return found

    def _applied(self) -> dict[str, Any]:
        rank, environment = self.book.rank, self.environment
        if rank is not None and rank[1] > 1:
            return {
                "why": f"--apply is for one process, and these are {rank[1]}: mpirun with `python -m gridbuf run`, and without, tells"
            }
        if rank is not None:  # a child would join mpirun's job
            environment = {name: value for name, value in environment.items() if not name.startswith(OF_A_JOB)}
        return applied(self.program, self.folder, environment, self.status)

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
