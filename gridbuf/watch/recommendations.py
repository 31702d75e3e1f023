"""Changes that pay, with their gain: at most ten lines, those that save most seconds of this run
first.
"""

from collections.abc import Iterator
from typing import Any

from gridbuf.explain import nbytes_text
from gridbuf.watch.table import FASTER, SHORT, seconds, spread_text

MOST = 10
SHARES = {"torch": "torch.as_tensor, or torch.from_dlpack,", "jax": "jax.numpy.asarray"}
REMEDIES = {
    "gt4py.cartesian": "gb.zeros(..., backend={backend!r})",
    "gt4py.next": "gtx.zeros(..., allocator=...) of its backend",
}
WORTH = 0.001  # of the program's time: less is not worth a line, unless it is a stencil's layout
STRIDES = "take any strides (gridbuf.copyto, gridbuf.interop.mpi4py.buffer)"


def advice(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines, each with the seconds that it would have saved in this run; None where that was
    not measured.
    """
    lines = [*_layouts(found), *_pools(found), *_copies(found), *_messages(found)]
    worth = [
        line
        for line in lines
        if line["saves"] is None or line["saves"] > line["least"] * found["seconds"]
    ]
    worth.sort(key=lambda line: (line["saves"] is None, -(line["saves"] or 0.0), -line["takes"]))
    return worth[:MOST]


def _line(text: str, saves: float | None, takes: float, least: float = WORTH) -> dict[str, Any]:
    return {"text": text, "saves": saves, "takes": takes, "least": least}


# ---- layouts of stencils ----


def _layouts(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for s in found["stencils"]:
        wrong = _wrong_fields(s)
        measured = s["measured"] or {}
        ratio = measured.get("ratio")
        doubt = measured.get("noisy", False) and measured["low"] < FASTER
        if not wrong or (ratio is not None and ratio < FASTER and not doubt):
            continue
        remedy = REMEDIES.get(
            s["kind"], "np.ascontiguousarray once, or gb.zeros(...) of such an order"
        )
        text = f"{wrong}: {s['name']} {_gain(s, measured)}; {remedy.format(backend=s['backend'])}"
        # A noisy machine may neither show nor deny a gain: the line stays, and says so.
        saves = None if doubt else measured.get("saves")
        yield _line(text, saves, s["seconds"], least=0.0)


def _gain(s: dict[str, Any], measured: dict[str, Any]) -> str:
    if "ratio" not in measured:
        unknown = (
            f"the gain was not measured: {measured['why']}"
            if "why" in measured
            else "--measure shows the gain"
        )
        return f"takes {seconds(s['seconds'])}; {unknown}"
    if not measured.get("noisy"):
        return f"{measured['ratio']:.1f} times as fast"
    if measured["low"] >= FASTER:
        return f"{measured['low']:.1f} to {measured['high']:.1f} times as fast, on a noisy machine"
    return f"takes {seconds(s['seconds'])}; relaid {spread_text(measured)}, so measure again, alone"


def _wrong_fields(s: dict[str, Any]) -> str:
    """The fields that lie otherwise than wanted, with the lines that made them; '' where there are
    none.
    """
    wrong: dict[tuple[str, str], dict[str, list[str]]] = {}  # (order, wanted) -> line -> names
    for f in s["fields"]:
        if f["order"] != f["wanted"]:
            made = f["made_by"][0]["text"] if f["made_by"] else ""
            names = wrong.setdefault((f["order"], f["wanted"]), {}).setdefault(made, [])
            if f["name"] not in names:
                names.append(f["name"])
    parts = []
    for (order, wanted), lines in wrong.items():
        known = {name for line, names in lines.items() if line for name in names}
        lines = {
            line: [name for name in names if line or name not in known]
            for line, names in lines.items()
        }
        lines = {line: names for line, names in lines.items() if names}
        fields = "; ".join(
            ", ".join(names) + (f" ({line})" if line else "") for line, names in lines.items()
        )
        one = sum(len(names) for names in lines.values()) == 1
        parts.append(
            f"{fields} {'is' if one else 'are'} {_ordered(order)}, {s['backend']} wants {wanted}"
        )
    return "; ".join(parts)


def _ordered(order: str) -> str:
    return "C-ordered" if order in ("IJK", "IJ", "I") else f"in the order {order}"


# ---- a pool for temporaries ----


def _pools(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All lines at once: the call that turns one on turns all on."""
    rows = [a for a in found["allocations"] if (a.get("pool") or {}).get("ratio", 0) >= FASTER]
    if not rows:
        return
    saved = sum(a["pool"]["saved"] for a in rows)
    first = ", ".join(a["line"]["text"] for a in rows[:3])
    count = sum(a["pool"]["reused"] for a in rows)
    lines = f"{first} and {len(rows) - 3:,} other lines" if len(rows) > 3 else first
    gain, saves = _measured_gain(found.get("applied"), saved)
    yield _line(
        f"{lines}: {count:,} blocks are made and dropped again, and their pages with them: from a"
        f" pool {gain}; gridbuf.interop.numpy.enable()",
        saves,
        saved,
    )


def _measured_gain(applied: dict[str, Any] | None, saved: float) -> tuple[str, float]:
    """The gain of a pool, in words and seconds: by --apply where that has a ratio, which counts
    more than the estimate.
    """
    estimate = f"{seconds(saved)} of this run"
    if not applied or "ratio" not in applied or applied["seconds"] < SHORT:
        return f"{estimate} less", saved
    gain = applied["seconds"] - applied["installed_seconds"]
    if applied["noisy"] or applied["low"] < 1 < applied["high"]:
        return (
            (
                f"{estimate} less by estimate, which --apply neither shows nor denies"
                f" ({spread_text(applied)})"
            ),
            saved,
        )
    if gain <= 0:
        return f"{estimate} less by estimate, but --apply was no faster", 0.0
    return (
        f"{seconds(gain)} of {seconds(applied['seconds'])} less by --apply, {estimate} by estimate",
        gain,
    )


# ---- hidden copies ----


def _copies(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for c in found["copies"]:
        if c["seconds"] is None or c.get("own"):  # no line of the program makes gridbuf's own
            continue
        made = f", made by {c['made_by']['text']}" if c["made_by"] else ""
        times = f"{c['count']:,} times" if c["count"] > 1 else "once"
        yield _line(
            f"{c['line']['text']}: {c['kind']} copied {times}, {nbytes_text(c['bytes'])} in"
            f" {seconds(c['seconds'])} ({c['why']}{made}); {_remedy(c)}",
            c["seconds"],
            c["seconds"],
        )


def _remedy(copy: dict[str, Any]) -> str:
    why, kind = copy["why"], copy["kind"]
    if kind.startswith(("pickle", "multiprocessing")):
        return "send arrays by shared memory, or once"
    if kind == "copy.deepcopy":
        return "gridbuf.copy keeps the layout, too"
    if "aligned" in why:
        return "gb.empty aligns what it makes" + (
            ", and jax.numpy.asarray shares that" if why.startswith("asked") else ""
        )
    if " to " in why and "order" not in why and "rows" not in why:
        return f"make it {why.split(' to ')[1]} in the first place"
    if why == "copied" and kind in ("numpy.asarray", "numpy.asanyarray"):
        return "there was no memory to share as it is: keep the result"
    if why in ("same layout", "copied"):
        return f"{SHARES.get(kind.partition('.')[0], 'np.asarray, or copy=None,')} shares it"
    if copy.get("of_gridbuf"):  # the layout was asked for
        return f"keep its layout, and {STRIDES}"
    return f"allocate it in the order that is asked for, or {STRIDES}"


# ---- messages ----


def _messages(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for m in found["messages"]:
        copied = (m["packing"] or {}).get("copyto")
        if copied is None or copied["ratio"] < FASTER:
            continue
        saved = copied["of"] - copied["seconds"]
        yield _line(
            f"{m['line']['text']}: {m['call']} of derived datatypes: {copied['ratio']:.1f} times"
            " as fast packed by gridbuf.copyto into kept buffers, which are sent instead:"
            f" {seconds(saved)} of this run; gridbuf.distributed does so with halos",
            saved,
            copied["of"],
        )
