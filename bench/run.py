"""Run the benchmarks, and write a JSON file and a page of docs/tables for each: `make bench`.

Every figure is a ratio against a peer measured in the same run (measure.py). Name
benchmarks to run some only: `make bench ARGS="foundation stencil"`.
"""

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
from measure import Result, measure  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402
from tables import write_headlines, write_page  # noqa: E402


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def row(result: Result) -> tuple[str, ...]:
    case, sign = result.case, ">=" if result.case.faster else "<="
    idle = "" if result.idle_ratio is None else f"{result.idle_ratio:.2f}  (<= {case.idle_target})"
    verdict = "[green]reached[/]" if result.reached else "[red]missed[/]"
    return (
        case.name,
        f"{result.ours * 1e9:,.0f} ns",
        f"{result.peer * 1e9:,.0f} ns",
        f"{result.ratio:.2f}",
        f"{sign} {case.target}",
        idle,
        verdict,
    )


def machine() -> str:
    """The processor, and how many cores this process may use."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return f"{models[0] if models else platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def run(name: str, console: Console) -> tuple[list[Result], list[tuple[str, float, float, str]]]:
    module = importlib.import_module(f"bench_{name}")
    results = [
        measure(case)
        for case in track(module.CASES, description=name, console=console, transient=True)
    ]
    table = Table(
        "what", "ours", "peer", "ratio", "target", "after 1 ms idle", "", title=f"bench_{name}"
    )
    for result in results:
        table.add_row(*row(result))
    console.print(table)
    facts = module.facts() if hasattr(module, "facts") else []
    for text, value, most, unit in facts:
        console.print(f"{text}: {value:.2f} {unit} (target <= {round(most, 3):g} {unit})")
    return results, facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "benchmarks",
        nargs="*",
        metavar="NAME",
        help=f"one of {', '.join(names())}; all when none is named",
    )
    parser.add_argument(
        "--output", type=Path, default=HERE / "results", help="folder for the JSON files"
    )
    options = parser.parse_args()
    unknown = sorted(set(options.benchmarks) - set(names()))
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(names())}")
    options.output.mkdir(parents=True, exist_ok=True)
    console = Console(width=None if sys.stdout.isatty() else 150)
    for name in options.benchmarks or names():
        results, facts = run(name, console)
        report = {
            "about": importlib.import_module(f"bench_{name}").__doc__.partition("\n\n")[0],
            "date": datetime.date.today().isoformat(),
            "machine": machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "results": [r.as_json() for r in results],
            "facts": [{"name": n, "value": v, "at_most": m, "unit": u} for n, v, m, u in facts],
        }
        (options.output / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
        write_page(options.output, name)
    write_headlines()


if __name__ == "__main__":
    main()
