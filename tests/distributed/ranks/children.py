"""Run by two processes, for each level of thread support: forked children, programs that are
started, threads.
"""

import subprocess
import sys
import threading

import pair
from mpi4py import MPI
from pair import check, grid, me, other, perform, refused_in_a_child, works

ALONE = (
    "import gridbuf.distributed as gbd; grid = gbd.grid((3, 2), periodic='I', halo=1);"
    " print(grid.sum(grid.ones()))"
)


def forked_children() -> None:
    refused_in_a_child(works)
    works()


def a_program_that_is_started_while_values_are_under_way() -> None:
    a = grid.full(float(me))
    with grid.plan(a).start(a):
        done = subprocess.run(
            [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=300, check=False
        )
    assert (done.stdout, done.stderr) == ("6.0\n", "")
    check(a, float(other))


def threads() -> None:
    errors = []

    def use() -> None:
        try:
            works()
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=use, name="another")
    thread.start()
    thread.join()
    if MPI.Query_thread() >= MPI.THREAD_SERIALIZED:
        assert errors == []
    else:
        assert len(errors) == 1 and errors[0].startswith(
            "RuntimeError: MPI was initialized for one thread"
        ), errors
        assert "'another' is another" in errors[0]
        pair.grid = pair.made()
    works()


perform(works, forked_children, a_program_that_is_started_while_values_are_under_way, threads)
