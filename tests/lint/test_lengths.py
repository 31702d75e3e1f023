"""No file grows beyond what one reads at once: one subject a file, of sources and of tests
alike.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 600
# one module's stub, and one class with the docstrings of its methods
WHOLE = {"gridbuf/_core.pyi", "gridbuf/distributed/grid.py"}


def long(root: Path) -> list[str]:
    """Files with more lines; what tools keep in hidden folders and what is built is left out."""
    paths = [path for path in root.iterdir() if path.is_file()]
    for room in (
        path
        for path in root.iterdir()
        if path.is_dir() and path.name[0] != "." and path.name != "build"
    ):
        paths += (
            path for path in room.rglob("*") if path.is_file() and "testdata" not in path.parts
        )
    found = {
        path.relative_to(root).as_posix(): path
        for path in paths
        if path.suffix in {".py", ".pyi", ".go", ".c", ".h", ".sh"}
    }
    return sorted(
        name
        for name, path in found.items()
        if name not in WHOLE and path.read_text().count("\n") > LONGEST
    )


def test_no_file_is_long() -> None:
    assert long(ROOT) == []


def test_readme_is_read_in_a_minute() -> None:
    assert (ROOT / "README.md").read_text().count("\n") < 120


def test_a_long_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "tests" / "ranks").mkdir(parents=True)
    for name, n in (
        ("a.py", 601),
        ("tests/ranks/b.py", 601),
        ("tests/c.py", 600),
        ("tests/d.txt", 700),
        ("_core.pyi", 601),
    ):
        (tmp_path / name).write_text("\n" * n)
    assert long(tmp_path) == ["_core.pyi", "a.py", "tests/ranks/b.py"]
