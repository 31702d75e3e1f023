"""The report for a terminal: plain text, or rich's tables where rich is installed and a terminal reads."""

import io
import shutil
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from gridbuf.columns import columns
from gridbuf.explain.facts import nbytes_text
from gridbuf.watch.applying import text as applied_text

MOST = 12  # rows of a table
WIDE = 100  # columns of a sentence
FASTER = 1.05  # times: less is called no faster
Table = tuple[str, Sequence[str], list[list[str]], str]  # title, heads, rows, what is left out


def tables(found: dict[str, Any], most: int = MOST) -> list[Table]:
    """The report's tables; one without rows is left out."""
    each = [
        _table("stencil calls", ("stencil", "backend", "calls", "total", "median", "least", "measured"), _stencils(found), most),
        _table(
            "their fields", ("stencil", "field", "shape", "dtype", "order", "wanted", "aligned", "padding", "allocated by"),
            _fields(found), 3 * most,
        ),
        _table("allocations", ("line", "count", "bytes", "time", "page faults", "a pool would save", "what stands there"), _blocks(found), most),
        _table("hidden copies", ("line", "what", "why", "count", "bytes", "time"), _copies(found), most),
        _table("messages", ("line", "call", "what", "count", "bytes", "datatypes", "time", "packing, measured"), _messages(found), most),
    ]  # fmt: skip
    return [table for table in each if table[2]]


