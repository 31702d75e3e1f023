"""docs/exchange.md: every consumer has a recipe that runs, and the table is what the consumers say
of themselves.
"""

from pathlib import Path

import pytest
from trials import COMPILING, PAGE, SECTIONS, try_section

from gridbuf import consumers
from gridbuf.consumers.__main__ import page


def test_the_table_agrees_with_the_consumers() -> None:
    assert page(PAGE.read_text()) == PAGE.read_text(), (
        "run python -m gridbuf.consumers --write docs/exchange.md"
    )


def test_every_consumer_has_a_recipe() -> None:
    missing = [name for name in consumers.FILES if name not in SECTIONS]
    assert not missing, (
        f"docs/exchange.md has no sections '### NAME' for {missing}, with an example that runs"
    )
    assert [name for name in SECTIONS if name in consumers.FILES] == list(consumers.FILES), (
        "sections are in the order of FILES"
    )


def test_every_file_is_in_the_table() -> None:
    folder = Path(str(consumers.__file__)).parent
    files = {path.stem for path in folder.glob("*.py") if "\nconsumer = " in path.read_text()} - {
        "__main__"
    }
    assert files == {*consumers.FILES.values()}, "FILES of gridbuf/consumers/__init__.py"


@pytest.mark.parametrize(
    "title",
    [title for title, text in SECTIONS.items() if ">>> " in text and title not in COMPILING],
)
def test_a_section_runs(title: str) -> None:
    try_section(title)
