"""Run by some processes: programs of steps that go on after errors by one rule, drawn from a seed, on ranks that are not all neighbours.

A rank goes on until it raises; then all agree from which step they go on. So each rank must raise once for each time that something goes wrong,
whatever the plans and grids in which ranks raise, and however far others have come by then; and what Ctrl-C has given up has been made.
"""

import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from common import me
from mpi4py import MPI

import gridbuf.distributed as gbd
from gridbuf.distributed import waiting

world = MPI.COMM_WORLD
n = world.size
RAISED = (gbd.DisagreementError, TypeError, ValueError)
give_way, interrupts = waiting._give_way, [0]


def interrupted() -> None:
    """Ctrl-C, now and then."""
    if interrupts[0]:
        interrupts[0] -= 1
        raise KeyboardInterrupt
    give_way()


waiting._give_way = interrupted


class Exchange:
    """A field, and how its halo is filled. `wrong` is what a rank may do instead."""

    def __init__(
        self, grid: gbd.Grid, dtype: str, call: Callable[..., Any], wrong: Sequence[Callable[[], Any]], **more: Any
    ) -> None:
        self.field = grid.full(me, dtype=dtype, **more)
        self.first = grid.plan(self.field)  # which stays: exchanges are counted
        self.first(self.field)
        self.who = self.field.numpy().copy()
        self.call, self.wrong = call, wrong

    def fill(self, value: int) -> None:
        self.value = value
        self.field[...] = value + me

    def check(self) -> None:
        assert (self.field.numpy() == self.value + self.who).all(), (me, self.value, self.field.numpy())


class Together:
    """A call of all ranks: who waits there hears of an exchange that another has left out."""

    def __init__(self, grid: gbd.Grid, call: Callable[[Any], Any], result: Callable[[int], Any]) -> None:
        self.field, strange = grid.zeros(), grid.zeros(dtype=[("a", "f8")])
        self._call, self._result = call, result
        self.wrong = [lambda: grid.sum(3), lambda: grid.sum(strange), lambda: grid.gather(self.field, n)]

    def fill(self, value: int) -> None:
        self.value = value
        self.field[...] = value + me

    def call(self, field: Any) -> None:
        self.found = self._call(field)

    def check(self) -> None:
        assert self.found == self._result(self.value), (me, self.value, self.found)


def together(grid: gbd.Grid) -> list[Together]:
    def first(field: Any) -> Any:
        found = grid.gather(field, n - 1)
        return None if found is None else (found[0, 0], found[-1, -1])

    return [
        Together(grid, grid.sum, lambda value: 64.0 * n * (n * value + n * (n - 1) / 2)),
        Together(grid, lambda f: grid.max(f), lambda value: value + n - 1.0),
        Together(grid, first, lambda value: None if me != n - 1 else (value, value + n - 1)),
    ]


def exchanges(grid: gbd.Grid, other: gbd.Grid) -> list[Exchange]:
    """Plans of other neighbours than the grid's, in one direction, of another grid of the communicator, and kept ones."""
    made = []
    for its, dtype, more, how in (
        (grid, "f8", {}, {}),
        (grid, "f4", {"halo": ((1, 1), (0, 0))}, {}),
        (grid, "i8", {}, {"corners": False}),
        (grid, "i2", {"halo": ((1, 0), (0, 0))}, {}),
        (other, "u4", {}, {}),
    ):
        plan = its.plan(its.zeros(dtype=dtype, **more), **how)  # type: ignore[arg-type]
        strange = its.zeros(dtype="c16", **more)  # type: ignore[arg-type]
        each = Exchange(its, dtype, plan, [lambda plan=plan: plan(3), lambda plan=plan, f=strange: plan(f), plan], **more)  # type: ignore[misc]
        if how:
            each.fill(0)
            plan(each.field)
            each.who = each.field.numpy().copy()
        made.append(each)
        kept = its.zeros(dtype="c8", **more)  # type: ignore[arg-type]
        wrong = [
            lambda its=its: its.exchange(3),
            lambda its=its, f=strange: its.exchange(f),
            lambda its=its, f=kept: its.exchange(f, f.copy()),
        ]  # type: ignore[misc]
        made.append(Exchange(its, "c8", its.exchange, wrong, **more))
    return made


