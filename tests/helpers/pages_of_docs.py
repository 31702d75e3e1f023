"""What stands in README.md, its neighbours and docs/: the fenced blocks of each page, in order."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / f"{page}.md" for page in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")
] + sorted((ROOT / "docs").rglob("*.md"))
REFERENCE = sorted(
    name
    for page in PAGES
    if page.parent.name == "api"
    for name in re.findall(r"automodule:: ([\w.]+)", page.read_text())
)
FENCE = re.compile(
    r"(?:<!-- setup\n(?P<setup>.*?)-->\n)?^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block; `setup` is code that the page assumes, in a comment before it."""

    line: int
    kind: str
    text: str
    setup: str

    @property
    def examples(self) -> bool:
        """Whether doctest runs it."""
        return ">>> " in self.text


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found = FENCE.finditer(text)
    return [
        Block(text.count("\n", 0, m.start("kind")) + 1, m["kind"], m["text"], m["setup"] or "")
        for m in found
    ]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))
