"""Links between pages lead somewhere, files that pages name are there, and every public module has
its page in docs/api.
"""

import importlib.util
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest
from pages_of_docs import FENCE, PAGES, REFERENCE, ROOT, blocks, name
from sources import sources

import gridbuf

# Names that another module exports, and tools.
INSIDE = re.compile(r"gridbuf\.(\w+\.public|exact\.sums|copies|names|explain|consumers)")


def anchors(page: Path) -> set[str]:
    """What GitHub and MyST call the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links(page: Path) -> None:
    text = re.sub(r"`[^`\n]+`", "", FENCE.sub("", page.read_text()))  # Go has f[T](x) in code
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):  # `make links` asks them, which needs a network
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), f"{name(page)}: {target}"
        assert not anchor or anchor in anchors(to), (
            f"{name(page)}: {target}: the headings are {sorted(anchors(to))}"
        )


def spans(page: Path) -> list[str]:
    """What stands in a page as code: names, files and commands, in the text and in blocks without a
    kind.
    """
    found = re.findall(r"`([^`]+)`", FENCE.sub("", page.read_text()))
    return found + [block.text for block in blocks(page) if not block.kind and not block.examples]


# What was, is named there
NOW = [page for page in PAGES if page.name not in ("CHANGELOG.md", "changes.md")]
# By make, sooner or later
MADE = re.findall(r"^/(\w+)/$", (ROOT / ".gitignore").read_text(), re.MULTILINE)
# What a page leaves out of a path
WITHIN = [ROOT, *(ROOT / room for room in ("tests", "pyext", "gridbuf"))]
FILE = re.compile(r"(?<![\w./$-])(?:\.\./)?((?:[a-z_]+/)+[\w.]*|test_\w+\.py)(?![\w*{<])")


def is_there(path: str) -> bool:
    """Whether there is such a file, or a package as Go imports it. Libraries are built; other
    folders are other projects'.
    """
    first = path.partition("/")[0]
    if (
        first in MADE
        or path.endswith(".so")
        or (first != path and not any((root / first).is_dir() for root in WITHIN))
    ):
        return True
    return (
        any((root / path).exists() for root in WITHIN)
        or (ROOT / path.removeprefix("gridbuf/")).is_dir()
    )


@pytest.mark.parametrize("page", NOW, ids=name)
def test_files_that_a_page_names(page: Path) -> None:
    missing = {
        path
        for span in spans(page)
        for path in FILE.findall(span)
        if "NAME" not in path and not is_there(path.rstrip("."))
    }
    assert not missing, f"{name(page)}: {missing}"


@pytest.mark.parametrize("page", NOW, ids=name)
def test_what_make_makes(page: Path) -> None:
    targets = {*re.findall(r"^([a-z][\w-]*)(?=:)", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    asked = {
        target
        for span in spans(page)
        for target in re.findall(r"(?:^|[ (])make ([a-z][\w-]*)", span, re.MULTILINE)
    }
    assert asked <= targets, f"{name(page)}: make {sorted(asked - targets)}"


@pytest.mark.parametrize("page", NOW, ids=name)
def test_go_tests_that_a_page_names(page: Path) -> None:
    for span in spans(page):
        for package, test in re.findall(r"go test \./([\w/]+) -run (\w+)", span):
            code = "".join(path.read_text() for path in (ROOT / package).glob("*_test.go"))
            assert f"func {test}" in code, f"{name(page)}: {package} has no test {test}"


@pytest.mark.parametrize("page", NOW, ids=name)
def test_functions_of_c_that_a_page_names(page: Path) -> None:
    known = "\n".join(sources().values())
    named = {word for span in spans(page) for word in re.findall(r"\b(?:gb|GB)_\w+", span)}
    missing = {
        word
        for word in named
        if not re.search(rf"\b{word}" + ("" if word[-1] == "_" else r"\b"), known)
    }
    assert not missing, f"{name(page)}: {missing}"


def test_every_public_module_has_its_reference() -> None:
    """Modules that name something in `__all__`: where users import from."""
    for found in pkgutil.walk_packages(gridbuf.__path__, "gridbuf."):
        source = importlib.util.find_spec(found.name).origin  # type: ignore[union-attr]
        public = (
            "\n__all__ = " in Path(source or "").read_text()
            if str(source).endswith(".py")
            else False
        )
        if public and not INSIDE.fullmatch(found.name):
            assert found.name in REFERENCE, f"docs/api has no page for {found.name}"
    assert "gridbuf" in REFERENCE


def test_the_reference_has_each_name_once() -> None:
    text = (ROOT / "docs" / "api" / "gridbuf.md").read_text()
    named = re.findall(r"^\.\. auto(?:function|class|exception):: gridbuf\.(\w+)$", text, re.M)
    packages = {name for name in gridbuf.__all__ if isinstance(getattr(gridbuf, name), ModuleType)}
    assert sorted(named) == sorted(set(gridbuf.__all__) - packages)


def test_every_setting_is_described() -> None:
    """Environment variables that the product reads; setup.py's stand in CONTRIBUTING.md."""
    rooms = [
        ROOT / room for room in ("gridbuf", "pyext", "alloc", "transfer", "gufunc", "exact", "cuda")
    ]
    files = [
        path
        for room in rooms
        for path in room.rglob("*")
        if path.suffix in (".c", ".py") and "fake" not in path.parts
    ]
    read = {word for path in files for word in re.findall(r'"(GRIDBUF_[A-Z_]+)"', path.read_text())}
    page = (ROOT / "docs" / "api" / "index.md").read_text()
    assert len(read) > 8 and read == set(re.findall(r"GRIDBUF_[A-Z_]+", page))
