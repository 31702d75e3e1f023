"""Where the report goes: the table to the error stream, so that the program's own output stays its own; pages to files."""

import json as json_module
import os
import sys
from pathlib import Path
from typing import Any

from gridbuf.errors import UsageError
from gridbuf.watch import allocations, pool
from gridbuf.watch.advice import advice
from gridbuf.watch.applying import applied
from gridbuf.watch.book import Book
from gridbuf.watch.live import Live
from gridbuf.watch.page import page
from gridbuf.watch.report import report
from gridbuf.watch.table import text


class Output:
    """Files are opened for writing before the program runs, by the names they had then."""

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
        self.book, self.program, self.apply = book, program, apply
        self.json = None if json is None else _writable("--json", json)
        self.html = None if html is None else _writable("--html", html)
        self.folder = os.getcwd()
        self.live = Live(book, lambda: report(book, program, final=False)) if live else None

    def write(self, *, whole: bool = True) -> None:
        """Everything, once; with whole=False what takes no time, because a signal ends the program."""
        if self.live is not None:
            self.live.stop()
        found = self.found(whole)
        color = sys.stderr is not None and sys.stderr.isatty() and "NO_COLOR" not in os.environ
        print(f"\n{text(found, color=color)}", end="", file=sys.stderr, flush=True)
        if self.json is not None:
            self.json.write_text(json_module.dumps(found, indent=1))
        if self.html is not None:
            self.html.write_text(page(found))

    def found(self, whole: bool) -> dict[str, Any]:
        """The whole report."""
        found = report(self.book, self.program)
        if whole:
            pool.add_savings(found["allocations"], allocations.plain_handler())
        if whole and self.apply:
            found["applied"] = applied(self.program, self.folder)
        found["advice"] = advice(found)
        return found


def _writable(option: str, name: str) -> Path:
    path = Path(name).absolute()
    try:
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"{option}: {name}: {error.strerror}") from error
    return path
