"""The docstrings of what Python calls in C are made of the stub's: signatures, and what one has in
common with another.
"""

import runpy
from typing import Any

import pytest
from sources import ROOT

STUB = """\
class Spec(TypedDict, total=False):
    backend: str
    halo: Halo | None

def empty(shape: Shape, dtype: Any = "float64", **spec: Unpack[Spec]) -> Any:
    \'\'\'New.

    Parameters
    ----------
    shape : int
        How many.
    halo
        Around.

    Returns
    -------
    array
    \'\'\'

def full(shape: Shape, value: Any, /, *, copy: bool = False) -> Any:
    \'\'\'Of "one" value.

    As `empty`.

    Parameters
    ----------
    value
        Which.
    \'\'\'

class Field:
    def __new__(cls, data: Any) -> Self: ...
    def transpose(self, *dims: Any) -> Field:
        \'\'\'Turned.\'\'\'
"""


def made(stub: str) -> dict[str, str]:
    """The docstrings by the names of their macros, as a C compiler reads them."""
    header = runpy.run_path(str(ROOT / "pyext/docstrings.py"))["header"](stub)
    found: dict[str, Any] = {}
    for macro in header.replace(" \\\n", "\n").split("#define GB_PY_DOC_")[1:]:
        name, *literals = macro.rstrip().split("\n")
        # C's escapes here are Python's
        found[name] = "".join(eval(literal) for literal in literals)
    return found


def test_signatures_and_what_is_in_common() -> None:
    docs = made(STUB)
    assert docs["empty"].startswith(
        "empty(shape, dtype='float64', *, backend='C', halo=None)\n--\n\nNew.\n\nParameters\n"
    )
    assert (
        docs["full"] == 'full(shape, value, /, *, copy=False)\n--\n\nOf "one"'
        " value.\n\nParameters\n----------\nshape : int\n    How many.\nvalue\n   "
        " Which.\n\nReturns\n-------\narray"
    )
    assert docs["Field_transpose"] == "transpose($self, /, *dims)\n--\n\nTurned."
    assert set(docs) == {"empty", "full", "Field_transpose"}


def test_a_section_that_nobody_knows_is_refused() -> None:
    with pytest.raises(AssertionError, match="empty: sections of a docstring"):
        made(STUB.replace("Returns\n    -------", "Gives\n    -----"))
