"""`stencil_call`: gt4py.cartesian stencils on storages and whatever has `__gt_interface__`."""

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.interface import CopyWarning, DomainWarning, LayoutWarning, stencil_call

pytest.importorskip("gt4py.cartesian")
stencils = importlib.import_module("interface_stencils")


@pytest.fixture(scope="module")
def copy() -> Any:
    return stencil_call(stencils.compiled(stencils.copy_stencil))


@pytest.fixture(
    scope="module", params=["numpy", pytest.param("gt:cpu_ifirst", marks=pytest.mark.slow)]
)
def laplace(request: pytest.FixtureRequest) -> Any:
    from gridbuf.doctor import cxx_compiler

    if request.param != "numpy" and cxx_compiler() is None:
        pytest.skip("no C++ compiler")
    return stencil_call(stencils.compiled(stencils.laplace, request.param))


def reference(a: np.ndarray) -> np.ndarray:
    return -4.0 * a[1:-1, 1:-1] + a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]


@pytest.mark.parametrize("axes", ["IJK", "KJI", "JKI"])
def test_the_halos_say_where_to_compute(laplace: Any, axes: str) -> None:
    values = np.random.default_rng(1).random((8, 7, 5))
    backend = laplace.stencil.backend
    inp = gs.zeros((8, 7, 5), defaults=backend, halo=(1, 1, 0))
    out = gs.zeros(tuple(inp.shape["IJK".index(a)] for a in axes), axes=axes, defaults=backend)
    out.halo = tuple((0, 0) if a == "K" else (1, 1) for a in axes)
    inp[...] = values
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        laplace(inp, out)
    got = gb.as_numpy(out, "IJK")
    np.testing.assert_allclose(got[1:-1, 1:-1], reference(values), atol=1e-12)
    got[1:-1, 1:-1] = 0
    assert not got.any()


def test_acquire_touch_and_release_come_around_the_run(copy: Any) -> None:
    log: list[str] = []

    class Logged:
        def __init__(self, name: str) -> None:
            self.name, self.array = name, np.zeros((2, 2, 2))

        @property
        def __gt_interface__(self) -> dict[Any, Any]:
            def note(what: str) -> Any:
                return lambda: log.append(f"{what} {self.name} {self.array[0, 0, 0]:.0f}")

            return {
                None: {
                    **self.array.__array_interface__,
                    **{w: note(w) for w in ("acquire", "touch", "release")},
                }
            }

    source, target = Logged("in"), Logged("out")
    source.array[:] = 3
    copy(source, target)
    assert log == ["acquire in 3", "acquire out 0", "touch out 3", "release in 3", "release out 3"]


def test_planes_columns_scalars_and_keywords() -> None:
    run = stencil_call(stencils.compiled(stencils.plane_and_column))
    plane, column = gs.full((4, 3), 2.0, axes="JI"), gs.storage(np.arange(5.0), axes="K")
    out = gs.zeros((3, 4, 5))
    run(plane=plane, column=column, out=out, factor=10.0)
    np.testing.assert_array_equal(out.to_numpy(), np.broadcast_to(20 + np.arange(5.0), (3, 4, 5)))


def test_fields_that_are_read_and_written() -> None:
    run = stencil_call(stencils.compiled(stencils.accumulate))
    inp, total = gs.ones((2, 2, 2)), gs.full((2, 2, 2), 5.0)
    run(inp, total)
    assert (total.to_numpy() == 6).all()


def test_data_dimensions() -> None:
    run = stencil_call(stencils.compiled(stencils.second_component))
    vector = gb.Field.zeros((2, 4, 3, 2), dims=("0", "K", "J", "I"))
    vector[1] = 7.0
    out = gs.zeros((2, 3, 4))
    run(vector, out)
    assert (out.to_numpy() == 7).all()


def test_origin_and_domain_as_gt4py_takes_them(copy: Any) -> None:
    inp, out = gs.ones((4, 4, 4)), gs.zeros((4, 4, 4), halo=(2, 2, 2))
    copy(inp, out, origin=(1, 1, 1), domain=(2, 1, 3))
    expected = np.zeros((4, 4, 4))
    expected[1:3, 1:2, 1:4] = 1
    np.testing.assert_array_equal(out.to_numpy(), expected)
    out[...] = 0
    copy(inp, out, origin={"_all_": (0, 0, 0), "out_field": (3, 3, 3)}, domain=(1, 1, 1))
    assert out[3, 3, 3] == 1 and np.add.reduce(out, axis=None) == 1
    out[...] = 0
    out.halo = ((1, 2), (0, 3), (2, 0))
    copy(inp, out)  # the output's own origin and halo
    assert (
        out.domain.size
        == 2
        == np.add.reduce(out, axis=None)
        == np.add.reduce(out.domain, axis=None)
    )


