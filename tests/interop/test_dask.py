"""gridbuf.interop.dask: chunks are views, functions get Fields with dims and halo."""

import threading

import numpy as np
import pytest

import gridbuf as gb

da = pytest.importorskip("dask.array")
gbd = pytest.importorskip("gridbuf.interop.dask")


def values(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).random(shape)


@pytest.mark.parametrize("spec", [{}, {"backend": "F"}, {"backend": "gtmc"}], ids=str)
def test_chunks_are_views(spec: dict) -> None:
    field = gb.Field.from_array(values(6, 7, 4), dims="IJK", **spec)
    array = gbd.to_dask(field, chunks=(3, 4, -1))
    seen = []
    array.map_blocks(
        lambda b: seen.append((b.ctypes.data, b.strides)) or b, meta=np.empty((0, 0, 0))
    ).compute(scheduler="sync")
    corners = [field[i : i + 3, j : j + 4].numpy() for i in (0, 3) for j in (0, 4)]
    assert sorted(seen) == sorted((c.ctypes.data, c.strides) for c in corners)
    assert (array.compute() == field.numpy()).all()


def test_the_array_follows_the_memory_and_keeps_it() -> None:
    field = gb.Field.zeros((4, 4))
    array = gbd.to_dask(field, chunks=2)
    field[...] = 3.0
    assert array.sum().compute() == 48.0
    assert array.name != gbd.to_dask(field, chunks=2).name
    del field
    others = [gb.Field.ones((4, 4)) for _ in range(8)]
    assert array.sum().compute() == 48.0 and len(others) == 8


def test_a_dask_array_into_a_field() -> None:
    given = values(8, 6)
    field = gbd.from_dask(
        da.from_array(given, chunks=3), "KI", halo=(1, 2), backend="gt:cpu_ifirst", padding=True
    )
    assert (
        (field.numpy() == given).all()
        and field.halo == ((1, 1), (2, 2))
        and field.dims == ("K", "I")
    )
    assert (
        field.strides
        == gb.plan(
            (8, 6), dimensions="KI", halo=(1, 2), backend="gt:cpu_ifirst", padding=True
        ).strides
    )
    with pytest.raises(ValueError, match=r"field: its shape is \(8, 6\), the array's \(3,\)"):
        gbd.store(da.zeros(3), field)


def laplace(a: np.ndarray) -> np.ndarray:
    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4 * a[1:-1, 1:-1]


@pytest.mark.parametrize("chunks", [4, (3, 5), -1, ((1, 7), (2, 2, 2))])
@pytest.mark.parametrize("whole", [False, True])
def test_overlapping_views_of_a_field(chunks, whole: bool) -> None:  # type: ignore[no-untyped-def]
    field = gb.Field.from_array(
        values(10, 8), dims="IJ", halo=(1, 1), backend="gt:cpu_ifirst", padding=True
    )
    low, high = field.numpy().ctypes.data, field.numpy().ctypes.data + field.plan.alloc_nbytes
    parts = []

    def compute(part: gb.Field) -> np.ndarray:
        parts.append(part)
        inside = laplace(part.numpy())
        return np.pad(inside, 1, constant_values=np.nan) if whole else inside

    result = gbd.map_overlap(compute, field, chunks=chunks)
    out = gb.Field.zeros((10, 8), dims="IJ", halo=(1, 1))
    gbd.store(result, out.domain)
    assert np.allclose(out.domain.numpy(), laplace(field.numpy())) and result.shape == (8, 6)
    assert all(
        p.dims == ("I", "J") and p.halo == ((1, 1), (1, 1)) and p.strides == field.strides
        for p in parts
    )
    assert all(low <= p.numpy().ctypes.data < high for p in parts)


def test_a_gt4py_like_function_gets_several_fields_and_parameters() -> None:
    a, b = (gb.Field.from_array(values(9, 5), dims="IK", halo=((2, 1), 0)) for _ in range(2))

    def combine(x: gb.Field, y: gb.Field, *, factor: float) -> gb.Field:
        assert x.halo == y.halo == ((2, 1), (0, 0)) and x.origin == (2, 0)
        out = gb.Field.zeros(x.shape, dims=x.dims, halo=x.halo)
        out.domain[...] = x.numpy()[3:] + factor * y.numpy()[:-3]
        return out.transpose("KI")

    result = gbd.map_overlap(combine, a, b, chunks=(2, 3), factor=2.0)
    assert np.allclose(result, a.numpy()[3:] + 2.0 * b.numpy()[:-3])


