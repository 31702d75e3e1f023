"""Run by some processes: exchanges of several plans at once, drawn from a seed, in which ranks raise, come late, give up and drop.

Nobody waits for long, each rank raises once for each exchange that somebody has left out, all others have the right values, and no request is left.
"""

import gc
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from common import me
from mpi4py import MPI

import gridbuf.distributed as gbd
from gridbuf.distributed.ranks import left

world = MPI.COMM_WORLD
n = world.size
DTYPES = ("f8", "f4", "i8", "i4", "i2", "u8", "u4", "u2")
RAISED = (gbd.DisagreementError, TypeError, ValueError)


class Counting(MPI.Intracomm):
    """A communicator that keeps what it makes."""

    made: ClassVar[list[Any]] = []

    def Send_init(self, *args: Any) -> Any:
        self.made.append(super().Send_init(*args))
        return self.made[-1]

    def Recv_init(self, *args: Any) -> Any:
        self.made.append(super().Recv_init(*args))
        return self.made[-1]


class Exchange:
    """A plan and its field, whose halo shows from whom it came, and when."""

    def __init__(self, grid: gbd.Grid, dtype: str, who: Any) -> None:
        self.grid, self.dtype, self.who, self.value = grid, dtype, who, 0
        self.leave()
        self.renew()

    def renew(self) -> None:
        self.plan = self.grid.plan(self.field)

    def fill(self, value: int) -> None:
        self.value = value
        self.field[...] = value + me

    def start(self, wrong: bool, hasty: bool = False) -> None:
        """In a hurry what it waits for at first has not begun, and is asked for again."""
        transport = self.plan._transport
        before, transport.timeout = transport.timeout, 0.002 if hasty else transport.timeout
        try:
            while self.handle is None:
                with suppress(TimeoutError):
                    self.handle = self.plan.start(3 if wrong else self.field)
        finally:
            transport.timeout = before

    def end(self, how: str) -> None:
        handle, self.handle = self.handle, None
        if how == "drop":
            self.leave()
            return
        if how == "test":
            while not handle.test():
                pass
        elif how != "wait":  # hasty, or to be given up
            try:
                handle.wait(0.001)
            except TimeoutError:
                if how == "give up":
                    self.leave()
                    return
                handle.wait()
        else:
            handle.wait()
        self.check()

    def leave(self) -> None:
        """What is under way goes on with the field's memory."""
        self.handle: Any = None
        self.field = self.grid.zeros(dtype=self.dtype)

    def check(self) -> None:
        assert (self.field.numpy() == self.value + self.who).all(), (me, self.dtype, self.value, self.field.numpy())


def ring() -> gbd.Grid:
    return gbd.grid((2 * n, 700), comm=world.Dup(), periodic="I", halo=((1, 1), (0, 0)), blocks=(n, 1), timeout=200)


def square() -> gbd.Grid:
    """Four ranks, each a neighbour of all others."""
    return gbd.grid((4, 1400), comm=world.Dup(), periodic="IJ", halo=1, blocks=(2, 2), timeout=200)


