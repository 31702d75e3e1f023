"""Coordinates, core and rims, checksums, pictures, and links that users write."""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import fill

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf import _core


def test_blocks() -> None:
    grid = gbd.grid((7, 5), cuts=([3, 4], [5]), owners=[0, None], halo=1)
    (block,) = grid.blocks
    assert (block.index, block.tile, block.start, block.stop, block.rank, block.number) == (
        (0, 0),
        0,
        (0, 0),
        (3, 5),
        0,
        0,
    )
    assert [each.rank for each in grid.all_blocks()] == [0, None]
    assert (grid.shape, grid.tiles, grid.dims, grid.periodic, grid.halo) == (
        (7, 5),
        ((7, 5),),
        ("I", "J"),
        (),
        ((1, 1), (1, 1)),
    )
    assert (grid.comm, grid.rank, grid.size, grid.engine) == (None, 0, 1, "local")
    assert isinstance(grid.zeros(), gb.Field)  # one block, one Field
    assert len(gbd.grid((2, 2), blocks=(1, 1), owners=[None]).zeros()) == 0
    tiles = gbd.cubed_sphere(4, blocks=(2, 1))
    assert [(b.tile, b.index, b.start, b.stop) for b in tiles.blocks][2:4] == [
        (1, (0, 0), (0, 0), (2, 4)),
        (1, (1, 0), (2, 0), (4, 4)),
    ]


@pytest.mark.parametrize(
    ("owners", "blocks"), [([0], (1, 1)), ([0, 0, None], (3, 1)), ([None], (1, 1))]
)
def test_a_loop_over_what_a_rank_has(owners: list[int | None], blocks: tuple[int, int]) -> None:
    grid = gbd.grid((6, 4), blocks=blocks, owners=owners, halo=1)
    T, q = grid.zeros(), grid.zeros("IJK", sizes={"K": 3})
    found = grid.each(T, q)
    assert (
        [block for block, _, _ in found] == list(grid.blocks) == [block for (block,) in grid.each()]
    )
    its = [T] if isinstance(T, gb.Field) else [*T]
    assert [id(f) for _, f, _ in found] == [id(f) for f in its]
    for _, f, g in found:
        f[...], g[...] = 1.0, 2.0
    for _, f in grid.each(T):
        assert (f == 1.0).all()
    if len(grid.blocks) == 1:
        with pytest.raises(ValueError, match=r"fields\[1\]: got 2 fields, this rank has 1 blocks"):
            grid.each(T, [q, q])


def test_all_blocks_is_called() -> None:
    grid = gbd.grid((4, 4), blocks=(2, 2))
    assert len([*grid.all_blocks()]) == 4
    uses: list[Any] = [iter, len, lambda it: it[0], lambda it: 1 in it, list]
    for use in uses:
        with pytest.raises(TypeError, match=r"grid.all_blocks: .* write grid.all_blocks\(\)"):
            use(grid.all_blocks)


@pytest.mark.parametrize("n", range(12))
@pytest.mark.parametrize("count", range(1, 6))
def test_blocks_are_as_equal_as_can_be(n: int, count: int) -> None:
    starts = [b.start[0] for b in gbd.grid((n,), "I", blocks=(count,)).blocks] + [n]
    sizes = np.diff(starts)
    assert starts[0] == 0 and sizes.sum() == n and sizes.max() - sizes.min() <= 1


