"""Run by any number of processes: each rank knows the global indices of its own mesh alone, and
after an exchange each of its points has the value of its index. Whole fields, and files that other
numbers of ranks load, are in the order of the indices.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from common import me, raises, raises_on
from mesh import mixed, random_mesh, torus
from mpi4py import MPI

import gridbuf as gb
import gridbuf.distributed as gbd

world = MPI.COMM_WORLD
n = world.size
whole = np.random.default_rng(1).random((1000, 3))

for mesh in (random_mesh(3, n), random_mesh(4, 3 * n), random_mesh(5, n, 3), torus((8, 10), n)):
    mine = slice(me, None, n)  # one block a rank, or some
    own, halo = mesh.own[mine], mesh.halo[mine]
    one = len(own) == 1
    given = (own[0], halo[0]) if one else (own, halo)
    grid = gbd.unstructured(*given, ("Cell",), comm=world, timeout=200)
    T = grid.zeros(("Cell", "K"), sizes={"K": 3})
    exact = [
        gb.Field.zeros((len(a) + len(b), 3), dims=("Cell", "K"), halo=((0, len(b)), (0, 0)))
        for a, b in zip(own, halo, strict=True)
    ]
    for fields in ([T] if one else [*T], exact):
        for f, a in zip(fields, own, strict=True):
            f.domain[...] = whole[a]
    plan = grid.plan(exact[0] if one else exact)
    for _ in range(3):
        grid.exchange(T)
        plan(exact[0] if one else exact)
    for fields in ([T] if one else [*T], exact):
        for f, a, b in zip(fields, own, halo, strict=True):
            indices = np.concatenate([a, b])
            assert np.array_equal(f.numpy()[: len(indices)], whole[indices]), me
    alone = gbd.unstructured(*mesh, ("Cell",))
    there = [gb.Field(whole[a], dims=("Cell", "K")) for a in mesh.own]
    assert grid.sum(T) == alone.sum(there[0] if len(there) == 1 else there)

    # halo points between own points
    points, masks = (part[mine] for part in mixed(mesh))
    given, mask = (points[0], masks[0]) if one else (points, masks)
    between = gbd.unstructured(given, mask=mask, dims=("Cell",), comm=world, timeout=200)
    B = between.zeros(("Cell", "K"), sizes={"K": 3})
    for f, indices, m in zip([B] if one else [*B], points, masks, strict=True):
        f[m] = whole[indices[m]]
    between.exchange(B)
    for f, indices in zip([B] if one else [*B], points, strict=True):
        assert np.array_equal(f.numpy(), whole[indices]), me

    # whole fields
    ids = np.sort(np.concatenate(mesh.own))
    for made, field in ((grid, T), (between, B)):
        root = n - 1
        found = made.gather(field, root)
        assert (found is None) == (me != root)
        assert me != root or np.array_equal(found.numpy(), whole[ids])
        assert made.sum(field) == grid.sum(T) and made.checksum(field) == grid.checksum(T)
        assert made.max(field) == whole[ids].max()
        assert made.argmax(field) == np.unravel_index(whole[ids].argmax(), whole[ids].shape)
        new = made.zeros(("Cell", "K"), sizes={"K": 3})
        made.scatter(2 * whole[ids] if me == root else None, new, root)
        assert made.sum(new) == 2 * made.sum(field)

# files that all ranks save, and some or one of them load with another partition
with tempfile.TemporaryDirectory() as folder:
    where = world.bcast(folder)
    mesh, fewer = random_mesh(6, n), max(n - 1, 1)
    ids = np.sort(np.concatenate(mesh.own))
    grid = gbd.unstructured(mesh.own[me], mesh.halo[me], ("Cell",), comm=world, timeout=200)
    T = grid.zeros(("Cell", "K"), sizes={"K": 3})
    T.domain[...] = whole[mesh.own[me]]
    grid.save(f"{where}/x", T=T, format="npy")
    assert world.size > 1 or np.array_equal(np.load(f"{where}/x/T.npy"), whole[ids])
    comm = world.Split(0 if me < fewer else MPI.UNDEFINED)
    if me < fewer:
        points, masks = mixed(random_mesh(6, fewer))
        other = gbd.unstructured(points[me], mask=masks[me], dims=("Cell",), comm=comm, timeout=200)
        loaded = other.load(f"{where}/x")["T"]
        other.exchange(loaded)
        assert np.array_equal(loaded.numpy(), whole[points[me]]), me
        moved = grid.redistribute(T, other)
        assert np.array_equal(moved.numpy()[masks[me]], loaded.numpy()[masks[me]])
        comm.Free()
    else:
        assert grid.redistribute(T, None) is None
    with raises_on(0, ValueError, "array: its shape"):
        grid.scatter(np.zeros((2, 3)) if me == 0 else None, T)
    grid = gbd.unstructured(mesh.own[me], mesh.halo[me], ("Cell",), comm=world, timeout=200)
    with raises_on(n - 1, ValueError, "field"):
        grid.gather(T if me < n - 1 else gb.Field.zeros(2, dims=("Edge",)))
    world.Barrier()

with raises_on(n - 1, TypeError, "own[0]: expected an index array of integers"):
    gbd.unstructured([0.5] if me == n - 1 else [me], [], comm=world, timeout=200)
with raises(ValueError, "own: no rank has a block"):
    gbd.unstructured([], [], comm=world, timeout=200)
with raises(ValueError, "halo: no block owns index 99 of block 0"):
    gbd.unstructured([me], [99] if me == 0 else [], comm=world, timeout=200)
if n > 1:
    with raises(ValueError, "own: blocks 0 and 1 both own index 7"):
        gbd.unstructured([7] if me < 2 else [me], [], comm=world, timeout=200)
    with raises(gbd.DisagreementError):
        if me:
            gbd.unstructured([me], [], comm=world, timeout=200)
        else:
            gbd.unstructured([me], mask=[True], comm=world, timeout=200)
    with raises(gbd.DisagreementError):
        if me:
            gbd.unstructured([me], [], comm=world, timeout=200)
        else:
            gbd.grid((4,), "I", comm=world, timeout=200)
grid = gbd.unstructured([me], [(me + 1) % n], comm=world, timeout=200)  # after all of that
f = grid.full(float(me))
grid.exchange(f)
assert f[1] == (me + 1) % n
if me == 0:
    print("meshes", n, flush=True)
