"""Links of index arrays, and of components and signs, against NumPy's indexing."""

from typing import Any

import numpy as np
import pytest

import gridbuf.distributed as gbd


def random_links(
    shapes: list[tuple[int, ...]], width: int, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """For each pair of blocks an index link into disjoint parts of the destination's halo."""
    links = []
    for dst, shape in enumerate(shapes):
        whole = np.indices([n + 2 * width for n in shape]).reshape(len(shape), -1) - width
        outside = ((whole < 0) | (whole >= np.array(shape)[:, None])).any(axis=0)
        halo = rng.permutation(whole[:, outside], axis=1)
        for src, part in enumerate(np.array_split(halo, len(shapes), axis=1)):
            come = [rng.integers(0, n, part.shape[1]) for n in shapes[src]]
            links.append((dst, tuple(part), src, tuple(come)))
    return links


def expected(
    fields: list[np.ndarray[Any, Any]], links: list[tuple[Any, ...]], width: int
) -> list[np.ndarray[Any, Any]]:
    found = [f.copy() for f in fields]
    for dst, to, src, come in links:
        found[dst][tuple(np.add(i, width) for i in to)] = fields[src][
            tuple(np.add(i, width) for i in come)
        ]
    return found


@pytest.mark.parametrize("backend", ["gt:cpu_ifirst", "C"])
@pytest.mark.parametrize("dtype", ["f8", "i2", "c16"])
@pytest.mark.parametrize("shapes", [[(7,), (5,), (9,)], [(4, 3), (2, 6)], [(2, 3, 2)]], ids=str)
def test_index_arrays_are_numpys(shapes: list[tuple[int, ...]], dtype: str, backend: str) -> None:
    rng = np.random.default_rng(len(shapes))
    width = 2
    links = random_links(shapes, width, rng)
    dims = "IJK"[: len(shapes[0])]
    grid = gbd.links(shapes, links, dims, halo=width)
    T = grid.zeros((*dims, "0"), dtype, sizes={"0": 3}, backend=backend)
    fields = [f for _, f in grid.each(T)]
    for f in fields:
        f[...] = (rng.random(f.shape) * 1000).astype(dtype)
    wanted = expected([f.numpy().copy() for f in fields], links, width)
    grid.exchange(T)
    assert all(np.array_equal(f.numpy(), g) for f, g in zip(fields, wanted, strict=True))


def test_runs_are_one_copy_each() -> None:
    rows = np.arange(4)
    link = (0, (rows, np.full(4, -1)), 0, (rows, np.full(4, 2)))
    grid = gbd.links([(4, 3)], [link], halo=1)
    assert len(grid.plan(grid.zeros()).copies) == 1
    jumps = (0, (rows, np.full(4, -1)), 0, (rows[::-1], np.full(4, 2)))
    grid = gbd.links([(4, 3)], [jumps], halo=1)
    assert len(grid.plan(grid.zeros()).copies) == 4


def test_any_shapes_that_agree() -> None:
    """One index array may be broadcast against the others of its end."""
    link = (0, (np.arange(3)[:, None], [[-1, -2]]), 0, (np.arange(3)[:, None], [[0, 1]]))
    grid = gbd.links([(3, 4)], [link], halo=2)
    f = grid.zeros()
    f.domain[...] = np.arange(12).reshape(3, 4)
    grid.exchange(f)
    assert f.numpy()[2:5, 0:2].tolist() == [[1, 0], [5, 4], [9, 8]]


def test_without_corners_points_beside_the_domain_are_filled() -> None:
    everything = np.array([[-1, -1], [-1, 0], [0, -1], [2, 1], [2, 2]]).T
    link = (0, tuple(everything), 0, (np.zeros(5, int), np.ones(5, int)))
    grid = gbd.links([(2, 2)], [link], halo=1)
    f = grid.ones()
    f.numpy()[...] = 0
    f.domain[...] = 1
    grid.plan(f, corners=False)(f)
    assert f.numpy().tolist() == [[0, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0]]


def test_many_points_are_read_as_arrays() -> None:
    """Of 100 000 points in a link neither pairs nor points are walked in Python: the traced calls
    are those of one link.
    """
    import sys

    def calls(n: int) -> int:
        links = [(d, np.arange(n, 2 * n), 1 - d, np.arange(n)[::-1]) for d in (0, 1)]
        count = 0

        def profile(frame: Any, event: str, arg: Any) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(profile)
        try:
            gbd.links([(n,)] * 2, links, "I", halo=((0, n),))
        finally:
            sys.setprofile(None)
        return count

    calls(10)
    assert calls(100_000) < 2 * calls(10)


def test_slices_are_compared_by_sorting() -> None:
    """2 x 4000 links of one point: the calls grow as the links do."""
    n = 4000
    links = [
        (d, slice(n + i, n + i + 1), 1 - d, slice(n - 1 - i, n - i))
        for d in (0, 1)
        for i in range(n)
    ]
    grid = gbd.links([(n,)] * 2, links, "I", halo=((0, n),))
    T = grid.zeros(dtype="i4")
    for f in T:
        f[:n] = np.arange(n)
    grid.exchange(T)
    assert all(np.array_equal(f.numpy()[n:], np.arange(n)[::-1]) for f in T)


# ---- components and signs ----


def turned() -> gbd.Grid:
    """North of block 0 lies block 1, with its components turned by a quarter."""
    box = (slice(0, 2), slice(2, 3))
    origin = (slice(0, 2), slice(0, 1))
    return gbd.links(
        [(2, 2), (2, 2)],
        [
            (0, box, 1, origin, {"to": 0, "from": 1, "sign": -1}),
            (0, box, 1, origin, {"to": 1, "from": 0}),
        ],
        halo=1,
    )


def test_components_and_signs_of_vectors() -> None:
    grid = turned()
    u, v, f = grid.full(2.0), grid.full(3.0), grid.full(5.0)
    for each in (u, v, f):
        each[0][...] = 0
    grid.exchange(gbd.vector(u, v), f)
    assert [float(each[0][1, 3]) for each in (u, v, f)] == [-3, 2, 5]
    for each in (u, v):
        each[0][...] = 0
    grid.exchange(gbd.pair(u, v))
    assert [float(each[0][1, 3]) for each in (u, v)] == [3, 2]


def test_the_adjoint_of_components() -> None:
    grid = turned()
    u, v = grid.zeros(), grid.zeros()
    u[0][1, 3], v[0][1, 3] = 7, 11
    grid.plan(gbd.vector(u, v)).accumulate(u, v)
    assert [float(each[1][1, 1]) for each in (u, v)] == [11, -7]


def test_a_sign_alone_is_every_fields() -> None:
    grid = gbd.links([(2,), (2,)], [(0, [2], 1, [1], {"sign": -1})], "I", halo=1)
    f = grid.ones()
    f[0][...] = 0
    grid.exchange(f)
    assert float(f[0][3]) == -1
    with pytest.raises(ValueError, match=r"fields\[0\]: uint8 has no sign, and links\[0\]"):
        grid.exchange(grid.ones(dtype="u1"))


def test_no_point_of_a_component_has_two_links() -> None:
    with pytest.raises(ValueError, match=r"links\[0\] and links\[1\] fill the same"):
        gbd.links([(2,)], [(0, [2], 0, [0]), (0, [2], 0, [1], {"to": 1, "from": 0})], "I")
    with pytest.raises(ValueError, match=r"links\[0\] fills a point of block 0 twice"):
        gbd.links([(2,)], [(0, [2, 3, 2], 0, [0, 1, 1])], "I")


VALUES: list[tuple[str, Any]] = [
    ("some of", (0, [2, 3], 0, [0])),
    ("block 0 owns; a link fills", (0, [2, 1], 0, [0, 1])),
    (r"source is 0 to 3 along I; block 0 owns 0 to 2", (0, [2, 3], 0, [0, 2])),
    (r"source is -1 to 1", (0, [2, 3], 0, [-1, 0])),
    ("axes are of slices", (0, [2], 0, [0], ("-I",))),
    ("no index array", (0, [[2], [2, 3]], 0, [0])),
    ("64 bits", (0, np.array([2**64 - 1], np.uint64), 0, [0])),
    ("'x' in its dict", (0, [2], 0, [0], {"x": 1})),
    ("one is missing", (0, [2], 0, [0], {"from": 1})),
    ("'sign' is 2", (0, [2], 0, [0], {"sign": 2})),
    ("'to' is 2", (0, [2], 0, [0], {"from": 1, "to": 2})),
    ("3 entries", (0, [2], 0, {"sign": 1})),
]


@pytest.mark.parametrize(("text", "link"), VALUES, ids=[text for text, _ in VALUES])
def test_wrong_values(text: str, link: Any) -> None:
    with pytest.raises(ValueError, match=rf"links\[0\]: .*{text}"):
        gbd.links([(2,)], [link], "I")


@pytest.mark.parametrize("given", [[0.5], [True], 2, "2", None, ["2"]], ids=repr)
def test_indices_are_integers(given: Any) -> None:
    with pytest.raises(TypeError, match=r"links\[0\]: expected slices"):
        gbd.links([(2,)], [(0, given, 0, [0])], "I")


def test_an_index_array_for_each_dim() -> None:
    with pytest.raises(ValueError, match=r"links\[0\]: 1 index arrays, the dims are"):
        gbd.links([(2, 2)], [(0, [[2]], 0, [[0], [0]])])
    with pytest.raises(ValueError, match=r"the index arrays of one end have the shapes"):
        gbd.links([(2, 2)], [(0, ([2, 2], [0, 1, 1]), 0, ([0], [0]))])
    empty: list[int] = []
    assert gbd.links([(2,)], [(0, empty, 0, empty)], "I").plan


# ---- global indices ----


def test_global_indices_are_those_of_a_whole_mesh() -> None:
    """A triangulation's cells on ranks at random, and every cell's neighbours in the halo: after an
    exchange each point has what the whole array has at its global index.
    """
    rng = np.random.default_rng(5)
    cells, ranks = 200, 4
    ids = rng.permutation(10_000)[:cells]
    rank = rng.integers(0, ranks, cells)
    neighbours = rng.integers(0, cells, (cells, 3))
    own = [ids[rank == r] for r in range(ranks)]
    halo = []
    for r in range(ranks):
        beyond = np.unique(neighbours[rank == r])
        halo.append(rng.permutation(ids[beyond[rank[beyond] != r]]))
    wide = max(map(len, halo))
    grid = gbd.links(
        [(len(each),) for each in own], gbd.index_links(own, halo), "I", halo=((0, wide),)
    )
    T = grid.zeros("IK", sizes={"K": 5})
    whole = rng.random((10_000, 5))
    for f, indices in zip(T, own, strict=True):
        f.domain[...] = whole[indices]
    grid.exchange(T)
    for f, mine, beyond in zip(T, own, halo, strict=True):
        n = len(mine) + len(beyond)
        assert np.array_equal(f.numpy()[:n], whole[np.r_[mine, beyond]])
        assert not f.numpy()[n:].any()


def test_global_indices_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="own: blocks 0 and 1 both own index 3"):
        gbd.index_links([[1, 3], [3]], [[], []])
    with pytest.raises(ValueError, match="halo: no block owns index 9 of block 1"):
        gbd.index_links([[1, 3], [2]], [[2], [9]])
    with pytest.raises(ValueError, match="halo: 1 blocks, own has 2"):
        gbd.index_links([[1], [2]], [[]])
    with pytest.raises(TypeError, match=r"own\[0\]: expected an index array of integers"):
        gbd.index_links([[0.5]], [[]])
    assert gbd.index_links([], []) == []
    assert gbd.index_links([[], [7]], [[7], []])[0][0] == 0
