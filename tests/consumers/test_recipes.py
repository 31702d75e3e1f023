"""docs/exchange.md: every consumer has a recipe that runs, and the table is what the consumers say of themselves."""

import pytest
from trials import COMPILING, PAGE, SECTIONS, try_section

from gridbuf import consumers
from gridbuf.consumers.__main__ import page


def test_the_table_agrees_with_the_consumers() -> None:
    assert page(PAGE.read_text()) == PAGE.read_text(), "run python -m gridbuf.consumers --write docs/exchange.md"


def test_every_consumer_has_a_recipe() -> None:
    assert [name for name in SECTIONS if name in consumers.FILES] == list(consumers.FILES)


@pytest.mark.parametrize("title", [title for title, text in SECTIONS.items() if ">>> " in text and title not in COMPILING])
def test_a_section_runs(title: str) -> None:
    try_section(title)
