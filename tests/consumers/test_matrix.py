"""Every cell of the matrix with the real package: shared and proved so, or refused for the expected reason."""

import re

import pytest

from gridbuf import consumers
from gridbuf.consumers import Cannot, Cell

CELLS = [
    pytest.param(name, cell, id=f"{name} {cell}".replace(" ", "-"))
    for name in consumers.FILES
    for direction in consumers.DIRECTIONS
    for cell in consumers.cells(direction)
]
LOADED = {name: consumers.load(name) for name in consumers.FILES}


@pytest.mark.parametrize(("name", "cell"), CELLS)
def test_a_cell_is_as_expected(name: str, cell: Cell) -> None:
    consumer = LOADED[name]
    result, expected = consumers.run(consumer, cell), consumer.expected(cell)
    if result.outcome == "skipped":
        pytest.skip(f"{name}: {result.reason}")
    assert result.outcome == consumers.outcome(expected), result
    if isinstance(expected, Cannot):
        assert re.search(expected.says, result.reason), result
