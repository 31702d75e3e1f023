# ruff: noqa: F841 (gt4py reads what stencils assign)
"""Shallow water on a doubly periodic plane that turns: a jet across both seams, which is steady,
and two vortices that go round one another. shallow_water.py runs it.

Sadourny's scheme (1975) keeps energy: depths at centres, velocities on faces, vorticity at corners.
Depths and what flows are multiples of QUANTUM: no sum of them rounds, so that the mass keeps all
its bits. Three stages of Runge and Kutta are a step, each a call of one stencil of gt4py.
"""

from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, computation, floor, interval

import gridbuf.distributed as gbd

LENGTH, DEPTH, GRAVITY, CORIOLIS = 4e6, 1000.0, 9.81, 1e-4  # metres, metres, m/s2, 1/s
QUANTUM = 2.0**-36  # metres of depth
BACKEND = "numpy"  # of gt4py
CASES = ("jet", "vortices")
Real = gtscript.Field[np.float64]


def stage(h0: Real, u0: Real, v0: Real, h: Real, u: Real, v: Real, h1: Real, u1: Real, v1: Real,
          dt: float, dx: float):  # fmt: skip
    """Forward by dt from (h0, u0, v0), by the tendencies of (h, u, v). Face i lies between the
    cells i - 1 and i; its lower end is corner (i, j).
    """
    with computation(PARALLEL), interval(...):
        flow_i = 0.5 * (h[-1, 0, 0] + h) * u
        flow_j = 0.5 * (h[0, -1, 0] + h) * v
        east = floor(flow_i * dt / dx / QUANTUM + 0.5) * QUANTUM
        north = floor(flow_j * dt / dx / QUANTUM + 0.5) * QUANTUM
        h1 = h0 - (east[1, 0, 0] - east + north[0, 1, 0] - north)
        depths = h + h[-1, 0, 0] + h[0, -1, 0] + h[-1, -1, 0]
        q = (CORIOLIS + (v - v[-1, 0, 0] - u + u[0, -1, 0]) / dx) / depths  # a quarter of it
        speeds = u * u + u[1, 0, 0] * u[1, 0, 0] + v * v + v[0, 1, 0] * v[0, 1, 0]
        head = GRAVITY * h + 0.25 * speeds
        turn_i = q[0, 1, 0] * (flow_j[0, 1, 0] + flow_j[-1, 1, 0]) + q * (flow_j + flow_j[-1, 0, 0])
        turn_j = q[1, 0, 0] * (flow_i[1, 0, 0] + flow_i[1, -1, 0]) + q * (flow_i + flow_i[0, -1, 0])
        u1 = u0 + dt * (turn_i - (head - head[-1, 0, 0]) / dx)
        v1 = v0 - dt * (turn_j + (head - head[0, -1, 0]) / dx)


def stream(case: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The stream function, in m2/s, at these places of a unit square."""
    if case == "jet":
        return 1.5e7 * np.cos(2 * np.pi * (x + y))
    x, y = 2 * np.pi * x, 2 * np.pi * (y - 0.5)
    near = [np.cos(x - 2 * np.pi * middle) + np.cos(y) - 2 for middle in (0.4, 0.6)]
    return -1.5e7 * (np.exp(8 * near[0]) + np.exp(8 * near[1]))


class Model:
    """Depth h and velocities u and v on this process's blocks."""

    def __init__(self, n: int, case: str, **parallel: Any) -> None:
        self.case, self.steps, self.dx = case, 0, LENGTH / n
        self.dt = 0.4 * self.dx / np.sqrt(GRAVITY * DEPTH)
        self.grid = grid = gbd.grid((n, n), periodic="IJ", halo=1, timeout=120, **parallel)
        if grid.rank:
            grid.comm.Barrier()  # rank 0 compiles, and the others find what it has written
        self.stage = gtscript.stencil(backend=BACKEND, definition=stage)
        if grid.size > 1 and not grid.rank:
            grid.comm.Barrier()
        self.start, self.fields, self.next, self.work = (self.made() for _ in range(4))
        psi = stream(case, np.arange(2 * n + 1)[:, None] / (2 * n), np.arange(2 * n + 1) / (2 * n))
        ends, h = psi[::2, ::2], DEPTH + CORIOLIS / GRAVITY * psi[1::2, 1::2]  # in balance
        u, v = ends[:-1, :-1] - ends[:-1, 1:], ends[1:, :-1] - ends[:-1, :-1]
        whole = {"h": np.rint(h / QUANTUM) * QUANTUM, "u": u / self.dx, "v": v / self.dx}
        for name, f in self.fields.items():
            grid.scatter(whole[name][..., None], f)
            grid.scatter(whole[name][..., None], self.start[name])
        self.exchange = grid.plan(*self.fields.values(), names=list("huv"))

    def made(self) -> dict[str, Any]:
        return {name: self.grid.zeros("IJK", sizes={"K": 1}, backend=BACKEND) for name in "huv"}

    def step(self) -> None:
        now, one, two = self.fields, self.next, self.work
        for of, to, part in ((now, one, 3), (one, two, 2), (two, one, 1)):
            self.exchange(*of.values())
            for block, *fields in self.grid.each(*now.values(), *of.values(), *to.values()):
                self.stage(*fields, self.dt / part, self.dx, domain=(*block.shape, 1))
        self.fields, self.next, self.steps = one, now, self.steps + 1

    def mass(self) -> float:
        """In m3."""
        return self.grid.sum(self.fields["h"]) * self.dx**2

    def energy(self) -> float:
        """The scheme's own, which its tendencies keep, divided by the fluid's density."""
        self.exchange(*self.fields.values())
        for _, *fields, work in self.grid.each(*self.fields.values(), self.work["h"]):
            h, u, v = (f.numpy() for f in fields)
            mean_i, mean_j = h[:-2, 1:-1] + h[1:-1, 1:-1], h[1:-1, :-2] + h[1:-1, 1:-1]
            h, u, v = (f[1:-1, 1:-1] for f in (h, u, v))
            work.domain[...] = 0.25 * (mean_i * u**2 + mean_j * v**2) + 0.5 * GRAVITY * h**2
        return self.grid.sum(self.work["h"]) * self.dx**2

    def error(self) -> float:
        """Of the depth, against the beginning: l2, a part of the depth's."""
        start = self.start["h"]
        return self.grid.norm(self.fields["h"] - start) / self.grid.norm(start)

    def picture(self) -> Any:
        """On rank 0 places in km and the depth there."""
        h = self.grid.gather(self.fields["h"])
        if h is None:
            return None
        at = (np.arange(len(h)) + 0.5) * self.dx / 1000
        return *np.meshgrid(at, at, indexing="ij"), h.numpy()[:, :, 0]
