"""All ranks of a communicator make the same grid, or all of them learn that they do not."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from gridbuf.distributed.arguments import read_timeout
from gridbuf.distributed.grids import Grid

P = ParamSpec("P")
MAKING = "a grid"


def on_all_ranks(make: Callable[P, Grid]) -> Callable[P, Grid]:
    """Let a function that makes grids compare them where there is a communicator; an error of one
    rank reaches the others.
    """

    @wraps(make)
    def made(*args: P.args, **keywords: P.kwargs) -> Grid:
        comm: Any = keywords.get("comm")
        if comm is None:
            return make(*args, **keywords)
        from mpi4py import MPI

        if isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL:
            raise ValueError("comm: it is MPI.COMM_NULL: this rank is not in it")
        if not isinstance(comm, MPI.Intracomm):
            raise TypeError(f"comm: expected a communicator of mpi4py, got {type(comm).__name__}")
        from gridbuf.distributed.ranks.attributes import communicator_of
        from gridbuf.distributed.ranks.collectives import Collectives, channel_for

        try:
            seconds = read_timeout(keywords.get("timeout")) or None
        except (TypeError, ValueError):
            seconds = None  # raised below, where the others hear of it
        communicator = communicator_of(comm, seconds)

        def together(ranks: Any) -> Grid:
            grid = make(*args, **keywords)
            grid._connect(channel_for(communicator, grid.arguments(), MAKING, ranks))
            return grid

        return Collectives(communicator.lobby, seconds).run(MAKING, together)

    return made
