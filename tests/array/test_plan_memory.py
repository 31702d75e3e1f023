"""A plan makes arrays and Fields: the same memory as its request does, whatever was asked for."""

import gc
import inspect
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import memory

REQUESTS: list[tuple[Any, dict[str, Any]]] = [
    ((10, 10, 10), {}),
    ((12, 10, 7), {"backend": "gt:cpu_ifirst", "aligned_index": (2, 2, 0)}),
    ((12, 10, 7), {"backend": "gtmc", "halo": (2, 2, 0), "dtype": "f4"}),
    ((4, 5), {"dims": "JK", "backend": "dace:cpu", "byte_alignment": 4096}),
    ((4, 5), {"dtype": (np.float64, (2, 3)), "padding": 16}),
    (7, {"dtype": "int8"}),
    ((), {}),
    ((3, 0, 2), {"dtype": "complex64"}),
]


@pytest.mark.parametrize(("shape", "spec"), REQUESTS, ids=str)
def test_arrays_are_those_of_the_request(shape: Any, spec: dict[str, Any]) -> None:
    plan = gb.plan(shape, **spec)
    for made in (plan.empty(), plan.zeros(), plan.full(3)):
        asked = gb.empty(shape, **spec)
        assert type(made) is np.ndarray and made.dtype == asked.dtype == plan.dtype
        assert made.shape == asked.shape and made.strides == asked.strides and made.flags.writeable
        assert made.ctypes.data % plan.byte_alignment == plan.offset or not made.size
    assert not plan.zeros().any() and (plan.full(3) == 3).all() and (plan.full(True) == 1).all()


@pytest.mark.parametrize(("shape", "spec"), REQUESTS, ids=str)
def test_fields_have_the_plan_and_its_dims(shape: Any, spec: dict[str, Any]) -> None:
    plan = gb.plan(shape, **spec)
    field = plan.field()
    assert (
        type(field) is gb.HostField
        and field.plan is plan
        and field.dims == plan.dims == field.__gt_dims__
    )
    assert field.halo is None and field.origin is None and field.strides == plan.strides
    if plan.ndim and plan.nbytes:
        halo = ((1, 0), *((0, 1) for _ in plan.shape[1:]))
        with_halo = plan.field(halo=halo)
        assert with_halo.halo == halo and with_halo.origin == tuple(low for low, _ in halo)
        assert plan.field(origin=(0,) * plan.ndim).origin == (0,) * plan.ndim
        assert plan.field(halo=None, origin=None).halo is None


def test_each_call_makes_memory_of_its_own() -> None:
    plan = gb.plan((64, 64))
    first, second = plan.zeros(), plan.zeros()
    first[...] = 1.0
    assert not second.any() and not np.shares_memory(first, second)
    del first
    gc.collect()
    assert not plan.zeros().any()  # also where a used block comes back


def test_a_plan_read_back_makes_memory_of_its_layout() -> None:
    array = np.zeros((4, 3, 5), order="F")
    plan = gb.Plan.of(array)
    assert plan.empty().strides == array.strides and plan.field().strides == array.strides
    several = [plan.full(k) for k in range(100)]  # each has room for its block's header, too
    assert all((one == k).all() for k, one in enumerate(several))


def test_a_plan_of_a_view_that_runs_backwards_makes_nothing() -> None:
    plan = gb.Plan.of(np.zeros((4, 3))[::-1])
    for make in (plan.empty, plan.zeros, plan.field):
        with pytest.raises(ValueError, match="negative strides"):
            make()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda p: p.empty(3), TypeError, "no arguments"),
        (lambda p: p.full(), TypeError, "one argument"),
        (lambda p: p.full("x"), ValueError, "fill_value: could not convert"),
        (lambda p: p.full([1, 2]), ValueError, "fill_value"),
        (lambda p: p.field(1), TypeError, "at most 0 positional"),
        (lambda p: p.field(halo=1.0), TypeError, "halo: expected a sequence"),
        (lambda p: p.field(halo=(1, 1)), ValueError, "halo: 2 entries for 3 indices"),
        (lambda p: p.field(halo=(9, 0, 0)), ValueError, "halo"),
        (lambda p: p.field(origin=(0, 0, 99)), ValueError, "origin"),
        (lambda p: p.field(hallo=1), TypeError, "did you mean 'halo'"),
        (lambda p: p.field(dims="IJK"), TypeError, "unexpected keyword argument 'dims'"),
    ],
)
def test_wrong_calls(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call(gb.plan((10, 10, 10)))


def test_limits_and_gpus_are_refused_as_by_the_constructors() -> None:
    plan, there = gb.plan((1000, 1000)), memory.stats()["limit"]
    try:
        memory.set_limit(memory.stats()["live_bytes"] + 1000)
        for make in (plan.empty, plan.zeros, plan.field, lambda: plan.full(1.0)):
            with pytest.raises(MemoryError, match="limit"):
                make()
    finally:
        memory.set_limit(there)
    for make in (gb.plan(3, backend="gt:gpu").empty, gb.plan(3, backend="gt:gpu").field):
        with pytest.raises((RuntimeError, ImportError)):
            make()


def test_signatures() -> None:
    assert str(inspect.signature(gb.Plan.full)) == "(self, fill_value, /)"
    assert list(inspect.signature(gb.Plan.field).parameters) == ["self", "halo", "origin"]
