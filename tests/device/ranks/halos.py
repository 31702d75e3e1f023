"""Run by any number of processes, with the word "staged" or "direct": Fields on a GPU have after an
exchange and its adjoint what the local engine leaves in the same Fields on the host, and no more is
copied and launched than need be.

On the fake driver "direct" plays an MPI that knows GPUs: it is given the host's side of the fake's
memory.
"""

import os
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1]
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "distributed" / "ranks")]
import numpy as np  # noqa: E402
from common import alone, fields, listed, raises  # noqa: E402
from compared import LAYOUTS, Items, compared  # noqa: E402
from fake_driver import MODE, Fake, values_of  # noqa: E402
from mpi4py import MPI  # noqa: E402

import gridbuf as gb  # noqa: E402
import gridbuf.distributed as gbd  # noqa: E402
from gridbuf.common import debugging  # noqa: E402
from gridbuf.distributed.ranks import buffers  # noqa: E402
from gridbuf.interop.mpi4py import exchange_halos  # noqa: E402

comm, n, direct = MPI.COMM_WORLD, MPI.COMM_WORLD.size, sys.argv[1] == "direct"
fake = Fake(os.environ["GRIDBUF_LIBCUDA"]) if MODE == "fake" else None
if fake is not None:
    fake.watch(True)
    if direct:
        its_own = buffers.pointer
        buffers.pointer = lambda field: fake.backing(its_own(field), field.nbytes)
COUNTED = (
    "cuLaunchKernel",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpy2DAsync_v2",
    "cuCtxSynchronize",
)


def on_gpu(host: list[list[Any]]) -> list[list[Any]]:
    return [[f.to(device="gpu") for f in its] for its in host]


def same(
    grid: gbd.Grid, ours: list[list[Any]], whole: gbd.Grid, everything: list[list[Any]]
) -> None:
    for mine, its in zip(ours, everything, strict=True):
        of = {block.number: f.numpy() for block, f in zip(whole.blocks, its, strict=True)}
        for block, f in zip(grid.blocks, mine, strict=True):
            assert (values_of(f) == of[block.number]).all(), (comm.rank, block)


def compare(make: Callable[..., gbd.Grid], kinds: list[dict[str, Any]], items: Items) -> None:
    here, whole = make(comm=comm, timeout=300, aware=direct), make()
    ours, everything = on_gpu(fields(here, kinds)), fields(whole, kinds)
    mine, its = [*map(alone, ours)], [*map(alone, everything)]
    plan = here.plan(*items(*mine))
    for turn in range(3):
        before = [fake.count(name) for name in COUNTED] if fake else []
        plan(*mine)
        after = [fake.count(name) for name in COUNTED] if fake else []
        if turn:  # the first makes tables and buffers
            steps = [True for what in (plan.copies, plan.sends, plan.receives) if what]
            # Halos are poisoned
            steps += [True] * (debugging() and bool(plan.copies or plan.receives))
            launches = len(steps)
            down = bool(plan.sends) and not direct
            up = bool(plan.receives) and not direct
            counts = [b - a for a, b in zip(before, after, strict=True)]
            assert counts in ([launches, down, up, 0, 0], []), (counts, launches, down, up)
    whole.exchange(*items(*its))
    same(here, ours, whole, everything)
    plan.accumulate(*mine)
    whole.plan(*items(*its)).accumulate(*its)
    same(here, ours, whole, everything)  # values are integers: sums do not depend on their order


for make, layouts, items in compared(n, {(n, 1), (2, n)}, ("", "IJ")):
    compare(make, layouts, items)
here, whole = (
    gbd.grid((12, 9), blocks=(n, 2), periodic="I", halo=1, **k)
    for k in ({"comm": comm, "aware": direct}, {})
)
ours, everything = on_gpu(fields(here, [{"faces": "I"}])), fields(whole, [{"faces": "I"}])
here.sync(ours[0]), whole.sync(everything[0])
same(here, ours, whole, everything)
assert here.checksum(ours[0]) == whole.checksum(everything[0])

