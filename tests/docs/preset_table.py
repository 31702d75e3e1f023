"""The table of docs/backends.md, made from plans: python tests/docs/preset_table.py writes it."""

import re
from collections.abc import Iterable
from pathlib import Path

import gridbuf as gb

PAGE = Path(__file__).resolve().parents[2] / "docs" / "backends.md"
MARKS = re.compile(r"(?<=<!-- presets -->\n).*?(?=<!-- /presets -->)", flags=re.DOTALL)
SHAPE, DIMS = (12, 10, 7, 3), "IJK0"


def order(backend: str, dims: str) -> str:
    plan = gb.plan(SHAPE[: len(dims)], backend=backend, dimensions=dims)
    return " ".join(name for _, name in sorted(zip(plan.layout, plan.dims, strict=True)))


def row(backend: str) -> str:
    plan = gb.plan(SHAPE[:3], "float64", backend=backend, dimensions="IJK")
    device = plan.device if isinstance(plan.device, str) else plan.device[0]
    orders = " | ".join(order(backend, dims) for dims in ("IJK", "KJI", "IJK0"))
    return f"| `{backend}` | {orders} | {plan.strides} | {plan.byte_alignment} | {device} |"


def page(old: str, names: Iterable[str]) -> str:
    """The page with the table of these backends between its marks."""
    head = (
        "| backend | I J K | K J I | I J K 0 | strides | boundary | device"
        " |\n|---|---|---|---|---|---|---|\n"
    )
    return MARKS.sub(lambda _: head + "".join(row(name) + "\n" for name in names), old)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), gb.backends()))
