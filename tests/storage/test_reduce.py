"""reduce, and the NumPy functions that storages support."""

from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs

VALUES = np.random.default_rng(3).random((3, 4, 5)) + 0.1


@pytest.mark.parametrize("axis, numbers, axes", [
    ("K", 2, "IJ"), ("KI", (0, 2), "J"), (0, 0, "JK"), (-1, 2, "IJ"), (("I", "K"), (0, 2), "J"),
    (("I", 1), (0, 1), "K"),
    ((0, 1, 2), (0, 1, 2), ""), ("IJK", None, ""), (None, None, ""), (["J"], 1, "IK"),
])  # fmt: skip
@pytest.mark.parametrize(
    "ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or]
)
def test_reduce_over_names_and_numbers(
    ufunc: np.ufunc, axis: object, numbers: object, axes: str
) -> None:
    s = gs.storage(VALUES, defaults="gtmc")
    found, expected = ufunc.reduce(s, axis=axis), ufunc.reduce(VALUES, axis=numbers)
    assert type(found) is gs.CPUStorage and found.axes == axes and found.dtype == expected.dtype
    assert np.allclose(found.to_numpy(), expected, rtol=1e-14)


def of_arrays(source: Any, out: Any, axis: Any) -> np.ndarray:
    numbers = tuple("IJK".index(name) if isinstance(name, str) else name
                    for name in ((axis,) if isinstance(axis, int) else axis))  # fmt: skip
    return np.add.reduce(source.to_numpy(), axis=numbers, out=np.zeros_like(out.to_numpy()))


STORAGE, FIELD = gs.storage(VALUES, defaults="gtmc"), gb.Field(VALUES, "IJK")
UNNAMED = gb.Field(VALUES)


@pytest.mark.parametrize("source, axis", [
    *((source, axis) for source in (STORAGE, FIELD) for axis in ("K", "KI", ("J", 2), 0, (0, -1))),
    (UNNAMED, 0), (UNNAMED, (0, -1)),
])  # fmt: skip
def test_reduce_into_an_output(source: Any, axis: Any) -> None:
    expected = np.add.reduce(source, axis=axis)
    out = expected.copy()
    out[...] = 7.0
    assert np.add.reduce(source, axis=axis, out=out) is out
    assert (out.to_numpy() == expected.to_numpy()).all()
    single = expected.astype(np.float32)
    np.add.reduce(source, axis=axis, out=single)  # the output's dtype is that of the sum
    assert (single.to_numpy() == of_arrays(source, single, axis)).all()


