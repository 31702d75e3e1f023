"""Grids by global index: after an exchange each point has the value of its index."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mesh import GHEX_EXAMPLE, Mesh, example_values, mixed, random_mesh, torus, windows

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


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("dims", [("Cell",), ("Edge", "K"), ("K", "Vertex")], ids="".join)
@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
def test_halo_points_stand_between_own_points(
    mesh: Mesh, dims: tuple[str, ...], corners: bool
) -> None:
    name = next(dim for dim in dims if dim != "K")
    whole = np.random.default_rng(1).random((1000, 3))
    points, mask = mixed(mesh)
    grid = gbd.unstructured(points, mask=mask, dims=(name,))
    sizes = {"K": 3} if "K" in dims else {}
    T = grid.zeros(dims, sizes=sizes)
    fields = [T] if isinstance(T, gb.Field) else [*T]
    for f, indices, own in zip(fields, points, mask, strict=True):
        assert f.domain.shape == f.shape
        by_cell(f, name)[own] = whole[indices[own]] if sizes else whole[indices[own], 0]
    grid.plan(T, corners=corners)(T)
    for f, indices in zip(fields, points, strict=True):
        assert np.array_equal(
            by_cell(f, name).numpy(), whole[indices] if sizes else whole[indices, 0]
        )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8"])
def test_ghexs_example_has_the_values_that_its_test_expects(dtype: str, order: Any) -> None:
    """test_mpi.py compares with GHEX itself, where it is installed."""
    points, masks = windows(GHEX_EXAMPLE, 4)
    assert [len(index) for index in points] == [34, 75, 37, 32]
    assert [int(mask.sum()) for mask in masks] == [12, 41, 15, 12]
    grid = gbd.unstructured(points, mask=masks, dims=("Cell",))
    wanted = [example_values(index, GHEX_EXAMPLE, 2) for index in points]
    fields = [
        gb.Field(np.array(np.where(m[:, None], w, -1), dtype, order=order), dims=("Cell", "K"))
        for w, m in zip(wanted, masks, strict=True)
    ]
    grid.exchange(fields)
    for f, w in zip(fields, wanted, strict=True):
        assert np.array_equal(f.numpy(), w)


# ---- whole fields: the own points of all blocks in the order of their indices ----

KINDS = "own first", "mixed"


def grid_of(mesh: Mesh, kind: str, name: str = "Cell") -> tuple[gbd.Grid, list[Any]]:
    """A grid of a mesh, and of each block the places of its own points and their indices."""
    if kind == "own first":
        places = [(np.arange(len(own)), own) for own in mesh.own]
        return gbd.unstructured(*mesh, (name,)), places
    points, mask = mixed(mesh)
    places = [(np.flatnonzero(m), p[m]) for p, m in zip(points, mask, strict=True)]
    return gbd.unstructured(points, mask=mask, dims=(name,)), places


def filled(grid: gbd.Grid, places: list[Any], whole: Any, **keywords: Any) -> Any:
    """Own points have the values of their indices, halo points another one."""
    dims = ("K", *grid.dims)
    T = grid.full(-99, dims, whole.dtype, sizes={"K": whole.shape[1]}, **keywords)
    for f, (at, indices) in zip([T] if isinstance(T, gb.Field) else [*T], places, strict=True):
        by_cell(f.domain, grid.dims[0])[at] = whole[indices]
    return T


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
def test_whole_fields_are_in_the_order_of_indices(mesh: Mesh, kind: str) -> None:
    grid, places = grid_of(mesh, kind)
    ids = np.sort(np.concatenate(mesh.own))
    rng = np.random.default_rng(2)
    whole, other = rng.integers(-5, 5, (1000, 3)), rng.integers(-5, 5, (1000, 3))
    T, U = (filled(grid, places, each, halo=None) for each in (whole, other))
    there = whole[ids].T
    assert np.array_equal(grid.gather(T).numpy(), there)
    assert (grid.sum(T), grid.min(T), grid.max(T)) == (there.sum(), there.min(), there.max())
    assert grid.sum(T, U) == (there.sum(), other[ids].sum())
    assert grid.mean(T) == there.mean() and grid.norm(T) == np.sqrt(float((there**2).sum()))
    assert grid.dot(T, U) == (there * other[ids].T).sum()
    assert grid.any(T) == there.any() and grid.all(T) == there.all()
    first = [tuple(map(int, np.argwhere(there == x)[0])) for x in (there.min(), there.max())]
    assert [grid.argmin(T), grid.argmax(T)] == first
    line = gbd.grid((len(ids),), ("Cell",))
    alone = gb.Field(np.ascontiguousarray(there), dims=("K", "Cell"))
    assert grid.checksum(T) == line.checksum(alone)
    new = filled(grid, places, np.zeros_like(whole))
    grid.scatter(there, new)
    assert np.array_equal(grid.gather(new).numpy(), there)
    for f in [new] if isinstance(new, gb.Field) else new:
        own = f.numpy() != -99
        assert own.sum() <= there.size  # halo points are left alone
    assert np.array_equal(grid.redistribute(T, line).numpy(), there)


@pytest.mark.parametrize("after", KINDS)
@pytest.mark.parametrize("before", KINDS)
def test_redistribution_to_another_partition(before: str, after: str) -> None:
    whole = np.random.default_rng(3).random((80, 2))
    grid, places = grid_of(torus((8, 10), 4), before)
    other, there = grid_of(torus((8, 10), 3, seed=5), after)
    moved = grid.redistribute(filled(grid, places, whole), other)
    out = other.full(-99, ("Cell", "K"), sizes={"K": 2})
    assert grid.redistribute(filled(grid, places, whole), other, out) is out
    for found in (moved, out):
        assert np.array_equal(other.gather(found).numpy().reshape(-1), other.gather(
            filled(other, there, whole).transpose(*found.dims)).numpy().reshape(-1))  # fmt: skip


@pytest.mark.parametrize("format", ["npy", "zarr", "netcdf"])
@pytest.mark.parametrize("after", KINDS)
@pytest.mark.parametrize("before", KINDS)
def test_files_are_loaded_by_another_partition(
    before: str, after: str, format: str, tmp_path: Path
) -> None:
    """The indices have gaps, and the blocks are others."""
    pytest.importorskip({"npy": "numpy", "zarr": "zarr", "netcdf": "netCDF4"}[format])
    mesh, another = random_mesh(3, 5), random_mesh(3, 2)
    ids = np.random.default_rng(3).permutation(600)[:60]
    assert sorted(np.concatenate(mesh.own)) == sorted(np.concatenate(another.own)) == sorted(ids)
    whole = np.random.default_rng(4).random((1000, 3))
    (grid, places), (other, there) = grid_of(mesh, before), grid_of(another, after)
    T = filled(grid, places, whole, backend="gt:cpu_ifirst")
    path = tmp_path / "step"
    attributes = {"step": 3, "T": {"units": "K"}}
    grid.save(path, T=T, flag=grid.ones(dtype="i4"), format=format, attributes=attributes)
    assert {*other.load(path)} == {"T", "flag"}
    loaded = other.load(path, "T")
    assert loaded.attributes["step"] == 3 and loaded.attributes_of("T") == {"units": "K"}
    for f, (at, indices) in zip(loaded["T"], there, strict=True):
        assert f.dims == ("K", "Cell") and f.strides[0] < f.strides[1]  # as T, not in C order
        assert f.halo[1] == other.halo[0]
        assert np.array_equal(by_cell(f.domain, "Cell").numpy()[at], whole[indices])
    other.exchange(loaded["T"])
    for f, indices in zip(loaded["T"], another.own, strict=True):
        assert np.isin(whole[indices].ravel(), f.numpy()).all()
    layout = other.load(path, "T", layout=("K", "Cell"))["T"]
    assert all(f.strides[0] > f.strides[1] for f in layout)
    with pytest.raises(TypeError, match="dtype: not allowed here"):
        other.load(path, dtype="f4")
    with pytest.raises(ValueError, match=r"has tiles .* this grid"):
        gbd.unstructured([[1, 2]], [[]], ("Cell",)).load(path)


def test_a_halo_along_another_dim_comes_back(tmp_path: Path) -> None:
    grid = gbd.unstructured([[1, 2], [3]], [[3], [1]], ("Cell",))
    halo = ((0, 1), (2, 1))
    T = grid.ones(("Cell", "K"), sizes={"K": 4}, halo=halo)
    grid.save(tmp_path / "x", T=T, format="npy")
    assert [f.shape for f in grid.load(tmp_path / "x")["T"]] == [(3, 7), (2, 7)]
    assert grid.sum(T) == 12 and grid.gather(T).shape == (3, 4)


def test_whole_fields_that_do_not_fit(tmp_path: Path) -> None:
    grid = gbd.unstructured([[1, 2], [3]], [[3], [1, 2]], ("Cell",))
    mixed_grid = gbd.unstructured(
        [[1, 3, 2], [3]], mask=[[True, False, True], [True]], dims=("Cell",)
    )
    for each in (grid, mixed_grid):
        with pytest.raises(ValueError, match="field: got 1 fields, this rank has 2 blocks"):
            each.gather([gb.Field.zeros(2, dims=("Cell",))])
        with pytest.raises(ValueError, match="field"):
            each.gather([gb.Field.zeros(n, dims=("Edge",)) for n in (2, 1)])
        with pytest.raises(ValueError, match="array: its shape"):
            each.scatter(np.zeros(4), each.zeros())
        with pytest.raises(TypeError, match="each needs a name"):
            each.save(tmp_path / "x", each.zeros())
        assert each.sum(each.ones()) == 3


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
        (np.ma.masked_array([1, 2], [0, 1]), [], ValueError, r"own\[0\]: 1 of its 2 elements"),
        ([2**63], [], ValueError, r"own\[0\]: index 9223372036854775808 does not fit"),
    ],
)  # fmt: skip
def test_indices_that_do_not_fit(own: Any, halo: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        gbd.unstructured(own, halo)


@pytest.mark.parametrize(
    ("own", "halo", "mask", "kind", "text"),
    [
        ([1, 2], [3], [True, False], TypeError, "halo: mask was given as well"),
        ([1, 2], None, [True], ValueError, r"mask\[0\]: its shape is \(1,\), own has \(2,\)"),
        ([[1], [2]], None, [[True]], ValueError, "mask: 1 blocks, own has 2"),
        ([1, 2], None, [1, 0], TypeError, r"mask\[0\]: expected an array of bool, got elements"),
        ([1, 2], None, np.ma.masked_array([True, True], [0, 1]), ValueError, "1 of its 2 elements"),
        ([1, 2], None, True, ValueError, r"mask\[0\]: its shape is \(\), own has \(2,\)"),
        ([1, 2], None, [True, False], ValueError, "halo: no block owns index 2 of block 0"),
        ([[1], [1]], None, [[True], [True]], ValueError, "own: blocks 0 and 1 both own index 1"),
    ],
)  # fmt: skip
def test_masks_that_do_not_fit(
    own: Any, halo: Any, mask: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        gbd.unstructured(own, halo, mask=mask)


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
