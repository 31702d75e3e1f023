"""Run by two processes, after others: the program ends with an exchange under way, or after
MPI.Finalize.
"""

import sys

from common import raises
from mpi4py import MPI
from pair import grid, me, under_way, works

f = grid.full(float(me))
under_way.append(grid.plan(f).start(f))
if len(sys.argv) > 1:
    under_way[0].wait()
    MPI.Finalize()
    with raises(RuntimeError, "finalized"):
        works()
if me == 0:
    print("end", flush=True)
