"""A Field without indices is a number where Python or NumPy asks for one."""

from collections.abc import Callable

import numpy as np
import pytest

import gridbuf as gb


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool"])
def test_python_numbers(dtype: str) -> None:
    field = gb.Field.full((), 1, dtype)
    assert (float(field), int(field), complex(field)) == (1.0, 1, 1 + 0j)


def test_an_element_of_an_array() -> None:
    array, single = np.zeros(3), np.zeros(())
    array[1] = single[()] = gb.Field.full((), 7.0)
    assert array.tolist() == [0, 7, 0] and single == 7


@pytest.mark.parametrize("convert", [float, int, complex])
def test_more_than_one_element_is_no_number(convert: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match=r"only 0-dimensional arrays|only length-1 arrays"):
        convert(gb.Field.zeros(3))
