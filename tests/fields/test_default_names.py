"""The names that a Field's indices have by default stay with their index, and are never taken for
names that were given.
"""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb


class Own(gb.Field):
    pass


def views(cls: Any = gb.Field) -> list[Any]:
    field = cls(np.arange(24.0).reshape(2, 3, 4), halo=(0, 1, 1))
    return [
        field,
        field[0],
        field[:, 1],
        field[..., 2],
        field.T,
        field[:, ::2],
        field.transpose("KIJ")[1],
        field.domain,
    ]


SAME: list[Callable[[Any], Any]] = [
    lambda f: f.copy(), copy.copy, copy.deepcopy, gb.copy, lambda f: pickle.loads(pickle.dumps(f)),
    gb.Field.from_array,
    lambda f: f + f, lambda f: f * 2.0, lambda f: -f, lambda f: f > 0, lambda f: f + f.numpy(),
    lambda f: f + f.copy(),
    lambda f: np.add(f, f, dtype="f4", casting="unsafe"), np.sqrt,
    lambda f: np.where(f > 0, f, 1.0), lambda f: np.clip(f, 0, 1),
    lambda f: np.isclose(f, f), gb.zeros_like, lambda f: gb.full_like(f, 1, "i4"), np.empty_like,
    lambda f: gb.ones_like(f, backend="dace:cpu"), lambda f: f.to("f4"),
    lambda f: f.to(backend="dace:cpu"),
    lambda f: f.astype("f4"), lambda f: f.round(), lambda f: f.cumsum(0),
    lambda f: f.sum(0, keepdims=True), gb.Field,
]  # fmt: skip


@pytest.mark.parametrize("cls", [gb.Field, Own])
def test_copies_and_results_have_the_names_of_what_they_come_from(cls: Any) -> None:
    for view in views(cls):
        for call in SAME:
            made = call(view)
            assert made.dims == view.dims and not hasattr(made, "__gt_dims__"), (call, view)
            assert made.transpose(*view.dims[::-1]).shape == made.shape[::-1]


def test_what_is_left_of_a_reduction_keeps_its_own() -> None:
    field = gb.Field(np.ones((2, 3, 4)))
    for axis in range(3):
        kept = tuple(name for i, name in enumerate(field.dims) if i != axis)
        for result in (
            field.sum(axis),
            np.max(field, axis=axis),
            field.mean(axis),
            np.add.reduce(field, axis=axis),
        ):
            assert result.dims == kept and not hasattr(result, "__gt_dims__")


def test_they_are_no_names_to_join_by() -> None:
    """Fields without names meet by position, whatever their indices are called by default."""
    field = gb.Field(np.arange(24.0).reshape(2, 3, 4))
    view, other = field[0], gb.Field(np.ones((3, 4)))
    assert (view + other).dims == view.dims and (other + view).dims == other.dims == ("I", "J")
    assert (
        np.array_equal((view + other).numpy(), view.numpy() + 1)
        and (field + view).dims == field.dims
    )
    assert np.array_equal((view.copy() + field).numpy(), field.numpy() + view.numpy())


def test_a_name_that_is_given_is_one() -> None:
    view = gb.Field(np.ones((2, 3, 4)))[0]
    assert view.to(dims="KJ").__gt_dims__ == ("K", "J") and gb.zeros_like(
        view, dims="IJ"
    ).__gt_dims__ == ("I", "J")
    assert (
        gb.Field(view, dims="IJ").copy().__gt_dims__
        == ("I", "J")
        == gb.Field.from_array(view, dims="IJ").__gt_dims__
    )


def test_a_layout_goes_by_them() -> None:
    """dace:cpu orders K, I, J from the slowest: what was index K of the whole is that of a slice
    too.
    """
    view = gb.Field(np.ones((2, 3, 4)))[:, 1]
    assert view.dims == ("I", "K") and view.to(backend="dace:cpu").strides == (8, 16)
