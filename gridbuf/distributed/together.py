"""All ranks of a communicator make the same grid, or all of them learn that they do not."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import ParamSpec

from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.grids import Grid

P = ParamSpec("P")


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
        from gridbuf.distributed.hub import ARGUMENTS, agree, hub_of

        timeout = keywords.get("timeout")
        seconds = float(timeout) if isinstance(timeout, int | float) and timeout > 0 else None
        hub = hub_of(comm, seconds)
        try:
            grid = make(*args, **keywords)
        except Exception as error:
            with suppress(DisagreementError):  # the others raise it
                agree(hub, {ARGUMENTS: f"{type(error).__name__}: {error}"}, seconds)
            raise
        agree(hub, grid.arguments(), seconds)
        return grid

    return made
