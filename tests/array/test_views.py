"""Slices of a Field: memory is shared, dims stay, halo and origin follow the elements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridbuf as gb

SHAPE = (6, 5, 4)


@st.composite
def keys(draw: st.DrawFn) -> tuple[object, ...]:
    def one(n: int) -> object:
        bound = st.one_of(st.none(), st.integers(-n - 2, n + 2))
        step = st.one_of(st.none(), st.integers(-3, 3).filter(bool))
        return draw(st.one_of(st.integers(-n, n - 1), st.builds(slice, bound, bound, step)))

    return tuple(one(n) for n in SHAPE[: draw(st.integers(0, 3))])


@st.composite
def halos(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    lows = [draw(st.integers(0, n)) for n in SHAPE]
    return tuple((low, draw(st.integers(0, n - low))) for low, n in zip(lows, SHAPE, strict=True))


@given(key=keys(), halo=halos(), backend=st.sampled_from(["C", "F", "gtmc", "dace:cpu"]))
def test_a_slice_counts_which_elements_of_the_halo_it_selected(key, halo, backend) -> None:  # type: ignore[no-untyped-def]
    field = gb.Field.empty(SHAPE, np.int32, dims="KIJ", halo=halo, backend=backend)
    field[...] = np.arange(120).reshape(SHAPE)
    view, expected = field[key], np.arange(120).reshape(SHAPE)[key]
    if not isinstance(view, gb.Field):
        assert view == expected and isinstance(view, np.int32)
        return
    assert (view.numpy() == expected).all() and view.shape == expected.shape
    assert view.size == 0 or np.shares_memory(view, field)
    full = (*key, *(slice(None),) * (3 - len(key)))
    kept = [i for i, k in enumerate(full) if isinstance(k, slice)]
    assert view.dims == tuple("KIJ"[i] for i in kept)
    for at, i in enumerate(kept):
        selected = np.arange(SHAPE[i])[full[i]]
        low, high = sum(selected < halo[i][0]), sum(selected >= SHAPE[i] - halo[i][1])
        if (len(selected) > 1 and selected[0] > selected[1]) or (
            len(selected) == 1 and (full[i].step or 1) < 0
        ):
            low, high = high, low
        assert view.halo[at] == (low, high) and view.origin[at] == low


def test_the_origin_moves_without_a_halo_too() -> None:
    f = gb.Field.zeros((10, 10), dims="IJ", origin=(3, 2))
    assert f.halo is None and f[1:, ::2].origin == (2, 1) and f[5:].origin == (0, 2)


def test_none_is_refused_and_all_ints_give_a_scalar() -> None:
    f = gb.Field.zeros((3, 4), dims="IJ")
    with pytest.raises(TypeError, match="None"):
        f[None]
    assert isinstance(f[1, 2], np.float64) and isinstance(f[np.int64(1), -1], np.float64)
    for bad in (
        5,
        (0, 9),
        -4,
        (0, 0, 0),
        (..., ...),
        2**70,
        (0, -(2**70)),
        np.timedelta64(1),
        [2**70],
    ):
        with pytest.raises(IndexError):
            f[bad]
        with pytest.raises(IndexError):
            f[bad] = 1
    with pytest.raises(IndexError, match="only integers"):
        f[1.5]


def test_advanced_keys_give_a_plain_copy() -> None:
    f = gb.Field.from_array(np.arange(12.0).reshape(3, 4), dims="IJ")
    for key in (
        [0, 2],
        np.array([True, False, True]),
        (slice(None), [1, 1]),
        f.numpy() > 5,
        ([0], 1),
    ):
        result = f[key]
        assert type(result) is np.ndarray and not np.shares_memory(result, f)
        assert (result == f.numpy()[key]).all()


def test_setting_works_as_on_the_array() -> None:
    f = gb.Field.zeros((3, 4), dims="IJ", backend="gt:cpu_ifirst")
    f[1:, ::2] = [[1, 2], [3, 4]]
    f[0] = f[1]
    f[[2], 3] = 9
    expected = np.zeros((3, 4))
    expected[1:, ::2] = [[1, 2], [3, 4]]
    expected[0] = expected[1]
    expected[[2], 3] = 9
    assert (np.asarray(f) == expected).all()
    with pytest.raises(ValueError, match="read-only"):
        gb.Field(np.broadcast_to(1.0, (3, 3)))[0, 0] = 1


def test_transposing_permutes_everything_and_the_domain_has_no_halo() -> None:
    f = gb.Field.empty((4, 5, 6), dims="IJK", halo=(1, (0, 2), 0), origin=(1, 0, 3))
    t = f.transpose(("K", "I", "J"))
    assert (t.dims, t.shape, t.halo, t.origin) == (
        ("K", "I", "J"),
        (6, 4, 5),
        ((0, 0), (1, 1), (0, 2)),
        (3, 1, 0),
    )
    assert np.shares_memory(t, f) and t.__gt_origin__ == f.__gt_origin__ == (1, 0, 3)
    assert (
        f.domain.shape == (2, 3, 6)
        and f.domain.origin == (0, 0, 0)
        and f.domain.halo == ((0, 0),) * 3
    )
    for bad in ("IJ", "IJ0", "IIJ", "XYZ"):
        with pytest.raises(ValueError, match="dims"):
            f.transpose(bad)


def test_gt_origin_is_in_the_order_of_axes_and_then_data_dimensions() -> None:
    f = gb.Field.empty((2, 3, 4, 5, 6), dims=("1", "K", "0", "I", "J"), origin=(1, 2, 3, 4, 5))
    assert f.__gt_origin__ == (4, 5, 2, 3, 1) and f.__gt_dims__ == ("1", "K", "0", "I", "J")
    plain = gb.Field.empty((2, 3))
    assert (
        not hasattr(plain, "__gt_dims__")
        and not hasattr(plain, "__gt_origin__")
        and plain.dims == ("I", "J")
    )