# ---- what is given up, what takes turns, what goes ----

kinds = LAYOUTS[:2]
here, whole = (
    gbd.grid((4 * n, 8), blocks=(n, 1), periodic="I", halo=1, **k)
    for k in ({"comm": comm, "aware": direct}, {})
)
plan = here.plan(*map(alone, on_gpu(fields(here, kinds))))
for turn in range(6):
    ours, everything = on_gpu(fields(here, kinds)), fields(whole, kinds)
    mine = [*map(alone, ours)]
    if turn % 2:
        plan.start(*mine)  # given up: it ends before the next
    with gb.cuda.stream(fake.stream() if fake else 2), plan.start(*mine) as handle:
        handle.test()
    whole.exchange(*map(alone, everything))
    same(here, ours, whole, everything)
plan.start(*mine)
gone = weakref.ref(listed(mine[0])[0])
del plan, handle, ours, mine
comm.Barrier()
for _ in range(5):  # as often on all ranks
    here.exchange(here.zeros(device="gpu"))
    comm.Barrier()
assert gone() is None

# ---- a GPU that takes its time: MPI neither sends too early nor writes too early ----

ours, everything = on_gpu(fields(here, kinds)), fields(whole, kinds)
mine = [*map(alone, ours)]
plan = here.plan(*mine)
plan(*mine)
whole.exchange(*map(alone, everything))
if fake is not None:
    fake.hold(True)
    fake.run_every(200)
for turn in range(5):
    for a, b in zip(ours, everything, strict=True):
        for f in a:
            gb.fill(f.domain, 10 * turn + comm.rank)
        for block, f in zip(whole.blocks, b, strict=True):
            f.domain[...] = 10 * turn + here._decomposition.rank_of(block.number)
    plan(*mine)
    whole.exchange(*map(alone, everything))
if fake is not None:
    fake.run_every(0)
    fake.hold(False)
    fake.pump()
same(here, ours, whole, everything)

# ---- halos along a communicator of the program's own ----

cart = comm.Create_cart((n,), (True,))
host = [gb.Field.zeros((6, 5), dtype, dims="IJ", halo=((2, 1), 0)) for dtype in ("f8", "i2")]
for f in host:
    f[...] = (np.arange(30).reshape(6, 5) + 100 * comm.rank).astype(f.dtype)
ours = [f.to(device="gpu") for f in host]
for _ in range(2):
    exchange_halos(cart, *host, dims="I")
    exchange_halos(cart, *ours, dims="I")
assert all((values_of(f) == g.numpy()).all() for f, g in zip(ours, host, strict=True))
# Among several ranks an error revokes the grids of all: tests/distributed/ranks/revoked.py
if n == 1:
    with raises(ValueError, "fields[1]: it lies on GPU 0, fields[0] on the host"):
        exchange_halos(cart, host[0], ours[1], dims="I")
    with raises(ValueError, "shares memory"):
        exchange_halos(cart, ours[0], gb.Field(ours[0], halo=((1, 1), 0)), dims="I")
exchange_halos(cart, *ours, dims="I")

# ---- where fields lie is each rank's own affair ----

f = here.full(float(comm.rank), device="gpu" if comm.rank else "cpu")
here.exchange(f)
assert (values_of(f)[0, 1:-1] == (comm.rank - 1) % n).all()
if n == 1:
    with raises(ValueError, "fields[1]: it lies on GPU 0, fields[0] on the host"):
        here.exchange(here.zeros(), here.zeros(device="gpu"))
    with raises(TypeError, "aware"):
        gbd.grid((4,), "I", comm=comm, aware=1)
here.exchange(f)
if fake is not None:
    assert (wrong := fake.misuses()) is None, wrong
if comm.rank == 0:
    print("halos", n)
sys.stdout.flush()
