"""The report as one page of HTML with pictures: what takes time, and how fields lie and should."""

from collections.abc import Sequence
from html import escape
from typing import Any

from gridbuf import _core
from gridbuf.explain import svg
from gridbuf.explain.facts import nbytes_text
from gridbuf.watch.applying import text as applied_text
from gridbuf.watch.table import head, seconds, tables

MOST = 40  # rows of a table
PICTURES = 12

STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1100px;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.3em}h2{font-size:1.05em;margin:1.8em 0 .4em}
table{border-collapse:collapse;font-size:12.5px}th,td{text-align:left;padding:3px 10px 3px 0;border-bottom:1px solid #ddd;vertical-align:top}
td:first-child{font-family:ui-monospace,monospace}pre{white-space:pre-wrap}
.pair{display:flex;gap:1.5em;flex-wrap:wrap;margin:.6em 0 1.6em}.pair>div{flex:1 1 420px;max-width:520px}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}th,td{border-color:#444}}
"""


def page(found: dict[str, Any]) -> str:
    """A page that needs nothing else."""
    title = f"gridbuf watch: {' '.join(found['program'])}"
    parts = [f"<h1>{escape(title)}</h1>", f"<pre>{escape(head(found))}</pre>"]
    if found.get("applied"):
        parts.append(f"<p>{escape(applied_text(found['applied']))}</p>")
    if found.get("advice"):
        parts.append("<h2>what to change</h2><ol>" + "".join(f"<li>{escape(a['text'])}</li>" for a in found["advice"]) + "</ol>")
    parts += [_bars("time in stencils", [(f"{s['name']} ({s['backend']})", s["seconds"]) for s in found["stencils"]], seconds)]
    parts += [_bars("bytes allocated", [(a["line"]["text"], a["bytes"]) for a in found["allocations"]], nbytes_text)]
    parts += [
        _bars("bytes copied unasked", [(f"{c['line']['text']} {c['kind']}", c["bytes"]) for c in found["copies"]], nbytes_text)
    ]
    pictures = _pictures(found)
    if pictures:
        parts.append("<h2>fields that lie otherwise than their backend wants</h2>" + "".join(pictures))
    parts += [_table(*table) for table in tables(found, MOST)]
    if found.get("not_seen"):
        parts.append("<h2>not seen</h2><ul>" + "".join(f"<li>{escape(each)}</li>" for each in found["not_seen"]) + "</ul>")
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style><body>{"".join(parts)}</body></html>\n'


def _table(title: str, heads: Sequence[str], rows: list[list[str]], left: str) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>{escape(left)}</p>" if left else ""
    return f"<h2>{escape(title)}</h2><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}"


def _bars(title: str, values: list[tuple[str, float]], words: Any) -> str:
    """One bar for each, the longest first."""
    values = sorted(values, key=lambda each: -each[1])[:12]
    largest = values[0][1] if values else 0.0
    if largest <= 0:
        return ""
    rows = []
    for i, (name, value) in enumerate(values):
        y, width = 22 * i, 380 * value / largest
        rows.append(
            f'<text x="310" y="{y + 14}" text-anchor="end">{escape(name[-46:])}</text>'
            f'<rect x="320" y="{y + 3}" width="{max(width, 1):.1f}" height="14" fill="#4477aa" fill-opacity=".8"/>'
            f'<text x="{326 + width:.1f}" y="{y + 14}" opacity=".7">{escape(words(value))}</text>'
        )
    return (
        f'<h2>{escape(title)}</h2><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {22 * len(values) + 4}" role="img" '
        f'style="width:100%;max-width:800px" font-family="system-ui,sans-serif" font-size="12" fill="currentColor">{"".join(rows)}</svg>'
    )


def _pictures(found: dict[str, Any]) -> list[str]:
    """Of each layout that is not the wanted one: as it is, and as it is wanted."""
    drawn: list[str] = []
    for s in found["stencils"]:
        for f in s["fields"]:
            if f["order"] != f["wanted"] and len(f["order"]) == len(f["shape"]) and len(drawn) < PICTURES:
                both = "".join(f"<div>{escape(words)}{_picture(f, order)}</div>" for words, order in (
                    (f"as it lies: {f['order']}", f["order"]), (f"as {s['backend']} wants it: {f['wanted']}", f["wanted"]),
                ))  # fmt: skip
                made = ", ".join(line["text"] for line in f["made_by"])
                drawn.append(f"<h3>{escape(s['name'])}: {escape(f['name'])} {escape(made)}</h3><div class=pair>{both}</div>")
    return drawn


def _picture(field: dict[str, Any], order: str) -> str:
    """The drawing of a compact field with this order of strides; '' where there is nothing to draw."""
    dims = sorted(order, key=lambda dim: field["dims"].index(dim)) if "dims" in field else sorted(order)
    try:
        layout = tuple(order.index(dim) for dim in dims)
        plan = _core.plan(tuple(field["shape"]), field["dtype"], dimensions=tuple(dims), layout=layout)
        return svg.picture(plan, ((0, 0),) * len(dims))
    except Exception:  # more indices than can be drawn, names that gridbuf does not know
        return ""
