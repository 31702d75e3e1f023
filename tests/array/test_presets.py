"""Presets and the allocation rule, against the table of the design and against gt4py itself."""

import itertools

import numpy as np
import preset_table
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_child import python

import gridbuf as gb
import gridbuf._core as core

# By the names of the indices: the rank of each one's stride, 0 the largest; dace:cpu orders K, I,
# J, so I of "IJK" has rank 1.
I_FIRST = {
    "IJK": (2, 1, 0),
    "IJ": (1, 0),
    "IK": (1, 0),
    "JK": (1, 0),
    "IJK0": (3, 2, 1, 0),
    "KJI": (0, 1, 2),
}
K_FIRST = {
    "IJK": (0, 1, 2),
    "IJ": (0, 1),
    "IK": (0, 1),
    "JK": (0, 1),
    "IJK0": (1, 2, 3, 0),
    "KJI": (2, 1, 0),
}
LAYOUTS = {
    **dict.fromkeys(
        ["numpy", "debug", "gt:cpu_kfirst", "dace:cpu_kfirst", "gtx86", "dace:gpu_IJK"], K_FIRST
    ),
    **dict.fromkeys(
        ["gt:cpu_ifirst", "dace:cpu_KJI", "gt:gpu", "dace:gpu", "gtcuda", "cuda"], I_FIRST
    ),
    "dace:cpu": {"IJK": (1, 2, 0), "IJ": (0, 1), "IK": (1, 0), "JK": (1, 0), "IJK0": (2, 3, 1, 0)},
    "gtmc": {"IJK": (2, 0, 1), "IJ": (1, 0), "IK": (1, 0), "JK": (0, 1), "IJK0": (3, 1, 2, 0)},
    "C": {"IJK": (0, 1, 2), "KJI": (0, 1, 2), "IJK0": (0, 1, 2, 3)},
    "F": {"IJK": (2, 1, 0), "KJI": (2, 1, 0), "IJK0": (3, 2, 1, 0)},
}


def test_the_table_names_every_builtin_preset() -> None:
    # In a process of its own, where no test has registered a preset
    known = {*python("import gridbuf; print(*gridbuf.backends())").split()}
    assert not known - {*LAYOUTS}, f"LAYOUTS in this file lacks {sorted(known - {*LAYOUTS})}"
    assert not {*LAYOUTS} - known, f"alloc/preset.c lacks {sorted({*LAYOUTS} - known)}"


@pytest.mark.parametrize("backend", LAYOUTS)
def test_preset_gives_what_a_plan_of_the_backend_has(backend: str) -> None:
    for dims in ("", "K", *LAYOUTS[backend]):
        ranks, alignment, device = core.preset(backend, dims)
        plan = gb.plan((2,) * len(dims), "u1", backend=backend, dims=dims, byte_alignment=1)
        assert (ranks, alignment, device) == (plan.layout, plan.byte_alignment, plan.device)
    assert core.preset(backend) == (None, alignment, device)


