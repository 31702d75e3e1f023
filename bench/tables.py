"""The tables of docs/tables/ and of README.md, which `make bench` writes: nobody writes figures
there by hand.

    python bench/tables.py             README's rows again, from the pages
    python bench/tables.py copy mpi    and before that these two pages, from bench/results/

A page a benchmark, one row a case, and in README the rows that HEADLINES names, between two
comments. A page is written for what was just measured and for nothing else: bench/results/ also has
what earlier runs have left.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "docs" / "tables"
BEGIN, END = "<!-- figures, written by bench/tables.py -->", "<!-- end of figures -->"

# What README shows: the benchmark, how its case begins, and what it is in words.
HEADLINES = [
    (
        "stencil",
        "gt:cpu_ifirst: np.zeros / Field",
        "a diffusion step of gt:cpu_ifirst on a Field, against np.zeros",
    ),
    ("stencil", "gt:cpu_ifirst: gt4py.storage / Field", "the same against gt4py.storage's arrays"),
    ("foundation", "gb.empty / np.empty", "`gb.empty` against `np.empty`"),
    ("foundation", "gt4py.storage.empty / gb.empty", "`gb.empty` against `gt4py.storage.empty`"),
    (
        "field",
        "field[1:] / an ndarray's, three and a halo",
        "slicing a Field with a halo, against an ndarray",
    ),
    ("foundation", "np.from_dlpack(Field)", "`np.from_dlpack` of a Field, against an ndarray"),
    (
        "copy",
        "250x260x80 f8 to 210, a model's field",
        "a copy into another order of indices, against `np.copyto`",
    ),
    ("memory", "np.ones / ones", "42 MB of ones, against `np.ones`"),
    (
        "mpi",
        "8 fields of 2 x 17 kB: plan / derived datatypes",
        "halos of 8 fields, against MPI's derived datatypes",
    ),
    ("gufunc", "inv", "a million 3 x 3 inverses, against `np.linalg.inv`"),
    ("gufunc", "tridiagonal", "tridiagonal solves, against `solve_banded` in a loop"),
]


def unbroken(text: str) -> str:
    """A figure and its unit on one line, however narrow the column."""
    return text.replace(" ", "\u00a0")


def digits(value: float) -> str:
    """3 digits, without an exponent where the number is large."""
    text = f"{value:.3g}"
    return f"{float(text):.0f}" if "e+" in text else text


def time(ns: float) -> str:
    """3 digits, in the unit that fits."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns)} ns"


def in_words(speed: float) -> str:
    """How fast something is, of which the peer takes `speed` times as long."""
    if 0.975 < speed < 1.025:
        return "as fast"
    return f"{digits(speed)} times as fast" if speed > 1 else f"{100 / speed - 100:.0f} % slower"


def cells(row: dict[str, Any]) -> list[str]:
    sign = ">=" if row["faster"] else "<="
    idle = "" if row["idle_ratio"] is None else f"{row['idle_ratio']:.2f} (<= {row['idle_target']})"
    verdict = "" if row["reached"] else "missed"
    figures = [
        time(row["ours_ns"]),
        time(row["peer_ns"]),
        f"{row['ratio']:.2f}: {in_words(row['ratio'])}" if row["faster"] else f"{row['ratio']:.2f}",
        f"{sign} {row['target']}",
        idle,
        verdict,
    ]
    return [row["name"], *map(unbroken, figures)]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [
        header,
        ["---"] * len(header),
        *([cell.replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(report: dict[str, Any]) -> str:
    title = re.split(r"[:,]| against ", report["about"])[0]
    text = (
        f"# {title}\n\n{report['about']}\n\n{report['machine']}; Python {report['python']}, NumPy"
        f" {report['numpy']}; {report['date']}.\n"
    )
    if report["results"]:
        header = ["what", "ours", "peer", "ratio", "target", "after 1 ms idle", ""]
        text += "\n" + table(header, [cells(row) for row in report["results"]])
    if report["facts"]:
        rows = [
            [
                f["name"],
                unbroken(f"{digits(f['value'])} {f['unit']}".rstrip()),
                unbroken(f"<= {round(f['at_most'], 3):g} {f['unit']}".rstrip()),
                "" if f["value"] <= f["at_most"] else "missed",
            ]
            for f in report["facts"]
        ]
        text += "\n" + table(["what", "measured", "target", ""], rows)
    return text


def headlines() -> str:
    """Rows of the pages as they are now, whichever of them were just measured."""
    rows = []
    for name, begin, words in HEADLINES:
        path = TABLES / f"{name}.md"
        lines = path.read_text().splitlines() if path.exists() else []
        line = next((line for line in lines if line.startswith(f"| {begin}")), None)
        if line is None:
            sys.exit(
                f"HEADLINES of bench/tables.py: {path.name} has no row that begins with {begin!r};"
                " README is as it was"
            )
        found = [cell.strip(" ") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        ratio, target = (found[3], found[4]) if len(found) == 7 else (found[1], found[2])
        number = float(re.split(r"[:\s]", ratio)[0])
        rows.append([words, in_words(1 / number if target.startswith("<=") else number)])
    return table(["what", "gridbuf is"], rows)


def write_page(results: Path, name: str) -> None:
    (TABLES / f"{name}.md").write_text(page(json.loads((results / f"{name}.json").read_text())))


def write_headlines() -> None:
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    readme.write_text(f"{before}{BEGIN}\n{headlines()}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmarks", nargs="*", metavar="NAME")
    for measured in parser.parse_args().benchmarks:
        write_page(ROOT / "bench" / "results", measured)
    write_headlines()
