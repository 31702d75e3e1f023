"""The report in words: tables for a terminal, by rich where it is installed, and one page of HTML
with pictures.
"""

import io
import shutil
from collections.abc import Sequence
from html import escape
from statistics import mean
from textwrap import fill
from typing import Any

from gridbuf import _core
from gridbuf.common import columns
from gridbuf.explain import nbytes_text
from gridbuf.explain.picture import svg
from gridbuf.watch.ranks import awaited, imbalance

MOST = 12  # rows of a table
WIDE = 100  # columns of a sentence
FASTER = 1.05  # times: less is called no faster
SHORT = 0.02  # seconds: no ratio is told of less
# Title, heads, rows, and a line about rows left out
Table = tuple[str, Sequence[str], list[list[str]], str]


def tables(found: dict[str, Any], most: int = MOST) -> list[Table]:
    """The report's tables; one without rows is left out."""
    each = [
        _table("all ranks", ("", "least", "mean", "most", "imbalance"), _ranks(found), most),
        _table("waits between ranks",
        ("line", "call", "what", "least", "mean", "most", "they wait for"), _waits(found), most),
        _table("stencil calls",
        ("stencil", "backend", "calls", "total", "median", "least", "measured"), _stencils(found),
        most),
        _table(
            "their fields",
            ("stencil", "field", "shape", "dtype", "order", "wanted", "aligned", "padding",
            "allocated by"),
            _fields(found), 3 * most,
        ),
        _table("allocations",
        ("line", "count", "bytes", "time", "page faults", "a pool would save", "what stands there"),
        _blocks(found), most),
        _table("hidden copies", ("line", "what", "why", "count", "bytes", "time"), _copies(found),
        most),
        _table("messages",
        ("line", "call", "what", "count", "bytes", "datatypes", "time", "packing, measured"),
        _messages(found), most),
    ]  # fmt: skip
    return [table for table in each if table[2]]


