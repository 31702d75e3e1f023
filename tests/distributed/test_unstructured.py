"""Grids by global index: after an exchange each point has the value of its index."""

from typing import Any

import numpy as np
import pytest
from mesh import Mesh, random_mesh, torus

import gridbuf as gb
import gridbuf.distributed as gbd

MESHES = {
    **{f"random {seed}": random_mesh(seed, 1 + seed % 6) for seed in range(12)},
    "empty blocks": random_mesh(1, 9, cells=5),
    **{f"torus {blocks}": torus((8, 10), blocks) for blocks in (1, 2, 4)},
}


def by_cell(field: gb.Field, name: str) -> gb.Field:
    return field.transpose(name, *(dim for dim in field.dims if dim != name))


@pytest.mark.parametrize("exact", [False, True], ids=["longest", "exact"])
@pytest.mark.parametrize("dims", [("Cell",), ("Edge", "K"), ("K", "Vertex")], ids="".join)
@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
def test_points_have_the_values_of_their_indices(
    mesh: Mesh, dims: tuple[str, ...], exact: bool
) -> None:
    """Fields with room for the longest halo, and fields as long as their block's."""
    name = next(dim for dim in dims if dim != "K")
    whole = np.random.default_rng(1).random((1000, 3))
    grid = gbd.unstructured(*mesh, (name,))
    sizes = {"K": 3} if "K" in dims else {}
    T: Any = grid.zeros(dims, sizes=sizes)
    if exact:
        shapes = [
            tuple(sizes.get(d, len(a) + len(b)) for d in dims) for a, b in zip(*mesh, strict=True)
        ]
        halos = [[(0, len(b) * (d == name)) for d in dims] for b in mesh.halo]
        T = [gb.Field.zeros(s, dims=dims, halo=h) for s, h in zip(shapes, halos, strict=True)]
    fields = [T] if isinstance(T, gb.Field) else [*T]
    for f, own in zip(fields, mesh.own, strict=True):
        by_cell(f.domain, name)[...] = whole[own] if sizes else whole[own, 0]
    grid.exchange(T)
    for f, own, halo in zip(fields, *mesh, strict=True):
        indices = np.concatenate([own, halo])
        found = by_cell(f, name).numpy()
        assert np.array_equal(found[: len(indices)], whole[indices] if sizes else whole[indices, 0])
        assert not found[len(indices) :].any()


def test_sums_count_each_index_once() -> None:
    mesh = torus((8, 10), 4)
    grid = gbd.unstructured(*mesh)
    T = grid.zeros(dtype="i8")
    for f, own in zip(T, mesh.own, strict=True):
        f.domain[...] = own
    assert grid.sum(T) == sum(range(80)) and grid.max(T) == 79


def test_one_array_is_one_block() -> None:
    for own in ([3, 1, 2], (3, 1, 2), np.array([3, 1, 2], np.uint16)):
        grid = gbd.unstructured(own, [], ("C",))
        assert [block.shape for block in grid.blocks] == [(3,)]
    assert [b.shape for b in gbd.unstructured(np.array([], int), np.array([], int)).blocks] == [
        (0,)
    ]


@pytest.mark.parametrize(
    ("own", "halo", "kind", "text"),
    [
        ([[1, 3], [3]], [[], []], ValueError, "own: blocks 0 and 1 both own index 3"),
        ([1, 1], [], ValueError, "own: blocks 0 and 0 both own index 1"),
        ([[1], [2]], [[2], [9]], ValueError, "halo: no block owns index 9 of block 1"),
        ([[1], [2]], [[]], ValueError, "halo: 1 blocks, own has 2"),
        ([0.5], [], TypeError, r"own\[0\]: expected an index array of integers, got elem"),
        ([[1]], [["a"]], TypeError, r"halo\[0\]: expected an index array of integers"),
        (3, [], TypeError, "own: expected a sequence, got int"),
        ("ab", [], TypeError, r"own\[0\]: expected an index array, got str"),
        ([[1]], None, TypeError, "halo: expected a sequence, got NoneType"),
        ([], [], ValueError, "own: no rank has a block"),
        ([2**63], [], ValueError, r"own\[0\]: index 9223372036854775808 does not fit"),
    ],
)  # fmt: skip
def test_indices_that_do_not_fit(own: Any, halo: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        gbd.unstructured(own, halo)


def test_fields_that_do_not_fit() -> None:
    grid = gbd.unstructured([[1, 2], [3]], [[3], [1, 2]], ("Cell",))

    def made(*halos: int) -> list[gb.Field]:
        return [
            gb.Field.zeros(own + high, dims=("Cell",), halo=((0, high),))
            for own, high in zip((2, 1), halos, strict=True)
        ]

    grid.exchange(made(1, 2))
    for halos in ((0, 2), (1, 1)):
        with pytest.raises(ValueError, match=r"fields\[0\]"):
            grid.exchange(made(*halos))
    with pytest.raises(ValueError, match="Cell"):
        grid.exchange([gb.Field.zeros(n, dims=("Edge",)) for n in (3, 3)])
    with pytest.raises(ValueError, match=r"dims: \('Cell', 'K'\) names 2 indices"):
        gbd.unstructured([1], [], ("Cell", "K"))