def test_policies(copy: Any) -> None:
    inp, out = np.ones((2, 2, 2), np.float32), gs.zeros((2, 2, 2), np.float32)
    with pytest.raises(
        TypeError,
        match=(
            r"in_field: its dtype is float32, float64 is needed;"
            r" .*field.to\(dtype='float64'\).*policy='copy'"
        ),
    ):
        copy(inp, out)
    copying = stencil_call(copy.stencil, policy="copy")
    with pytest.warns(CopyWarning) as told:
        copying(inp, out)
    assert [str(w.message).split(":")[0] for w in told] == ["in_field", "out_field"] and told[
        0
    ].filename == __file__
    assert (out.to_numpy() == 1).all()
    with pytest.raises(ValueError, match="out_field: its dims"):
        copying(inp, gs.zeros((2, 2), axes="IJ"))


def test_a_slow_layout_is_a_warning(laplace: Any) -> None:
    wrong = "C" if laplace.stencil.backend != "numpy" else "F"
    inp = gs.ones((5, 5, 5), defaults=wrong, halo=(1, 1, 0))
    out = gs.ones((5, 5, 5), defaults=wrong, halo=(1, 1, 0))
    with pytest.warns(LayoutWarning) as told:
        laplace(inp, out)
    # gt4py may warn too, without saying from where
    ours = [w for w in told if w.category is LayoutWarning]
    assert [str(w.message).split(":")[0] for w in ours] == ["inp, out"] and ours[
        0
    ].filename == __file__
    assert (out.domain.to_numpy() == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        laplace(inp, out)  # once per mistake


def test_frozen_stencils(copy: Any) -> None:
    frozen = copy.stencil.freeze(
        origin={"in_field": (1, 0, 0), "out_field": (0, 0, 0)}, domain=(1, 2, 2)
    )
    inp, out = gs.storage(np.arange(8.0).reshape(2, 2, 2)), gs.zeros((2, 2, 2), axes="KJI")
    stencil_call(frozen)(inp, out)
    np.testing.assert_array_equal(gb.as_numpy(out, "IJK")[0], inp.to_numpy()[1])
    assert not gb.as_numpy(out, "IJK")[1].any()


def test_what_is_no_stencil() -> None:
    with pytest.raises(
        TypeError, match=r"stencil: expected a gt4py.cartesian stencil, got function"
    ):
        stencil_call(lambda a: a)


def test_wrong_arguments_are_python_s_errors(copy: Any) -> None:
    with pytest.raises(TypeError, match="nothing"):
        copy(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), nothing=1)


def test_it_says_what_it_is(copy: Any) -> None:
    assert "copy_stencil" in repr(copy) and "backend='numpy'" in repr(copy)


def test_gt4py_s_own_call_takes_storages_as_well(copy: Any) -> None:
    """`__gt_dims__`, `__gt_origin__` and the array interface are all that it needs."""
    inp, out = gs.ones((4, 4, 4), halo=(1, 1, 0)), gs.zeros((4, 4, 4), axes="KJI", halo=(0, 1, 1))
    copy.stencil(inp, out, domain=(2, 2, 4))
    assert np.add.reduce(out, axis=None) == 16 and (out.domain.to_numpy() == 1).all()


def test_a_call_seen_before_gives_the_same(laplace: Any) -> None:
    backend = laplace.stencil.backend
    rng = np.random.default_rng(3)
    for halo, axes in ((1, "IJK"), (2, "IJK"), (1, "KJI"), (1, "IJK")):
        for _ in range(3):
            shape = (9, 8, 4)
            inp = gs.storage(rng.random(shape), defaults=backend, halo=(halo, halo, 0))
            out = gs.zeros(tuple(shape["IJK".index(a)] for a in axes), axes=axes, defaults=backend)
            out.halo = tuple((0, 0) if a == "K" else (halo, halo) for a in axes)
            laplace(inp, out)
            expected = np.zeros(shape)
            inner = (slice(halo, -halo), slice(halo, -halo))
            full = np.zeros(shape)
            full[1:-1, 1:-1] = reference(inp.to_numpy())
            expected[inner] = full[inner]
            np.testing.assert_allclose(gb.as_numpy(out, "IJK"), expected, atol=1e-12)
            laplace(inp=inp, out=out, origin=(1, 1, 0), domain=(2, 3, 4))
            np.testing.assert_allclose(
                gb.as_numpy(out, "IJK")[1:3, 1:4], full[1:3, 1:4], atol=1e-12
            )


