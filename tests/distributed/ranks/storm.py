"""Run by some processes: exchanges and calls drawn at random, of which one rank or another fails
now and then; no value is wrong, nothing hangs.

storm.py SEED ROUNDS
"""

import random
import sys
from typing import Any

import numpy as np
from common import listed, me
from mpi4py import MPI

import gridbuf.distributed as gbd

world = MPI.COMM_WORLD
n = world.size
seed, rounds = int(sys.argv[1]), int(sys.argv[2])
same = random.Random(seed)  # draws alike on all ranks


class Injected(Exception):
    """The error of a rank that fails."""


def value(i: Any, k: int) -> Any:
    return 1000.0 * k + i


class Storm:
    """A ring of points, and what is done with it."""

    def __init__(self) -> None:
        self.blocks = same.choice([n, 2 * n, 1])
        self.periodic = same.choice(["I", ""])
        self.halo = same.choice([(1, 1), (2, 1), (0, 2), (3, 0)])
        self.size = 4 * max(self.blocks, 1) + same.randrange(3)
        self.grid = gbd.grid(
            (self.size,),
            "I",
            blocks=(self.blocks,),
            periodic=self.periodic,
            halo=(self.halo,),
            comm=world,
            timeout=200,
        )
        self.fields = [
            listed(self.grid.zeros(dtype=t)) for t in same.sample(["f8", "f4", "i8", "i4"], 3)
        ]
        self.plans = [self.grid.plan(its) for its in self.fields]

    def fill(self, j: int, k: int) -> None:
        for block, f in zip(self.grid.blocks, self.fields[j], strict=True):
            f[...] = -1
            f.domain[...] = value(np.arange(block.start[0], block.stop[0]), k)

    def check(self, j: int, k: int) -> None:
        low, high = self.halo
        for block, f in zip(self.grid.blocks, self.fields[j], strict=True):
            at = np.arange(block.start[0] - low, block.stop[0] + high)
            inside = (at >= 0) & (at < self.size)
            wanted = np.where(inside | (self.periodic == "I"), value(at % self.size, k), -1)
            assert f.numpy().tolist() == wanted.tolist(), (me, j, k, f.numpy(), wanted)

    def step(self, k: int, fails: bool) -> None:
        j = same.randrange(3)
        what = same.choice(
            ["exchange", "plan", "start", "sum", "gather", "new", "several", "dropped"]
        )
        self.fill(j, k)
        its = self.fields[j]
        if fails and what in ("plan", "start", "dropped"):
            with self.plans[j].start(its):
                raise Injected(f"step {k}")
        elif fails:
            self.grid.exchange(Injected())
        if what == "exchange":
            self.grid.exchange(its)
            self.check(j, k)
        elif what == "plan":
            self.plans[j](its)
            self.check(j, k)
        elif what == "new":
            self.grid.plan(its)(its)
            self.check(j, k)
        elif what == "start":
            with self.plans[j].start(its):
                pass
            self.check(j, k)
        elif what == "several":
            order = (
                [0, 1, 2]
                if self.periodic and self.halo[0] and self.halo[1] and me % 2
                else [2, 1, 0]
            )
            for i in range(3):
                self.fill(i, k)
            handles = {
                i: self.plans[i].start(self.fields[i]) for i in (order if self.used else [0, 1, 2])
            }
            for i in order:
                handles[i].wait()
                self.check(i, k)
        elif what == "dropped":
            self.plans[j].start(its)
            self.plans[j](its)
            self.check(j, k)
        elif what == "sum":
            assert self.grid.sum(its) == sum(value(i, k) for i in range(self.size))
        elif what == "gather":
            found = self.grid.gather(its, k % n)
            assert found is None or found.numpy().tolist() == [
                value(i, k) for i in range(self.size)
            ]
        self.used = self.used or what == "several"

    used = False


errors = 0
for turn in range(rounds):
    steps = same.randrange(1, 25)
    fault = same.random()
    culprits = {same.randrange(n) for _ in range(same.choice([1, 1, 2]))}
    fails = same.randrange(steps) if fault < 0.7 and n > 1 else steps
    storm = None
    try:
        storm = Storm()
        for k in range(steps):
            storm.step(k, k == fails and me in culprits)
        # A rank that needs nothing of those that have failed comes to an end
        if n > 1 and fails < steps:
            storm.grid.sum(storm.grid.zeros())
        assert n == 1 or fails == steps
    except (Injected, TypeError, gbd.RevokedError) as error:
        assert fails < steps and ("Injected" in str(error) or me in culprits), error
        errors += 1
    same = random.Random(f"{seed} {turn}")
    del storm
if me == 0:
    print("storm", n, flush=True)