def text(found: dict[str, Any], *, width: int | None = None, color: bool = False, most: int = MOST) -> str:
    """The whole report."""
    parts = [head(found)]
    for title, heads, rows, left in tables(found, most):
        parts.append(_rich(title, heads, rows, color, width) or _plain(title, heads, rows))
        if left:
            parts[-1] = f"{parts[-1].rstrip()}\n{left}"
    if found.get("applied"):
        parts.append(applied_text(found["applied"]))
    if found.get("advice"):
        parts.append(
            "what to change\n" + "\n".join(_sentence(f"{i}. {line['text']}") for i, line in enumerate(found["advice"], 1))
        )
    if found.get("not_seen"):
        parts.append("not seen: " + "; ".join(found["not_seen"]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _sentence(text: str) -> str:
    """In lines that a terminal shows whole; words such as names of files stay whole."""
    return fill(text, WIDE, initial_indent="  ", subsequent_indent="     ", break_long_words=False, break_on_hyphens=False)


def head(found: dict[str, Any]) -> str:
    rank = found.get("rank")
    who = f", rank {rank[0]} of {rank[1]}" if rank and rank[1] > 1 else ""
    lines = [f"gridbuf watch: {' '.join(found['program'])}{who}: {seconds(found['seconds'])}"]
    own = found.get("own")
    if own:
        lines.append(
            f"watching cost {own['part']:.1%} of that: {seconds(own['seconds'])} ({own['calls']:,} calls, a stencil's "
            f"{seconds(own['seconds_each_call'])}; {own['blocks']:,} blocks of {seconds(own['seconds_each_block'])})"
        )
    if found.get("children"):
        lines.append(f"{found['children']} forked children ran without being watched")
    return "\n".join(lines)


def _table(title: str, heads: Sequence[str], rows: list[list[str]], most: int) -> Table:
    left = f"... and {len(rows) - most} more (--json has all)" if len(rows) > most else ""
    return title, heads, rows[:most], left


def seconds(s: float) -> str:
    """Seconds with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(s) * scale >= 1:
            return f"{s * scale:.3g} {unit}" if abs(s) * scale < 1000 else f"{s * scale:,.0f} {unit}"
    return f"{s * 1e9:.0f} ns" if s else "0"


def _stencils(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for s in found["stencils"]:
        said = _measured(s["measured"] or {})
        rows.append(
            [s["name"], s["backend"], f"{s['calls']:,}", seconds(s["seconds"]), seconds(s["median"]), seconds(s["least"]), said]
        )
    return rows


def _measured(measured: dict[str, Any]) -> str:
    ratio = measured.get("ratio")
    if ratio is None:
        return str(measured.get("why", ""))
    return f"{ratio:.2f} times faster relaid" if ratio >= FASTER else f"no faster relaid ({ratio:.2f})"


def _fields(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for s in found["stencils"]:
        for f in s["fields"]:
            aligned = "?" if f["aligned"] is None else f"{f['aligned']} B"
            if f["aligned"] is not None and f["aligned"] < f["wants_aligned"]:
                aligned += f" of {f['wants_aligned']}"
            dtype = f["dtype"] if "wants_dtype" not in f else f"{f['dtype']} to {f['wants_dtype']}"
            wanted = "" if f["order"] == f["wanted"] else f["wanted"]
            made = ", ".join(line["text"] for line in f["made_by"][:3]) or "?"
            made += ", ..." if len(f["made_by"]) > 3 else ""
            rows.append(
                [
                    s["name"],
                    f["name"],
                    " x ".join(map(str, f["shape"])),
                    dtype,
                    f["order"],
                    wanted,
                    aligned,
                    f"{f['padding']:.1%}",
                    made,
                ]
            )
    return rows


def _blocks(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for a in found["allocations"]:
        pool = a.get("pool")
        saved = (
            ""
            if pool is None
            else "nothing"
            if pool["ratio"] < FASTER
            else f"{seconds(pool['saved'])} ({pool['ratio']:.1f} times faster)"
        )
        faults = f"{a['page_faults']:,}" if not a["own"] else "gridbuf's"
        rows.append(
            [
                a["line"]["text"],
                f"{a['count']:,}",
                nbytes_text(a["bytes"]),
                seconds(a["seconds"]),
                faults,
                saved,
                _short(a["line"]["source"]),
            ]
        )
    return rows


def _copies(found: dict[str, Any]) -> list[list[str]]:
    return [
        [
            c["line"]["text"],
            c["kind"],
            c["why"],
            f"{c['count']:,}",
            nbytes_text(c["bytes"]),
            "?" if c["seconds"] is None else seconds(c["seconds"]),
        ]
        for c in found["copies"]
    ]


def _messages(found: dict[str, Any]) -> list[list[str]]:
    return [
        [m["line"]["text"], m["call"], m["what"], f"{m['count']:,}", nbytes_text(m["bytes"]), ", ".join(m["datatypes"]), seconds(m["seconds"]),
         _packing(m["packing"])]
        for m in found["messages"]
    ]  # fmt: skip


def _packing(packing: dict[str, Any] | None) -> str:
    if packing is None:
        return ""
    copied = packing["copyto"]
    said = (
        ""
        if copied is None
        else f"; copyto {copied['ratio']:.1f} times faster"
        if copied["ratio"] >= FASTER
        else "; copyto no faster"
    )
    why = f" ({packing['why']})" if packing["why"] else ""
    return f"{seconds(packing['seconds'])}{said}{why}"


def _short(source: str) -> str:
    return source if len(source) <= 48 else source[:45] + "..."


def _plain(title: str, heads: Sequence[str], rows: list[list[str]]) -> str:
    return "\n  ".join([title, *columns([heads, *rows])])


def _rich(title: str, heads: Sequence[str], rows: list[list[str]], color: bool, width: int | None) -> str | None:
    """With rich, for a terminal; None without it, or where a file reads."""
    if not color:
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=width or shutil.get_terminal_size((130, 24)).columns).print(
        _grid(title, heads, rows)
    )
    return out.getvalue()


def grids(found: dict[str, Any], *, most: int = MOST) -> Any:
    """The tables as one thing that rich can print."""
    from rich.console import Group

    return Group(head(found), *(_grid(title, heads, rows) for title, heads, rows, _ in tables(found, most)))


def _grid(title: str, heads: Sequence[str], rows: list[list[str]]) -> Any:
    from rich.markup import escape
    from rich.table import Table as RichTable

    grid = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold")
    for name in heads:
        grid.add_column(name, overflow="fold")
    for row in rows:
        grid.add_row(*map(escape, row))
    return grid
