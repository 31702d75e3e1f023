"""What a run costs: blocks, messages, bytes and memory of a cut, from the links that the run itself
would use.
"""

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

import gridbuf
from gridbuf.distributed.geometry.blocks import Decomposition, Pairs
from gridbuf.distributed.geometry.cutting import best_cut, evenly, exchanged, factors
from gridbuf.distributed.geometry.linking import Geometry, LinkBuilder
from gridbuf.distributed.geometry.tiles import Topology
from gridbuf.distributed.plans.layouts import CENTRE

COMPARED, FEWER = 16, 6  # cuts that are worked out; of tiles whose axes turn, which takes longer
ALL = 48  # up to so many ranks are looked at one by one; of more those that can differ


class Run(NamedTuple):
    """What is to be run: a grid, and the fields that are exchanged together."""

    topology: Topology
    periodic: tuple[bool, ...]
    halo: Pairs
    ranks: int
    levels: int | None
    fields: int
    dtype: np.dtype[Any]
    backend: str | None
    pivot: str = ""  # of a fold


class Network(NamedTuple):
    """Seconds for a message, and bytes a second over the network and within memory."""

    latency: float
    bandwidth: float
    copying: float


class Figures(NamedTuple):
    """One cut. Where ranks differ it is the one that has most."""

    counts: tuple[int, ...]  # of blocks, along each axis of a tile
    decomposition: Decomposition
    smallest: tuple[int, ...]
    largest: tuple[int, ...]
    points: tuple[int, float, int]  # least, mean and most own points of a rank
    received: int  # bytes in an exchange
    copied: int  # bytes within the rank
    messages: int
    busiest: int  # the rank that has most peers
    peers: tuple[int, ...]  # its
    surface: float  # halo points that are filled, over own points
    memory: int  # bytes of all fields of a rank
    idle: int  # ranks without a block

    def seconds(self, network: Network) -> float:
        """Packing and unpacking, and the messages one after the other: a simple model."""
        moved = 2 * self.received + self.copied
        return (
            self.messages * network.latency
            + self.received / network.bandwidth
            + moved / network.copying
        )


def chosen(run: Run) -> tuple[int, ...]:
    """The cut that `gridbuf.distributed` makes when it is not told."""
    tiles = run.topology.tiles
    return best_cut(tiles[0], -(-run.ranks // len(tiles)), run.halo, run.periodic)


def nearest(run: Run, own: Figures) -> list[Figures]:
    """The cuts into as many blocks that exchange least, and `own` where it is none of them."""
    tile, count = run.topology.tiles[0], -(-run.ranks // len(run.topology.tiles))
    cuts = sorted(
        factors(count, run.topology.ndim),
        key=lambda counts: (
            sum(k > n for k, n in zip(counts, tile, strict=True)),
            exchanged(tile, counts, run.halo, run.periodic),
        ),
    )[: COMPARED if len(run.topology.tiles) == 1 else FEWER]
    return [own if counts == own.counts else figures(run, counts) for counts in cuts] + [own] * (
        own.counts not in cuts
    )


def figures(run: Run, counts: Sequence[int]) -> Figures:
    """What a cut into so many blocks along each axis of each tile costs."""
    tiles = run.topology.tiles
    decomposition = Decomposition(evenly(tiles, [counts] * len(tiles)), run.ranks)
    builder = LinkBuilder(run.topology, decomposition)
    geometry = Geometry(tuple(range(run.topology.ndim)), (CENTRE,) * run.topology.ndim, run.halo)
    if not builder.straight:
        builder.check_width(geometry, "halo")
    sizes = [
        [cuts.start(k + 1) - cuts.start(k) for k in range(cuts.count)]
        for cuts in decomposition.cuts[0]
    ]
    points = _points(decomposition, run.ranks)
    bytes_each = run.fields * (run.levels or 1) * run.dtype.itemsize
    received = copied = memory = busiest = 0
    peers: tuple[int, ...] = ()
    surface = 0.0
    for rank in _ranks(decomposition, run):
        arrives: dict[int, int] = {}
        own = filled = inside = held = 0
        for block in decomposition.blocks_of(rank):
            own += prod(block.shape)
            held += run.fields * _nbytes(run, block.shape)
            for link in builder.filling(geometry, block):
                n = prod(link.shape)
                filled += n
                peer = decomposition.rank_of(link.src)
                if peer == rank or peer is None:
                    inside += n
                else:
                    arrives[peer] = arrives.get(peer, 0) + n
        received = max(received, sum(arrives.values()) * bytes_each)
        copied = max(copied, inside * bytes_each)
        memory, surface = max(memory, held), max(surface, filled / own if own else 0.0)
        if len(arrives) > len(peers):
            busiest, peers = rank, tuple(sorted(arrives))
    return Figures(
        tuple(counts),
        decomposition,
        tuple(map(min, sizes)),
        tuple(map(max, sizes)),
        (int(points.min()), float(points.mean()), int(points.max())),
        received,
        copied,
        len(peers),
        busiest,
        peers,
        surface,
        memory,
        int((points == 0).sum()),
    )


def _points(decomposition: Decomposition, ranks: int) -> Any:
    """Own points of each rank."""
    each = []
    for cuts in decomposition.cuts:
        along = [np.diff([axis.start(k) for k in range(axis.count + 1)]) for axis in cuts]
        of_tile = along[0]
        for sizes in along[1:]:
            of_tile = np.multiply.outer(of_tile, sizes)
        each.append(of_tile.ravel())
    points = np.concatenate(each)
    owners = np.arange(len(points)) * ranks // len(points)
    return np.bincount(owners, points, minlength=ranks)


def _ranks(decomposition: Decomposition, run: Run) -> list[int]:
    """Ranks that stand for all: along each axis the first two blocks and the last, where sizes
    change, and the middle.
    """
    if run.ranks <= ALL:
        return list(range(run.ranks))
    found = set()
    tiles = (
        range(len(decomposition.cuts)) if len(decomposition.cuts) != 6 else (0, 1)
    )  # even tiles are alike, and odd ones
    for tile in tiles:
        rows = []
        for cuts in decomposition.cuts[tile]:
            wanted = {0, 1, cuts.longer - 1, cuts.longer, cuts.count // 2, cuts.count - 1}
            rows.append(sorted(k for k in wanted if 0 <= k < cuts.count))
        found |= {
            decomposition.rank_of(decomposition.number_at(tile, index)) for index in product(*rows)
        }
    return sorted(rank for rank in found if rank is not None)


def _nbytes(run: Run, extents: Sequence[int]) -> int:
    """What a field of a block takes, padding included."""
    shape = [n + low + high for n, (low, high) in zip(extents, run.halo, strict=True)]
    halo, dims = [*run.halo], [*run.topology.names]
    if run.levels is not None:
        shape.append(run.levels)
        halo.append((0, 0))
        dims.append(next(name for name in "KIJ" if name not in dims))
    spec: dict[str, Any] = {} if run.backend is None else {"backend": run.backend}
    return int(
        gridbuf.plan(
            tuple(shape), run.dtype, dims=tuple(dims), halo=tuple(halo), **spec
        ).alloc_nbytes
    )


def copying(nbytes: int = 1 << 22) -> float:
    """Bytes a second that one copy on this machine makes, when it is not disturbed."""
    from time import perf_counter

    source, target = gridbuf.empty(nbytes, "uint8"), gridbuf.empty(nbytes, "uint8")
    best = float("inf")
    for _ in range(7):
        begin = perf_counter()
        gridbuf.copyto(target, source)
        best = min(best, perf_counter() - begin)
    return nbytes / best