def test_the_automatic_cut() -> None:
    from gridbuf.distributed.geometry.blocks import best_cut, exchanged

    one = ((1, 1), (1, 1))
    assert best_cut((100, 100), 4, one, (False, False)) == (2, 2)
    assert best_cut((400, 100), 4, one, (False, False)) == (4, 1)
    assert best_cut((10, 1000), 7, one, (False, False)) == (1, 7)
    assert best_cut((100, 100), 2, ((0, 0), (5, 5)), (False, False)) == (2, 1)
    assert best_cut((3, 2), 6, one, (False, False)) == (3, 2)
    assert best_cut((100, 100, 100), 8, one + one[:1], (False,) * 3) == (2, 2, 2)
    # A prime: some blocks have no points
    assert best_cut((1024, 1024), 9973, one, (False, False)) in ((9973, 1), (1, 9973))
    cuts = [(k, 12 // k) for k in (1, 2, 3, 4, 6, 12)]
    assert best_cut((90, 60), 12, one, (True, False)) == min(
        cuts, key=lambda cut: exchanged((90, 60), cut, one, (True, False))
    )


def received(grid: Any, halo: Sequence[tuple[int, int]]) -> int:
    """Points that the block which receives most receives: halos counted point by point."""
    most = 0
    for block in grid.blocks:
        window = 1
        for start, n, size, (low, high), name in zip(
            block.start, block.shape, grid.shape, halo, "IJK", strict=False
        ):
            whole = n == size
            points = range(start - low, start + n + high)
            inside = [x for x in points if 0 <= x < size]
            window *= (n if whole else len(points)) if name in grid.periodic else len(inside)
        most = max(most, window - math.prod(block.shape))
    return most


@pytest.mark.parametrize("seed", range(60))
def test_no_cut_is_better_than_the_automatic_one(seed: int) -> None:
    """Halos wider than blocks and than the grid too."""
    from gridbuf.distributed.geometry.blocks import best_cut, exchanged, factors

    draw = random.Random(seed)
    ndim = draw.randint(1, 3)
    shape = [draw.randint(4, 14) for _ in range(ndim)]
    halo = [(draw.randint(0, 3) * draw.choice([1, 9]), draw.randint(1, 3)) for _ in shape]
    periodic = "".join(name for name in "IJK"[:ndim] if draw.random() < 0.3)
    count = draw.choice([1, 2, 3, 4, 6, 8, 12])
    turns = [name in periodic for name in "IJK"[:ndim]]
    found = {
        cut: received(gbd.grid(shape, "IJK"[:ndim], blocks=cut, periodic=periodic), halo)
        for cut in factors(count, ndim)
        if all(k <= n for k, n in zip(cut, shape, strict=True))
    }
    for cut, points in found.items():
        assert exchanged(shape, cut, halo, turns) == points, cut
    if found:
        assert found[best_cut(shape, count, halo, turns)] == min(found.values())


def test_fields() -> None:
    grid = gbd.grid((6, 4), halo=((1, 2), 3))
    assert grid.zeros().shape == (9, 10) and grid.zeros().halo == ((1, 2), (3, 3))
    assert grid.empty("JKI", "f4", sizes={"K": 5, "2": 7}).shape == (10, 5, 9)
    assert grid.zeros("IK", sizes={"K": 5}, halo=(0, (1, 1))).shape == (6, 7)
    assert grid.zeros("KJ", sizes={"K": 5}, halo=1).shape == (5, 6)
    assert grid.zeros("K", sizes={"K": 5}).halo == ((0, 0),)
    assert (
        grid.ones(faces="IJ").domain.shape == (7, 5) and float(grid.full(3, dtype="i2")[0, 0]) == 3
    )
    field = grid.zeros("IJK", sizes={"K": 2}, backend="gt:cpu_ifirst", padding=True)
    assert field.plan.layout[0] == 2 and grid.zeros(dims=["I", "J"]).dims == ("I", "J")


def test_coordinates() -> None:
    grid = gbd.grid((6, 4), blocks=(2, 1), periodic="I", halo=((1, 2), 0))
    fields = grid.zeros("JIK", sizes={"K": 2}, faces="J")
    first, second = grid.coordinates(fields)
    assert list(first) == ["J", "I", "K"]
    assert second["I"].tolist() == [2, 3, 4, 5, 6, 7] and first["I"].tolist() == [-1, 0, 1, 2, 3, 4]
    assert first["J"].tolist() == [0, 1, 2, 3, 4] and first["K"].tolist() == [0, 1]
    whole = gbd.grid((6, 4), halo=1)
    assert isinstance(whole.coordinates(whole.zeros()), dict)


@pytest.mark.parametrize("halo", [0, 1, ((2, 1), (0, 3)), 5], ids=str)
def test_core_and_rims_are_the_domain(halo: Any) -> None:
    grid = gbd.grid((9, 7), blocks=(2, 1), halo=halo)
    fields = grid.zeros("JIK", sizes={"K": 2}, halo=None)
    for core, rims, f in zip(grid.core(fields), grid.rims(fields), fields, strict=True):
        core[...] = core.numpy() + 1
        for rim in rims:
            rim[...] = rim.numpy() + 1
            assert rim.size
        assert (f.domain.numpy() == 1).all() and f.numpy().sum() == f.domain.size
        assert np.shares_memory(core.numpy(), f.numpy()) or core.size == 0
    widths = grid.halo
    core = grid.core(fields)[0]
    assert core.shape[:2] == tuple(
        max(0, n - sum(pair)) for n, pair in zip((7, 5), widths[::-1], strict=True)
    )


def filled(grid: gbd.Grid, **keywords: Any) -> Any:
    """Values of a point's place on the grid; other ones in halos."""
    fields = grid.full(-7, **keywords)
    each = [fields] if isinstance(fields, gb.Field) else [*fields]
    for block, f in zip(grid.blocks, each, strict=True):
        index = np.meshgrid(*(np.arange(n) for n in f.domain.shape), indexing="ij")
        starts = [block.start[grid.dims.index(d)] if d in grid.dims else 0 for d in f.dims]
        place = {d: i + s for d, i, s in zip(f.dims, index, starts, strict=True)}
        f.domain[...] = (
            place["I"] * 7 % 5 + place["J"] * 3 + block.tile + place.get("K", 0)
        ).astype(f.dtype)
    return fields


@pytest.mark.parametrize("dtype", ["f8", "i1", "bool", "c16", "f2", "longdouble", ">f4"])
def test_checksums_depend_on_values_and_places_alone(dtype: str) -> None:
    keywords: dict[str, Any] = {"dims": "IJK", "sizes": {"K": 3}, "dtype": dtype, "faces": "J"}
    grid = gbd.grid((6, 5), halo=1)
    known = grid.checksum(filled(grid, **keywords))
    for other in (gbd.grid((6, 5), blocks=(3, 2)), gbd.grid((6, 5), cuts=([0, 6], [1, 4]), halo=2)):
        assert other.checksum(filled(other, **keywords)) == known
        assert other.checksum(filled(other, **keywords | {"dims": "KJI", "backend": "F"})) == known
    field = filled(grid, **keywords)
    field.numpy()[0] = 0
    assert grid.checksum(field) == known  # the halo does not count
    a, b = field.domain.numpy()[1, 2, 0], field.domain.numpy()[2, 2, 0]
    assert a != b or dtype == "bool"
    field.domain[1, 2, 0], field.domain[2, 2, 0] = (b, a) if a != b else (not a, b)
    assert grid.checksum(field) != known
    assert grid.checksum(filled(grid, **keywords | {"dtype": "i2"})) != known
    assert 0 <= known < 2**64


# Of dtypes: the numbers of checkpoints of version 2, and of version 1, which gridbuf 0.2 wrote
CHECKSUMS = [
    ("f8", 0x46B79B07D4EBB3A2, 0x17D39D453D88E5A5),
    (">f8", 0xC4FB3A4B87907D79, 0x4FFCF2CD6CDF3DF2),
    ("f4", 0xFF5D23FE25FAF938, 0x4B2D12F6F3C08842),
    ("i2", 0x9E81B2E55C19803A, 0x5E6FC88FAC62D1AC),
    ("i1", 0xD66A774A7B963199, 0x13A4E75071982029),
    ("?", 0x0D2DE5FE0F3087D1, 0xEBE1B3F1AFDE67C3),
    ("c16", 0xE40F514CDAFBB11F, 0x27BF97AE5B1AD768),
    ("f2", 0x9A4AF6A43BBCFE08, 0x3AA2CFF8B6732A2E),
]


@pytest.mark.parametrize(("dtype", "known", "first"), CHECKSUMS)
def test_checksums_are_those_of_older_checkpoints(
    dtype: str, known: int, first: int, tmp_path: Path
) -> None:
    grid = gbd.grid((5, 400), blocks=(2, 1))
    T = grid.zeros("JI", dtype)
    for block, f in grid.each(T):
        i, j = (np.arange(n) + start for n, start in zip(block.shape, block.start, strict=True))
        f.domain[...] = (7 * i % 5 + 3 * j[:, None]).astype(dtype)
    assert grid.checksum(T) == known
    grid.save(tmp_path / "T", T=T, format="npy")
    manifest = tmp_path / "T" / "manifest.json"
    said = json.loads(manifest.read_text())
    del said["digest"]  # older ones have none
    whole = json.dumps(said)
    assert '"version": 2' in whole and f"{known:016x}" in whole
    whole = whole.replace('"version": 2', '"version": 1')
    manifest.write_text(whole.replace(f"{known:016x}", f"{first:016x}"))
    for there in (grid, gbd.grid((5, 400), blocks=(3, 4))):
        assert there.checksum(there.load(tmp_path / "T")["T"]) == known
    manifest.write_text(whole)
    with pytest.raises(ValueError, match="their checksum differs"):
        grid.load(tmp_path / "T")


def mixed(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def state_after(place: Sequence[int], words: Sequence[int]) -> int:
    """The state of an element of seed 17."""
    state = 17
    for axis, index in enumerate(place):
        key = 0x9E3779B97F4A7C15
        last = axis == len(place) - 1
        state = (state + index * key) % 2**64 if last else mixed((state * key + index) % 2**64)
    for word in words:
        product = (state ^ word) * 0xBF58476D1CE4E5B9
        state = product % 2**64 ^ product >> 64
    return state


@pytest.mark.parametrize("shape", [(), (0,), (300,), (7, 20), (70, 5, 300), (3, 1, 2, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("words", [0, 1, 3])
def test_a_checksum_is_its_definition(shape: tuple[int, ...], dtype: str, words: int) -> None:
    """In any strides, whatever threads share it."""
    array = np.random.default_rng(3).integers(
        0, 2 ** (8 * np.dtype(dtype).itemsize) - 1, (words, *shape), np.uint64
    )
    array = np.moveaxis(array.astype(dtype), 0, -1)
    start, wanted = [5 + a for a in range(len(shape))], 0
    sample = array if math.prod(shape) < 2**12 else array[:2]
    for index in np.ndindex(sample.shape[:-1]):
        place = [first + i for i, first in zip(index, start, strict=True)]
        wanted += state_after(place, sample[index].tolist())
    assert _core.checksum(sample, start, 17) == wanted % 2**64
    rest = array[len(sample) :] if shape else array[:0]
    if rest.size:
        parts = wanted + _core.checksum(rest, [start[0] + len(sample), *start[1:]], 17)
        assert _core.checksum(np.ascontiguousarray(array), start, 17) == parts % 2**64
        assert _core.checksum(array[::-1][::-1], start, 17 + 2**64) == parts % 2**64


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "c16"])
def test_a_checksum_tells_any_bit_and_any_two_values_apart(dtype: str) -> None:
    """Also of values whose low bits are all 0, and of zeros."""
    grid = gbd.grid((3, 4))
    T = grid.zeros(dtype=dtype)
    T[...] = np.arange(12).reshape(3, 4) % 8
    whole = T.numpy()
    flat, octets = whole.reshape(-1), whole.view("u1").reshape(-1)
    found = [grid.checksum(T)]
    for at in range(octets.size):
        for bit in range(8):
            octets[at] ^= 1 << bit
            found.append(grid.checksum(T))
            octets[at] ^= 1 << bit
    for i, j in zip(*np.triu_indices(12, 1), strict=True):
        if flat[i] != flat[j]:
            flat[[i, j]] = flat[[j, i]]
            found.append(grid.checksum(T))
            flat[[i, j]] = flat[[j, i]]
    assert len({*found}) == len(found) and found[0] == grid.checksum(T)


def test_a_checksum_of_anything_else_is_refused() -> None:
    words = np.zeros((2, 1), "u8")
    for given in (words.astype(">u8"), words.view("i8"), words[0], words.view("f8"), [1], None):
        with pytest.raises(TypeError, match="words: expected an array of unsigned integers with 2"):
            _core.checksum(given, [0], 0)  # type: ignore[arg-type]
    for start in (3, None, ["a"], [1.5]):
        with pytest.raises(TypeError, match="start: expected a sequence of ints"):
            _core.checksum(words, start, 0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="integer"):
        _core.checksum(words, [0], 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes words, start and seed, got 2 arguments"):
        _core.checksum(words, [0])  # type: ignore[call-arg]


def test_checksums_of_points_that_exist_twice() -> None:
    for make in (
        lambda **k: gbd.tripolar((4, 4), pivot="T", **k),
        lambda **k: gbd.cubed_sphere(4, **k),
    ):
        one, many = make(blocks=(1, 1), halo=1), make(blocks=(2, 2), halo=2)
        a, b = (filled(grid, faces="IJ") for grid in (one, many))
        assert one.checksum(a) == many.checksum(b)
        other = b[-1]
        other.domain[-1, -1] = 1000.0  # a copy that owns nothing
        assert one.checksum(a) == many.checksum(b)


def test_every_point_is_owned_once() -> None:
    from gridbuf.distributed.geometry.between_decompositions import Copies, End
    from gridbuf.distributed.geometry.linking import Geometry

    for grid, counts in (
        (
            gbd.grid((6, 4), blocks=(3, 2), periodic="I"),
            {(1, 1): 24, (0, 1): 24, (1, 0): 30, (0, 0): 30},
        ),
        (
            gbd.cubed_sphere(4, blocks=(2, 1)),
            {(1, 1): 96, (0, 0): 98, (0, 1): 108},
        ),  # of 12 edges 3 turn no axis and cut I
        (gbd.tripolar((6, 4), pivot="F", blocks=(3, 2)), {(1, 1): 24, (1, 0): 27, (0, 0): 28}),
        (gbd.tripolar((6, 4), pivot="T", blocks=(3, 2)), {(1, 1): 22, (0, 1): 21, (1, 0): 24}),
    ):
        for positions, count in counts.items():
            geometry = Geometry((0, 1), positions, ((0, 0), (0, 0)))
            end = End(grid._decomposition, *geometry[:2])
            parts = [
                part
                for block in grid.blocks
                for part in Copies(grid._planner.builder.whole, end).owned(block)
            ]
            assert sum(np.prod([stop - start for start, stop in part]) for part in parts) == count


def test_pictures() -> None:
    grid = gbd.grid((6, 4), blocks=(2, 2), owners=[0, None, 0, 0], halo=1)
    drawing = grid.draw()
    assert "[0]   ." in str(drawing) and "I 3:6" in drawing.text
    assert drawing.svg.count("<rect") == 4 + 3 and ">land<" in drawing._repr_html_()
    import xml.etree.ElementTree as ElementTree

    for other in (
        grid,
        gbd.cubed_sphere(3, halo=1),
        gbd.grid((5,), "K", blocks=(2,)),
        gbd.grid((2, 3, 4), "IJK", blocks=(2, 1, 2)),
    ):
        assert ElementTree.fromstring(other.draw().svg).tag.endswith("svg")
        assert len(str(other.draw()).splitlines()) > 1
    with pytest.raises(ValueError, match="4096"):
        gbd.grid((100, 100), blocks=(100, 100)).draw()


# ---- links that users write ----


def test_given_links_are_those_of_a_periodic_grid() -> None:
    full = slice(None)
    links = [
        (0, (full, slice(-2, 0)), 1, (full, slice(2, 4))),
        (0, (full, slice(3, 4)), 1, (full, slice(0, 1))),
    ]
    links += [
        (1, (full, slice(-2, 0)), 0, (full, slice(1, 3))),
        (1, (full, slice(4, 5)), 0, (full, slice(0, 1))),
    ]
    ours = gbd.links([(2, 3), (2, 4)], links, halo=(0, (2, 1)))
    theirs = gbd.grid((2, 7), cuts=([2], [3, 4]), periodic="J", halo=(0, (2, 1)))
    a, b = ours.zeros("JIK", sizes={"K": 2}), theirs.zeros("JIK", sizes={"K": 2})
    for fields, grid in ((a, ours), (b, theirs)):
        fill(fields, np.random.default_rng(1))
        grid.exchange(fields)
    assert all(f.numpy().tobytes() == g.numpy().tobytes() for f, g in zip(a, b, strict=True))


def test_given_links_turn() -> None:
    """The destination's I runs along the source's J, its J backwards along the source's I."""
    grid = gbd.links(
        [(3, 2), (2, 3)],
        [(0, (slice(0, 3), slice(2, 4)), 1, (slice(0, 2), slice(0, 3)), ("J", "-I"))],
        halo=2,
    )
    u, v = grid.zeros(), grid.zeros()
    u[1].domain[...], v[1].domain[...] = [[1, 2, 3], [4, 5, 6]], [[10, 20, 30], [40, 50, 60]]
    grid.exchange(u[:])
    assert u[0].numpy()[2:5, 4:6].tolist() == [[4, 1], [5, 2], [6, 3]]
    grid.exchange(gbd.vector(u, v))
    assert u[0].numpy()[2:5, 4:6].tolist() == [[40, 10], [50, 20], [60, 30]]
    assert v[0].numpy()[2:5, 4:6].tolist() == [[-4, -1], [-5, -2], [-6, -3]]
    grid.exchange(gbd.pair(u, v))
    assert v[0].numpy()[2:5, 4:6].tolist() == [[4, 1], [5, 2], [6, 3]]
    assert (u[1].numpy() == 0).sum() == u[1].size - 6  # nothing fills it


@pytest.mark.parametrize("axes", [("I", "J"), ("-I", "J"), ("-J", "I")], ids=str)
def test_a_link_beyond_a_corner_is_left_out_there(axes: tuple[str, str]) -> None:
    """Of a link that fills a side and what lies beyond its ends a plan without corners fills the
    side.
    """
    source = (slice(0, 4), slice(1, 2))[:: 1 if "I" in axes[0] else -1]
    grid = gbd.links(
        [(2, 2), (4, 4)],
        [
            (0, (slice(-1, 3), slice(2, 3)), 1, source, axes),
            (1, (slice(-1, 0),) * 2, 0, (slice(0, 1),) * 2),
        ],
        halo=1,
    )
    some, whole = grid.zeros(), grid.zeros()
    for fields in (some, whole):
        fill(fields, np.random.default_rng(1))
    before = [f.numpy().copy() for f in some]
    grid.plan(some, corners=False)(some)
    grid.exchange(whole)
    assert (
        np.array_equal(some[0].numpy()[1:3], whole[0].numpy()[1:3])
        and (before[0] != some[0].numpy()).sum() == 2
    )
    assert np.array_equal(some[1].numpy(), before[1]) and (before[0] != whole[0].numpy()).sum() == 4


def test_a_scalar_changes_sign_at_folds_alone() -> None:
    """Not where axes change places, even if both are walked backwards."""
    for axes, sign in ((("-J", "-I"), 1), (("-I", "-J"), -1), (("J", "I"), 1)):
        grid = gbd.links(
            [(2, 2), (2, 2)],
            [
                (
                    0,
                    (slice(2, 3), slice(0, 2)),
                    1,
                    (slice(0, 2), slice(0, 1)) if "I" in axes[1] else (slice(0, 1), slice(0, 2)),
                    axes,
                )
            ],
            halo=1,
        )
        f = grid.ones()
        f[0].numpy()[...] = 0
        grid.exchange(gbd.scalar(f, sign=-1))
        assert (f[0].numpy()[3, 1:3] == sign).all()
    # Past a vertex, the owner is half a turn away: two seams that turn, and no fold
    grid = gbd.cubed_sphere(2, halo=1)
    plain, signed = grid.ones(faces="IJ"), grid.ones(faces="IJ")
    grid.exchange(plain, gbd.scalar(signed, sign=-1))
    assert all((f.numpy() == g.numpy()).all() for f, g in zip(plain, signed, strict=True))


def test_a_vector_has_no_third_component() -> None:
    box = (slice(2, 3), slice(0, 1), slice(0, 1))
    grid = gbd.links(
        [(2, 2, 2), (2, 2, 2)], [(0, box, 1, (slice(0, 1),) * 3, ("K", "J", "I"))], "IJK", halo=1
    )
    with pytest.raises(ValueError, match=r"links\[0\] turns I into K"):
        grid.exchange(gbd.vector(grid.zeros(), grid.zeros()))
    f = grid.ones()
    f[0].numpy()[...] = 0
    grid.exchange(f)
    assert f[0].numpy().sum() == 1
