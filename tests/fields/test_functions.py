"""NumPy's functions on Fields: by name, or by position only where that is the same."""

import numpy as np
import pytest

import gridbuf as gb

A = np.arange(9.0).reshape(3, 3)


def test_functions_that_go_by_name() -> None:
    f, g = gb.Field(A, "IJ", halo=(1, 0)), gb.Field(A, "JI")
    chosen = np.where(f > 3, f, g)
    assert (
        chosen.dims == ("I", "J")
        and chosen.halo == f.halo
        and np.array_equal(chosen.numpy(), np.where(A > 3, A, A.T))
    )
    assert np.array_equal(np.clip(f, 2, g).numpy(), np.clip(A, 2, A.T)) and np.array_equal(
        f.clip(2, 5).numpy(), A.clip(2, 5)
    )
    assert np.array_equal(f.clip(max=5).numpy(), A.clip(max=5))
    assert (
        np.allclose(f, gb.Field(A.T, "JI"))
        and not np.allclose(f, g)
        and np.array_equal(f, gb.Field(A.T, "JI"))
    )
    assert not np.array_equal(f, gb.Field(np.ones(3), "I")) and not np.array_equal(
        f, gb.Field(np.ones((2, 3)), "IJ")
    )
    assert np.isclose(f, gb.Field(A.T, "JI")).all()
    assert np.transpose(f).dims == ("J", "I") and np.transpose(f, "JI").dims == ("J", "I")


def test_functions_of_position_refuse_names_that_differ() -> None:
    f, g, h = gb.Field(A, "IJ"), gb.Field(A, "JI"), gb.Field(A + 1, "IJ")
    for call in (
        lambda x: np.vstack([f, x]),
        lambda x: np.stack((f, x)),
        lambda x: np.dot(f, x),
        lambda x: np.einsum("ij,ij->i", f, x),
    ):
        assert np.array_equal(call(h), call(A + 1))
        with pytest.raises(ValueError, match="it goes by position, and the Fields' names"):
            call(g)


def test_other_functions_see_arrays() -> None:
    f = gb.Field(A, "IJ")
    assert (
        np.array_equal(np.rot90(f), np.rot90(A))
        and np.shape(f) == (3, 3)
        and np.ndim(f) == 2
        and np.size(f) == 9
    )
    assert np.array_equal(
        np.linalg.inv(gb.Field(A + 9 * np.eye(3), "IJ")), np.linalg.inv(A + 9 * np.eye(3))
    )
    assert np.shares_memory(f, f.numpy()) and np.result_type(f, "f4") == "f8"
    out = gb.Field.zeros((3, 3), dims="IJ")
    assert np.round(f, out=out) is out and np.array_equal(out.numpy(), A)


def test_likes() -> None:
    f = gb.Field.ones((3, 4), "f4", dims="JI", halo=(1, 0), backend="F")
    for like in (np.zeros_like(f), np.ones_like(f), np.empty_like(f), np.full_like(f, 3)):
        assert isinstance(like, gb.Field) and (like.dims, like.halo, like.strides, like.dtype) == (
            f.dims,
            f.halo,
            f.strides,
            f.dtype,
        )
    assert (
        np.zeros_like(f, dtype="f8").dtype == "f8"
        and type(np.zeros_like(f, shape=(2,))) is np.ndarray
    )
