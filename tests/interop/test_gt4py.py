"""gridbuf.interop.gt4py: our allocator in gt4py.next, our presets in gt4py.storage, plain arguments
for stencils.
"""

import dataclasses
import importlib

import numpy as np
import pytest
from in_child import python

import gridbuf as gb

pytest.importorskip("gt4py.cartesian")
gbg = pytest.importorskip("gridbuf.interop.gt4py")
gtx = pytest.importorskip("gt4py.next")
from gt4py._core import definitions  # noqa: E402

try:
    from gt4py.next import custom_layout_allocators
except ImportError:  # gt4py 1.0 and 1.1.0
    from gt4py.next import allocators as custom_layout_allocators

CELL, EDGE = gtx.Dimension("Cell"), gtx.Dimension("Edge")
K = gtx.Dimension("K", gtx.DimensionKind.VERTICAL)
LOCAL = gtx.Dimension("C2E", gtx.DimensionKind.LOCAL)
DIMS = [
    (CELL, K),
    (K, CELL),
    (CELL, K, LOCAL),
    (LOCAL, K, CELL),
    (CELL, EDGE, K),
    (K,),
    (LOCAL, CELL),
]


@pytest.mark.parametrize("dims", DIMS, ids=lambda dims: "-".join(d.value for d in dims))
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_the_order_of_strides_is_gt4py_s_own(dims: tuple, dtype: str) -> None:
    domain = {dim: 5 + i for i, dim in enumerate(dims)}
    ours = gtx.zeros(domain, getattr(gtx, dtype), allocator=gbg.allocator()).ndarray
    theirs = gtx.zeros(domain, getattr(gtx, dtype)).ndarray
    assert type(ours) is np.ndarray and ours.dtype == theirs.dtype and not ours.any()
    assert np.argsort(ours.strides).tolist() == np.argsort(theirs.strides).tolist()
    assert ours.ctypes.data % 64 == 0 and gb.memory.buffer_id(ours) is not None


def test_vertical_first_and_padding() -> None:
    field = gtx.empty(
        {CELL: 6, K: 5},
        allocator=gbg.allocator(order=("vertical", "horizontal", "local"), padding=True),
    )
    assert field.ndarray.strides == (64, 8)


def test_the_aligned_index_is_an_absolute_position() -> None:
    domain = {CELL: (-3, 7), K: (2, 6)}
    for index in ((CELL, 0), (CELL, -3), (CELL, 6)):
        at = [gtx.common.NamedIndex(*index)]
        field = gtx.zeros(domain, aligned_index=at, allocator=gbg.allocator(byte_alignment=128))
        assert field.ndarray[index[1] + 3 :].ctypes.data % 128 == 0
    for outside in (-4, 7):
        with pytest.raises(
            ValueError,
            match=rf"aligned_index: {outside} along Cell is outside the domain range, -3 to 6",
        ):
            gtx.zeros(
                domain,
                aligned_index=[gtx.common.NamedIndex(CELL, outside)],
                allocator=gbg.allocator(),
            )


def test_it_is_what_gt4py_takes_for_an_allocator() -> None:
    ours = gbg.allocator()
    assert custom_layout_allocators.is_field_allocator_for(ours, definitions.DeviceType.CPU)
    assert ours.device_type is ours.__gt_device_type__ is definitions.DeviceType.CPU
    assert hash(ours) == hash(gbg.allocator()) and ours == gbg.allocator() != gbg.allocator(
        padding=True
    )
    backend = dataclasses.replace(gtx.gtfn_cpu, allocator=ours)
    assert gb.memory.buffer_id(gtx.ones({CELL: 3}, allocator=backend).ndarray) is not None
    assert gbg.allocator("gpu").__gt_device_type__ is not definitions.DeviceType.CPU
    assert isinstance(
        ours.__gt_allocate__(gtx.domain({CELL: 3}), definitions.dtype("float64")).plan, gb.Plan
    )


@pytest.mark.slow
def test_the_default_allocator_of_a_process_can_be_ours() -> None:
    code = (
        "import gt4py.next as gtx, gridbuf as gb, gridbuf.interop.gt4py as gbg\n"
        f"from {custom_layout_allocators.__name__} import device_allocators\n"
        "device_allocators[gbg.allocator().device_type] = gbg.allocator()\n"
        "print(gb.memory.buffer_id(gtx.zeros({gtx.Dimension('I'): 4}).ndarray) is not None)"
    )
    assert python(code) == "True"


