"""docs/storages.md says of each NumPy function how it goes: by name exactly those that have a
handler.
"""

import re
from pathlib import Path

import numpy as np

from gridbuf.named import functions

PAGE = Path(__file__).parents[2] / "docs" / "storages.md"


def test_the_table_lists_what_goes_by_name() -> None:
    table = PAGE.read_text().partition("## NumPy by name")[2].partition("### Beside")[0]
    rows = [
        row.split("|")
        for row in table.splitlines()
        if row.startswith("| `") or row.startswith("| everything")
    ]
    by_name = {
        name
        for row in rows
        if row[2].strip() == "by name"
        for name in re.findall(r"`(\w+)`", row[1])
    }
    listed = {getattr(np, name) for name in by_name - {"axis"} if hasattr(np, name)}
    assert by_name - {"axis", "reduce", "accumulate", "astype"} <= set(dir(np))
    handled = set(functions.HANDLERS)
    assert listed == handled, {f.__name__ for f in listed ^ handled}
    plain = {
        name for row in rows if "by position" in row[2] for name in re.findall(r"`(\w+)`", row[1])
    }
    assert len(plain) > 12 and not {getattr(np, name, None) for name in plain} & handled
