"""What programs do with arrays, done with a Field in an array's place."""

import numpy as np
import pytest

import gridbuf as gb


@pytest.fixture
def f() -> gb.Field:
    return gb.Field.from_array(
        np.arange(24.0).reshape(2, 3, 4), dims="IJK", halo=(0, 1, 0), backend="gt:cpu_ifirst"
    )


def test_comparisons(f: gb.Field) -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    assert (f[...] == a).all() and not (f != a).any() and (f == f).all() and (f == 3.0).sum() == 1
    for other in (None, "x", object()):
        with pytest.raises(TypeError, match="is compared with numbers and arrays"):
            _ = f == other
    with pytest.raises(ValueError, match="ambiguous"):
        assert f == f
    with pytest.raises(TypeError, match="unhashable"):
        hash(f)


def test_in_place(f: gb.Field) -> None:
    f[:, :, 0] *= 10
    assert f[1, 2, 0] == 200.0
    f.fill(7)
    assert (f == 7).all() and f.view(np.ndarray).base is not None
    f.view(np.ndarray)[...] = 1
    assert f.sum() == 24 and f.view().halo == f.halo and np.shares_memory(f.view(), f)


def test_figures(f: gb.Field) -> None:
    a = np.array(f)
    assert (f.itemsize, f.nbytes, f.size, f.ndim) == (a.itemsize, a.nbytes, a.size, a.ndim)
    assert f.tobytes() == a.tobytes() and f.T.tobytes() == a.T.tobytes()
    rounded = (f / 7).round(2)
    assert (rounded.dims, rounded.halo, rounded.strides) == (f.dims, f.halo, f.strides)
    assert np.array_equal(rounded.numpy(), (a / 7).round(2))
    with pytest.raises(
        TypeError, match=r"kind: expected numpy.ndarray .*; field.numpy\(\).view\('i8'\)"
    ):
        f.view("i8")


class Mine(gb.Field):
    pass


def test_views_of_a_class(f: gb.Field) -> None:
    mine = f.view(Mine)
    assert (
        isinstance(mine, Mine)
        and (mine.dims, mine.halo) == (f.dims, f.halo)
        and np.shares_memory(mine, f)
    )


@pytest.mark.parametrize(
    "data", [[1, 2], np.ones(3, "f4"), np.ones((2, 2), bool), np.ones(2, "c8"), [1.5]]
)
def test_from_array_keeps_the_data_s_dtype(data: object) -> None:
    made = gb.Field.from_array(data)
    assert (
        made.dtype == np.asarray(data).dtype and gb.from_array(np.ones(3, "f4")).dtype == np.float64
    )
    if made.dtype.kind != "c":
        assert gb.Field.from_array(data, dtype="f8").dtype == np.float64


def test_matplotlib_draws_a_line_of_it(f: gb.Field) -> None:
    assert np.shares_memory(f.to_numpy(), f.numpy())
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figure, axes = pyplot.subplots()
    (line,) = axes.plot(f[0, 1])
    assert line.get_ydata().tolist() == f[0, 1].tolist()
    pyplot.close(figure)