@pytest.mark.parametrize("source", [STORAGE, FIELD])
def test_outputs_with_the_names_of_the_result_need_no_python(
    source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = np.add.reduce(source, axis="J")
    turned, expected = out.transpose("KI"), out.to_numpy().copy()
    turned[...] = 0.0
    np.add.reduce(source, axis="J", out=turned)
    assert (out.to_numpy() == expected).all()
    with pytest.raises(ValueError, match="out"):
        np.add.reduce(source, axis="I", out=out)
    monkeypatch.setattr("gridbuf.named.reductions.METHODS", {})
    assert np.add.reduce(source, axis="J", out=out) is out
    with pytest.raises(KeyError):
        np.add.reduce(source, axis="J", out=turned)


def test_ufuncs_that_reduce_one_axis_at_a_time() -> None:
    s = gs.storage(VALUES)
    assert np.allclose(
        np.subtract.reduce(s, axis="J").to_numpy(), np.subtract.reduce(VALUES, axis=1)
    )
    with pytest.raises(ValueError, match="reorderable"):
        np.subtract.reduce(s, axis="JK")


def test_the_default_axis_is_the_first() -> None:
    assert np.add.reduce(gs.storage(VALUES)).axes == "JK"


def test_keepdims_initial_where_and_dtype() -> None:
    s = gs.storage(VALUES, halo=(1, 1, (2, 0)), aligned_index=(1, 2, 3))
    kept = np.add.reduce(s, axis="JK", keepdims=True)
    assert kept.axes == "IJK" and kept.shape == (3, 1, 1)
    assert kept.halo == ((1, 1), (0, 0), (0, 0)) and kept.aligned_index == (1, 0, 0)
    assert (
        np.add.reduce(s, axis="K", initial=100.0).to_numpy()
        == np.add.reduce(VALUES, axis=2, initial=100.0)
    ).all()
    assert np.add.reduce(s, axis="K", dtype=np.float32).dtype == np.float32
    where = gs.storage(np.array([True, False, True, True]), axes="J")
    found = np.add.reduce(s, axis="J", where=where)
    assert (
        found.to_numpy() == np.add.reduce(VALUES, axis=1, where=where.to_numpy()[None, :, None])
    ).all()


def test_removed_axes_leave_halo_and_aligned_index() -> None:
    s = gs.storage(
        VALUES,
        axes="KIJ",
        halo=((1, 0), (0, 2), (3, 1)),
        aligned_index=(4, 5, 6),
        layout="JKI",
        alignment=2,
    )
    found = np.add.reduce(s, axis="I")
    assert (found.axes, found.halo, found.aligned_index) == ("KJ", ((1, 0), (3, 1)), (4, 6))
    assert found.layout == "JKI" and found.alignment == 2


def test_small_integers_add_up_as_in_numpy() -> None:
    s = gs.full((300,), 1, np.int8)
    assert (
        np.add.reduce(s).dtype == np.add.reduce(s.to_numpy()).dtype and int(np.add.reduce(s)) == 300
    )


def test_out_is_matched_by_name() -> None:
    s, out, plain = gs.storage(VALUES), gs.empty((5, 3), axes="KI"), np.empty((3, 5))
    assert (
        np.add.reduce(s, axis="J", out=out) is out
        and np.add.reduce(s, axis="J", out=plain) is plain
    )
    assert (out.to_numpy() == VALUES.sum(axis=1).T).all() and (plain == VALUES.sum(axis=1)).all()
    for wrong in (gs.empty((3, 4), axes="IJ"), gs.empty((3, 4, 5))):
        with pytest.raises(ValueError, match="out"):
            np.add.reduce(s, axis="J", out=wrong)


@pytest.mark.parametrize("axis, error",
[("L", ValueError), ("II", ValueError), (("I", 0), ValueError), (3, ValueError),
                                         (-4, ValueError), (1.5, TypeError),
                                         ("", ValueError)])  # fmt: skip
def test_bad_axes(axis: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="axis"):
        np.add.reduce(gs.storage(VALUES), axis=axis)


@pytest.mark.parametrize("function", [np.all, np.any, np.max, np.min, np.amax, np.amin])
@pytest.mark.parametrize("values", [VALUES, VALUES > 0.5, np.zeros((2, 2)), np.ones((2, 2))])
def test_functions_without_axis_give_scalars(function: object, values: np.ndarray) -> None:
    found, expected = function(gs.storage(values)), function(values)
    assert found == expected and type(found) is type(expected) and not isinstance(found, gs.Storage)


@pytest.mark.parametrize("function", [np.all, np.any, np.max, np.min])
def test_functions_with_axis_reduce(function: object) -> None:
    found = function(gs.storage(VALUES > 0.5), axis="KI")
    assert (
        type(found) is gs.CPUStorage
        and found.axes == "J"
        and (found.to_numpy() == function(VALUES > 0.5, axis=(0, 2))).all()
    )
    assert function(gs.storage(VALUES), axis=1, keepdims=True).shape == (3, 1, 5)
    out = gs.empty((4,), bool, axes="J")
    assert function(gs.storage(VALUES > 0.5), axis="IK", out=out) is out


def test_functions_of_no_elements() -> None:
    s = gs.zeros((0, 3))
    assert np.all(s) and not np.any(s)
    with pytest.raises(ValueError):
        np.max(s)


@pytest.mark.parametrize("axes, order",
[("KJI", (2, 1, 0)), ("KIJ", (2, 0, 1)), ((1, 2, 0), (1, 2, 0)), ((-1, 0, 1), (2, 0, 1)),
                                         (None, (2, 1, 0)),
                                         (("J", "K", "I"), (1, 2, 0))])  # fmt: skip
def test_transpose_is_a_view_with_everything_permuted(axes: object, order: tuple[int, ...]) -> None:
    s = gs.storage(VALUES, halo=((1, 0), (0, 1), (2, 2)), aligned_index=(1, 2, 3), defaults="gtmc")
    t = np.transpose(s, axes)
    assert t.axes == "".join("IJK"[i] for i in order) and t.shape == tuple(
        s.shape[i] for i in order
    )
    assert t.halo == tuple(s.halo[i] for i in order) and t.aligned_index == tuple(
        s.aligned_index[i] for i in order
    )
    assert (
        t.strides == tuple(s.strides[i] for i in order)
        and t.layout == s.layout
        and t.alignment == s.alignment
    )
    t[0, 0, 0] = -1.0
    assert s[0, 0, 0] == -1.0


@pytest.mark.parametrize("axes", ["IJ", "IJP", "IIJ", (0, 1), (0, 0, 1), (0, 1, 3)])
def test_bad_transpositions(axes: object) -> None:
    with pytest.raises(ValueError):
        np.transpose(gs.storage(VALUES), axes)


def test_reinterpret_calls_the_indices_otherwise() -> None:
    s = gs.storage(VALUES, halo=((1, 0), (0, 1), (2, 2)), aligned_index=(1, 2, 3), layout="JKI")
    t = s.reinterpret("KJI")
    assert (
        t.axes == "KJI"
        and t.shape == s.shape
        and t.strides == s.strides
        and np.shares_memory(t.to_numpy(), s.to_numpy())
    )
    assert t.halo == s.halo and t.aligned_index == s.aligned_index
    assert t.layout == "JIK"  # I is called K now, and K is called I
    assert gs.empty((3, 4), axes="IJ", layout="KIJ").reinterpret("JK").layout == "IJK"
    for axes in ("IJ", "IJJ", "ABC"):
        with pytest.raises(ValueError, match="axes"):
            s.reinterpret(axes)


@pytest.mark.parametrize("managed", [None, "gt4py", "cuda"])
def test_on_the_device(gpu: FakeDevice, managed: str | None) -> None:
    s = gs.ones((3, 4), device="gpu", managed=managed)
    found = np.add.reduce(s, axis="J")
    assert type(found) is type(s) and gpu.log == []
    if managed == "gt4py":
        assert found.sync_state.state == gs.SyncState.SYNC_DEVICE_DIRTY
        s.set_host_modified()
        assert (
            np.add.reduce(s, axis="J").sync_state.state == gs.SyncState.SYNC_HOST_DIRTY
            and gpu.log == []
        )
    assert np.max(s) == 1.0 and found._dev.hidden.tolist() == [4, 4, 4]
    with pytest.raises(TypeError, match="out"):
        np.add.reduce(gs.ones((3, 4), device="gpu", managed=None), axis="J", out=np.empty(3))
