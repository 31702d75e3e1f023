"""No two modules of the suite have one name: pytest imports them by it, and finds only the
first.
"""

from collections import Counter
from pathlib import Path


def repeated(paths: list[Path]) -> list[str]:
    """Names that stand in several folders; each folder may have its conftest."""
    return sorted(
        name
        for name, n in Counter(path.name for path in paths).items()
        if n > 1 and name != "conftest.py"
    )


def test_names_are_said_once() -> None:
    here = Path(__file__).resolve().parent
    paths = [
        path for path in here.rglob("*.py") if not {"testdata", "__pycache__"} & set(path.parts)
    ]
    assert Path(__file__).resolve() in paths
    assert repeated(paths) == []
    assert repeated(
        [Path("a/test_x.py"), Path("b/test_x.py"), Path("a/conftest.py"), Path("b/conftest.py")]
    ) == ["test_x.py"]


def test_what_runs_once_is_there() -> None:
    here = Path(__file__).parent
    lines = [
        line.split(maxsplit=1)
        for line in (here / "once.txt").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert lines and all(len(line) == 2 and (here / line[0]).is_file() for line in lines)