@pytest.mark.parametrize("boundary", ["periodic", "reflect", "nearest", 7.0])
@pytest.mark.parametrize("halo", [(1, 1), ((2, 1), (0, 1)), ((0, 2), (1, 0))], ids=str)
def test_dask_arrays_overlap(boundary, halo) -> None:  # type: ignore[no-untyped-def]
    given = values(8, 6)
    (il, ih), (jl, jh) = pairs = [(w, w) if isinstance(w, int) else w for w in halo]

    def sides(part: gb.Field) -> np.ndarray:
        assert part.halo == tuple(pairs) and part.dims == ("K", "J")
        a = part.numpy()
        (n, m), d = part.domain.shape, part.domain.numpy()
        return a[:n, :m] + 3 * a[il + ih :, jl + jh :] + d

    result = gbd.map_overlap(
        sides, da.from_array(given, chunks=(4, 3)), dims="KJ", halo=halo, boundary=boundary
    )
    mode = {"periodic": "wrap", "reflect": "symmetric", "nearest": "edge"}.get(boundary, "constant")
    padded = np.pad(
        given, pairs, mode=mode, **({"constant_values": boundary} if mode == "constant" else {})
    )
    assert np.allclose(result, padded[:8, :6] + 3 * padded[il + ih :, jl + jh :] + given)


def test_map_blocks_keeps_dims_and_what_lies_of_the_halo_in_a_block() -> None:
    field = gb.Field.from_array(values(6, 4), dims="KI", halo=(1, 0))
    halos = set()

    def double(part: gb.Field, other: gb.Field) -> gb.Field:
        halos.add((part.halo[0], other.dims, part.dims))
        return gb.Field(2 * part.numpy() + other.numpy(), part.dims)

    other = da.from_array(values(6, 4), chunks=(2, 4))
    assert np.allclose(gbd.map_blocks(double, field, other), 2 * field.numpy() + other.compute())
    names = (("K", "I"), ("K", "I"))
    assert halos == {((1, 0), *names), ((0, 0), *names), ((0, 1), *names)}
    assert gbd.map_blocks(lambda p: p.numpy() > 0.5, field, chunks=2, dtype=bool).dtype == bool


def test_parts_run_on_several_threads() -> None:
    field, threads, meet = gb.Field.ones((8, 8)), set(), threading.Barrier(2, timeout=300)

    def seen(part: gb.Field) -> np.ndarray:
        meet.wait()
        threads.add(threading.get_ident())
        return part.numpy()

    gbd.map_blocks(seen, field, chunks=(4, 8)).compute(scheduler="threads", num_workers=2)
    assert len(threads) == 2


def test_wrong_calls_are_named() -> None:
    field = gb.Field.zeros((6, 4), dims="IJ", halo=(1, 1))
    identity = lambda *parts: parts[0]  # noqa: E731
    with pytest.raises(TypeError, match="field: expected a Field, got ndarray"):
        gbd.to_dask(np.zeros(3))
    with pytest.raises(TypeError, match="args: argument 1 is a ndarray"):
        gbd.map_blocks(identity, field, np.zeros((6, 4)))
    with pytest.raises(TypeError, match="args: expected at least one"):
        gbd.map_overlap(identity)
    with pytest.raises(ValueError, match=r"argument 1 has the dims \('J', 'I'\)"):
        gbd.map_blocks(identity, field, field.transpose("JI"))
    with pytest.raises(ValueError, match=r"argument 1 covers \(6, 4\), the first \(4, 2\)"):
        gbd.map_overlap(identity, field, da.zeros((6, 4)), boundary=0)
    with pytest.raises(TypeError, match="boundary: a dask array has no points"):
        gbd.map_overlap(identity, da.zeros((6, 4)), halo=(1, 1))
    with pytest.raises(ValueError, match="halo of argument 1 is"):
        gbd.map_overlap(identity, field, gb.Field.zeros((4, 2), dims="IJ"), chunks=2)
    with pytest.raises(ValueError, match="halo: 1 entries for 2 indices"):
        gbd.map_overlap(identity, da.zeros((6, 4)), halo=(1,), boundary=0)
    with pytest.raises(
        ValueError, match=r"func: it returned the shape \(1,\) .* or, without the halo, \(2, 2\)"
    ):
        gbd.map_overlap(lambda part: np.zeros(1), field, chunks=2).compute(scheduler="sync")