class Storm:
    """Rounds on one grid."""

    def __init__(self, grid: gbd.Grid, seed: int) -> None:
        self.grid, self.seed, self.round = grid, seed, 0
        self.hub = grid._engine.hub
        self.hub.comm = Counting(self.hub.comm)
        who = grid.full(float(me))
        grid.exchange(who)
        self.who = who.numpy().astype(int)
        self.exchanges = [Exchange(grid, dtype, self.who) for dtype in DTYPES]

    def drawn(self) -> random.Random:
        """Of this round: the same on all ranks."""
        self.round += 1
        return random.Random(f"{self.seed} {self.round}")

    def value(self, at: int) -> int:
        """Of an exchange of this round: as no other lately."""
        return 10 * (1 + (self.round * 10 + at) % 900)

    def works(self) -> None:
        f = self.grid.full(float(me))
        self.grid.exchange(f)
        assert (f.numpy() == self.who).all(), (me, self.seed, self.round)

    def call_by_call(self) -> None:
        """All are started, then all are waited for, by each rank in its own order; what is raised is caught where it is raised."""
        draw, own = self.drawn(), random.Random(f"{self.seed} {self.round} {me}")
        some = draw.sample(self.exchanges, draw.randint(1, 5))
        often = draw.choice((0.0, 0.1, 0.3))
        faults = {(rank, i) for rank in range(n) for i in range(len(some)) if draw.random() < often}
        raised = []
        for i, each in enumerate(some):
            each.fill(self.value(i))
            try:
                each.start((me, i) in faults, own.random() < 0.2)
            except RAISED:
                raised.append(i)
        mine = [i for i in range(len(some)) if i not in raised]
        own.shuffle(mine)
        for i in mine:
            try:
                some[i].end(own.choice(("wait", "wait", "test", "hasty")))
            except RAISED:
                raised.append(i)
        everyone = world.allgather(sorted(raised))
        assert everyone == everyone[:1] * n, (me, self.seed, self.round, faults, everyone)
        assert {i for _, i in faults} <= {*raised} and bool(raised) == bool(faults)

    def step_by_step(self) -> None:
        """What is raised ends the step on its rank; who does not hear of it in this step does so in its next exchange."""
        draw, own = self.drawn(), random.Random(f"{self.seed} {self.round} {me}")
        often = draw.choice((0.0, 0.05, 0.2))
        script: list[tuple[str, int]] = []
        under_way: list[int] = []
        for _ in range(draw.randint(1, 8)):
            what, i = draw.choice(("start", "start", "start", "end", "end", "drop", "call", "exchange")), 0
            if what in ("end", "drop"):
                if not under_way:
                    continue
                i = under_way.pop(draw.randrange(len(under_way)))
            else:
                i = draw.choice([i for i in range(len(DTYPES)) if i not in under_way])
                under_way += [i] * (what == "start")
            script.append((what, i))
        script += [("end", i) for i in under_way]
        faults = {
            (rank, at)
            for rank in range(n)
            for at, (what, _) in enumerate(script)
            if draw.random() < often and what in ("start", "call", "exchange")
        }
        for each in draw.sample(self.exchanges, draw.choice((0, 0, 1))):
            each.renew()
        raised = False
        try:
            for at, (what, i) in enumerate(script):
                self.do(what, self.exchanges[i], self.value(at), (me, at) in faults, own)
        except RAISED:
            raised = True
        for each in self.exchanges:
            if each.handle is not None:
                each.leave()
        someone = world.allreduce(raised, MPI.LOR)
        assert someone == bool(faults), (me, self.seed, self.round, faults)
        if someone and not raised:
            raised = until_raised(self.works)
        assert raised == someone, (me, self.seed, self.round, faults)

    def do(self, what: str, each: Exchange, value: int, wrong: bool, own: random.Random) -> None:
        if own.random() < 0.05:
            time.sleep(0.003)
        if what == "start":
            each.fill(value)
            each.start(wrong, own.random() < 0.2)
        elif what == "end":
            each.end(own.choice(("wait", "wait", "test", "hasty", "give up")))
        elif what == "drop":
            each.end("drop")
        else:
            each.fill(value)
            (each.plan if what == "call" else self.grid.exchange)(3 if wrong else each.field)
            each.check()

    def again(self, each: Exchange) -> None:
        """What was given up ends before this."""
        each.fill(self.value(9))
        each.start(False)
        each.end("wait")

    def end(self) -> None:
        for each in self.exchanges:
            self.again(each)
            self.grid.exchange(each.field)
        self.works()
        self.exchanges.clear()
        for kept in (self.grid._kept.plans, self.grid._kept.recent, self.hub.agreements):
            kept.clear()
        assert not self.hub.notes and not self.hub.untold


def until_raised(call: Callable[[], Any]) -> bool:
    end = time.monotonic() + 100
    while time.monotonic() < end:
        try:
            call()
        except gbd.DisagreementError:
            return True
    return False


def main(seed: int, rounds: int) -> None:
    near, far = Storm(square() if n == 4 else ring(), seed), Storm(ring(), seed + 1)
    for i in range(rounds):
        near.call_by_call()
        far.step_by_step()
        world.Barrier()
        if i % 5 == 0:
            near.works()
            far.works()
    for storm in (near, far):
        storm.end()
    gc.collect()
    end = time.monotonic() + 100
    while world.allreduce(bool(left.left), MPI.LOR) and world.bcast(time.monotonic() < end):
        near.hub.check()  # which frees what was left
    assert not left.left, (me, seed, left.left)
    assert not [request for request in Counting.made if request != MPI.REQUEST_NULL]
    if me == 0:
        print("storm", n, flush=True)


main(*map(int, sys.argv[1:]))
