"""Run by some processes: programs of this folder one after the other, each with its arguments:
`several.py "same.py" "storm.py 23 40"`.

Python and MPI start once for all of them, which takes longer than most of them. What one leaves is
there when the next begins; where one fails, all ends.
"""

import gc
import runpy
import sys
from pathlib import Path

from mpi4py import MPI

for words in sys.argv[1:]:
    name, *sys.argv[1:] = words.split()
    runpy.run_path(str(Path(__file__).with_name(name)), run_name="__main__")
    gc.collect()
    MPI.Is_finalized() or MPI.COMM_WORLD.Barrier()
