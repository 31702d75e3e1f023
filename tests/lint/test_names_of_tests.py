"""No two helpers of tests have one name: they are imported by it (pythonpath in pyproject.toml)."""

from collections import Counter
from pathlib import Path


def repeated(paths: list[Path]) -> list[str]:
    """Names that stand in several folders; each folder may have its conftest."""
    return sorted(
        name
        for name, n in Counter(path.name for path in paths).items()
        if n > 1 and name != "conftest.py" and not name.startswith("test_")
    )


def test_names_are_said_once() -> None:
    here = Path(__file__).resolve().parents[1]
    paths = [
        path for path in here.rglob("*.py") if not {"testdata", "__pycache__"} & set(path.parts)
    ]
    assert Path(__file__).resolve() in paths
    assert repeated(paths) == []
    assert repeated(
        [Path(folder, name) for folder in "ab" for name in ("test_x.py", "x.py", "conftest.py")]
    ) == ["x.py"]


def test_what_runs_once_is_there() -> None:
    here = Path(__file__).parents[1]
    lines = [
        line.split(maxsplit=1)
        for line in (here / "once.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert lines and all(len(line) == 2 and (here / line[0]).is_file() for line in lines)
