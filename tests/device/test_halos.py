"""Halos of fields on a GPU: the local engine's own tests, with every exchange made on copies there,
and what only a GPU has.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf import _core
from gridbuf.distributed.plans import engines

sys.path.insert(0, str(Path(__file__).parents[1] / "distributed"))

import test_adjoint_and_sync as adjoint
import test_cartesian as cartesian
import test_seams as seams


def bytes_at(address: int, count: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_ubyte * count).from_address(address))


class There:
    """A copy of a host Field on a GPU, at its strides, in memory that the pools know nothing of."""

    def __init__(self, field: gb.Field) -> None:
        array = field.numpy()
        steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
        low, high = sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + array.itemsize
        first = array.__array_interface__["data"][0]
        self.host = bytes_at(first + low, high - low)
        self.gpu = gb.Field.empty((high - low,), "uint8", device="gpu")
        gb.copyto(self.gpu, self.host)
        address = self.gpu.__cuda_array_interface__["data"][0] - low
        self.__cuda_array_interface__ = array.__array_interface__ | {
            "data": (address, False),
            "strides": array.strides,
        }

    def bring_back(self) -> None:
        gb.copyto(self.host, self.gpu)


class ThroughGPU(engines.LocalTransport):
    """Copies of the fields' memory are exchanged, and copied back."""

    def __init__(self, plan: Any) -> None:
        self._plan = plan
        self._program = _core.CopyProgram(plan.slots(), plan.copies, 0)
        self._back = None

    def run(self, fields: Sequence[Any]) -> None:
        return None

    def start(self, fields: Sequence[Any]) -> int:
        self._carry_out(self._program, fields)
        return 0

    def accumulate(self, fields: Sequence[Any]) -> None:
        self._carry_out(_core.CopyProgram(self._plan.slots(), self._plan.adjoint(), 0), fields)

    def _carry_out(self, program: _core.CopyProgram, fields: Sequence[Any]) -> None:
        there = {id(field): There(field) for field in fields if field.size}
        program.run(
            *(
                (
                    gb.Field(there[id(f)])
                    if f.size
                    else gb.Field.empty(f.shape, dtype=f.dtype, device="gpu")
                )
                for f in fields
            )
        )
        for each in there.values():
            each.bring_back()


