"""Real gt4py stencils on Fields: the call names no origin and no order of indices."""

import importlib

import numpy as np
import pytest

import gridbuf as gb

pytest.importorskip("gt4py.cartesian")
stencils = importlib.import_module("gt4py_stencils")


@pytest.fixture(
    scope="module", params=["numpy", pytest.param("gt:cpu_ifirst", marks=pytest.mark.slow)]
)
def diffuse(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    from gridbuf.doctor import cxx_compiler

    if request.param != "numpy" and cxx_compiler() is None:
        pytest.skip("no C++ compiler")
    return request.param, stencils.compiled(request.param)


def reference(a: np.ndarray) -> np.ndarray:
    out = np.zeros_like(a)
    out[1:-1, 1:-1] = -4.0 * a[1:-1, 1:-1] + a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]
    return out


@pytest.mark.parametrize("dims", ["IJK", "KJI", "JKI"])
def test_dims_and_origin_are_carried_by_the_fields(diffuse, dims: str) -> None:  # type: ignore[no-untyped-def]
    backend, stencil = diffuse
    values = np.random.default_rng(1).random((9, 8, 5))
    order = tuple("IJK".index(d) for d in dims)
    halo = tuple((1, 1, 0)[i] for i in order)
    inp = gb.Field.from_array(values.transpose(order), dims=dims, halo=halo, backend=backend)
    out = gb.Field.zeros(inp.shape, dims=dims, halo=halo, backend=backend)
    pointer = out.numpy().ctypes.data
    stencil(inp, out, domain=(7, 6, 5))
    assert out.numpy().ctypes.data == pointer
    assert np.allclose(gb.as_numpy(out, "IJK"), reference(values))


def test_plain_arrays_give_what_gt4py_s_own_give(diffuse) -> None:  # type: ignore[no-untyped-def]
    import gt4py.storage

    backend, stencil = diffuse
    values = np.random.default_rng(2).random((9, 8, 5))
    results = []
    for make in (gb.from_array, gt4py.storage.from_array):
        inp = make(values, np.float64, backend=backend, aligned_index=(1, 1, 0))
        out = make(np.zeros_like(values), np.float64, backend=backend, aligned_index=(1, 1, 0))
        stencil(inp, out, origin=(1, 1, 0), domain=(7, 6, 5))
        results.append(np.array(out))
    assert (results[0] == results[1]).all() and np.allclose(results[0], reference(values))


def test_a_frozen_stencil_reads_fields_as_it_reads_arrays(diffuse) -> None:  # type: ignore[no-untyped-def]
    backend, stencil = diffuse
    if backend == "numpy":
        pytest.skip("its frozen stencils read .data, which only arrays have")
    values = np.random.default_rng(3).random((9, 8, 5))
    inp = gb.Field.from_array(values, dims="IJK", halo=(1, 1, 0), backend=backend)
    out = gb.Field.zeros(inp.shape, dims="IJK", halo=(1, 1, 0), backend=backend)
    origins = {"inp": inp.__gt_origin__, "out": out.__gt_origin__}
    stencil.freeze(origin=origins, domain=out.domain.shape)(inp=inp, out=out)
    assert np.allclose(out.numpy(), reference(values))


def test_gt4py_s_utilities_read_a_field() -> None:
    utils = pytest.importorskip("gt4py.storage.cartesian.utils")
    f = gb.Field.empty((4, 5, 6), dims="KJI", halo=(0, 1, 2))
    assert utils.get_dims(f) == gb.get_dims(f) == ("K", "J", "I")
    assert utils.get_origin(f) == gb.get_origin(f) == (2, 1, 0)
    assert utils.asarray(f, device="cpu").ctypes.data == f.numpy().ctypes.data
