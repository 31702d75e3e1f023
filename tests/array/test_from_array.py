"""Arrays and Fields made from others: from_array, the *_like functions, copy, to, pickle."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridbuf as gb

VALUES = np.arange(24).reshape(2, 3, 4)


def test_from_array_is_float64_unless_told_otherwise_and_always_a_copy() -> None:
    a = gb.from_array(VALUES, backend="gt:cpu_ifirst")
    assert (
        type(a) is np.ndarray
        and a.dtype == np.float64
        and (a == VALUES).all()
        and a.strides == (8, 16, 48)
    )
    assert gb.from_array(VALUES, dtype=None).dtype == VALUES.dtype
    assert gb.from_array(VALUES, np.float32).dtype == np.float32, "gt4py's second position"
    same = gb.from_array(a, dtype=None)
    assert not np.shares_memory(same, a)
    assert gb.from_array([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert gb.from_array(None, VALUES).shape == VALUES.shape


def test_values_convert_as_same_kind() -> None:
    with pytest.raises(TypeError, match="dtype=None"):
        gb.from_array(np.ones(3) * 1j)
    with pytest.raises(TypeError, match="same_kind"):
        gb.from_array([1.5], dtype=np.int32)
    with pytest.raises(TypeError, match="data"):
        gb.from_array()
    with pytest.warns(DeprecationWarning, match="sync_state"):
        gb.from_array(VALUES, sync_state=None)


def test_sub_shape_dtypes_add_data_dimensions() -> None:
    a = gb.zeros((4, 5), (np.float64, (2,)), backend="gt:cpu_kfirst", aligned_index=(1, 1))
    assert a.shape == (4, 5, 2) and a.strides == (40, 8, 160) and a.dtype == np.float64
    plan = gb.plan((4, 5, 6, 3), (np.int16, (2, 2)), halo=(1, 1, 0, 0))
    assert plan.dims == ("I", "J", "K", "0", "1", "2") and plan.aligned_index == (1, 1, 0, 0, 0, 0)
    f = gb.Field.zeros((4, 5), (np.float64, (2,)), dims="IJ", halo=(1, 1))
    assert f.halo == ((1, 1), (1, 1), (0, 0)) and f.dims == ("I", "J", "0")
    assert gb.from_array(np.zeros((4, 5, 2)), dtype=(np.float64, (2,))).shape == (4, 5, 2)
    with pytest.raises(ValueError, match="sub-shape"):
        gb.from_array(np.zeros((4, 5, 3)), dtype=(np.float64, (2,)))


def test_the_data_s_own_dims_decide_the_layout() -> None:
    f = gb.Field.from_array(VALUES, dims="KJI")
    assert gb.from_array(f, backend="gt:cpu_kfirst").strides == (8, 16, 48)
    g = gb.Field.from_array(f, backend="gt:cpu_kfirst")
    assert g.dims == ("K", "J", "I") and g.strides == (8, 16, 48)


@pytest.mark.parametrize("backend", gb.backends())
def test_like_keeps_order_padding_and_alignment(backend: str) -> None:
    f = gb.Field.zeros(
        (5, 6, 7), np.float32, dims="JKI", halo=(1, 0, 2), backend=backend, device="cpu"
    )
    g = gb.empty_like(f)
    assert (
        type(g) is type(f)
        and g.strides == f.strides
        and (g.dims, g.halo, g.origin) == (f.dims, f.halo, f.origin)
    )
    assert g.numpy().ctypes.data % 64 == f.numpy().ctypes.data % 64
    a = gb.zeros_like(f.numpy())
    assert type(a) is np.ndarray and a.strides == f.strides and not a.any()
    assert gb.ones_like(f, np.float64).dtype == np.float64 and gb.full_like(f, 3).numpy().max() == 3
    assert gb.empty_like(f, backend="C").strides == gb.plan((5, 6, 7), np.float32).strides


def test_like_of_other_things() -> None:
    assert gb.zeros_like([[1, 2]]).dtype == np.array([1]).dtype
    assert gb.empty_like(np.zeros((3, 4), order="F")[:, ::-1]).strides == (8, 24)
    assert gb.empty_like(gb.Field.zeros((2, 3))).origin is None and not hasattr(
        gb.empty_like(gb.Field.zeros((2, 3))), "__gt_dims__"
    )


@given(
    backend=st.sampled_from(["C", "F", "gtmc", "gt:cpu_ifirst", "dace:cpu"]),
    padding=st.sampled_from([None, True, False, 5]),
    boundary=st.sampled_from([None, 8, 128]),
    dtype=st.sampled_from(["f8", "i2", "c8", "?"]),
    protocol=st.integers(2, pickle.HIGHEST_PROTOCOL),
)
def test_copies_and_pickles_are_laid_out_as_the_original(
    backend, padding, boundary, dtype, protocol
) -> None:  # type: ignore[no-untyped-def]
    f = gb.Field.empty(
        (3, 4, 5),
        dtype,
        dims="KIJ",
        halo=(0, 1, (2, 1)),
        origin=(1, 1, 2),
        backend=backend,
        padding=padding,
        byte_alignment=boundary,
    )
    f[...] = np.arange(60).reshape(3, 4, 5) % 2
    for other in (
        f.copy(),
        copy.copy(f),
        copy.deepcopy(f),
        pickle.loads(pickle.dumps(f, protocol)),
        f.to(),
    ):
        assert (
            other.plan == f.plan
            and other.strides == f.strides
            and (other.numpy() == f.numpy()).all()
        )
        assert (other.dims, other.halo, other.origin) == (
            f.dims,
            f.halo,
            f.origin,
        ) and not np.shares_memory(other, f)


def test_a_copied_slice_keeps_values_names_and_order() -> None:
    f = gb.Field.from_array(VALUES, dims="IJK", halo=(0, 1, 1), backend="gt:cpu_ifirst")
    view = f[:, ::-1, 1:]
    for other in (view.copy(), pickle.loads(pickle.dumps(view))):
        assert (
            (other.numpy() == view.numpy()).all()
            and other.halo == view.halo
            and other.dims == view.dims
        )
        assert other.plan.layout == (2, 1, 0)


def test_to_another_layout_dtype_and_order() -> None:
    f = gb.Field.from_array(VALUES, dtype="f8", dims="IJK", halo=(0, 1, 1))
    g = f.to(backend="gt:cpu_ifirst", dims="KJI", dtype=np.float32)
    assert (
        g.dims == ("K", "J", "I")
        and g.shape == (4, 3, 2)
        and g.dtype == np.float32
        and g.halo == ((1, 1), (1, 1), (0, 0))
    )
    assert (gb.as_numpy(g, "IJK") == VALUES).all() and g.strides == (24, 8, 4)
    with pytest.raises(ValueError, match="dims"):
        f.to(dims="IJ")
    with pytest.raises(TypeError, match="same_kind"):
        f.to(dtype=np.int32)


def test_names_and_arrays_of_objects() -> None:
    f = gb.Field.zeros((2, 3, 4), dims="KJI")
    assert (
        gb.as_numpy(f).shape == (2, 3, 4)
        and gb.as_numpy(f, "IJK").shape == (4, 3, 2)
        and np.shares_memory(gb.as_numpy(f, "IJK"), f)
    )
    assert gb.as_numpy(VALUES) is VALUES and gb.as_numpy(VALUES, "KJI") is VALUES
    with pytest.raises(ValueError, match="dims"):
        gb.as_numpy(f, "IJ")
    assert (
        gb.get_dims(VALUES) is None
        and gb.get_dims(VALUES, "IJK") == ("I", "J", "K")
        and gb.get_origin(VALUES) is None
    )
    assert gb.get_dims(gb.Field.zeros((2, 3)), annotation="KJ") == ("K", "J")
    with pytest.raises((ImportError, TypeError)):
        gb.as_cupy(f)


def test_copyto_fill_and_threads() -> None:
    f = gb.Field.zeros((3, 4), np.float32, backend="F")
    gb.copyto(f, np.arange(4))
    assert (f.numpy() == np.arange(4)).all()
    gb.fill(f[1:], 7)
    assert f[2, 3] == 7 and f[0, 3] == 3
    with pytest.raises(TypeError):
        gb.copyto(f, np.ones((3, 4)) * 1j)
    with pytest.raises(ValueError):
        gb.copyto(f, np.ones((2, 5)))
    with pytest.warns(np.exceptions.ComplexWarning):
        gb.copyto(f, np.ones((3, 4)) * 2j, casting="unsafe")
    before = gb.get_num_threads()
    gb.set_num_threads(1)
    assert gb.get_num_threads() == 1
    gb.set_num_threads(before)
    for bad, error in ((0, ValueError), ("2", TypeError)):
        with pytest.raises(error, match="n: "):
            gb.set_num_threads(bad)