def cases(test: Callable[..., None], most: int | None = None) -> Iterator[Any]:
    """A test of the local engine with its parameters, all or so many of them."""
    axes = [mark.args for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    names = [
        [name.strip() for name in (mark[0].split(",") if isinstance(mark[0], str) else mark[0])]
        for mark in axes
    ]
    values = [
        [value if len(its) > 1 else (value,) for value in mark[1]]
        for its, mark in zip(names, axes, strict=True)
    ]
    every = [*product(*values)]
    for chosen in every[:: 1 if most is None else -(-len(every) // most)]:
        keywords = {
            name: value
            for its, given in zip(names, chosen, strict=True)
            for name, value in zip(its, given, strict=True)
        }
        yield pytest.param(
            test, keywords, id=f"{test.__name__}{'-'.join(map(str, keywords.values()))}"[:80]
        )


TESTS = [
    *cases(cartesian.test_every_point_of_every_block, 9),
    *cases(cartesian.test_uneven_cuts_and_blocks_without_points),
    *cases(cartesian.test_nobody_has_the_land, 3),
    *cases(cartesian.test_dtypes),
    *cases(cartesian.test_layouts_and_orders_of_dims, 8),
    *cases(cartesian.test_reversed_and_sliced_memory),
    *cases(cartesian.test_grids_of_one_and_three_dims),
    *cases(cartesian.test_fields_without_a_dim_of_the_grid, 4),
    *cases(cartesian.test_fields_of_other_halos_dtypes_and_dims_in_one_plan),
    *cases(cartesian.test_values_are_moved_as_bytes),
    *cases(seams.test_every_halo_point_of_a_folded_grid, 6),
    *cases(seams.test_signs_at_a_fold),
    *cases(seams.test_every_halo_point_of_a_cubed_sphere, 1),
    *cases(seams.test_components_of_other_halos_and_layouts_on_a_cubed_sphere),
    *cases(adjoint.test_accumulate_is_the_adjoint),
    *cases(adjoint.test_what_is_accumulated_is_set_to_zero_and_nothing_else),
    *cases(adjoint.test_every_copy_of_a_point_gets_its_owners_value, 3),
]


@pytest.mark.parametrize(("test", "keywords"), TESTS)
def test_what_the_local_engine_does(
    test: Callable[..., None], keywords: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "LocalTransport", ThroughGPU)
    test(**keywords)
    for each in keywords.values():
        if isinstance(each, gbd.Grid):  # it lives on, with its plans
            each._kept.plans.clear()


# ---- fields of a GPU ----

KINDS: list[dict[str, Any]] = [
    {"backend": "gt:gpu"},
    {"backend": "gt:cpu_ifirst", "dtype": "f4"},
    {"dims": "KJI", "dtype": "i2", "padding": True},
    {"dims": "IJ", "faces": "I", "sizes": {}},
    {"dims": "JK", "dtype": "c16", "halo": 1},
    {"dtype": "f2", "halo": ((0, 3), 1, 0)},
]


def made(
    grid: gbd.Grid, kinds: list[dict[str, Any]], **more: Any
) -> tuple[list[list[gb.Field]], list[list[gb.Field]]]:
    """Fields on the host, and the same on a GPU."""
    rng = np.random.default_rng(1)
    host, gpu = [], []
    for kind in kinds:
        keywords = {"dims": "IJK", "sizes": {"K": 3}, **kind}
        a, b = (
            grid.zeros(**keywords, **where)
            for where in ({"device": "cpu"}, {"device": "gpu", **more})
        )
        a, b = (list(f) if isinstance(f, gbd.Blocks) else [f] for f in (a, b))
        for f, g in zip(a, b, strict=True):
            f[...] = rng.integers(-50, 50, f.shape).astype(f.dtype)
            gb.copyto(g, f)
        host.append(a)
        gpu.append(b)
    return host, gpu


def same(host: list[list[gb.Field]], gpu: list[list[gb.Field]]) -> None:
    for a, b in zip(host, gpu, strict=True):
        for f, g in zip(a, b, strict=True):
            assert np.array_equal(values_of(g), f.numpy())


def test_one_launch_for_all_fields_and_blocks(fake: Fake) -> None:
    grid = gbd.grid((7, 5), blocks=(2, 2), periodic="IJ", halo=2)
    host, gpu = made(grid, KINDS)
    grid.exchange(*host)
    plan = grid.plan(*gpu)
    plan(*gpu)
    same(host, gpu)
    names = (
        "cuLaunchKernel",
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "cuMemcpy2DAsync_v2",
        "cuCtxSynchronize",
    )
    for _ in range(3):
        before = [fake.count(name) for name in names]
        plan(*gpu)
        assert [fake.count(name) - n for name, n in zip(names, before, strict=True)] == [
            1,
            0,
            0,
            0,
            0,
            0,
        ]
    same(host, gpu)


def test_the_adjoint_of_fields_of_a_gpu() -> None:
    grid = gbd.grid((7, 5), blocks=(2, 2), periodic="IJ", halo=2)
    for kinds in (KINDS, [{"dtype": "bool"}, {"dtype": "i1"}, {"dtype": "u8"}]):
        host, gpu = made(grid, kinds)
        grid.plan(*host).accumulate(*host)
        grid.plan(*gpu).accumulate(*gpu)
        same(host, gpu)


def test_more_blocks_than_a_launch_has_room_for() -> None:
    grid = gbd.grid((24, 24), blocks=(12, 12), periodic="IJ", halo=1)
    host, gpu = made(
        grid, [{"sizes": {}, "dims": "IJ"}, {"sizes": {}, "dims": "JI", "dtype": "i4"}]
    )
    for _ in range(2):
        grid.exchange(*host)
        grid.exchange(*gpu)
        same(host, gpu)


def test_time_levels_take_turns_and_fields_come_and_go() -> None:
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    plan = grid.plan(grid.zeros(device="gpu"))
    for i in range(4):
        (host,), (gpu,) = made(grid, [{"sizes": {}, "dims": "IJ"}])
        host[0][1:3] = i
        gb.copyto(gpu[0], host[0])
        plan(*gpu)
        grid.exchange(*host)
        same([host], [gpu])


def test_exchanges_keep_the_order_of_streams(fake: Fake) -> None:
    """Whatever is held back: what was queued on one stream comes before an exchange on another, and
    that before what follows.
    """
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    f = grid.zeros(device="gpu")
    plan = grid.plan(f)
    plan(f)
    first, second = fake.stream(), fake.stream()
    fake.hold(True)
    with gb.cuda.stream(first):
        f[...] = 3.0
    with gb.cuda.stream(second):
        plan(f)
    with gb.cuda.stream(first):
        f[1:-1, 1:-1] = 5.0
        plan(f)
    fake.hold(False)
    fake.pump()
    wanted = np.full((8, 7), 3.0)
    wanted[1:-1, 1:-1] = wanted[[0, -1], 1:-1] = 5.0
    assert np.array_equal(values_of(f), wanted)


def test_a_field_that_goes_while_it_is_exchanged(fake: Fake) -> None:
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    f = grid.zeros(device="gpu")
    plan = grid.plan(f)
    fake.hold(True)
    plan(f)
    del f, plan
    g = grid.full(1.0, device="gpu")
    fake.hold(False)
    fake.pump()
    assert (values_of(g) == 1).all()


def test_memory_of_others_is_waited_for(fake: Fake) -> None:
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    here = grid.zeros()
    here[...] = np.arange(56.0).reshape(8, 7)
    there = There(here)
    f = gb.Field(gb.Field(there), dims="IJ", halo=(1, 1))
    fake.hold(True)
    fake.awaited(5)
    grid.exchange(f)
    assert np.array_equal(
        fake.look(f.__cuda_array_interface__["data"][0], "f8", 56).reshape(8, 7)[0, 1:-1],
        here.numpy()[6, 1:-1],
    )


def test_arrays_of_others_as_they_are() -> None:
    """What has the CUDA array interface is wrapped, as arrays of the host are."""
    grid = gbd.grid((6, 5), periodic="I")
    here = grid.zeros(faces="I")
    here[...] = np.arange(35.0).reshape(7, 5)
    there = There(here)
    grid.sync(there)
    assert np.array_equal(values_of(gb.Field(there))[6], np.arange(5.0))


def test_memory_that_is_aligned_to_less_than_its_elements() -> None:
    """Alignment is each field's own: a plan that has seen better is told otherwise."""
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    raw = gb.Field.empty((56 * 8 + 64,), dtype="uint8", device="gpu")
    address = raw.__cuda_array_interface__["data"][0]
    host = grid.zeros()
    host[...] = np.arange(56.0).reshape(8, 7)
    wanted = host.copy()
    grid.exchange(wanted)
    plan = None
    for shift in (0, 4, 1, 8):
        there = There(host)
        there.__cuda_array_interface__ |= {"data": (address + shift, False)}
        f = gb.Field(gb.Field(there), dims="IJ", halo=(1, 1))
        gb.copyto(f, host)
        plan = plan or grid.plan(f)
        plan(f)
        assert np.array_equal(values_of(f), wanted.numpy())
        if shift % 8:
            with pytest.raises(ValueError, match="multiples of their size"):
                plan.accumulate(f)


def test_managed_memory_is_the_hosts() -> None:
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    f = grid.full(2.0, memory="managed")
    f[0] = f[-1] = 0
    grid.exchange(f)
    assert (values_of(f)[:, 1:-1] == 2).all()


# ---- what cannot be ----


def test_fields_in_several_places() -> None:
    grid, two = gbd.grid((6, 5), periodic="I", halo=1), gbd.grid((6, 5), blocks=(2, 1), halo=1)
    f, g = grid.zeros(), grid.zeros(device="gpu")
    with pytest.raises(ValueError, match=r"fields\[1\]: it lies on GPU 0, fields\[0\] on the host"):
        grid.exchange(f, g)
    with pytest.raises(
        ValueError, match=r"its place on block \(1, 0\) is on GPU 0, on block \(0, 0\) on the host"
    ):
        two.exchange([two.zeros()[0], two.zeros(device="gpu")[1]])
    with pytest.raises(
        ValueError,
        match=r"fields\[0\]: it lies on GPU 0; the plan was made for a field on the host",
    ):
        grid.plan(f)(g)
    with pytest.raises(
        ValueError,
        match=r"fields\[0\]: it lies on the host; the plan was made for a field on GPU 0",
    ):
        grid.plan(g)(f)
    grid.exchange(f), grid.exchange(g)


def test_fields_of_another_gpu(fake: Fake) -> None:
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    f, g = grid.zeros(device="gpu"), grid.full(1.0, device=("gpu", 1))
    with pytest.raises(
        ValueError, match="it lies on GPU 1; the plan was made for a field on GPU 0"
    ):
        grid.plan(f)(g)
    grid.exchange(g)
    assert (values_of(g) == 1).all()


def test_other_layouts_and_shared_memory() -> None:
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    f = grid.zeros(device="gpu")
    plan = grid.plan(f)
    with pytest.raises(ValueError, match="strides in bytes"):
        plan(grid.zeros(device="gpu", backend="F"))
    with pytest.raises(ValueError, match="dtype float32; the plan was made for float64"):
        plan(grid.zeros(device="gpu", dtype="f4"))
    with pytest.raises(ValueError, match="shares memory with"):
        grid.plan(f, gb.Field(f, halo=(1, 1)))
    g = grid.zeros(device="gpu", dtype="longdouble")
    grid.exchange(g)
    with pytest.raises(ValueError, match="long doubles"):
        grid.plan(g).accumulate(g)


@pytest.mark.parametrize(
    "entry", ["cuLaunchKernel", "cuMemHostAlloc", "cuEventRecord", "cuMemcpyHtoDAsync_v2"]
)
def test_what_the_driver_refuses(fake: Fake, entry: str) -> None:
    grid = gbd.grid((6, 5), periodic="I", halo=1)
    f = grid.full(1.0, device="gpu")
    gb.memory.trim(device="gpu"), gb.memory.trim(memory="pinned")
    plan = grid.plan(f)
    fake.fail(entry, code=700)
    with pytest.raises((RuntimeError, MemoryError), match="ILLEGAL_ADDRESS"):
        plan(f)
    assert fake.pending_failures() == 0
    plan(f)
    assert (values_of(f)[:, 1:-1] == 1).all()
