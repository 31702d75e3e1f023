"""Operators and ufuncs of Fields and storages with arrays of other libraries on either side, and
ufuncs that other libraries make.
"""

import operator
import random
from typing import Any

import numpy as np
import pytest
from trials import OURS, A

import gridbuf as gb

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, divmod,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    np.add, np.subtract, np.arctan2, np.maximum, np.less, np.hypot,
]  # fmt: skip


def _dask(a: np.ndarray) -> Any:
    return pytest.importorskip("dask.array").from_array(a)


def _xarray(a: np.ndarray) -> Any:
    return pytest.importorskip("xarray").DataArray(a, dims=("I", "J"))


@pytest.mark.parametrize("ours", OURS)
@pytest.mark.parametrize("theirs", [_dask, _xarray], ids=["dask", "xarray"])
def test_the_other_library_answers_by_operators_and_ufuncs_on_either_side(
    ours: str, theirs: Any
) -> None:
    """Storages go by name, and leave operators to xarray; dask, which has no names, is refused
    (storage/test_foreign.py).
    """
    if ours == "storage" and theirs is _dask:
        pytest.skip("refused")
    draw = random.Random(33)
    for _ in range(60):
        call = draw.choice(OPERATORS[: 7 if ours == "storage" else None])
        turned = draw.random() < 0.5
        x, y = np.array(draw.choices(range(1, 9), k=12), float).reshape(3, 4), A
        pair = (theirs(y), OURS[ours](x)) if turned else (OURS[ours](x), theirs(y))
        found, wanted = call(*pair), call(*((y, x) if turned else (x, y)))
        for one, value in zip(
            *((found, wanted) if isinstance(wanted, tuple) else ((found,), (wanted,))), strict=True
        ):
            assert type(one) is type(theirs(y)), (call, turned)
            assert np.array_equal(np.asarray(one), value), (call, turned)


@pytest.mark.parametrize("call", [operator.add, np.add])
def test_names_in_another_order_are_refused_and_not_taken_by_position(call: Any) -> None:
    square = np.arange(9.0).reshape(3, 3)
    other = _xarray(square)
    ours = gb.Field(square, "JI")
    # xarray's own operator asks no Field
    for pair in ((ours, other), (other, ours))[: 1 if call is operator.add else 2]:
        with pytest.raises(ValueError, match=r"names .* differ, and one of them goes by position"):
            call(*pair)


def test_a_class_that_answers_gets_our_object_and_one_that_refuses_is_left_alone() -> None:
    class Answers:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            return [type(obj) for obj in inputs]

    class Refuses:
        __array_ufunc__ = None

    for make in OURS.values():
        ours = make(A)
        if isinstance(ours, gb.Field):
            assert (ours + Answers())[0] is type(ours)
        assert np.add(ours, Answers())[0] is type(ours) and np.add(Answers(), ours)[1] is type(ours)
        with pytest.raises(TypeError):
            ours + Refuses()


@pytest.mark.parametrize("ours", OURS)
@pytest.mark.parametrize(
    "signatures", [["float64(float64,float64)"], []], ids=["compiled", "on call"]
)
def test_ufuncs_of_numba(ours: str, signatures: list[str]) -> None:
    numba = pytest.importorskip("numba")
    twice = numba.vectorize(*([signatures] if signatures else []))(lambda x, y: x + 2 * y)
    obj = OURS[ours](A)
    for args, wanted in (
        ((obj, obj), A + 2 * A),
        ((obj, 1.5), A + 3),
        ((1.5, obj), 1.5 + 2 * A),
        ((A, obj), A + 2 * A),
    ):
        found = twice(*args)
        assert type(found) is type(obj) and np.array_equal(np.asarray(found), wanted)
    for out in (OURS[ours](A), (OURS[ours](A),)):
        target = out[0] if isinstance(out, tuple) else out
        assert twice(obj, 1.0, out=out) is target and np.array_equal(np.asarray(target), A + 2)


@pytest.mark.parametrize("ours", ["unnamed", "storage"])
def test_generalized_ufuncs_of_numba(ours: str) -> None:
    numba = pytest.importorskip("numba")

    @numba.guvectorize(["(float64[:],float64[:])"], "(n)->()")
    def total(row: Any, out: Any) -> None:
        out[0] = row.sum()

    assert np.array_equal(np.asarray(total(OURS[ours](A))), A.sum(axis=1))


@pytest.mark.parametrize("ours", OURS)
def test_special_functions_of_scipy(ours: str) -> None:
    special = pytest.importorskip("scipy.special")
    obj = OURS[ours](A)
    for call in (special.gammaln, special.expit):
        assert type(call(obj)) is type(obj) and np.allclose(np.asarray(call(obj)), call(A))
    assert np.allclose(np.asarray(special.binom(obj, 2.0)), special.binom(A, 2.0))
