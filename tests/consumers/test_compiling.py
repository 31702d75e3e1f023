"""Cells and recipes of consumers that compile: a file of its own, since a process compiles what
they share once.
"""

import pytest
from trials import COMPILING, SECTIONS, cells_of, try_cell, try_section

from gridbuf.consumers import Cell

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "cell"), cells_of(COMPILING))
def test_a_cell_is_as_expected(name: str, cell: Cell) -> None:
    try_cell(name, cell)


@pytest.mark.parametrize("title", [title for title in COMPILING if ">>> " in SECTIONS[title]])
def test_a_section_runs(title: str) -> None:
    try_section(title)
