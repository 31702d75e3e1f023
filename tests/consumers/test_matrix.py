"""Every cell of the matrix with the real package: shared and proved so, or refused for the expected
reason.
"""

import pytest
from trials import COMPILING, cells_of, try_cell

from gridbuf import consumers
from gridbuf.consumers import Cell


@pytest.mark.parametrize(
    ("name", "cell"), cells_of(name for name in consumers.FILES if name not in COMPILING)
)
def test_a_cell_is_as_expected(name: str, cell: Cell) -> None:
    try_cell(name, cell)
