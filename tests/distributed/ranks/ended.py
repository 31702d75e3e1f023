"""Run by some processes: a rank ends its program, and the others, which wait for it in a call of
gridbuf, hear of it at once.
"""

import sys
import time

from common import me, raises
from mpi4py import MPI

import gridbuf.distributed as gbd

how, call = sys.argv[1:3]
world = MPI.COMM_WORLD
n = world.size
last = n - 1
grid = gbd.grid((4 * n, 6), blocks=(n, 1), periodic="I", halo=1, comm=world, timeout=200)
f = grid.full(1.0)
known = grid.plan(f)
known(f)
calls = {
    "exchange": lambda: known(f),
    "first use": lambda: grid.plan(f)(f),
    "handle": lambda: known.start(f).wait(),
    "adjoint": lambda: known.accumulate(f),
    "sum": lambda: grid.sum(f),
    "gather": lambda: grid.gather(f),
    "grid": lambda: gbd.grid((4 * n, 6), comm=world, timeout=200),
}
world.Barrier()
if how == "whole":  # to the end on all ranks, of which some end earlier: no error
    for _ in range(20):
        calls[call]()
    if me != last:
        time.sleep(0.3)
    print(f"rank {me} is through", flush=True)
elif how == "revokes":  # the last rank fails and ends; the others make the grid again
    with raises((TypeError, gbd.RevokedError), "expected a Field"):
        known("x" if me == last else f)
        while True:
            calls[call]()
    if me == last:
        sys.exit()
    with raises(gbd.RevokedError, f"rank {last} has ended"):
        calls["grid"]()
    print(f"rank {me} knows", flush=True)
elif me == last:
    if how == "exits":
        sys.exit()
    if how == "raises":
        raise ZeroDivisionError("of the user's")
else:
    began = time.monotonic()
    with raises(
        gbd.RevokedError,
        f"rank {last} has ended",
        "by ZeroDivisionError: of the user's" * (how == "raises"),
    ):
        while True:
            calls[call]()
    assert time.monotonic() - began < 100
    with raises(gbd.RevokedError, f"rank {last} has ended"):
        grid.sum(f)
    print(f"rank {me} knows", flush=True)