def text(
    found: dict[str, Any], *, width: int | None = None, color: bool = False, most: int = MOST
) -> str:
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
            "what to change\n"
            + "\n".join(
                _sentence(f"{i}. {line['text']}") for i, line in enumerate(found["advice"], 1)
            )
        )
    if found.get("not_seen"):
        parts.append("not seen: " + "; ".join(found["not_seen"]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _sentence(text: str) -> str:
    """In lines that a terminal shows whole; words such as names of files stay whole."""
    return fill(
        text,
        WIDE,
        initial_indent="  ",
        subsequent_indent="     ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def head(found: dict[str, Any]) -> str:
    """Program, duration, and the cost of watching."""
    rank = found.get("rank")
    who = f", rank {rank[0]} of {rank[1]}" if rank and rank[1] > 1 else ""
    lines = [f"gridbuf watch: {' '.join(found['program'])}{who}: {seconds(found['seconds'])}"]
    if found.get("ranks"):
        lines += _of_all(found["ranks"])
    own = found.get("own")
    if own:
        lines.append(
            f"watching cost {own['part']:.1%} of that: {seconds(own['seconds'])} ({own['calls']:,}"
            f" calls, a stencil's {seconds(own['seconds_each_call'])}; {own['blocks']:,} blocks of"
            f" {seconds(own['seconds_each_block'])})"
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
            return (
                f"{s * scale:.3g} {unit}" if abs(s) * scale < 1000 else f"{s * scale:,.0f} {unit}"
            )
    return f"{s * 1e9:.0f} ns" if s else "0"


def _of_all(ranks: dict[str, Any]) -> list[str]:
    """Which rank computes longest, and which have not come."""
    computing, slowest = ranks["computing"], ranks["slowest"]
    more = imbalance(computing)
    lines = [
        f"rank {slowest} computes longest, {seconds(max(computing))}, {more:.0%} above the mean of"
        f" {len(computing)} ranks: what follows the first two tables is its report"
    ]
    missing = sorted(set(range(ranks["size"])) - set(ranks["came"]))
    if missing:
        lines.append(f"no report came from {len(missing)} ranks: {', '.join(map(str, missing))}")
    return lines


def _ranks(found: dict[str, Any]) -> list[list[str]]:
    ranks = found.get("ranks") or {}
    words = {
        "computing": ("computing", seconds),
        "messages": ("in messages", seconds),
        "stencils": ("stencil calls", seconds),
        "copies": ("hidden copies", seconds),
        "page_faults": ("page faults", "{:,.0f}".format),
    }
    return [
        [said, *_least_mean_most(ranks[key], ranks["came"], write), f"{imbalance(ranks[key]):.0%}"]
        for key, (said, write) in words.items()
        if any(ranks.get(key, ()))
    ]


def _least_mean_most(values: list[float], ranks: list[int], write: Any) -> list[str]:
    least, most = min(values), max(values)
    return [
        f"{write(least)} (rank {ranks[values.index(least)]})",
        write(mean(values)),
        f"{write(most)} (rank {ranks[values.index(most)]})",
    ]


def _waits(found: dict[str, Any]) -> list[list[str]]:
    ranks = found.get("ranks") or {"lines": []}
    rows = []
    for line in ranks["lines"]:
        rank = awaited(line, ranks["came"])
        times = _least_mean_most(line["seconds"], ranks["came"], seconds)
        rows.append(
            [
                line["line"],
                line["call"],
                line["what"],
                *times,
                "" if rank is None else f"rank {rank}",
            ]
        )
    return rows


def _stencils(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for s in found["stencils"]:
        said = _measured(s["measured"] or {})
        name = s["name"]
        if s["kind"] == "gridbuf fused":
            name = " ".join((name, *(line["text"] for line in s["called_by"][:1])))
            kept = f"{nbytes_text(s['saved'])} of temporaries kept from memory"
            said = f"{kept}; {said}" if said else kept
        rows.append(
            [
                name,
                s["backend"],
                f"{s['calls']:,}",
                seconds(s["seconds"]),
                seconds(s["median"]),
                seconds(s["least"]),
                said,
            ]
        )
    return rows


def _measured(measured: dict[str, Any]) -> str:
    ratio = measured.get("ratio")
    if ratio is None:
        return str(measured.get("why", ""))
    said = (
        f"{ratio:.2f} times as fast relaid"
        if ratio >= FASTER
        else f"no faster relaid ({ratio:.2f})"
    )
    return f"{said}, {spread_text(measured)}" if "low" in measured else said


def spread_text(measured: dict[str, Any]) -> str:
    """The middle half of the rounds' ratios, and whether to trust them."""
    noisy = ": a noisy machine" if measured["noisy"] else ""
    return f"{measured['low']:.2f} to {measured['high']:.2f} in {measured['rounds']} rounds{noisy}"


def applied_text(applied: dict[str, Any]) -> str:
    """--apply in a paragraph: the ratio outside of imports, how far to trust it, and the rest that
    the processes show.
    """
    if "why" in applied:
        return str(applied["why"])
    command = f"`gridbuf run --install {applied['installed']}`"
    wrong = []
    before, after = applied["status"]
    if before != after:
        wrong.append(f"they end with {after} and {before}")
    if not applied["same_output"]:
        wrong.append(_differs(applied["differs"]))
    faults, fewer = applied["page_faults"]
    facts = [
        f"{seconds(applied['installed_cpu'])} of processor time against {seconds(applied['cpu'])}",
        f"{fewer:,} page faults against {faults:,}",
        *wrong,
    ]
    if applied["seconds"] < SHORT:
        begin = (
            f"{command}: the program takes {seconds(applied['seconds'])} outside of imports, too"
            " short for a ratio"
        )
    else:
        begin = (
            f"{applied['ratio']:.2f} times as fast with {command}, {spread_text(applied)}: "
            f"{seconds(applied['installed_seconds'])} against {seconds(applied['seconds'])}, "
            f"without {seconds(applied['importing'])} of imports, the least of {applied['rounds']}"
        )
    return "; ".join([begin, *facts])


def _differs(lines: list[Any] | None) -> str:
    if lines is None:
        return "their outputs differ in how lines end"
    number, *both = lines
    one, other = ("no line" if each is None else repr(_short(each)) for each in both)
    return f"their outputs differ, first in line {number}: {one} and {other}"


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
            else (
                "nothing"
                if pool["ratio"] < FASTER
                else f"{'about ' if pool.get('estimated') else ''}{seconds(pool['saved'])}"
            )
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
        [m["line"]["text"], m["call"], m["what"], f"{m['count']:,}", nbytes_text(m["bytes"]),
        ", ".join(m["datatypes"]), seconds(m["seconds"]),
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
        else (
            f"; copyto {copied['ratio']:.1f} times as fast"
            if copied["ratio"] >= FASTER
            else "; copyto no faster"
        )
    )
    why = f" ({packing['why']})" if packing["why"] else ""
    return f"{seconds(packing['seconds'])}{said}{why}"


def _short(source: str) -> str:
    return source if len(source) <= 48 else source[:45] + "..."


def _plain(title: str, heads: Sequence[str], rows: list[list[str]]) -> str:
    return "\n  ".join([title, *columns([heads, *rows])])


def _rich(
    title: str, heads: Sequence[str], rows: list[list[str]], color: bool, width: int | None
) -> str | None:
    """With rich, for a terminal; None without it, or where a file reads."""
    if not color:
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    out = io.StringIO()
    Console(
        file=out, force_terminal=True, width=width or shutil.get_terminal_size((130, 24)).columns
    ).print(_grid(title, heads, rows))
    return out.getvalue()


def grids(found: dict[str, Any], *, most: int = MOST) -> Any:
    """The tables as one thing that rich can print."""
    from rich.console import Group

    return Group(
        head(found), *(_grid(title, heads, rows) for title, heads, rows, _ in tables(found, most))
    )


def _grid(title: str, heads: Sequence[str], rows: list[list[str]]) -> Any:
    from rich.markup import escape
    from rich.table import Table as RichTable

    grid = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold")
    for name in heads:
        grid.add_column(name, overflow="fold")
    for row in rows:
        grid.add_row(*map(escape, row))
    return grid


# ---- one page of HTML: time, and how fields lie and should ----

PAGE_MOST = 40  # rows of a table
PICTURES = 12

STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1100px;padding:0
1em;color:#222;background:#fff} h1{font-size:1.3em}h2{font-size:1.05em;margin:1.8em 0 .4em}
table{border-collapse:collapse;font-size:12.5px}th,td{text-align:left;padding:3px 10px 3px
0;border-bottom:1px solid #ddd;vertical-align:top}
td:first-child{font-family:ui-monospace,monospace}pre{white-space:pre-wrap}
.pair{display:flex;gap:1.5em;flex-wrap:wrap;margin:.6em 0 1.6em}.pair>div{flex:1 1
420px;max-width:520px}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}th,td{border-color:#444}}
"""


def page(found: dict[str, Any]) -> str:
    """A page that needs nothing else."""
    title = f"gridbuf watch: {' '.join(found['program'])}"
    parts = [f"<h1>{escape(title)}</h1>", f"<pre>{escape(head(found))}</pre>"]
    if found.get("applied"):
        parts.append(f"<p>{escape(applied_text(found['applied']))}</p>")
    if found.get("advice"):
        parts.append(
            "<h2>what to change</h2><ol>"
            + "".join(f"<li>{escape(a['text'])}</li>" for a in found["advice"])
            + "</ol>"
        )
    parts += [
        _bars(
            "time in stencils",
            [(f"{s['name']} ({s['backend']})", s["seconds"]) for s in found["stencils"]],
            seconds,
        )
    ]
    parts += [
        _bars(
            "bytes allocated",
            [(a["line"]["text"], a["bytes"]) for a in found["allocations"]],
            nbytes_text,
        )
    ]
    parts += [
        _bars(
            "bytes copied unasked",
            [(f"{c['line']['text']} {c['kind']}", c["bytes"]) for c in found["copies"]],
            nbytes_text,
        )
    ]
    pictures = _pictures(found)
    if pictures:
        parts.append(
            "<h2>fields that lie otherwise than their backend wants</h2>" + "".join(pictures)
        )
    parts += [_html_table(*table) for table in tables(found, PAGE_MOST)]
    if found.get("not_seen"):
        parts.append(
            "<h2>not seen</h2><ul>"
            + "".join(f"<li>{escape(each)}</li>" for each in found["not_seen"])
            + "</ul>"
        )
    return (
        '<!doctype html><html lang="en"><meta'
        f' charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _html_table(title: str, heads: Sequence[str], rows: list[list[str]], left: str) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    more = f"<p>{escape(left)}</p>" if left else ""
    return (
        f"<h2>{escape(title)}</h2>"
        f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def _bars(title: str, values: list[tuple[str, float]], words: Any) -> str:
    """A bar for each, the longest first."""
    values = sorted(values, key=lambda each: -each[1])[:12]
    largest = values[0][1] if values else 0.0
    if largest <= 0:
        return ""
    rows = []
    for i, (name, value) in enumerate(values):
        y, width = 22 * i, 380 * value / largest
        rows.append(
            f'<text x="310" y="{y + 14}" text-anchor="end">{escape(name[-46:])}</text><rect x="320"'
            f' y="{y + 3}" width="{max(width, 1):.1f}" height="14" fill="#4477aa"'
            f' fill-opacity=".8"/><text x="{326 + width:.1f}" y="{y + 14}"'
            f' opacity=".7">{escape(words(value))}</text>'
        )
    return (
        f'<h2>{escape(title)}</h2><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800'
        f' {22 * len(values) + 4}" role="img" style="width:100%;max-width:800px"'
        ' font-family="system-ui,sans-serif" font-size="12"'
        f' fill="currentColor">{"".join(rows)}</svg>'
    )


def _pictures(found: dict[str, Any]) -> list[str]:
    """Of each layout that is not the wanted one: as it is, and as it is wanted."""
    drawn: list[str] = []
    for s in found["stencils"]:
        for f in s["fields"]:
            if (
                f["order"] != f["wanted"]
                and len(f["order"]) == len(f["shape"])
                and len(drawn) < PICTURES
            ):
                both = "".join(f"<div>{escape(words)}{_picture(f, order)}</div>" for words,
                order in (
                    (f"as it lies: {f['order']}", f["order"]),
                    (f"as {s['backend']} wants it: {f['wanted']}", f["wanted"]),
                ))  # fmt: skip
                made = ", ".join(line["text"] for line in f["made_by"])
                drawn.append(
                    f"<h3>{escape(s['name'])}: {escape(f['name'])} {escape(made)}</h3><div"
                    f" class=pair>{both}</div>"
                )
    return drawn


def _picture(field: dict[str, Any], order: str) -> str:
    """The drawing of a compact field with this order of strides; '' where there is nothing to
    draw.
    """
    dims = (
        sorted(order, key=lambda dim: field["dims"].index(dim))
        if "dims" in field
        else sorted(order)
    )
    try:
        layout = tuple(order.index(dim) for dim in dims)
        plan = _core.plan(
            tuple(field["shape"]), field["dtype"], dimensions=tuple(dims), layout=layout
        )
        return svg(plan, ((0, 0),) * len(dims))
    except Exception:  # more indices than can be drawn, names that gridbuf does not know
        return ""
