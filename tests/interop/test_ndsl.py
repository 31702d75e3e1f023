"""Halos and shared edges by NDSL's own updaters and by gridbuf's links of its partitioners: the
same bits. All ranks are in this process, NDSL's by its LocalComm.
"""

import copy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ndsl")
from ndsl import Quantity
from ndsl import constants as names
from ndsl.comm.communicator import CubedSphereCommunicator, TileCommunicator
from ndsl.comm.local_comm import LocalComm
from ndsl.quantity import QuantityHaloSpec

import gridbuf.distributed as gbd
import gridbuf.interop.ndsl as gbn
from gridbuf.interop.ndsl_halos import HaloUpdater, field_of, is_ours
from gridbuf.interop.ndsl_links import NAMES, grid_of

(II, I), (JJ, J) = NAMES
K = getattr(names, "K_DIM", None) or names.Z_DIM
CELLS = 4  # of a rank, along both dims
SIZES = {I: CELLS, II: CELLS + 1, J: CELLS, JJ: CELLS + 1, K: 3, "tracer": 2}
HALO = 3


def communicators(kind: type, layout: int) -> list[Any]:
    ranks = layout**2 * (6 if kind is CubedSphereCommunicator else 1)
    shared: dict[Any, Any] = {}
    return [kind.from_layout(LocalComm(r, ranks, shared), (layout, layout)) for r in range(ranks)]


def quantity(dims: tuple[str, ...], dtype: str, order: Any, rng: np.random.Generator) -> Any:
    horizontal = {I, II, J, JJ}
    shape = [SIZES[d] + (2 * HALO + 1) * (d in horizontal) for d in dims]
    data = np.asarray((rng.random(shape) * 200 - 100).astype(dtype), order=order)
    data.ravel()[::7] = -0.0
    keywords: dict[str, Any] = {"allow_mismatch_float_precision": True}
    try:
        from ndsl.config import Backend

        keywords["backend"] = Backend.python()
    except ImportError:  # older ones have no backends
        pass
    return Quantity(
        data,
        dims,
        "",
        origin=tuple(HALO * (d in horizontal) for d in dims),
        extent=tuple(SIZES[d] for d in dims),
        **keywords,
    )


def specification(q: Any, width: int) -> Any:
    data, meta = q.data, q.metadata
    return QuantityHaloSpec(
        n_points=width,
        strides=data.strides,
        itemsize=data.itemsize,
        shape=data.shape,
        origin=meta.origin,
        extent=meta.extent,
        dims=meta.dims,
        numpy_module=np,
        dtype=data.dtype,
    )


def on_all(make: Any) -> None:
    """Start what is made of each rank, and wait for all."""
    for each in list(make):
        each.wait()


def grid(all_ranks: list[Any]) -> gbd.Grid:
    return grid_of(all_ranks[0].partitioner, ((CELLS, CELLS),) * len(all_ranks))


def same(ours: list[Any], theirs: list[Any]) -> bool:
    return all(a.data.tobytes() == b.data.tobytes() for a, b in zip(ours, theirs, strict=True))


GRIDS = [(CubedSphereCommunicator, n) for n in (1, 2, 3)] + [(TileCommunicator, 3)]
SCALARS = [
    ((I, J, K), "f8", "C"),
    ((K, J, I), "f4", "C"),
    ((I, J), "i4", "F"),
    ((II, JJ, K), "f8", "F"),
    ((I, J, K, "tracer"), "f8", "C"),
]
VECTORS = [((I, J, K),) * 2, ((I, JJ, K), (II, J, K)), ((II, J, K), (I, JJ, K)), ((II, JJ),) * 2]


