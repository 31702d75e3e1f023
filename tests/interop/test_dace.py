"""gridbuf.interop.dace: descriptors of Fields and plans, compiled programs on them, workspaces from
our heap.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

import gridbuf as gb

dace = pytest.importorskip("dace")
gbd = pytest.importorskip("gridbuf.interop.dace")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    from gridbuf.doctor import cxx_compiler

    if cxx_compiler() is None:
        pytest.skip("no C++ compiler")
    dace.Config.set("default_build_folder", value=str(tmp_path_factory.mktemp("dace")))
    return importlib.import_module("dace_programs")


SPECS = [
    {},
    {"backend": "F"},
    {"backend": "gt:cpu_ifirst", "padding": 8},
    {"layout": (1, 2, 0), "padding": 3},
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_descriptor_says_what_the_memory_is(spec: dict) -> None:
    field = gb.Field.zeros((3, 4, 5), "float32", **spec)
    for obj in (field, gb.plan((3, 4, 5), "float32", **spec)):
        desc = gbd.descriptor(obj)
        assert desc.dtype == dace.float32 and tuple(desc.shape) == (3, 4, 5) and not desc.transient
        assert tuple(4 * s for s in desc.strides) == field.strides
        assert desc.total_size == 1 + sum(
            (n - 1) * s // 4 for n, s in zip(field.shape, field.strides, strict=True)
        )
    assert dace.data.create_datadescriptor(field).is_equivalent(gbd.descriptor(field))


def test_programs_write_into_the_fields(programs) -> None:  # type: ignore[no-untyped-def]
    values = np.arange(60.0).reshape(3, 4, 5)
    inp = gb.Field.from_array(values, backend="gt:cpu_ifirst", padding=8)
    out = gb.Field.zeros((3, 4, 5), layout=(1, 2, 0), padding=3)
    programs.increase(inp, out)
    assert (out.numpy() == values + 1).all()
    # DaCe refuses views of NumPy arrays, not of Fields
    programs.increase(inp[1:, ::2], out[1:, ::2])
    assert (out.numpy() == values + 1).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: gb.Field.zeros((3, 4), ">f8", dims="IJ"),
            r"no type for dtype\('>f8'\); pass field\.to\(dtype='<f8'\)",
        ),
        (
            lambda: gb.Field.zeros((3, 4), dims="IJ")[:, ::-1],
            r"J \(index 1\) has the stride -8.*field\[:, ::-1\]",
        ),
        (lambda: gb.Field.zeros(()), r"no indices.*field\[\(\)\]"),
        (lambda: gb.Field.zeros(3, "S4"), "no type for"),
        (lambda: gb.Field.zeros(3, [("a", "i4"), ("b", "f4")]), "no type for"),
        (lambda: np.zeros(3), "expected a Field or a Plan, got ndarray"),
    ],
)
def test_what_dace_would_get_wrong_is_refused(make, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match=says):
        gbd.descriptor(make())


def test_read_only_fields_are_refused_where_the_program_is_called(programs) -> None:  # type: ignore[no-untyped-def]
    values = np.zeros(3)
    values.flags.writeable = False
    with pytest.raises(TypeError, match=r"read-only.*pass field\.copy\(\)"):
        gbd.descriptor(gb.Field(values))


def test_an_sdfg_built_from_a_plan_runs_on_that_plan_s_memory(programs, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    plan = gb.plan((6, 5), backend="gt:cpu_ifirst", padding=8)
    sdfg = dace.SDFG("twice_on_a_plan")
    sdfg.add_datadesc("a", gbd.descriptor(plan))
    state = sdfg.add_state()
    state.add_mapped_tasklet(
        "twice", {"i": "0:6", "j": "0:5"}, {"x": dace.Memlet("a[i, j]")}, "y = 2 * x",
        {"y": dace.Memlet("a[i, j]")}, external_edges=True
    )  # fmt: skip
    sdfg.build_folder = str(tmp_path)
    field = gb.Field.from_array(np.arange(30.0).reshape(6, 5), backend="gt:cpu_ifirst", padding=8)
    sdfg.compile()(a=field)
    assert (field.numpy() == 2 * np.arange(30.0).reshape(6, 5)).all()


def test_a_workspace_from_our_heap(programs, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    sdfg = programs.through_a_temporary.to_sdfg(simplify=False)
    sdfg.build_folder = str(tmp_path)
    for name, desc in sdfg.arrays.items():
        if desc.transient and name != "out":
            desc.lifetime = dace.AllocationLifetime.External
            desc.storage = dace.StorageType.CPU_Heap
    compiled = sdfg.compile()
    inp, out = gb.Field.full(100, 3.0), gb.Field.zeros(100)
    compiled.initialize(inp=inp, out=out, N=100)
    blocks = gbd.give_workspace(compiled)
    assert blocks["CPU_Heap"].nbytes >= 800 and gb.memory.buffer_id(blocks["CPU_Heap"]) is not None
    compiled(inp=inp, out=out, N=100)
    assert (out.numpy() == 7.0).all()
    assert (blocks["CPU_Heap"].numpy()[:800].view("float64") == 6.0).any()
