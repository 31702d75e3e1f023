"""A Field as a person sees it: `print`, a notebook, `plot`."""

import re

import numpy as np
import pytest

import gridbuf as gb


def field(shape=(12, 10, 4), dims="IJK", halo=(2, 2, 0), dtype="f8", **spec):
    made = gb.Field.empty(shape, dtype, dims=dims, halo=halo, **spec)
    made[...] = np.arange(made.size).reshape(shape)
    return made


def test_print_shows_values_and_the_statistics_of_the_domain():
    f = field()
    f[0, 0, 0] = 1e9  # in the halo
    lines = str(f).splitlines()
    inside = np.asarray(f)[2:-2, 2:-2]
    assert lines[0] == repr(f)
    assert lines[-1] == (
        f"domain of 192 points: least {inside.min():.6g}, mean {inside.mean():.6g},"
        f" greatest {inside.max():.6g}"
    )
    assert re.search(r"1\.0*e\+09", str(f)) and "..." in str(f)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, np.nan, 3.0], "domain of 3 points: least 1, mean 2, greatest 3, 1 NaN"),
        ([np.nan, np.nan], "domain of 2 points: all are NaN"),
        (np.array([3, 4], "u1"), "domain of 2 points: least 3, mean 3.5, greatest 4"),
        (np.array([], "f8"), "[]"),
        (np.array(["ab", "c"]), "['ab' 'c']"),
        (np.array([True, False]), "[ True False]"),
        (np.array([1 + 2j]), "[1.+2.j]"),
    ],
    ids=["nan", "all nan", "integers", "empty", "strings", "bools", "complex"],
)
def test_the_last_line_of_any_values(values, said):
    assert str(gb.Field(np.asarray(values), dims="K")).splitlines()[-1] == said


def test_a_large_field_is_shown_by_its_corners():
    assert len(str(field((300, 200, 80)))) < 3000


def test_a_notebook_has_the_drawing_and_the_values():
    html = field()._repr_html_()
    assert "<svg" in html and "<details" in html and "domain of 192 points" in html
    strings = gb.Field(np.array(["<b>"]), dims="K")._repr_html_()
    assert "&lt;b&gt;" in strings and "<b>'" not in strings


@pytest.fixture
def axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


@pytest.mark.parametrize("dims", ["IJK", "KJI", "JKI"])
def test_a_plane_has_the_first_dim_to_the_right_and_the_halo_marked(axes, dims):
    values = np.arange(480.0).reshape(12, 10, 4)
    f = gb.Field(
        values.transpose(["IJK".index(d) for d in dims]).copy(),
        dims=dims,
        halo=[(2, 2, 0)["IJK".index(d)] for d in dims],
    )
    mesh = f.plot(K=3, ax=axes)
    assert mesh.axes is axes and (axes.get_xlabel(), axes.get_ylabel()) == ("I", "J")
    assert axes.get_title() == "K = 3"
    assert np.array_equal(np.asarray(mesh.get_array()).reshape(10, 12), values[:, :, 3].T)
    (frame,) = axes.lines
    assert set(frame.get_xdata()) == {1.5, 9.5} and set(frame.get_ydata()) == {1.5, 7.5}


def test_indices_that_are_not_given_are_cut_where_the_domain_begins(axes):
    f = field(halo=(2, 2, 1))
    assert f.plot(ax=axes).axes.get_title() == "K = 1"


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
def test_colours_span_the_domain_and_not_the_halo(axes, dtype):
    f = gb.Field.zeros((6, 5), dtype, dims="IJ", halo=(1, 2))
    f.domain[...] = np.arange(4).reshape(4, 1) + (0 if dtype == "bool" else 7)
    limits = (0, 1) if dtype == "bool" else (7, 10)
    assert f.plot(ax=axes).get_clim() == limits
    assert f.plot(ax=axes, vmin=-1, vmax=9).get_clim() == (-1, 9)
    g = f.astype("float64")
    g.domain[...] = np.nan
    assert np.isfinite(g.plot(ax=axes).get_clim()).all()  # NaN everywhere in the domain


def test_a_line_and_its_halo(axes):
    line = field().plot(I=-1, K=0, ax=axes, color="k")
    assert np.array_equal(line.get_ydata(), np.asarray(field())[-1, :, 0])
    assert [float(edge.get_xdata()[0]) for edge in axes.lines[1:]] == [1.5, 7.5]


def test_a_field_without_a_halo_has_no_frame(axes):
    gb.Field(np.zeros((4, 3))).plot(ax=axes)
    assert not axes.lines


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"Z": 1}, ValueError, "Z: the Field has the indices I, J, K"),
        ({"K": 4}, IndexError, "K: 4 is beyond the 4 points of the Field"),
        ({"K": 0.5}, TypeError, "K: expected an integer, got 0.5"),
        ({"I": 0, "J": 0, "K": 0}, ValueError, "plot: I, J, K cut every index"),
    ],
)
def test_a_wrong_cut(axes, options, error, said):
    with pytest.raises(error, match=re.escape(said)):
        field().plot(ax=axes, **options)


def test_values_that_are_no_real_numbers(axes):
    with pytest.raises(TypeError, match="no real numbers"):
        gb.Field(np.zeros(3, "c16")).plot(ax=axes)
    with pytest.raises(ValueError, match="one value"):
        gb.Field(np.zeros(())).plot(ax=axes)
