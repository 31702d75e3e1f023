"""Run by some processes: exchanges whose values go one way, drawn from a seed, which one rank makes in another order, leaves out or makes twice.

Nobody waits for who only receives, so that is seen by the values alone: each rank raises, or has the right ones.
"""

import random
import sys
import time
from typing import Any

from common import me
from mpi4py import MPI

import gridbuf.distributed as gbd

world = MPI.COMM_WORLD
n = world.size
RAISED = (gbd.DisagreementError, RuntimeError)
LOW, HIGH, BOTH = ((1, 0), (0, 0)), ((0, 1), (0, 0)), ((1, 1), (0, 0))
# of those that are alike the first uses may stand for each other
KINDS = [
    *((dtype, LOW, dtype == "c8") for dtype in ("f8", "f4", "i8", "c8")),
    ("i4", HIGH, False),
    ("u8", HIGH, True),
    ("u4", BOTH, False),
    ("i2", BOTH, True),
]


class Exchange:
    """Of one halo; `kept`: by the grid. Its values tell which it is, and when it was made."""

    def __init__(self, grid: gbd.Grid, dtype: str, halo: Any, kept: bool) -> None:
        self.grid, self.dtype, self.halo, self.kept = grid, dtype, halo, kept
        self.plan = grid.plan(grid.zeros(dtype=dtype, halo=halo))

    def begin(self, value: int) -> None:
        self.value, self.handle = value, None
        self.field = self.grid.full(value + me, dtype=self.dtype, halo=self.halo)
        if self.kept:
            self.grid.exchange(self.field)
            self.check()
        else:
            self.handle = self.plan.start(self.field)

    def end(self) -> None:
        if self.handle is not None:
            self.handle.wait()
            self.check()

    def check(self) -> None:
        (low, high), _ = self.halo
        f = self.field.numpy()
        assert not (low and me) or (f[0] == self.value + me - 1).all(), (me, self.value, f)
        assert not (high and me < n - 1) or (f[-1] == self.value + me + 1).all(), (me, self.value, f)

    def adjoint(self, value: int) -> None:
        (low, high), _ = self.halo
        f = self.grid.full(value + me, dtype=self.dtype, halo=self.halo)
        self.plan.accumulate(f)
        a = f.numpy()[low : len(f.numpy()) - high]
        assert a[-1, 0] == value + me + (value + me + 1) * (low and me < n - 1), (me, value, a)
        assert a[0, 0] == value + me + (value + me - 1) * (high and me > 0), (me, value, a)


class Orders:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.grid = gbd.grid((4 * n, 6), comm=world.Dup(), halo=LOW, blocks=(n, 1), timeout=200)
        self.exchanges = [Exchange(self.grid, *kind) for kind in KINDS]
        self.last = [Exchange(self.grid, "c16", halo, True) for halo in (LOW, HIGH)]

    def both_ways(self, value: int) -> None:
        for each in self.last:
            each.begin(value)

    def step(self, step: int) -> None:
        draw, own = random.Random(f"{self.seed} {step}"), random.Random(f"{self.seed} {step} {me}")
        some = [(draw.choice(self.exchanges), 100 * step + 10 * i) for i in range(draw.randint(2, 5))]
        some = [(each, value) for i, (each, value) in enumerate(some) if each not in [other for other, _ in some[:i]]]
        wrong, how, at = (
            draw.randrange(n),
            draw.choice(("", "", "order", "left out", "twice", "adjoint")),
            draw.randrange(len(some)),
        )
        backwards = draw.random() < 0.3
        self.expected = {"": (False,), "order": (False, True)}.get(how, (True,))
        if me == wrong and how == "order":
            some.insert(0, some.pop(at))
        elif me == wrong and how == "left out":
            del some[at]
        elif me == wrong and how == "twice":
            some.insert(draw.randrange(len(some)), some[at])
        elif me == wrong and how == "adjoint":
            some[at][0].adjoint(some[at][1])
        for each, value in some:
            if own.random() < 0.1:
                time.sleep(0.003)
            each.begin(value)
        if backwards:
            own.shuffle(some)
        for each, _ in some:
            each.end()

    def run(self, steps: int) -> int:
        """Of each step all ranks raise once or none; the next call of all ranks says so. What was made too often, or not at all, is seen in one of the next."""
        errors = 0
        for step in range(1, steps + 1):
            raised: list[Exception] = []
            for call in (lambda: self.step(step), *[lambda: self.both_ways(step)] * 3):  # noqa: B023
                before = len(raised)
                try:
                    call()
                except RAISED as error:
                    raised.append(error)
                while True:
                    try:
                        both = self.grid.sum(self.grid.full(float(len(raised))))
                        break
                    except RAISED as error:
                        raised.append(error)
                assert both == 24.0 * n * len(raised) and len(raised) <= before + 1, (me, self.seed, step, both, raised)
            assert len(raised) <= 1 and bool(raised) in self.expected, (me, self.seed, step, self.expected, raised)
            errors += len(raised)
        return errors


def main(seed: int, steps: int) -> None:
    errors = Orders(seed).run(steps)
    assert errors > steps // 8, errors
    world.Barrier()
    if me == 0:
        print("orders", n, flush=True)


main(*map(int, sys.argv[1:]))
