"""The tables of docs/tables/ and of README.md, from what `make bench` has written to bench/results/.

    python bench/tables.py [--results bench/results]

Nobody writes figures there by hand: a page a benchmark, one row a case, and in README the rows that
HEADLINES names, between two comments.
"""

import argparse
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TABLES = ROOT / "docs" / "tables"
BEGIN, END = "<!-- figures, written by bench/tables.py -->", "<!-- end of figures -->"

# What README shows: the benchmark, and how its case begins.
HEADLINES = [
    ("foundation", "gb.empty / np.empty"),
    ("foundation", "gt4py.storage.empty / gb.empty"),
    ("field", "field[1:] / an ndarray's, three and a halo"),
    ("foundation", "np.from_dlpack(Field)"),
    ("copy", "250x260x80 f8 to 210, a model's field"),
    ("memory", "np.ones / ones"),
    ("gufunc", "inv"),
    ("gufunc", "tridiagonal"),
]


def time(ns: float) -> str:
    """3 digits, in the unit that fits."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def cells(row: dict[str, Any]) -> list[str]:
    sign, times = (">=", " times faster") if row["faster"] else ("<=", "")
    idle = "" if row["idle_ratio"] is None else f"{row['idle_ratio']:.2f} (<= {row['idle_target']})"
    verdict = "" if row["reached"] else "missed"
    return [
        row["name"],
        time(row["ours_ns"]),
        time(row["peer_ns"]),
        f"{row['ratio']:.2f}{times}",
        f"{sign} {row['target']}",
        idle,
        verdict,
    ]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(name: str, report: dict[str, Any]) -> str:
    text = f"# {name}\n\n{report['about']}\n\n{report['machine']}; Python {report['python']}, NumPy {report['numpy']}; {report['date']}.\n"
    if report["results"]:
        header = ["what", "ours", "peer", "ratio", "target", "after 1 ms idle", ""]
        text += "\n" + table(header, [cells(row) for row in report["results"]])
    if report["facts"]:
        rows = [
            [
                f["name"],
                f"{f['value']:.3g} {f['unit']}",
                f"<= {round(f['at_most'], 3):g} {f['unit']}",
                "" if f["value"] <= f["at_most"] else "missed",
            ]
            for f in report["facts"]
        ]
        text += "\n" + table(["what", "measured", "target", ""], rows)
    return text


def headlines(reports: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, begin in HEADLINES:
        what, _, _, ratio, target, _, verdict = cells(
            next(row for row in reports[name]["results"] if row["name"].startswith(begin))
        )
        rows.append([what, ratio, target, verdict])
    return table(["what", "ratio", "target", ""], rows)


def write_tables(results: Path) -> None:
    reports = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    for name, report in reports.items():
        (TABLES / f"{name}.md").write_text(page(name, report))
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    if rest and {name for name, _ in HEADLINES} <= set(reports):  # else some were run only, into a folder of their own
        readme.write_text(f"{before}{BEGIN}\n{headlines(reports)}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    write_tables(parser.parse_args().results)
