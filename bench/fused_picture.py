"""docs/fused.svg: what a diffusion step moves between memory and processor, unfused and fused.

    python bench/fused_picture.py [--output docs/fused.svg]

Nothing is measured: the fields that travel are counted from the operations of the step.
"""

import argparse
from pathlib import Path

# lap = u[2:, j] + u[:-2, j] + u[i, 2:] + u[i, :-2] - 4.0 * u[i, j]; u[i, j] + dt * k * lap
STEPS = (
    ("+", ("u", "u"), "t1"),
    ("+", ("t1", "u"), "t2"),
    ("+", ("t2", "u"), "t3"),
    ("4 ·", ("u",), "t4"),
    ("\u2212", ("t3", "t4"), "t5"),
    ("dt k ·", ("t5",), "t6"),
    ("+", ("u", "t6"), "new"),
)
READ, WRITTEN = ("#4477aa", "r"), ("#cc6677", "w")
FIELD, OPERATION = (66, 32, 26), (245, 36, 28)  # the top, width and height of a box


def text(x: float, y: float, words: str, size: int = 12, more: str = 'text-anchor="middle"') -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" {more}>{words}</text>'


def box(x: float, y: float, width: float, height: float, fill: str = "#ffffff") -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} rx="4" fill="{fill}" stroke="#335577"/>'


def named(x: float, kind: tuple[int, int, int], words: str) -> list[str]:
    """A box with its name; x is its middle."""
    top, width, height = kind
    return [box(x - width / 2, top, width, height), text(x, top + height / 2 + 5, words)]


def arrow(from_x: float, from_y: float, to_x: float, to_y: float, kind: tuple[str, str]) -> str:
    color, head = kind
    ends = f'x1="{from_x:g}" y1="{from_y:g}" x2="{to_x:g}" y2="{to_y:g}"'
    return f'<line {ends} stroke="{color}" stroke-width="2" marker-end="url(#{head})"/>'


def read(field: float, operation: float) -> str:
    return arrow(field, 92, operation, 241, READ)


def written(operation: float, field: float) -> str:
    return arrow(operation, 245, field, 96, WRITTEN)


def panel(left: float, title: str) -> list[str]:
    small = 'text-anchor="start"'
    return [
        text(left + 170, 24, title, 15, 'text-anchor="middle" font-weight="bold"'),
        box(left, 40, 340, 60, "#eef2f7"),
        text(left + 10, 58, "memory", more=small),
        box(left, 235, 340, 75, "#fdf6e3"),
        text(left + 10, 303, "processor, with its first cache", more=small),
    ]


def counted(n: int) -> str:
    return f"{n} field{'s' if n > 1 else ''}"


def unfused() -> list[str]:
    reads = sum(len(given) for _, given, _ in STEPS)
    parts = panel(20, f"unfused: {counted(reads)} read, {len(STEPS)} written")
    at = {name: 56 + 40 * k for k, name in enumerate(("u", *(made for *_, made in STEPS)))}
    for name, x in at.items():
        parts += named(x, FIELD, name)
    for k, (sign, given, made) in enumerate(STEPS):
        x = 70 + 44 * k
        parts += named(x, OPERATION, sign)
        for side, name in enumerate(given):
            parts.append(read(at[name] - 6 + 6 * side, x - 10 + 8 * side))
        parts.append(written(x + 11, at[made] + 8))
    return parts


def fused() -> list[str]:
    parts = panel(400, "fused: 1 field read, 1 written")
    parts += [*named(456, FIELD, "u"), *named(706, FIELD, "new")]
    for k, (sign, *_) in enumerate(STEPS):
        x = 442 + 44 * k
        parts += named(x, OPERATION, sign)
        if k:
            parts.append(
                f'<line x1="{x - 26}" y1="259" x2="{x - 18}" y2="259"'
                ' stroke="#888" stroke-width="1.5"/>'
            )
    parts += [read(456, 442), written(706, 706)]
    words = (
        "tile by tile, 512 elements at a time:",
        f"t1 ... t{len(STEPS) - 1} are 4 kB each,",
        "and never leave the first cache",
    )
    return parts + [text(570, 150 + 18 * k, line, 13) for k, line in enumerate(words)]


def picture() -> str:
    heads = "".join(
        f'<marker id="{head}" viewBox="0 0 6 6" markerWidth="5" markerHeight="5" refX="6" refY="3"'
        f' orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="{color}"/></marker>'
        for color, head in (READ, WRITTEN)
    )
    return "\n".join(
        (
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 330" width="760" height="330"'
            ' role="img" font-family="system-ui,sans-serif" fill="#222222">',
            f"<defs>{heads}</defs>",
            '<rect width="760" height="330" fill="#ffffff"/>',
            *unfused(),
            *fused(),
            "</svg>\n",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("docs/fused.svg"), metavar="FILE")
    parser.parse_args().output.write_text(picture())


if __name__ == "__main__":
    main()
