"""halo=1 is one point for each dim, wherever a halo is taken."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.distributed as gbd

VALUES = np.arange(20.0).reshape(4, 5)
PAIRS = ((1, 1), (1, 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda halo: gb.Field.zeros((4, 5), dims="IJ", halo=halo),
        lambda halo: gb.Field.full((4, 5), 2.0, halo=halo),
        lambda halo: gb.Field(VALUES, dims="IJ", halo=halo),
        lambda halo: gb.Field.from_array(VALUES, dims="IJ", halo=halo),
        lambda halo: gb.Field.zeros((4, 5), dims="IJ").to(halo=halo),
        lambda halo: gb.plan((4, 5), halo=halo).field(halo=halo),
        lambda halo: gb.storage.zeros((4, 5), halo=halo),
        lambda halo: gb.pad(VALUES[1:-1, 1:-1], halo),
        lambda halo: gbd.grid((2, 3), halo=halo).zeros(),
        lambda halo: gbd.grid((2, 3)).zeros(halo=halo),
    ],
)
@pytest.mark.parametrize("one", [1, np.int64(1)])
def test_an_int_is_for_each_dim(make: Callable[[Any], Any], one: Any) -> None:
    first, second = make(one), make((1, 1))
    assert first.halo == second.halo == PAIRS and first.strides == second.strides
    assert make(0).halo in (((0, 0), (0, 0)), None)


def test_arrays_are_aligned_at_the_domain() -> None:
    a, b = (gb.zeros((4, 5), backend="gt:cpu_ifirst", halo=halo) for halo in (1, (1, 1)))
    assert a.strides == b.strides
    assert (a.ctypes.data + sum(a.strides)) % 32 == (b.ctypes.data + sum(b.strides)) % 32 == 0
    assert gb.zeros((), halo=1).shape == ()


@pytest.mark.parametrize("wrong", [1.0, True, "1", -1, 10**30, 3])
def test_others_are_refused(wrong: Any) -> None:
    for make in (
        lambda: gb.Field.zeros((4, 5), halo=wrong),
        lambda: gb.Field(VALUES, halo=wrong),
    ):
        with pytest.raises((TypeError, ValueError), match="halo: "):
            make()
