"""What ranks plan, each for itself, fits together: every message has one order of chunks at both
ends. No MPI: ranks are played here.
"""

from typing import Any

import numpy as np
import pytest
from oracle import fill
from played import Played
from seams import made

import gridbuf.distributed as gbd
from gridbuf import _core
from gridbuf.distributed import factories
from gridbuf.distributed.geometry import linking
from gridbuf.distributed.geometry.blocks import Decomposition


@pytest.fixture
def ranks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Grids of all ranks; the last is the local one with the same blocks."""

    def make(kind: str, size: int, *args: Any, **keywords: Any) -> list[gbd.Grid]:
        grids = []
        for rank in range(size):
            monkeypatch.setattr(factories, "engine_of", lambda *_, rank=rank: Played(rank, size))
            grids.append(getattr(gbd, kind)(*args, **keywords))
        monkeypatch.undo()
        return grids

    return make


CASES: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = [
    ("grid", 4, ((7, 5),), {"periodic": "I", "halo": ((2, 1), 3)}),
    ("grid", 2, ((6, 5),), {"blocks": (2, 1), "periodic": "IJ", "halo": 1}),
    ("grid", 3, ((7, 5),), {"blocks": (3, 2), "periodic": "IJ", "halo": (9, 2)}),
    ("grid", 4, ((3, 2),), {"blocks": (2, 3), "periodic": "J", "halo": 2}),
    (
        "grid",
        3,
        ((7, 5),),
        {"blocks": (3, 2), "owners": [2, 0, None, 1, 0, 2], "periodic": "IJ", "halo": 2},
    ),
    ("grid", 5, ((3,), "K"), {"blocks": 3, "halo": 1}),  # ranks without a block
    ("cubed_sphere", 4, (3,), {"halo": 2}),
    ("cubed_sphere", 5, (4,), {"blocks": (2, 1), "halo": 1}),
    ("cubed_sphere", 24, (4,), {"cuts": ((2, 2), (1, 3)), "halo": 2}),
    (
        "cubed_sphere",
        18,
        (6,),
        {"cuts": ((0, 3, 3), (6,)), "halo": 2},
    ),  # blocks of no cells, which have faces
    ("tripolar", 4, ((6, 4),), {"pivot": "T", "halo": 2}),
    ("tripolar", 3, ((6, 4),), {"pivot": "F", "blocks": (3, 2), "halo": (5, 1)}),
]


@pytest.mark.parametrize(("kind", "size", "args", "keywords"), CASES)
def test_messages_fit(kind: str, size: int, args: Any, keywords: Any, ranks: Any) -> None:
    grids = ranks(kind, size, *args, **keywords)
    layout = grids[0]._decomposition
    sizes = {
        **({} if "cuts" in keywords else {"cuts": None, "blocks": layout.counts[0]}),
        "owners": [0 if b.rank is not None else None for b in grids[0].all_blocks()],
    }
    alone = getattr(gbd, kind)(*args, **keywords | sizes)
    order = [b.number for b in alone.blocks]
    positions = ((1, 1), (0, 0)) if len(grids[0].dims) == 2 else ((1,), (0,))
    whole = [made(alone, p, dtype=d) for p, d in zip(positions, ("f8", "i2"), strict=True)]
    if len(alone.dims) == 2:
        whole += [made(alone, (0, 1)), made(alone, (1, 0))]
    for i, fields in enumerate(whole):
        fill(fields, np.random.default_rng(i))
    # each rank's fields are its blocks' share of copies of the whole's
    copies = [
        [_core.Field(f.numpy().copy(), dims=f.dims, halo=f.halo) for f in fields]
        for fields in whole
    ]

    def items(fields: list[Any]) -> list[Any]:
        return [*fields[:2], gbd.vector(*fields[2:])] if len(fields) > 2 else fields

    plans = []
    shares = []
    for grid in grids:
        share = [[fields[order.index(b.number)] for b in grid.blocks] for fields in copies]
        shares.append([f for fields in share for f in fields])
        plans.append(grid.plan(*items(share)))
    messages: dict[tuple[int, int], np.ndarray] = {}
    for rank, plan in enumerate(plans):
        assert rank not in plan.sends and rank not in plan.receives
        assert plan.messages == len(plan.sends) and plan.nbytes == sum(
            m.payload for m in plan.sends.values()
        )
        for peer, message in plan.sends.items():
            there = plans[peer].receives[rank]
            assert [(c.field, c.link, c.at, c.nbytes, c.shape) for c in message.chunks] == [
                (c.field, c.link, c.at, c.nbytes, c.shape) for c in there.chunks
            ]
            buffer = messages[rank, peer] = np.zeros(message.nbytes, "u1")
            slots = [*plan.slots(), buffer]
            entries = [
                (
                    len(slots) - 1,
                    c.at,
                    c.strides,
                    c.place.slot,
                    c.place.at,
                    c.place.strides,
                    c.shape,
                    c.dtype,
                    c.mode,
                )
                for c in message.chunks
            ]
            _core.CopyProgram(slots, entries).run(*shares[rank])
    assert sum(len(plan.receives) for plan in plans) == len(messages)
    for rank, plan in enumerate(plans):
        _core.CopyProgram(plan.slots(), plan.copies).run(*shares[rank])
        for peer, message in plan.receives.items():
            slots = [*plan.slots(), messages[peer, rank]]
            entries = [
                (
                    c.place.slot,
                    c.place.at,
                    c.place.strides,
                    len(slots) - 1,
                    c.at,
                    c.strides,
                    c.shape,
                    c.dtype,
                    0,
                )
                for c in message.chunks
            ]
            _core.CopyProgram(slots, entries).run(*shares[rank])
    alone.exchange(*items(whole))
    for ours, theirs in zip(copies, whole, strict=True):
        assert all(
            f.numpy().tobytes() == g.numpy().tobytes() for f, g in zip(ours, theirs, strict=True)
        )


def test_one_of_ten_thousand_ranks_knows_its_neighbours_alone(
    ranks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = set()
    block = Decomposition.block
    monkeypatch.setattr(
        Decomposition, "block", lambda self, number: asked.add(number) or block(self, number)
    )
    import tracemalloc

    made_up = Played(5050, 10_000)
    monkeypatch.setattr(factories, "engine_of", lambda *_: made_up)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        grid = gbd.grid((1000, 1000), periodic="I", halo=3)
        plan = grid.plan(grid.zeros(), grid.zeros(faces="I"))
        assert tracemalloc.get_traced_memory()[0] - before < 200_000
    finally:
        tracemalloc.stop()
    assert (
        sorted(plan.sends)
        == sorted(plan.receives)
        == [4949, 4950, 4951, 5049, 5051, 5149, 5150, 5151]
    )
    assert len(asked) <= 9


@pytest.mark.parametrize(
    ("kind", "cuts", "halos"),
    [
        *[
            ("grid " + periodic, cuts, halos)
            for periodic in ("", "I", "IJ")
            for cuts in (((3, 4), (2, 3)), ((0, 7), (1, 0, 4)), ((7,), (5,)))
            for halos in (((1, 1), (2, 0)), ((8, 9), (0, 6)))
        ],
        *[
            (kind, ((3, 1, 3, 1), (2, 2, 4)), halos)
            for kind in ("tripolar F", "tripolar T", "cubed_sphere")
            for halos in (((1, 1), (2, 2)), ((3, 2), (0, 3)))
        ],
    ],
    ids=str,
)
def test_the_closed_form_finds_what_the_walk_finds(kind: str, cuts: Any, halos: Any) -> None:
    name, _, word = kind.partition(" ")
    shape = sum(cuts[0]), sum(cuts[1])
    more = {"grid": {"periodic": word}, "tripolar": {"pivot": word}}.get(name, {})
    closed, walking = (
        getattr(gbd, name)(shape[0] if name == "cubed_sphere" else shape, cuts=cuts, **more)
        for _ in range(2)
    )
    whole = walking._planner.builder.whole
    whole.clear = [[(1, -1)] * 2 for _ in whole.clear]  # nowhere
    for positions in ((1, 1), (0, 1), (0, 0)):
        geometry = linking.Geometry((0, 1), positions, halos)
        wanted: dict[int, list[Any]] = {}
        for block in closed.blocks:
            links, walked = (
                grid._planner.builder.filling(geometry, block) for grid in (closed, walking)
            )
            assert points(links) == points(walked)
            for link in links:
                if link.src != link.dst:
                    wanted.setdefault(link.src, []).append(link)
        for block in closed.blocks:  # and the other end has the same, in one order
            assert [*closed._planner.builder.giving(geometry, block, True)] == wanted.get(
                block.number, []
            )


def test_past_a_vertex_a_block_gives_to_blocks_that_are_narrower_than_the_halo() -> None:
    builder = gbd.cubed_sphere(4, blocks=(3, 3))._planner.builder
    geometry = linking.Geometry((0, 1), (0, 0), ((3, 3), (3, 3)))
    taken = {
        link[:2]
        for block in builder.decomposition.blocks()
        for link in builder.filling(geometry, block)
    }
    assert len(taken) > 1000
    assert not [
        pair for pair in taken if pair[0] not in builder.near(geometry, builder.block(pair[1]))
    ]


@pytest.mark.parametrize("positions", [(1, 1, 1), (0, 1, 0)])
@pytest.mark.parametrize("owners", [[None, 0, None, 0, None, 0], [0, 0, None, 0, 0, 0]], ids=str)
def test_who_asks_beside_land_is_known_at_once(
    owners: Any, positions: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Halos that go round an axis several times: following each seam took 14 s."""
    builder = gbd.grid(
        (4, 2, 1), "IJK", blocks=(2, 1, 3), owners=owners, periodic="IJK"
    )._planner.builder
    monkeypatch.setattr(builder, "_around", None)
    geometry = linking.Geometry((0, 1, 2), positions, ((0, 1), (2, 4), (4, 0)))
    blocks = [block for block in builder.decomposition.blocks() if block.rank is not None]
    taken = {link[:2] for block in blocks for link in builder.filling(geometry, block)}
    assert taken and not [
        pair for pair in taken if pair[0] not in builder.near(geometry, builder.block(pair[1]))
    ]


