"""All ranks of a communicator make the same grid, or all of them learn that they do not."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import ParamSpec

from gridbuf.distributed.arguments import read_timeout
from gridbuf.distributed.calls import attempt
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.grids import Grid

P = ParamSpec("P")
MAKING = "a grid"


def on_all_ranks(make: Callable[P, Grid]) -> Callable[P, Grid]:
    """What makes grids, and compares them where there is a communicator; an error of one rank reaches the others."""

    @wraps(make)
    def made(*args: P.args, **keywords: P.kwargs) -> Grid:
        comm = keywords.get("comm")
        if comm is None:
            return make(*args, **keywords)
        from mpi4py import MPI

        if isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL:
            raise ValueError("comm: it is MPI.COMM_NULL: this rank is not in it")
        if not isinstance(comm, MPI.Intracomm):
            raise TypeError(f"comm: expected a communicator of mpi4py, got {type(comm).__name__}")
        from gridbuf.distributed.ranks.everyone import Everyone, words_of
        from gridbuf.distributed.ranks.hub import hub_of

        seconds, _ = attempt(lambda: read_timeout(keywords.get("timeout")) or None)  # a wrong one is told below
        ranks = Everyone(hub_of(comm, seconds), seconds)
        try:
            grid = make(*args, **keywords)
            said = grid.arguments()
        except Exception as error:
            wrong = error
            with suppress(type(error), DisagreementError, TimeoutError):  # the others raise it
                ranks.run(("grid", words_of(wrong)), lambda all_of_them: all_of_them.agree(MAKING, {}, error=wrong))
            raise
        ranks.run(("grid", str(said)), lambda all_of_them: all_of_them.agree(MAKING, said))
        return grid

    return made