def test_wrong_wishes_are_named() -> None:
    with pytest.raises(ValueError, match="device: 'tpu' is neither"):
        gbg.allocator("tpu")
    with pytest.raises(ValueError, match=r"order: .*once"):
        gbg.allocator(order=("vertical", "horizontal"))
    with pytest.raises(TypeError, match="order: expected a sequence"):
        gbg.allocator(order={"vertical", "horizontal", "local"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="byte_alignment"):
        gtx.zeros({CELL: 3}, allocator=gbg.allocator(byte_alignment=3))


@pytest.mark.parametrize("backend", [None, "gtfn_cpu"])
def test_programs_run_on_our_memory(backend: str | None) -> None:
    from gridbuf.doctor import cxx_compiler

    programs = importlib.import_module("next_programs")
    if backend is not None and cxx_compiler() is None:
        pytest.skip("no C++ compiler")
    dims = {"I": programs.I, "J": programs.J, "K": programs.K}
    a, b, out = (
        gb.Field.full((4, 5, 6), v, dims="IJK", backend="gt:cpu_ifirst", padding=True)
        for v in (1.0, 2.0, 0.0)
    )
    program = programs.add_into.with_backend(None if backend is None else getattr(gtx, backend))
    given = gbg.to_next(a, dims), gbg.to_next(b, dims)
    program(*given, out=gbg.to_next(out, dims), offset_provider={})
    assert (out.numpy() == 3.0).all()


def test_fields_of_gt4py_next_and_back() -> None:
    i, k = gtx.Dimension("i"), K
    field = gb.Field.zeros((7, 4), dims="IK", halo=((2, 1), (0, 0)), backend="F")
    theirs = gbg.to_next(field, {"I": i, "K": k})
    assert theirs.ndarray.ctypes.data == field.numpy().ctypes.data
    assert [(r.start, r.stop) for r in theirs.domain.ranges] == [(-2, 5), (0, 4)]
    back = gbg.from_next(theirs, {i: "I", k: "K"})
    assert (back.dims, back.origin, back.strides) == (field.dims, (2, 0), field.strides)
    back[2, 0] = 5.0
    assert theirs[i(0), k(0)].as_scalar() == 5.0
    with pytest.raises(ValueError, match=r"dims: no gtx\.Dimension for 'K'"):
        gbg.to_next(field, {"I": i})
    with pytest.raises(ValueError, match="dims: no name for 'K'"):
        gbg.from_next(theirs, {i: "I"})
    assert gbg.from_next(gtx.zeros({i: (3, 5)}), {i: "I"}).origin is None


def test_our_presets_in_gt4py_storage() -> None:
    import gt4py.storage

    known = dict(gbg.registry.REGISTRY)
    for name in ("gtx86", "gtmc", "gtcuda", "C", "F"):
        gbg.registry.REGISTRY.pop(name, None)  # another test may have registered them
    before = dict(gbg.registry.REGISTRY)
    # Only who allocates with it hears of that
    gb.register_backend("test:asked_later", layout=lambda dims: 1 // 0)
    try:
        added = gbg.register_presets()
        assert set(added) == set(gb.backends()) - set(before) and {
            "gtx86",
            "gtmc",
            "gtcuda",
            "C",
            "F",
        } <= set(added)
        assert all(gbg.registry.REGISTRY[name] is before[name] for name in before)
        assert gbg.register_presets() == ()
        for name in ("gtx86", "gtmc", "C", "F"):
            for dims in ("IJK", "IJ", "IK", "JK", "K"):
                array = gt4py.storage.zeros(
                    (9, 5, 6)[: len(dims)], backend=name, dimensions=tuple(dims)
                )
                plan = gb.plan((9, 5, 6)[: len(dims)], backend=name, dimensions=dims)
                assert np.argsort(array.strides).tolist() == np.argsort(plan.strides).tolist()
                assert gbg.registry.REGISTRY[name]["is_optimal_layout"](array, tuple(dims))
                assert array.ctypes.data % (8 * gbg.registry.REGISTRY[name]["alignment"]) == 0
        assert not gbg.registry.REGISTRY["F"]["is_optimal_layout"](np.zeros((4, 5)), ("I", "J"))
        assert (
            gbg.registry.REGISTRY["gtmc"]["alignment"] * 8
            == gb.plan((1,), backend="gtmc", byte_alignment=1).byte_alignment
        )
        assert gbg.registry.REGISTRY["gtcuda"]["device"] == "gpu"
    finally:
        gbg.registry.REGISTRY.clear()
        gbg.registry.REGISTRY.update(known)


@pytest.fixture(scope="module")
def laplace():  # type: ignore[no-untyped-def]
    return importlib.import_module("gt4py_stencils").compiled("numpy")


def test_plain_arguments_of_a_stencil(laplace) -> None:  # type: ignore[no-untyped-def]
    values = np.random.default_rng(3).random((8, 7, 4))
    inp = gb.Field.from_array(values.transpose(2, 0, 1), dims="KIJ", halo=(0, 1, 1))
    out = gb.Field.zeros((8, 7, 4), dims="IJK", halo=(1, 1, 0), backend="F")
    call = gbg.stencil_args(laplace, inp, out=out)
    assert type(call["inp"]) is np.ndarray and call["inp"].shape == (8, 7, 4)
    assert call["inp"].ctypes.data == inp.numpy().ctypes.data and call["out"].strides == out.strides
    assert call["origin"] == {"inp": (1, 1, 0), "out": (1, 1, 0)} and call["domain"] == (6, 5, 4)
    laplace(**call)
    inside = (
        values[2:, 1:-1]
        + values[:-2, 1:-1]
        + values[1:-1, 2:]
        + values[1:-1, :-2]
        - 4 * values[1:-1, 1:-1]
    )
    assert np.allclose(out.domain.numpy(), inside)
    out[...] = 0.0
    frozen = laplace.freeze(origin=call["origin"], domain=call["domain"])
    frozen(inp=call["inp"], out=call["out"])
    assert np.allclose(out.domain.numpy(), inside)
    given = gbg.stencil_args(laplace, inp=values, out=values, origin=(2, 1, 0), domain=(3, 3, 1))
    assert given["origin"]["inp"] == (2, 1, 0) and given["domain"] == (3, 3, 1)
    assert "domain" not in gbg.stencil_args(laplace, inp=values, out=values)