def test_preset_asks_a_layout_that_is_a_function_only_for_dims() -> None:
    asked = []

    def layout(dims: tuple[str, ...]) -> tuple[int, ...]:
        asked.append(dims)
        return (1, 0)

    gb.register_backend("preset:function", layout=layout, alignment=4, device="gpu")
    assert core.preset("preset:function") == (None, 4, ("gpu", 0))
    assert asked == []
    assert core.preset("preset:function", "KI") == ((1, 0), 4, ("gpu", 0))
    assert asked == [("K", "I")]
    with pytest.raises(ValueError, match=r"layout: .* has 2 entries for 3 indices"):
        core.preset("preset:function", "IJK")
    with pytest.raises(gb.BackendError, match='backend: "preset:none" is not known'):
        core.preset("preset:none")
    with pytest.raises(ValueError, match="dims: 'II' names a dimension twice"):
        core.preset("C", "II")
    with pytest.raises(TypeError, match="backend: expected a name"):
        core.preset(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a name and dims"):
        core.preset()  # type: ignore[call-arg]


def test_the_page_has_the_table_that_plans_give() -> None:
    text = preset_table.PAGE.read_text()
    assert preset_table.page(text, sorted(LAYOUTS)) == text, "run python tests/docs/preset_table.py"


@pytest.mark.parametrize(
    ("backend", "dims"), [(b, d) for b, table in LAYOUTS.items() for d in table]
)
def test_layout_by_name(backend: str, dims: str) -> None:
    plan = gb.plan((3, 4, 5, 6)[: len(dims)], backend=backend, dimensions=dims)
    assert plan.layout == LAYOUTS[backend][dims] and plan.dims == tuple(dims)
    assert plan.device == (("gpu", 0) if "gpu" in backend or "cuda" in backend else "cpu")


@pytest.mark.parametrize(
    ("shape", "keywords", "strides", "offset", "boundary"),
    [
        ((12, 12, 7), {"backend": "gtmc", "aligned_index": (2, 2, 0)}, (8, 896, 128), 48, 64),
        (
            (7, 12, 12),
            {"backend": "gtmc", "dimensions": "KIJ", "aligned_index": (0, 2, 2)},
            (128, 8, 896),
            48,
            64,
        ),
        (
            (7, 12, 12),
            {"backend": "gtmc", "dimensions": "KJI", "aligned_index": (0, 2, 2)},
            (128, 896, 8),
            48,
            64,
        ),
        ((4, 5, 6, 3), {"backend": "gtx86"}, (240, 48, 8, 960), 0, 64),
        ((12, 12, 7), {"backend": "gtcuda", "aligned_index": (2, 2, 0)}, (8, 256, 3072), 240, 256),
    ],
)
def test_the_worked_examples(shape, keywords, strides, offset, boundary) -> None:  # type: ignore[no-untyped-def]
    plan = gb.plan(shape, np.float64, **keywords)
    assert (plan.strides, plan.offset, plan.byte_alignment) == (strides, offset, boundary)


def test_gt4py_agrees_for_its_own_presets() -> None:
    storage = pytest.importorskip("gt4py.storage")
    registry = pytest.importorskip("gt4py.storage.cartesian.layout_registry")
    own = {
        name: info
        for name, info in registry.REGISTRY.items()
        if info["layout_map"].__module__.startswith("gt4py")
    }
    # Others may have been registered meanwhile
    assert {"numpy", "gt:cpu_ifirst", "gt:cpu_kfirst", "gt:gpu"} <= set(own)
    for name, info in own.items():
        for dims in ("IJK", "IJ", "IK", "JK", "I", "J", "K", "IJK0", "IJ0", "K01", "IJK01"):
            shape = (5, 6, 7, 8, 2)[: len(dims)]
            plan = gb.plan(shape, backend=name, dimensions=dims)
            assert plan.layout == tuple(info["layout_map"](tuple(dims))), (name, dims)
            if info["device"] == "cpu":
                assert plan.strides == storage.empty(shape, backend=name, dimensions=dims).strides


@given(
    backend=st.sampled_from(sorted(LAYOUTS)),
    shape=st.lists(st.integers(0, 9), max_size=5),
    aligned=st.lists(st.integers(0, 70), min_size=5, max_size=5),
    power=st.integers(0, 12),
    padding=st.one_of(st.none(), st.booleans(), st.integers(0, 9)),
    dtype=st.sampled_from(["f8", "f4", "i2", "u1", "c16", "S3", [("a", "f8"), ("b", "i4")]]),
)
def test_the_aligned_element_is_aligned_and_elements_do_not_overlap(
    backend, shape, aligned, power, padding, dtype
) -> None:  # type: ignore[no-untyped-def]
    dtype = np.dtype(dtype)
    keywords = {
        "aligned_index": aligned[: len(shape)],
        "byte_alignment": 1 << power,
        "padding": padding,
        "device": "cpu",
    }
    plan = gb.plan(shape, dtype, backend=backend, **keywords)
    array = gb.empty(shape, dtype, backend=backend, **keywords)
    address = array.ctypes.data
    assert array.strides == plan.strides and address % plan.byte_alignment == plan.offset
    assert (address + sum(i * s for i, s in zip(plan.aligned_index, plan.strides, strict=True))) % (
        1 << power
    ) == 0
    items = 32 if backend in ("gt:gpu", "gtcuda", "cuda") else 8 if backend == "gtmc" else 1
    if items > 1 and padding is None and shape:
        assert plan.byte_alignment % (items * dtype.itemsize) == 0
    order = sorted(range(len(shape)), key=plan.layout.__getitem__, reverse=True)
    for fast, slow in itertools.pairwise(order):
        assert plan.strides[slow] == plan.strides[fast] * max(plan.padded_shape[fast], 1)
    array[...] = np.zeros((), dtype)


def test_padding_and_alignment_are_two_switches() -> None:
    shape, dims = (5, 4), "IJ"
    first_only = gb.plan(shape, backend="gtmc", dimensions=dims, padding=False)
    assert first_only.padded_shape == shape and first_only.byte_alignment == 64
    rows = gb.plan(shape, backend="F", padding=True, byte_alignment=128)
    assert rows.padded_shape == (16, 4) and rows.strides == (8, 128)
    items = gb.plan(shape, backend="F", padding=3)
    assert items.padded_shape == (6, 4) and items.byte_alignment == 64


def test_register_backend() -> None:
    gb.register_backend("test:jik", layout="JIK", alignment=4)
    plan = gb.plan((3, 4, 5), backend="test:jik")
    assert plan.layout == (1, 0, 2) and plan.padded_shape == (3, 4, 8)
    gb.register_backend("test:jik", layout="KIJ")
    assert gb.plan((3, 4, 5), backend="test:jik").layout == (
        1,
        2,
        0,
    ), "registered again, it means the new thing"
    seen = []

    def by_function(dims: tuple[str, ...]) -> list[int]:
        seen.append(dims)
        return list(range(len(dims)))[::-1]

    gb.register_backend("test:function", layout=by_function)
    assert gb.empty((3, 4), backend="test:function", dimensions="KI").strides == (
        8,
        24,
    ) and seen == [("K", "I")]
    gb.register_backend("test:bad", layout=lambda dims: [0] * len(dims))
    with pytest.raises(ValueError, match="permutation"):
        gb.empty((3, 4), backend="test:bad")
    gb.register_backend("test:raises", layout=lambda dims: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        gb.empty((3, 4), backend="test:raises")
    for bad in (
        {"layout": "IJ"},
        {"layout": "IIJ"},
        {"layout": "IJK", "alignment": 0},
        {"layout": "IJK", "device": "tpu"},
    ):
        with pytest.raises(ValueError, match=r"layout|alignment|device"):
            gb.register_backend("test:x", **bad)
    with pytest.raises(ValueError, match="built-in"):
        gb.register_backend("gt:cpu_ifirst", layout="IJK")


def test_an_unknown_backend_is_both_errors_and_lists_the_known() -> None:
    for error in (ValueError, RuntimeError, gb.BackendError):
        with pytest.raises(
            error, match=r'backend: "nope" is not known; known are C, F, .*gt:cpu_ifirst'
        ):
            gb.empty((2, 2), backend="nope")
