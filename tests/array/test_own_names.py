"""Dims with names of the user's own, such as the cells and edges of a mesh."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

CELLS = ("Cell", "K")


def made(shape: tuple[int, ...] = (4, 3), dims: Any = CELLS, **spec: Any) -> gb.Field:
    f = gb.Field.empty(shape, dims=dims, **spec)
    f.numpy()[...] = np.arange(f.size).reshape(shape)
    return f


@pytest.mark.parametrize("dims", [CELLS, ["Edge", "Vertex"], ("C", "0"), ("x", "I"), ("été", "_")])
def test_a_field_keeps_its_names(dims: Any) -> None:
    f = made(dims=dims, halo=((0, 1), (1, 0)))
    assert f.dims == tuple(dims) and f.domain.dims == f.dims and f[1:].dims == f.dims
    assert f.copy().dims == copy.deepcopy(f).dims == pickle.loads(pickle.dumps(f)).dims == f.dims
    assert gb.zeros_like(f).dims == f.dims and f.astype("f4").dims == f.dims
    assert f.T.dims == f.transpose(*f.dims[::-1]).dims == f.dims[::-1]
    assert (f.transpose(*f.dims[::-1]).numpy() == f.numpy().T).all()
    assert (gb.as_numpy(f, f.dims[::-1]) == f.numpy().T).all()


def test_one_name_is_a_transposition() -> None:
    f = made((4,), ("Cell",))
    assert f.transpose("Cell").dims == f.transpose(("Cell",)).dims == f.T.dims == ("Cell",)
    assert gb.as_numpy(f, ("Cell",)).shape == (4,)
    with pytest.raises(ValueError, match="not a permutation"):
        f.transpose("Edge")


def test_operators_go_by_name() -> None:
    f, column, cells = made(), made((3,), ("K",)), made((4,), ("Cell",))
    assert (f + f).dims == (f * column).dims == (cells * f).dims == CELLS
    assert ((f * column).numpy() == f.numpy() * column.numpy()).all()
    assert ((cells * f).numpy() == cells.numpy()[:, None] * f.numpy()).all()
    assert (cells * made((2,), ("Edge",))).dims == ("Cell", "Edge")
    assert (made((2,), ("Edge",)) * cells).dims == ("Cell", "Edge")  # by the alphabet
    assert (column * cells).dims == ("K", "Cell")
    assert f.sum("Cell").dims == ("K",) and (f.sum("Cell").numpy() == f.numpy().sum(0)).all()
    assert np.where(f > 3, f, 0.0).dims == CELLS
    with pytest.raises(ValueError, match="Edge"):
        f[...] = made((4, 3), ("Edge", "K"))
    f += column
    assert f.dims == CELLS and f[0, 2] == 4


def test_gt4py_is_told_that_it_does_not_know_them() -> None:
    f = made(halo=((0, 1), (0, 0)))
    with pytest.raises(AttributeError, match="know I, J, K and numbers"):
        f.__gt_dims__  # noqa: B018
    with pytest.raises(AttributeError, match="know I, J, K and numbers"):
        f.__gt_origin__  # noqa: B018
    assert gb.get_dims(f) is None and made(dims="IJ").__gt_dims__ == ("I", "J")
    assert "dims" not in f.__gt_interface__[None]


@pytest.mark.parametrize(
    "dims", ["CK", "ij", ("a b", "K"), ("", "K"), ("1x", "K"), ("01", "K"), ("IJ", "K")]
)
def test_other_texts_are_no_names(dims: Any) -> None:
    with pytest.raises(ValueError, match="unknown name; allowed are"):
        gb.Field.empty((2, 3), dims=dims)


def test_a_name_once() -> None:
    with pytest.raises(ValueError, match="names a dimension twice"):
        gb.Field.empty((2, 3), dims=("Cell", "Cell"))


def test_backends_lay_own_names_out_as_they_come() -> None:
    """On every rank alike, whatever names the process has used before."""
    made((1, 1), ("Zz9", "Yy9"))
    for dims in (("Zz9", "Yy9", "K"), ("Yy9", "Zz9", "K")):
        f = gb.Field.empty((4, 3, 2), dims=dims, backend="gt:gpu", device="cpu")
        assert f.strides[0] > f.strides[1] > f.strides[2]
    assert gb.Field.empty((4, 3), dims=CELLS, layout=(1, 0)).strides[0] == 8


def test_a_subarray_adds_numbers() -> None:
    made((1, 1), ("First", "Second"))
    f = gb.Field.empty((4, 3), dtype=("f8", (2,)), dims=("First", "K"))
    assert f.dims == ("First", "K", "0")


def test_another_process_knows_them() -> None:
    """Names have other codes there."""
    program = (
        "import pickle, sys, gridbuf as gb; gb.Field.empty((2,), dims=('first_here',));"
        "print(pickle.load(sys.stdin.buffer).dims)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(made()), capture_output=True, check=True
    )
    assert found.stdout.decode().strip() == str(CELLS)