@pytest.mark.parametrize(("kind", "layout"), GRIDS)
@pytest.mark.parametrize(("dims", "dtype", "order"), SCALARS)
@pytest.mark.parametrize("width", [1, HALO])
def test_halos_of_scalars(
    kind: type, layout: int, dims: tuple[str, ...], dtype: str, order: str, width: int
) -> None:
    rng = np.random.default_rng(1)
    ranks = communicators(kind, layout)
    theirs = [quantity(dims, dtype, order, rng) for _ in ranks]
    ours = copy.deepcopy(theirs)
    updaters = [
        rank.get_scalar_halo_updater([specification(q, width)])
        for rank, q in zip(ranks, theirs, strict=True)
    ]
    for updater, q in zip(updaters, theirs, strict=True):
        updater.start([q])
    on_all(updaters)
    grid(ranks).exchange([field_of(q, width) for q in ours])
    assert same(ours, theirs)


@pytest.mark.parametrize(("kind", "layout"), GRIDS)
@pytest.mark.parametrize("dims", VECTORS)
def test_halos_of_vectors(kind: type, layout: int, dims: Any) -> None:
    rng = np.random.default_rng(2)
    ranks = communicators(kind, layout)
    xs, ys = ([quantity(each, "f8", "C", rng) for _ in ranks] for each in dims)
    u, v = copy.deepcopy((xs, ys))
    updaters = []
    for rank, x, y in zip(ranks, xs, ys, strict=True):
        updaters.append(rank.get_vector_halo_updater([specification(x, 2)], [specification(y, 2)]))
        updaters[-1].start([x], [y])
    on_all(updaters)
    fields = ([field_of(q, 2) for q in each] for each in (u, v))
    grid(ranks).exchange(gbd.vector(*fields))
    assert same(u, xs) and same(v, ys)


@pytest.mark.parametrize(("kind", "layout"), GRIDS)
def test_shared_edges_of_vectors(kind: type, layout: int) -> None:
    rng = np.random.default_rng(3)
    ranks = communicators(kind, layout)
    xs, ys = ([quantity(each, "f8", "C", rng) for _ in ranks] for each in VECTORS[1])
    u, v = copy.deepcopy((xs, ys))
    on_all(
        [
            rank.start_synchronize_vector_interfaces(x, y)
            for rank, x, y in zip(ranks, xs, ys, strict=True)
        ]
    )
    before = copy.deepcopy(u)
    grid(ranks).sync(gbd.vector(*([field_of(q, 0) for q in each] for each in (u, v))))
    assert same(u, xs) and same(v, ys) and not same(u, before)


def test_what_has_no_mpi_stays_ndsls() -> None:
    theirs = CubedSphereCommunicator.get_scalar_halo_updater
    rank = communicators(CubedSphereCommunicator, 1)[0]
    q = quantity((I, J, K), "f8", "C", np.random.default_rng(4))
    with gbn.install():
        assert CubedSphereCommunicator.get_scalar_halo_updater is not theirs
        made = rank.get_scalar_halo_updater([specification(q, 1)])
        assert not isinstance(made, HaloUpdater)
    assert CubedSphereCommunicator.get_scalar_halo_updater is theirs
    assert not is_ours(rank, [specification(q, 1)], None)


def test_updaters_of_equal_layouts_are_under_way_at_once() -> None:
    """As in FV3: the second starts before the first is waited for."""
    MPI = pytest.importorskip("mpi4py.MPI")
    rng = np.random.default_rng(5)
    alone = [quantity((I, J, K), "f8", "C", rng) for _ in range(4)]
    together = copy.deepcopy(alone)
    rank = TileCommunicator.from_layout(MPI.COMM_SELF, (1, 1))
    with gbn.install():
        for q in alone:
            rank.get_scalar_halo_updater([specification(q, HALO)]).update([q])
        for _ in range(3):
            updaters = [rank.get_scalar_halo_updater([specification(q, HALO)]) for q in together]
            assert all(isinstance(each, HaloUpdater) for each in updaters)
            for updater, q in zip(updaters, together, strict=True):
                updater.start([q])
            for updater in reversed(updaters):
                updater.wait()
    assert same(together, alone)