def test_what_was_right_before_does_not_make_wrong_calls_right(copy: Any) -> None:
    inp, out = gs.ones((3, 3, 3)), gs.zeros((3, 3, 3))
    for _ in range(2):
        copy(inp, out)
        with pytest.raises(TypeError, match="nothing"):
            copy(inp, out, nothing=1)
        with pytest.raises(TypeError):
            copy(inp, in_field=inp, out_field=out)
        with pytest.raises(TypeError, match="float32"):
            copy(gs.ones((3, 3, 3), np.float32), out)
        with pytest.raises(ValueError, match="out_field: its memory is read-only"):
            readonly = np.zeros((3, 3, 3))
            readonly.flags.writeable = False
            copy(inp, readonly)
        with pytest.raises(ValueError, match="domain"):
            copy(inp, out, domain=(4, 4, 4))


def test_a_halo_set_later_counts(copy: Any) -> None:
    inp, out = gs.ones((5, 5, 5)), gs.zeros((5, 5, 5))
    for halo, points in ((0, 125), (1, 27), (2, 1), (0, 125)):
        inp.halo = out.halo = (halo,) * 3
        out[...] = 0
        copy(inp, out)
        assert np.add.reduce(out, axis=None) == points


@pytest.mark.parametrize("policy", ["raise", "copy"])
def test_inputs_of_size_one_count_for_all_points(policy: str) -> None:
    run = stencil_call(stencils.compiled(stencils.plane_and_column), policy=policy)
    for _ in range(2):
        out = gs.zeros((3, 4, 5))
        run(
            plane=gs.storage(np.arange(4.0).reshape(1, 4), axes="IJ"),
            column=gs.ones((1,), axes="K"),
            out=out,
            factor=2.0,
        )
        np.testing.assert_array_equal(
            out.to_numpy(), np.broadcast_to(1 + 2 * np.arange(4.0)[None, :, None], (3, 4, 5))
        )
        flat = gs.zeros((1, 1, 1))
        run(plane=gs.ones((1, 1), axes="IJ"), column=gs.ones((1,), axes="K"), out=flat, factor=2.0)
        assert flat[0, 0, 0] == 3


def test_inputs_of_size_one_whose_neighbours_are_read(laplace: Any) -> None:
    backend = laplace.stencil.backend
    row = gs.storage(np.arange(7.0).reshape(1, 7, 1) ** 2, defaults=backend, halo=(0, 1, 0))
    for _ in range(2):
        out = gs.zeros((6, 7, 5), defaults=backend, halo=(1, 1, 0))
        laplace(row, out)
        np.testing.assert_array_equal(out.domain.to_numpy(), np.full((4, 5, 5), 2.0))


def test_an_output_of_size_one_is_named(copy: Any) -> None:
    with pytest.raises(ValueError, match="out_field: its size is 1 along I, the domain's 3"):
        copy(gs.ones((3, 4, 5)), gs.zeros((1, 4, 5)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: gs.ones((6, 6, 3)),
        lambda: np.ones((6, 6, 3), order="F"),
        lambda: gb.Field(np.ones((6, 6, 3)), "IJK"),
    ],
)
def test_a_field_without_the_halo_that_the_stencil_reads_is_named(laplace: Any, make: Any) -> None:
    out = gs.zeros((6, 6, 3), defaults=laplace.stencil.backend, halo=(1, 1, 0))
    with pytest.raises(
        ValueError, match="inp: it carries no halo along I, and the stencil reads 1 point beyond"
    ):
        laplace(make(), out)
    q = gs.ones((8, 8, 3), defaults=laplace.stencil.backend, halo=(1, 1, 0))
    with pytest.raises(ValueError, match="inp: it carries no halo along I"):
        laplace(q.domain, out)
    with pytest.raises(ValueError, match=r"inp: its halo is \(0, 1\) along J"):
        q.halo = (1, (0, 1), 0)
        laplace(q, out)