class Program:
    def __init__(self, kind: str, seed: int) -> None:
        self.name = f"{kind} {seed}"
        comm = world.Dup()
        cut, periodic = {"ring": ((n, 1), "I"), "chain": ((n, 1), ""), "square": ((2, n // 2), ""), "torus": ((2, n // 2), "IJ")}[
            kind
        ]
        grid, other = (
            gbd.grid((8 * n, 8 * n), comm=comm, periodic=periodic, halo=1, blocks=blocks, timeout=200) for blocks in (cut, (1, n))
        )
        self.hub = grid._engine.hub
        self.exchanges: list[Exchange | Together] = [*exchanges(grid, other), *together(grid)]

    def begun(self) -> int:
        return sum(each.exchange for each in [*self.hub.transports])

    def whole(self, each: Exchange | Together) -> None:
        """What had begun when Ctrl-C came counts as made, and is not waited for; what had not is made again."""
        while True:
            before = self.begun()
            try:
                each.call(each.field)
                each.check()
                return
            except KeyboardInterrupt:
                if self.begun() > before:
                    each.field = each.field.copy()  # the old one may still be written
                    return

    def step(self, step: int, attempt: int, faults: bool) -> None:
        draw, own = random.Random(f"{self.name} {step} {attempt}"), random.Random(f"{self.name} {step} {attempt} {me}")
        some = draw.sample(self.exchanges, draw.randint(1, 4))
        fault = draw.random() < 0.5
        wrong = {draw.randrange(n): (draw.randrange(len(some)), draw.randrange(3)) for _ in range(draw.choice((1, 1, 2, n)))}
        for i, each in enumerate(some):
            if own.random() < 0.1:
                time.sleep(0.004)
            each.fill(2 * (1 + (step * 61 + attempt * 17 + i) % 900))
            if faults and fault and wrong.get(me, (-1, 0))[0] == i:
                each.wrong[wrong[me][1]]()
            interrupts[0] = own.random() < 0.05
            self.whole(each)
            interrupts[0] = 0

    def run(self, steps: int) -> int:
        """All of the steps, and some more in which nobody raises: who has not heard of the last error does so there."""
        step = attempt = 0
        while step < steps + n:
            try:
                self.step(step, attempt, step < steps)
                step += 1
            except RAISED as error:
                interrupts[0] = 0
                step, attempt = self.agreed(step, attempt, error)
        return attempt

    def agreed(self, step: int, attempt: int, error: Exception) -> tuple[int, int]:
        """The step that all go on from. Each has raised as often as the others."""
        ours, least = np.array([step, attempt, -attempt]), np.zeros(3, int)
        request = world.Iallreduce(ours, least, MPI.MIN)
        waiting.Waiting(30, lambda: f"rank {me} has raised, and others have not: {self.name}, step {step}, {error!r}").until(
            request.Test
        )
        assert least[1] == -least[2], (me, self.name, step, attempt)
        return int(least[0]), attempt + 1


def others_in_its_place() -> None:
    """Rank 1 has made as many exchanges as rank 2 awaits, but not that one, when it hears of an error of rank 0."""
    grid = gbd.grid((4 * n, 6), comm=world.Dup(), halo=1, blocks=(n, 1), timeout=200)
    a, b = grid.full(me), grid.full(me, dtype="i8")
    first, second = grid.plan(a), grid.plan(b)
    for _ in range(2):
        first(a)
        second(b)
        world.Barrier()
        began = time.monotonic()
        try:
            first(a)
            if me == 0:
                time.sleep(0.1)
                first(3)
            (first if me == 1 else second)(a if me == 1 else b)
        except RAISED:
            assert time.monotonic() - began < 100
        else:
            raise AssertionError(me)
        world.Barrier()
    first(a)
    second(b)


def an_error_while_hands_are_shaken() -> None:
    """Rank 0 has told rank 2 a tag when it hears of an error that it has raised already: the next epoch has another, whose values come."""
    comm = world.Dup()
    grid = gbd.grid((12, 6), comm=comm, halo=1, blocks=(3, 1), timeout=200)
    pair = gbd.grid((8, 6), comm=comm, halo=1, blocks=(2, 1), owners=[1, 2], timeout=200)
    f, g, w = grid.zeros(), pair.zeros(), grid.zeros(halo=((5, 5), (0, 0)))
    near = grid.plan(f)
    near(f)
    pair.exchange(g)
    world.Barrier()
    wide = grid.plan(w) if me == 0 else None  # which has rank 2 as a peer
    time.sleep(0.1 * (me == 0))
    try:
        near(3 if me == 1 else f)
    except RAISED:
        time.sleep(0.2 * (me == 2))
    wide = wide or grid.plan(w)
    for i in range(3):
        w[...] = 10 * i + me
        wide(w)
        assert {int(v) % 10 for v in w.numpy()[:, 0]} == {0, 1, 2} and (w.numpy() // 10 == i).all(), (me, i, w.numpy()[:, 0])
        time.sleep(0.1 * (me == 1))
        pair.exchange(g)


def main(seed: int, steps: int) -> None:
    if n == 3:
        others_in_its_place()
        an_error_while_hands_are_shaken()
    errors = [Program(kind, seed).run(steps) for kind in ("ring", "chain", *("square", "torus")[: 2 * (n % 2 == 0 and n > 2)])]
    assert min(errors) > steps // 8
    waiting._give_way = give_way
    world.Barrier()
    if me == 0:
        print("joined", n, flush=True)


main(*map(int, sys.argv[1:]))
