"""The Go and C of the rooms, as lints read them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Sources = dict[str, str]


def without_comments(text: str) -> str:
    """C or Go source without comments, except cgo's preambles and //export, which are code."""
    text = re.sub(
        r"(?:^//.*\n)+(?=import \"C\")",
        lambda m: re.sub(r"^// ?", "", m[0], flags=re.MULTILINE),
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r"/\*((?:(?!\*/).)*)\*/\n(?=import \"C\")", r"\1", text, flags=re.DOTALL)
    text = re.sub(r"^// ?(?=#include|export)|^//(?=export )", "//", text, flags=re.MULTILINE)
    return re.sub(r"/\*.*?\*/|(?<![:\"])//(?!#include|export )[^\n]*", "", text, flags=re.DOTALL)


def sources() -> Sources:
    """Every Go and C file of the rooms; tests and what tools keep in hidden or vendored folders are
    left out.
    """
    found = {}
    for room in (
        path
        for path in ROOT.iterdir()
        if path.is_dir() and path.name[0] != "." and path.name != "build"
    ):
        for path in room.rglob("*"):
            if (
                path.suffix in {".go", ".c", ".h"}
                and "testdata" not in path.parts
                and "_test.go" not in path.name
            ):
                found[path.relative_to(ROOT).as_posix()] = without_comments(path.read_text())
    return found
