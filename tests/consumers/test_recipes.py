"""docs/exchange.md: every consumer has a recipe that runs, and the table is what the consumers say of themselves."""

import doctest
import re
from pathlib import Path

import pytest

from gridbuf import consumers
from gridbuf.consumers.__main__ import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "exchange.md"
SECTIONS = dict(re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL))
FILES = ("zarr", "netCDF4", "ml_dtypes")  # sections about packages that are not in the matrix


def test_the_table_agrees_with_the_consumers() -> None:
    assert page(PAGE.read_text()) == PAGE.read_text(), "run python -m gridbuf.consumers --write docs/exchange.md"


def test_every_consumer_has_a_recipe() -> None:
    assert [name for name in SECTIONS if name in consumers.FILES] == list(consumers.FILES)


@pytest.mark.parametrize("title", [title for title, text in SECTIONS.items() if ">>> " in text])
def test_a_section_runs(title: str) -> None:
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
