"""Every gufunc that comes with gridbuf gives what its row of docs/gufuncs.md says, in NumPy's
words.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from gridbuf import gufunc
from gridbuf.gufunc.adopted import BUILTIN_NAMES

PAGE = Path(__file__).parent.parent.parent / "docs" / "gufuncs.md"
TABLE = PAGE.read_text().partition("## Built-in gufuncs")[2].partition("\n## ")[0]
ROWS = {
    name: says
    for name, *says in re.findall(r"^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \|", TABLE, re.MULTILINE)
}
SIZES = {"m": 4, "n": 5, "k": 6}


def operand(number: int, core: list[str], dtype: str) -> np.ndarray:
    """Of 7 elements: small numbers, but for a diagonal, that of a tridiagonal system included;
    square matrices are symmetric.
    """
    shape = (7, *(SIZES.get(name) or int(name) for name in core))
    values = np.random.default_rng(number).uniform(0.1, 0.2, shape)
    if len(core) == 2 and core[0] == core[1]:
        values += values.transpose(0, 2, 1) + 3 * np.eye(shape[1])
    return (values + 3 * (number == 1)).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", BUILTIN_NAMES)
def test_an_element_is_what_numpy_says(name: str, dtype: str) -> None:
    assert name in ROWS, (
        f"the table of docs/gufuncs.md has no row | `{name}` | `SIGNATURE` | `NumPy's expression of"
        " a, b, ...` | ... |"
    )
    signature, expression = ROWS[name]
    assert getattr(gufunc, name).signature == signature, name
    cores = [
        re.findall(r"\w+", core) for core in re.findall(r"\((.*?)\)", signature.partition("->")[0])
    ]
    operands = [operand(number, core, dtype) for number, core in enumerate(cores)]
    results = getattr(gufunc, name)(*operands)
    for element in range(7):
        wanted = eval(
            expression,
            {
                "np": np,
                **dict(zip("abcd", (a[element].astype("f8") for a in operands), strict=False)),
            },
        )
        found = (
            tuple(r[element] for r in results) if isinstance(results, tuple) else results[element]
        )
        for one, other in (
            zip(found, wanted, strict=True) if isinstance(results, tuple) else [(found, wanted)]
        ):
            np.testing.assert_allclose(
                one,
                other,
                rtol=1e-4 if dtype == "f4" else 1e-12,
                atol=1e-6 if dtype == "f4" else 1e-14,
            )
