"""Run by one process: a grid that wants GHEX where there is none."""

from mpi4py import MPI

import gridbuf.distributed as gbd

try:
    gbd.grid((8, 8), comm=MPI.COMM_WORLD, engine="ghex")
except ImportError as error:
    print("needs the package ghex" if "needs the package ghex" in str(error) else error)
