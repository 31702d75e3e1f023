"""Types as NumPy chooses them: logical functions, comparisons with ints beyond a type, Python ints
alone.
"""

import itertools
from typing import Any

import numpy as np
import pytest

from gridbuf import gufunc

LOGICAL = {
    name: gufunc.from_ufunc(getattr(np, name))
    for name in ("logical_and", "logical_or", "logical_xor")
}
COMPARING = {
    name: gufunc.from_ufunc(getattr(np, name))
    for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
}
as_numpy_2 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 2's promotion is the oracle"
)


@pytest.mark.parametrize("types", list(itertools.product("?bHlefdFG", repeat=2)), ids="".join)
@pytest.mark.parametrize("name", LOGICAL)
def test_logical_functions_take_any_types(name: str, types: tuple[str, str]) -> None:
    a, b = np.array([0, 1, 2, 0]).astype(types[0]), np.array([0, 0, 3, 5]).astype(types[1])
    if types[0] in "fdFG":
        a[1] = np.nan
    for casting in ("same_kind", "safe", "no"):
        np.testing.assert_array_equal(
            LOGICAL[name](a, b, casting=casting), getattr(np, name)(a, b, casting=casting)
        )
    out = np.zeros(4, "i2")
    np.testing.assert_array_equal(
        LOGICAL[name](a, b, out=out), getattr(np, name)(a, b).astype("i2")
    )


def test_logical_functions_take_numbers() -> None:
    x = np.array([0.0, 2.0])
    assert LOGICAL["logical_and"](x, 1).tolist() == [False, True] and LOGICAL["logical_or"](
        3, x
    ).tolist() == [True, True]
    assert gufunc.from_ufunc(np.logical_not)(np.array([0.0, np.nan])).tolist() == [True, False]


@as_numpy_2
@pytest.mark.parametrize("dtype", "bBhHiIlLqQ")
@pytest.mark.parametrize("name", COMPARING)
def test_comparing_with_an_int_beyond_the_type(name: str, dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, 0, info.max], dtype)
    for value in (
        info.min - 1,
        info.max + 1,
        300,
        -300,
        1 << 63,
        -(1 << 63) - 1,
        (1 << 64) - 1,
        1 << 64,
        1 << 70,
        -(1 << 70),
    ):
        for operands in ((x, value), (value, x)):
            np.testing.assert_array_equal(
                COMPARING[name](*operands), getattr(np, name)(*operands), err_msg=str(operands)
            )
    out, mask = np.zeros(3, bool), np.array([True, False, True])
    assert COMPARING["less"](x, info.max + 1, out=out, where=mask) is out and out.tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("name", COMPARING)
def test_comparing_large_python_ints(name: str) -> None:
    for pair in itertools.product((0, 3, 1 << 63, 1 << 70, (1 << 70) + 1, -(1 << 70)), repeat=2):
        assert COMPARING[name](*pair) == getattr(np, name)(
            np.array(pair[0], object), np.array(pair[1], object)
        )


def test_python_ints_alone_are_int64() -> None:
    add: Any = gufunc.from_ufunc(np.add)
    assert add(1, 2).dtype == np.int64
    for pair in ((1 << 63, 1), (1, 1 << 63), (-(1 << 63) - 1, 1)):
        with pytest.raises(OverflowError):
            add(*pair)
    assert add(np.uint64(1), (1 << 64) - 2) == np.iinfo(np.uint64).max


def test_a_python_float_is_no_int() -> None:
    add: Any = gufunc.from_ufunc(np.add)
    for casting in ("safe", "same_kind"):
        with pytest.raises(
            gufunc.SignatureError, match="input 1 cannot be cast from float64 to int8"
        ):
            add(np.ones(2, "b"), 1.5, dtype="b", casting=casting)
    assert add(np.ones(2, "b"), 1.5, dtype="b", casting="unsafe").tolist() == [2, 2]
    with pytest.raises(gufunc.SignatureError, match="input 1 cannot be cast from int64 to bool"):
        gufunc.from_ufunc(np.bitwise_and)(np.ones(2, bool), 1, dtype="?")
    with pytest.warns(np.exceptions.ComplexWarning if hasattr(np, "exceptions") else Warning):
        assert add(np.ones(2), 2j, dtype="d", casting="unsafe").tolist() == [1, 1]
