"""Reductions of float16 are NumPy's to the bit: np.mean sums in float32, and its result is no
infinity where the sum would be one.
"""

from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs

FUNCTIONS = (np.mean, np.nanmean, np.average, np.sum, np.var, np.std, np.max, np.median)
ASKED: tuple[dict[str, Any], ...] = (
    {}, {"axis": 0}, {"axis": 1}, {"axis": (0, 1)}, {"axis": 1, "keepdims": True},
    {"keepdims": True}, {"axis": 1, "dtype": "f4"},
    {"axis": 1, "dtype": "f2"}, {"axis": 1, "where": np.arange(1000) % 3 > 0},
)  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [lambda a, dims: gb.Field(a, dims=dims), lambda a, axes: gs.storage(a, axes=axes)],
    ids=["Field", "storage"],
)
@pytest.mark.parametrize(
    "values",
    [
        np.full((3, 1000), 100, "f2"),
        np.full((3, 1000), 100, ">f2"),
        np.random.default_rng(1).normal(size=(3, 1000)).astype("f2"),
    ],
    ids=["large", "swapped", "any"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # sums that are infinite
def test_as_numpy(make: Any, values: Any) -> None:
    given = make(values, "IJ")
    for function in FUNCTIONS:
        for asked in ASKED:
            if (function in (np.average, np.median) and asked.keys() & {"dtype", "where"}) or (
                function is np.max and "dtype" in asked
            ):
                continue
            if function is np.max and "where" in asked:
                asked = {**asked, "initial": 0}
            found, wanted = function(given, **asked), function(values, **asked)
            assert found.dtype == wanted.dtype and found.shape == wanted.shape, (function, asked)
            assert np.array_equal(found, wanted, equal_nan=True), (function, asked, found, wanted)
        if function not in (np.average,):
            into, array = make(np.zeros(3, "f2"), "I"), np.zeros(3, "f2")
            function(given, axis=1, out=into)
            function(values, axis=1, out=array)
            assert np.array_equal(into, array, equal_nan=True), function
