"""What is tried with every consumer: its cells of the matrix, and its recipe in
docs/exchange.md.
"""

import doctest
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf import consumers
from gridbuf.consumers import Cannot, Cell

# Their packages are compilers: they have a file of the suite, so that one process waits for each of
# them once.
COMPILING = ("DaCe", "nanobind", "pybind11", "Cython")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "exchange.md"
SECTIONS = dict(
    re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
)
FILES = ("zarr", "netCDF4", "ml_dtypes")  # sections about packages that are not in the matrix
LOADED = {name: consumers.load(name) for name in consumers.FILES}
# an array, and what has its values in the place of one
A = np.arange(1.0, 13.0).reshape(3, 4)
OURS: dict[str, Callable[[np.ndarray], Any]] = {
    "named": lambda a: gb.Field.from_array(a, dims="IJ"),
    "unnamed": lambda a: gb.Field(a.copy()),
    "storage": lambda a: gs.storage(a, axes="IJ"),
}


def cells_of(names: Iterable[str]) -> list[Any]:
    return [
        pytest.param(name, cell, id=f"{name} {cell}".replace(" ", "-"))
        for name in names
        for direction in consumers.DIRECTIONS
        for cell in consumers.cells(direction)
    ]


def try_cell(name: str, cell: Cell) -> None:
    consumer = LOADED[name]
    result, expected = consumers.run(consumer, cell), consumer.expected(cell)
    if result.outcome == "skipped":
        pytest.skip(f"{name}: {result.reason}")
    assert result.outcome == consumers.outcome(expected), result
    if isinstance(expected, Cannot):
        assert re.search(expected.says, result.reason), result


def try_section(title: str) -> None:
    pytest.importorskip("numpy", minversion="2.0", reason="NumPy 1 prints its scalars otherwise")
    if title in consumers.FILES:
        try:
            consumers.load(title).start()
        except consumers.Missing as error:
            pytest.skip(f"{title}: {error}")
    elif title in FILES:
        pytest.importorskip(title)
    text = SECTIONS[title].replace("\\\n", "")  # long lines of output are broken for the reader
    examples = doctest.DocTestParser().get_doctest(text, {}, title, str(PAGE), 0)
    assert doctest.DocTestRunner().run(examples).failed == 0
