"""Run by some processes: notes of errors that come late, or beside the values of an exchange."""

import time
from contextlib import suppress
from typing import Any

from common import last, me, n, raises, raises_on, ring, until_revoked, works, world
from mpi4py import MPI

import gridbuf.distributed as gbd
from gridbuf.distributed.ranks import revoke


def an_error_that_one_rank_hears_late() -> None:
    """Ranks 0 and 1 have made their grid again when rank 2 hears of the error. It revokes the grid
    that rank 2 has with rank 1, and no other grid of rank 1.
    """

    def grid_of(*ranks: int) -> Any:
        comm = world.Split(0 if me in ranks else MPI.UNDEFINED, me)
        return comm, comm != MPI.COMM_NULL and made(comm)

    def made(comm: Any) -> gbd.Grid:
        return gbd.grid((8,), "I", halo=1, periodic="I", comm=comm, timeout=200)

    works(ring())
    first, grid = grid_of(0, 1)
    _, other = grid_of(0, 2)
    between = world.Split(0 if me in (1, 2) else MPI.UNDEFINED, me)
    world.Barrier()
    if me == 0:
        with raises(TypeError):
            grid.exchange(3)
    elif me == 1:
        until_revoked(lambda: grid.sum(grid.ones()), gbd.RevokedError, "rank 0: TypeError")
    if me in (0, 1):
        grid = made(first)
    if me in (1, 2):
        with suppress(gbd.RevokedError):
            late = made(between)
            late.sum(late.ones())
    if me == 2:
        with raises(gbd.RevokedError, "rank 0: TypeError"):
            other.sum(other.ones())
    if me in (0, 1):
        assert grid.sum(grid.ones()) == 8.0
    if me > 2:  # in none of these, and in a grid with all of these ranks
        until_revoked(ring, gbd.RevokedError, "rank 0: TypeError")
    works(ring())


def an_exchange_whose_values_come_with_the_note_of_an_error() -> None:
    """The failing rank has ended this exchange, so that its neighbours, which are all others on up
    to three ranks, end it as well, however late they look: the next call raises.
    """
    receive_notes = revoke.receive_notes

    def late(**at_start: Any) -> None:
        if not at_start:
            revoke.receive_notes = receive_notes
            time.sleep(0.5)  # in which values and the note arrive
        for _ in range(1 if at_start else 100):  # MPI may need several calls to find a message
            receive_notes(**at_start)

    for uses_before in (1, 0):
        grid = ring()
        f = grid.full(float(me))
        for _ in range(uses_before):
            grid.exchange(f)
        world.Barrier()
        if me == last:
            time.sleep(0.1)
        else:
            revoke.receive_notes = late
        grid.exchange(f)
        assert [f[0, 0], f[-1, 0]] == [(me - 1) % n, (me + 1) % n]
        with raises_on(last, TypeError):
            if me == last:
                grid.exchange("wrong")
            while True:
                grid.exchange(f)


if n <= 3:
    an_exchange_whose_values_come_with_the_note_of_an_error()
for _ in range(5 * (n > 2)):
    an_error_that_one_rank_hears_late()
works(ring())
world.Barrier()
if me == 0:
    print("late_notes", n, flush=True)
