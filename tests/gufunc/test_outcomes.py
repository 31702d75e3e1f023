"""The three outcomes of a call, and what they tell about failed elements."""

import pickle
import warnings

import numpy as np
import pytest

from gridbuf import gufunc


def stack(n: int = 5, singular: tuple[int, ...] = (2,)) -> np.ndarray:
    a = np.random.default_rng(0).normal(size=(n, 3, 3))
    for i in singular:
        a[i] = 0
    return a


KERNELS = {
    "adopted": lambda: gufunc.from_ufunc(np.linalg._umath_linalg.inv),
    "shipped": lambda: gufunc.inv,
}


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_a_singular_matrix_costs_itself_only(make):
    a, inv = stack(), make()
    with pytest.raises(gufunc.PartialSuccess) as caught:
        inv(a)
    error = caught.value
    good = [0, 1, 3, 4]
    assert error.failed.tolist() == [False, False, True, False, False]
    assert (error.nfailed, error.nelements, error.first) == (1, 5, (2,))
    assert [i.tolist() for i in error.indices] == [[2]]
    np.testing.assert_allclose(error.results[good], np.linalg.inv(a[good]), rtol=1e-10)
    assert isinstance(error, gufunc.GufuncError) and "1 of 5" in str(error)


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_all_good_is_a_plain_result(make):
    a = stack(singular=())
    np.testing.assert_allclose(make()(a), np.linalg.inv(a), rtol=1e-9)


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_all_failed_is_another_error(make):
    with pytest.raises(gufunc.TotalFailure) as caught:
        make()(np.zeros((2, 3, 3)))
    assert caught.value.failed.all() and not isinstance(caught.value, gufunc.PartialSuccess)


def test_the_classes_are_told_apart():
    classes = [gufunc.PartialSuccess, gufunc.TotalFailure, gufunc.SignatureError]
    assert all(not issubclass(a, b) for a in classes for b in classes if a is not b)
    assert issubclass(gufunc.SignatureError, TypeError) and issubclass(
        gufunc.SignatureError, ValueError
    )


def test_return_gives_the_result_and_the_info():
    result, info = gufunc.sqrt(np.array([[4.0, -1.0], [9.0, 1.0]]), errors="return")
    assert info and info.codes.tolist() == [[0, 1], [0, 0]] and result[1, 0] == 3
    result, info = gufunc.sqrt(np.array([4.0]), errors="return")
    assert (
        not info and info.failed.tolist() == [False] and info.first is None and info.nelements == 1
    )


def test_warn_gives_one_warning_and_ignore_none():
    x = np.array([-1.0, -2.0, 4.0])
    with pytest.warns(RuntimeWarning, match="2 of 3 elements failed") as caught:
        gufunc.sqrt(x, errors="warn")
    assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(gufunc.sqrt(x, errors="ignore")[:2]).all()


def test_codes_say_why():
    divide = gufunc.from_ufunc(np.divide)
    codes = divide(
        np.array([1.0, 0.0, 1e308, 1.0]), np.array([0.0, 0.0, 1e-10, 2.0]), errors="return"
    )[1].codes
    assert codes.tolist() == [2, 1, 4, 0]


def test_flags_choose_what_counts():
    divide = gufunc.from_ufunc(np.divide, flags=("divide",))
    assert divide(np.array([1.0, 0.0]), np.array([0.0, 0.0]), errors="return")[
        1
    ].codes.tolist() == [2, 0]
    with pytest.raises(ValueError, match="flags"):
        gufunc.from_ufunc(np.divide, flags=("inexact",))


def test_the_mask_does_not_depend_on_the_workers():
    x = np.random.default_rng(1).normal(size=400_000)
    expected = x < 0
    for workers in (1, 2, 5):
        info = gufunc.sqrt(x, errors="return", workers=workers)[1]
        assert (info.failed == expected).all() and info.nfailed == expected.sum()


def test_elements_left_out_by_where_do_not_fail():
    x, mask = np.array([-1.0, 4.0, -1.0, 9.0]), np.array([True, True, False, True])
    _, info = gufunc.sqrt(x, where=mask, out=np.zeros(4), errors="return")
    assert info.nelements == 3 and info.failed.tolist() == [True, False, False, False]


def test_a_failure_in_place_keeps_the_good_ones():
    x = np.array([4.0, -1.0, 9.0])
    with pytest.raises(gufunc.PartialSuccess) as caught:
        gufunc.sqrt(x, out=x)
    assert caught.value.results is x and x[[0, 2]].tolist() == [2, 3] and caught.value.first == (1,)


def test_several_outputs_are_a_tuple():
    with pytest.raises(gufunc.PartialSuccess) as caught:
        gufunc.from_ufunc(np.divmod)(np.array([7.0, 1.0]), np.array([2.0, 0.0]))
    quotient, remainder = caught.value.results
    assert quotient[0] == 3 and remainder[0] == 1 and caught.value.first == (1,)


def test_an_error_can_be_pickled():
    with pytest.raises(gufunc.PartialSuccess) as caught:
        gufunc.inv(stack())
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.first == (2,) and again.nfailed == 1 and str(again) == str(caught.value)


def test_an_unknown_errors_is_refused():
    with pytest.raises(ValueError, match="errors"):
        gufunc.sqrt(1.0, errors="maybe")
