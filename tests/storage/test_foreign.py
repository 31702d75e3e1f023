"""Storages beside arrays of other libraries: labels, graphs and masks are not swallowed, and
nothing goes by position in silence.
"""

import fractions
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs

VALUES = np.arange(24.0).reshape(2, 3, 4)


def test_a_dataarray_of_a_storage_is_one_of_its_array(tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    s, t = gs.storage(VALUES, halo=(0, 1, 1)), gs.storage(VALUES.transpose(2, 1, 0), axes="KJI")
    a, plain = xr.DataArray(s, dims=("x", "y", "z")), xr.DataArray(VALUES, dims=("x", "y", "z"))
    assert type(a.data) is np.ndarray and np.shares_memory(a.data, s)
    for call in (
        lambda a: a.mean(), lambda a: a.sum("y"), lambda a: a.transpose(), lambda a: a.where(a > 3),
        lambda a: a + 1, lambda a: a.isel(x=0),
        lambda a: a.std("z"), lambda a: a.cumsum("x"), lambda a: a.rolling(z=2).mean(),
        lambda a: np.sqrt(a), lambda a: a.astype("f4"),
    ):  # fmt: skip
        xr.testing.assert_identical(call(a), call(plain))
    square = gs.storage([[0.0, 1.0], [2.0, 3.0]], axes="IJ")
    turned = gs.storage([[0.0, 10.0], [20.0, 30.0]], axes="JI")
    both = xr.DataArray(square, dims=("x", "y")) + xr.DataArray(turned, dims=("x", "y"))
    assert (both.data == [[0, 11], [22, 33]]).all()
    pytest.importorskip("netCDF4")
    a.to_netcdf(tmp_path / "a.nc")
    with xr.open_dataarray(tmp_path / "a.nc") as read:
        assert (read.data == VALUES).all()
    assert (xr.DataArray(t, dims=("z", "y", "x")).transpose("x", "y", "z").data == VALUES).all()


def test_beside_a_dataarray_the_axes_are_its_dims() -> None:
    xr = pytest.importorskip("xarray")
    column = gs.storage(np.arange(4.0), axes="K")
    for dims in (("I", "J", "K"), ("K", "I", "J")):
        a = xr.DataArray(
            VALUES.transpose(["IJK".index(d) for d in dims]), dims=dims, coords={"K": [1, 2, 3, 4]}
        )
        for found in (a * column, column * a):
            assert isinstance(found, xr.DataArray) and "K" in found.coords
            assert (found.transpose("I", "J", "K").data == VALUES * np.arange(4.0)).all()
    other = xr.DataArray(np.zeros(4), dims=("height",))
    for call in (lambda: other + column, lambda: column + other):
        with pytest.raises(ValueError, match=r"height.*to_dataarray"):
            call()
    with pytest.raises(TypeError, match="DataArray into its memory"):
        column += other


def test_dask_and_pandas() -> None:
    da, pd = pytest.importorskip("dask.array"), pytest.importorskip("pandas")
    s = gs.ones((3,), axes="K")
    lazy = da.ones(3, chunks=1)
    for call in (
        lambda: s + lazy,
        lambda: lazy + s,
        lambda: np.add(s, lazy),
        lambda: s == lazy,
        lambda: lazy != s,
    ):
        with pytest.raises(TypeError):
            call()
    assert list(pd.Series(s)) == [1.0, 1.0, 1.0] and pd.DataFrame(
        gs.ones((2, 3), axes="IJ")
    ).shape == (2, 3)
    assert isinstance(s + pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"]), pd.Series)
    with pytest.raises(ValueError):
        gs.ones((2, 2), axes="IJ") + pd.DataFrame(np.ones((2, 2)))


def test_masks_are_refused() -> None:
    masked, s = np.ma.masked_array([1.0, 2.0], [0, 1]), gs.zeros((2,))
    for call in (
        lambda: s + masked, lambda: np.add(s, masked), lambda: s.__setitem__(..., masked),
        lambda: gs.storage(masked),
        lambda: gs.as_storage(masked), lambda: np.where(s > 0, s, masked),
        lambda: np.concatenate((s, masked)),
        lambda: s.__setitem__([0, 1], masked), lambda: np.copyto(s, masked),
        lambda: np.dot(s, masked), lambda: s.fill(masked),
        lambda: gs.full((2,), masked), lambda: np.full_like(s, masked), lambda: s + np.ma.masked,
        lambda: s.__setitem__(0, np.ma.masked),
        lambda: s[np.ma.masked_array([0, 1], [0, 1])], lambda: s.__setitem__(masked > 0, 1.0),
        lambda: gs.storage([1.0, np.ma.masked]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="mask"):
            call()
    assert isinstance(masked + s, np.ma.MaskedArray) and (masked + s).mask.tolist() == [False, True]
    assert ((s + np.ma.masked_array([1.0, 2.0])).to_numpy() == [1, 2]).all()  # nothing is masked


class Duck:
    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> str:
        return "duck"

    def __array_function__(self, *args: Any) -> str:
        return "duck"

    def __radd__(self, other: Any) -> str:
        return "added"


def test_others_have_their_turn() -> None:
    s = gs.ones((2,))
    assert s + Duck() == "added" and np.add(s, Duck()) == "duck" and np.add(Duck(), s) == "duck"
    assert np.concatenate([s, Duck()]) == "duck" and np.where(s > 0, s, Duck()) == "duck"
    for other in (None, "a", fractions.Fraction(1, 2), object()):
        with pytest.raises(
            TypeError, match="is added to numbers" if other == "a" else "unsupported operand"
        ):
            s + other
        with pytest.raises(TypeError, match="is compared with numbers"):
            s == other  # noqa: B015
        with pytest.raises(TypeError, match="into its memory"):
            s += other
    for equal in (
        lambda: s == Duck(),
        lambda: Duck() != s,
        lambda: gb.Field.ones((2,), dims="K") == Duck(),
    ):
        # Its class does not say, and identities are not meant
        with pytest.raises(TypeError, match="compared with numbers"):
            equal()
    pair = [1, 2]
    assert type(s + pair) is type(s + gb.Field(np.ones(2), dims="I")) is gs.CPUStorage
    assert type(gb.Field(np.ones(2), dims="I") + s) is gs.CPUStorage


@pytest.mark.parametrize("axes", ["IJK", "KJI"])
def test_halo_and_origin_survive_round_trips(axes: str) -> None:
    s = gs.storage(VALUES, axes=axes, halo=((0, 1), 1, (2, 0)))
    field = gb.Field(s)
    assert (
        field.halo == s.halo and field.dims == tuple(axes) and gs.as_storage(field).halo == s.halo
    )
    assert gb.Field(gs.ones((2,))).halo is None
    pytest.importorskip("xarray")
    gbx = pytest.importorskip("gridbuf.interop.xarray")
    array = gbx.to_dataarray(s)
    turned = array.transpose(*reversed(array.dims))
    for back in (
        gs.as_storage(array),
        gs.storage(array),
        gb.Field(array),
        gbx.from_dataarray(array),
    ):
        assert back.halo == s.halo
    assert gs.as_storage(turned).halo == s.halo[::-1] == gb.Field(turned).halo
    assert gs.as_storage(array[1:]).halo == ((0, 0),) * 3 and gb.Field(array[1:]).halo is None


def test_lists_and_masks_as_keys_take_values_by_name() -> None:
    cube = np.arange(27.0).reshape(3, 3, 3)
    v, k = gs.storage(cube, axes="KJI"), gs.storage([1.0, 2.0, 3.0], axes="K")
    for key, expected in (
        ([0, 1, 2], cube.T), ((slice(None), [0, 1, 2]), cube.T), ((..., [0, 1, 2]), cube.T),
        ([True, True, True], cube.T),
        (np.array([0, 1, 2]), cube.T),
    ):  # fmt: skip
        c = gs.zeros((3, 3, 3))
        c[key] = v
        assert (c.to_numpy() == expected).all()
    c = gs.zeros((3, 3, 3))
    c[[2, 0]] = k
    assert (c.to_numpy()[[0, 2]] == [1, 2, 3]).all() and not c.to_numpy()[1].any()
    c[1, :, [0, 2]] = gs.storage([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]], axes="JK")
    assert (c.to_numpy()[1][:, [0, 2]] == [[5, 6], [7, 8], [9, 10]]).all()
    for key in (c > 1, ([0, 1], [0, 1]), cube > 3, (slice(None), [[0, 1], [1, 0]])):
        with pytest.raises(TypeError, match="has no names"):
            c[key] = v
        c[key] = 1.0
    with pytest.raises(ValueError, match="axes 'K' do not fit into 'IJ'"):
        c[:, [0, 1], 0] = k


def test_three_dimensions_with_ones_fit_where_their_axes_lack() -> None:
    t, values = gs.zeros((6, 5), axes="KI"), np.arange(30.0).reshape(5, 1, 6)
    t[...] = values
    assert (t.to_numpy() == values[:, 0].T).all()
    t += values
    assert (
        (t.to_numpy() == 2 * values[:, 0].T).all()
        and (t + values).axes == "KI"
        and (t + np.ones((5, 4, 6))).axes == "IJK"
    )
    assert np.positive(np.ones((5, 1, 6)), out=t) is t and np.all(t == 1)
    cube = gs.zeros((5, 6, 2))
    cube[:, :, 0] = values.reshape(5, 6, 1)
    assert (cube[:, :, 0].to_numpy() == values[:, 0]).all()
    with pytest.raises(ValueError, match="do not fit"):
        t[...] = np.ones((5, 2, 6))
    with pytest.raises(ValueError, match="out: its axes"):
        np.positive(np.ones((5, 2, 6)), out=t)


def test_the_domain_can_be_assigned() -> None:
    for axes in ("IJK", "KJI"):
        s = gs.zeros((4, 4, 4), axes=axes, halo=(1, 1, 1))
        s.domain += 1
        s.domain *= 3
        s.domain_view -= 1
        assert np.sum(s) == 16 and s[1, 1, 1] == 2 and s[0, 0, 0] == 0
        s.domain = gs.storage([5.0, 6.0], axes="K")
        assert np.sum(s) == 44
        s.domain = 1
        assert np.sum(s) == 8