def points(links: list[linking.Link]) -> dict[Any, Any]:
    """Of each point of a block's halo where it comes from, and how."""
    found: dict[Any, Any] = {}
    for link in links:
        for index in np.ndindex(link.shape):
            at = tuple(np.add(link.at, index).tolist())
            source = tuple(
                i + sign * index[axis]
                for i, axis, sign in zip(link.source_at, link.axes, link.signs, strict=True)
            )
            assert at not in found
            found[at] = link.src, source, link.axes, link.signs
    return found


def test_given_links_of_ranks(ranks: Any) -> None:
    box = (slice(-1, 0), slice(0, 2)), (slice(1, 2), slice(0, 2))
    given = [
        (0, box[0], 1, box[1]),
        (1, box[0], 2, box[1]),
        (2, box[0], 1, (slice(0, 2), slice(1, 2)), ("J", "I")),
    ]
    plans = [
        grid.plan(grid.zeros(sizes={})) for grid in ranks("links", 3, [(2, 2)] * 3, given, halo=1)
    ]
    assert [(sorted(plan.sends), sorted(plan.receives)) for plan in plans] == [
        ([], [1]),
        ([0, 2], [2]),
        ([1], [1]),
    ]
    for rank, plan in enumerate(plans):
        for peer, message in plan.sends.items():
            assert [c.link for c in message.chunks] == [
                c.link for c in plans[peer].receives[rank].chunks
            ]


def test_index_links_of_ranks(ranks: Any) -> None:
    rng = np.random.default_rng(3)
    shapes = [(6,), (4,), (5,)]
    halo = [[*range(-4, 0), *range(n, n + 4)] for (n,) in shapes]
    given = [
        (dst, halo[dst][src::3], src, rng.integers(0, shapes[src][0], len(halo[dst][src::3])))
        for dst in range(3)
        for src in range(3)
    ]
    plans = [grid.plan(grid.zeros()) for grid in ranks("links", 3, shapes, given, "I", halo=4)]
    for rank, plan in enumerate(plans):
        assert len(plan.sends) == 2
        for peer, message in plan.sends.items():
            assert [c.link for c in message.chunks] == [
                c.link for c in plans[peer].receives[rank].chunks
            ]
