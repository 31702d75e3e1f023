"""The costs of a run: blocks, messages, bytes and memory of a cut, from the links that the run
itself would use; and the report of it.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

import gridbuf
from gridbuf.common import columns
from gridbuf.distributed.drawing import picture
from gridbuf.distributed.geometry.blocks import Decomposition, best_cut, evenly, exchanged, factors
from gridbuf.distributed.geometry.boxes import Pairs
from gridbuf.distributed.geometry.linking import Geometry, LinkBuilder
from gridbuf.distributed.geometry.tiles import Topology
from gridbuf.distributed.plans.layouts import CENTRE
from gridbuf.explain import nbytes_text

# ---- figures ----


COMPARED, FEWER = 16, 6  # cuts that are worked out; of tiles whose axes turn, which takes longer
ALL = 48  # up to so many ranks are looked at one by one; of more those that can differ


class Run(NamedTuple):
    """The run to plan: a grid, and the fields that are exchanged together."""

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
    """The figures of a cut; where ranks differ, those of the rank that has most."""

    counts: tuple[int, ...]  # of blocks, along each axis of a tile
    decomposition: Decomposition
    smallest: tuple[int, ...]
    largest: tuple[int, ...]
    points: tuple[int, float, int]  # least, mean and most own points of a rank
    received: int  # bytes in an exchange
    copied: int  # bytes within the rank
    messages: int
    busiest: int  # the rank that has most peers
    peers: tuple[int, ...]  # of this rank
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
    """The costs of a cut into so many blocks along each axis of each tile."""
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
    # Of a cubed sphere even tiles are alike, and odd tiles
    tiles = range(len(decomposition.cuts)) if len(decomposition.cuts) != 6 else (0, 1)
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
    """Bytes of a field of a block, padding included."""
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


# ---- the report ----


def times(numbers: tuple[int, ...]) -> str:
    return " x ".join(map(str, numbers))


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def widths(run: Run) -> str:
    return " ".join(str(low) if low == high else f"{low}:{high}" for low, high in run.halo)


def seconds_text(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def head(run: Run, kind: str) -> str:
    tiles = run.topology.tiles
    shape = f"{len(tiles)} tiles of {times(tiles[0])}" if len(tiles) > 1 else times(tiles[0])
    levels = "" if run.levels is None else f", {run.levels} levels"
    fields = f"{plural(run.fields, 'field')} of {run.dtype}"
    backend = f" for {run.backend}" if run.backend else ""
    return (
        f"{''.join(run.topology.names)}: {shape}{levels}, {kind}, halo {widths(run)};"
        f" {fields}{backend} on {plural(run.ranks, 'rank')}"
    )


def lines(run: Run, own: Figures, network: Network) -> Iterator[tuple[str, str]]:
    """(what, how much) of a cut."""
    tiles, total = len(run.topology.tiles), own.decomposition.number_of_blocks
    of_each = " of each tile" if tiles > 1 else ""
    few, many = total // run.ranks, -(-total // run.ranks)
    per_rank = (
        "one a rank"
        if total == run.ranks
        else f"{few} a rank"
        if few == many
        else f"{few} to {many} a rank"
    )
    yield (
        "cut",
        (
            f"{times(own.counts)}"
            f" blocks{of_each}{f', {total} in all' if total != own.counts[0] else ''}, {per_rank}"
        ),
    )
    if own.idle:
        yield "", f"{plural(own.idle, 'rank')} without a point: fewer do the same"
    same = own.smallest == own.largest
    yield (
        "blocks",
        (
            f"{times(own.largest)} points, all alike"
            if same
            else f"{times(own.smallest)} to {times(own.largest)} points"
        ),
    )
    least, mean, most = own.points
    yield (
        "load",
        (
            f"{most / mean:.3f} times the mean on the rank with most ({least:,} to {most:,} points"
            " of a level)"
        ),
    )
    if any(low > n or high > n for n, (low, high) in zip(own.smallest, run.halo, strict=True)):
        yield "", "the halo is wider than a block: the next but one sends too"
    yield (
        "exchange",
        (
            f"{nbytes_text(own.received)} in {plural(own.messages, 'message')}, on the rank that"
            " gets most"
        ),
    )
    if own.copied:
        yield "", f"and {nbytes_text(own.copied)} copied within a rank"
    yield (
        "neighbours",
        (
            f"{own.messages} of rank {own.busiest}: {' '.join(map(str, own.peers))}"
            if own.peers
            else "none"
        ),
    )
    yield (
        "surface",
        (
            f"{100 * own.surface:.1f} halo points are filled for 100 own points, on the rank where"
            " they are most"
        ),
    )
    yield "memory", f"{nbytes_text(own.memory)} a rank for these fields, halos and padding included"
    moved = 2 * own.received + own.copied
    yield (
        "time",
        (
            f"{seconds_text(own.seconds(network))} an exchange:"
            f" {seconds_text(moved / network.copying)} for copies at {network.copying / 1e9:.1f}"
            " GB/s,"
            f" {seconds_text(own.messages * network.latency + own.received / network.bandwidth)}"
            f" for messages of {network.latency * 1e6:g} us at {network.bandwidth / 1e9:g} GB/s"
        ),
    )


def table(
    run: Run, own: Figures, cuts: list[Figures], network: Network, most: int
) -> Iterator[str]:
    """Other cuts, those that take least time first; this one is marked."""
    ranked = sorted(cuts, key=lambda each: (each.idle > 0, each.seconds(network)))
    drawn = ranked[:most]
    if own.counts not in [each.counts for each in drawn]:
        drawn = [
            *drawn[: most - 1],
            next((each for each in ranked if each.counts == own.counts), own),
        ]
    rows = [("", "cut", "largest block", "load", "bytes a rank", "messages", "time")]
    for each in drawn:
        mark = ">" if each.counts == own.counts else ""
        load = f"{each.points[2] / each.points[1]:.3f}"
        estimate = seconds_text(each.seconds(network)) if not each.idle else f"{each.idle} idle"
        rows.append(
            (
                mark,
                times(each.counts),
                times(each.largest),
                load,
                nbytes_text(each.received),
                str(each.messages),
                estimate,
            )
        )
    yield from (f"  {line}" for line in columns(rows, right=True))
    if len(ranked) > len(drawn):
        yield f"  and {len(ranked) - len(drawn)} more"


def program(run: Run, own: Figures) -> str:
    """The line of Python that makes this grid."""
    tiles = run.topology.tiles
    halo = run.halo[0][0] if len({n for pair in run.halo for n in pair}) == 1 else run.halo
    given = [str(tiles[0][0])] if len(tiles) == 6 else [str(tiles[0])]
    given += (
        []
        if run.topology.names == tuple("IJK"[: run.topology.ndim])
        else [repr("".join(run.topology.names))]
    )
    name = "cubed_sphere" if len(tiles) == 6 else "grid"
    if run.pivot:
        name, given = "tripolar", [*given, f"pivot={run.pivot!r}"]
    elif any(run.periodic):
        turning = zip(run.topology.names, run.periodic, strict=True)
        given.append(f"periodic={''.join(n for n, yes in turning if yes)!r}")
    given += [f"blocks={own.counts}", f"halo={halo}", "comm=MPI.COMM_WORLD"]
    return f"gbd.{name}({', '.join(given)})"


def text(
    run: Run, kind: str, own: Figures, cuts: list[Figures], network: Network, most: int
) -> str:
    """All of it."""
    parts = [head(run, kind), ""]
    parts += [f"  {what:<12}{how}" for what, how in lines(run, own, network)]
    parts.append(f"  {'program':<12}{program(run, own)}")
    if most and len(cuts) > 1:
        parts += ["", "cuts", *table(run, own, cuts, network, most)]
    drawn = picture(own.decomposition.blocks(), run.topology.names, len(run.topology.tiles))
    return "\n".join([*parts, "", "ranks", *("  " + line for line in drawn.splitlines())])