def test_fields_are_remembered_with_what_they_say(laplace: Any) -> None:
    backend = laplace.stencil.backend
    values = np.random.default_rng(5).random((8, 7, 5))
    for halo, dims in ((1, "IJK"), (2, "IJK"), (1, "JKI"), (1, "IJK")):
        for _ in range(3):
            inp = gb.Field.zeros((8, 7, 5), dims="IJK", backend=backend, halo=(halo, halo, 0))
            out = gb.Field.zeros(
                tuple(values.shape["IJK".index(d)] for d in dims),
                dims=dims,
                backend=backend,
                halo=[0 if d == "K" else halo for d in dims],
            )
            inp[...] = values
            laplace(inp, out)
            expected = np.zeros((8, 7, 5))
            expected[1:-1, 1:-1] = reference(values)
            inner = (slice(halo, -halo), slice(halo, -halo))
            got = gb.as_numpy(out, "IJK")
            np.testing.assert_allclose(got[inner], expected[inner], atol=1e-12)
            got[inner] = 0
            assert not got.any()
    assert len(laplace._calls) >= 3
    # The same memory, said to be something else: not named, and so in the stencil's order, without
    # halo.
    bare = gb.Field(np.asarray(inp))
    with pytest.raises(ValueError, match="inp: it carries no halo"):
        laplace(bare, out)


def test_domains_that_differ_are_told_once(copy: Any) -> None:
    inp, out = gs.ones((8, 8, 3), halo=(1, 1, 0)), gs.zeros((6, 4, 3))
    with pytest.warns(
        DomainWarning, match="along J in_field has 6, out_field has 4 points.*4 are computed"
    ) as told:
        copy(inp, out)
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", DomainWarning)
        copy(inp, out)
        copy(inp, out, domain=(6, 4, 3))
        copy(inp, gs.zeros((6, 8, 3), halo=(0, 1, 0)))
        copy(gb.Field(np.ones((1, 6, 3)), "IJK"), gs.zeros((6, 6, 3)))
    assert np.all(out == 1)


def test_halos_that_leave_no_point_are_named(copy: Any) -> None:
    with pytest.raises(ValueError, match="domain: in_field leaves no point along J"):
        copy(gs.ones((4, 4, 4), halo=(1, 2, 1)), gs.zeros((4, 4, 4)))


def test_frozen_stencils_seen_before(copy: Any) -> None:
    frozen = stencil_call(
        copy.stencil.freeze(
            origin={"in_field": (1, 0, 0), "out_field": (0, 0, 0)}, domain=(1, 2, 2)
        )
    )
    for value in (3.0, 4.0, 5.0):
        inp, out = gs.full((2, 2, 2), value), gs.zeros((2, 2, 2), axes="KJI")
        frozen(inp, out_field=out)
        assert (
            gb.as_numpy(out, "IJK")[0].tolist() == [[value] * 2] * 2
            and not gb.as_numpy(out, "IJK")[1].any()
        )
        with pytest.raises(TypeError, match="float32"):
            frozen(inp, gs.zeros((2, 2, 2), np.float32))


@pytest.mark.parametrize(
    "backend", ["numpy", pytest.param("gt:cpu_ifirst", marks=pytest.mark.slow)]
)
def test_frozen_stencils_stay_within_their_fields(backend: str) -> None:
    """gt4py looks at nothing there: what is too small would be read, and written, beyond its
    memory.
    """
    from gridbuf.doctor import cxx_compiler

    if backend != "numpy" and cxx_compiler() is None:
        pytest.skip("no C++ compiler")
    origin = {"plane": (0, 0), "column": (0,), "out": (0, 0, 0)}
    frozen = stencil_call(
        stencils.compiled(stencils.plane_and_column, backend).freeze(
            origin=origin, domain=(4, 6, 5)
        )
    )
    right: dict[str, Any] = {
        "plane": gs.ones((4, 6), axes="IJ"),
        "column": gs.ones((5,), axes="K"),
        "out": gs.zeros((4, 6, 5)),
    }
    for name, small in (
        ("plane", gs.ones((1, 6), axes="IJ")),
        ("plane", gs.ones((1, 1), axes="JI")),
        ("column", np.ones(1)),
    ):
        for _ in range(2):
            right["out"][...] = 0
            frozen(**{**right, name: small}, factor=2.0)
            assert (right["out"].to_numpy() == 3).all()
    for name, small in (
        ("plane", np.ones((3, 6))),
        ("column", np.ones(4)),
        ("out", gs.zeros((4, 6, 4))),
        ("out", gs.zeros((1, 6, 5))),
    ):
        with pytest.raises(ValueError, match=f"{name}: its size is {min(small.shape)} along"):
            frozen(**{**right, name: small}, factor=2.0)


def test_the_wrapped_stencil_s_own_attributes(copy: Any) -> None:
    assert copy.backend == "numpy" and set(copy.field_info) == {"in_field", "out_field"}
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = copy.no_such_thing
