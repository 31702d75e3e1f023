"""The examples in the docstrings of modules and in docs/ run and say what they print;
docs/test_docstrings.py has those of C.
"""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
from pages_of_docs import PAGES, name

import gridbuf

MODULES = [
    m.name
    for m in pkgutil.walk_packages(gridbuf.__path__, "gridbuf.")
    if not m.name.endswith(("__main__", "_core"))
]


# docs/exchange.md has a test of its own, which skips the recipes of what is not installed.
EXAMPLES = [page for page in PAGES if ">>> " in page.read_text() and page.name != "exchange.md"]


@pytest.mark.parametrize("page", EXAMPLES, ids=name)
def test_examples_of_a_page(page: Path) -> None:
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("name", ["gridbuf", *MODULES])
def test_examples_of_a_module(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name}: {error}")
    assert doctest.testmod(module).failed == 0
