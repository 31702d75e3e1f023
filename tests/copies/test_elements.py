"""The element types of alloc/elements.h: what the compilers cannot see lacks none of them."""

import re

import numpy as np
from copy_entries import NUMBERS as COPIED
from sources import ROOT

from gridbuf._core import TYPE_CHARS
from gridbuf.consumers import DTYPES

REALS, COMPLEXES, OTHERS = (
    re.findall(r"X\(with, (\w+), \w+, '(.)'", part)
    for part in re.split(
        r"#define GB_EACH_(?:COMPLEX|TYPE)", (ROOT / "alloc/elements.h").read_text()
    )
)
NUMBERS = REALS + COMPLEXES


def lacks(page: str, wanted: list[tuple[str, str]]) -> None:
    missing = [
        name
        for name, _ in wanted
        if f"C.GB_{name}\n" not in (ROOT / page).read_text().replace(" //", "\n")
    ]
    assert not missing, f"{page} lacks constants for {missing} of alloc/elements.h"


def test_go_has_a_constant_for_each() -> None:
    lacks("alloc/type.go", NUMBERS + OTHERS)


def test_each_of_numpys_is_tried() -> None:
    ours = {np.dtype(char) for _, char in NUMBERS if char != " "}
    assert {*TYPE_CHARS[1:]} == {char for _, char in NUMBERS + OTHERS}
    assert ours == {np.dtype(char) for char in COPIED}, "NUMBERS of tests/helpers/copy_entries.py"
    assert ours <= {np.dtype(name) for name in DTYPES if name != "bfloat16"}, (
        "DTYPES of gridbuf/consumers/consumer.py"
    )
