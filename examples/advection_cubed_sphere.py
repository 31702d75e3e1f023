# ruff: noqa: F841 (gt4py reads what stencils assign)
"""Advection on a cubed sphere: a cosine bell goes round the globe with the wind, on one process or
on many, with the same bits.

    python examples/advection_cubed_sphere.py 24 --turns 0.25
    mpirun -n 6 python examples/advection_cubed_sphere.py 24 --turns 0.25

Each level has a wind of its own: solid-body rotation about an axis that leans by 0, 45 and 90
degrees, so that bells cross edges and corners of the cube (Williamson et al. 1992, test 1). Finite
volumes: fluxes through the faces of cells by van Leer's limited slopes, two steps of Heun's for one
in time, in stencils of gt4py. gridbuf.distributed cuts the sphere, fills the halos across the
cube's edges, gives faces that two tiles share one flux, so that nothing is lost between them, and
adds up mass exactly.
"""

import argparse
from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, computation, interval

import gridbuf as gb
import gridbuf.distributed as gbd

HALO = 2
RADIUS = 1 / 3  # of the bell, as an angle
LEANS = (0.0, np.pi / 4, np.pi / 2)  # of the axis about which each level turns
Real = gtscript.Field[np.float64]

# Centre of each tile, and where its I and J go there: as gbd.cubed_sphere numbers and turns them.
X, Y, Z = np.eye(3)
TILES = ((X, Y, Z), (Y, -X, Z), (Z, -X, -Y), (-X, -Z, -Y), (-Y, -Z, X), (-Z, Y, X))


# ---- stencils ----


@gtscript.function
def slope(behind, ahead):
    """Van Leer's: none at extrema."""
    return 2.0 * behind * ahead / (behind + ahead) if behind * ahead > 0.0 else 0.0


def flux_i(q: Real, wind: Real, flux: Real):
    """Face i lies between the cells i - 1 and i; what goes through it comes from the side that the
    wind comes from.
    """
    with computation(PARALLEL), interval(...):
        low = q[-1, 0, 0] + 0.5 * slope(q[-1, 0, 0] - q[-2, 0, 0], q - q[-1, 0, 0])
        high = q - 0.5 * slope(q - q[-1, 0, 0], q[1, 0, 0] - q)
        flux = wind * (low if wind > 0.0 else high)


def flux_j(q: Real, wind: Real, flux: Real):
    with computation(PARALLEL), interval(...):
        low = q[0, -1, 0] + 0.5 * slope(q[0, -1, 0] - q[0, -2, 0], q - q[0, -1, 0])
        high = q - 0.5 * slope(q - q[0, -1, 0], q[0, 1, 0] - q)
        flux = wind * (low if wind > 0.0 else high)


def advance(q: Real, flux_i: Real, flux_j: Real, area: Real, new: Real, dt: float):
    with computation(PARALLEL), interval(...):
        new = q - dt * (flux_i[1, 0, 0] - flux_i + flux_j[0, 1, 0] - flux_j) / area


def mean(before: Real, twice: Real, new: Real):
    with computation(PARALLEL), interval(...):
        new = 0.5 * (before + twice)


# ---- the sphere ----


def tangents(first: int, last: int, n: int) -> np.ndarray:
    """Of the corners of cells along an edge of n: angles that are equally far from one another."""
    return np.tan((np.arange(first, last + 1) / n - 0.5) * (np.pi / 2))


def points(tile: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """On the unit sphere: (3, len(x), len(y))."""
    centre, along_i, along_j = (axis[:, None, None] for axis in TILES[tile])
    found = centre + x[None, :, None] * along_i + y[None, None, :] * along_j
    return found / np.sqrt((found**2).sum(axis=0))


def areas(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of cells between these corners: exact, so that all add up to the sphere's."""
    angle = np.arctan2(x[:, None] * y, np.sqrt(1 + x[:, None] ** 2 + y**2))
    return angle[1:, 1:] - angle[:-1, 1:] - angle[1:, :-1] + angle[:-1, :-1]


def bell(where: np.ndarray, angle: float) -> np.ndarray:
    """The exact solution after the wind has turned by an angle: (len(x), len(y), levels)."""
    levels = []
    for lean in LEANS:
        axis = np.array([0.0, -np.sin(lean), np.cos(lean)])
        # the centre of tile 0: it goes along the equator, over an edge's middle or over the pole
        start = X
        centre = (
            start * np.cos(angle)
            + np.cross(axis, start) * np.sin(angle)
            + axis * (axis @ start) * (1 - np.cos(angle))
        )
        far = np.arccos(np.clip(np.tensordot(centre, where, 1), -1, 1))
        levels.append(np.where(far < RADIUS, 0.5 * (1 + np.cos(np.pi * far / RADIUS)), 0.0))
    return np.stack(levels, axis=-1)


# ---- the model ----


class Model:
    """Fields on this process's blocks, and one step of time."""

    def __init__(self, n: int, backend: str, blocks: tuple[int, int], comm: Any) -> None:
        self.grid = grid = gbd.cubed_sphere(n, blocks=blocks, halo=HALO, comm=comm, timeout=120)
        many = {"sizes": {"K": len(LEANS)}, "backend": backend}
        if grid.rank:
            comm.Barrier()  # rank 0 compiles, and the others find what it has written
        self.flux_i, self.flux_j, self.advance, self.mean = (
            gtscript.stencil(backend=backend, definition=each)
            for each in (flux_i, flux_j, advance, mean)
        )
        if comm is not None and not grid.rank:
            comm.Barrier()

        def made(dims: str = "IJK", **keywords: Any) -> list[gb.Field]:
            return [f for _, f in grid.each(grid.zeros(dims, **many, **keywords))]

        self.q, self.half, self.new = made(), made(), made()
        self.area, self.exact, self.work = made(), made(), [made("IJ") for _ in LEANS]
        self.wind_i, self.through_i = made(faces="I"), made(faces="I")
        self.wind_j, self.through_j = made(faces="J"), made(faces="J")
        self.centres = []
        for b, block in enumerate(grid.blocks):
            (i, j), (end, top) = block.start, block.stop
            x, y = tangents(i, end, n), tangents(j, top, n)
            corners = points(block.tile, x, y)
            middle = np.tan((np.arange(n) + 0.5) / n * (np.pi / 2) - np.pi / 4)
            self.centres.append(points(block.tile, middle[i:end], middle[j:top]))
            self.area[b].domain[...] = areas(x, y)[:, :, None]
            for k, lean in enumerate(LEANS):
                stream = -np.tensordot(np.array([0.0, -np.sin(lean), np.cos(lean)]), corners, 1)
                # A face's flux is the difference of the stream function at its ends: what flows
                # into a cell flows out of it.
                self.wind_i[b].domain[:, :, k] = stream[:, :-1] - stream[:, 1:]
                self.wind_j[b].domain[:, :, k] = stream[1:] - stream[:-1]
        self.set(self.q, 0.0)

    def set(self, fields: list[gb.Field], angle: float) -> None:
        for f, where in zip(fields, self.centres, strict=True):
            f.domain[...] = bell(where, angle)

    def euler(self, q: list[gb.Field], new: list[gb.Field], dt: float) -> None:
        """Forward by dt, from q to new."""
        self.grid.exchange(q)
        for b, block in enumerate(self.grid.blocks):
            ni, nj = block.shape
            self.flux_i(q[b], self.wind_i[b], self.through_i[b], domain=(ni + 1, nj, len(LEANS)))
            self.flux_j(q[b], self.wind_j[b], self.through_j[b], domain=(ni, nj + 1, len(LEANS)))
        # Two tiles reckon the flux through an edge of the cube each by its own axes: rounding may
        # differ. One of them has it.
        self.grid.sync(gbd.vector(self.through_i, self.through_j))
        for b, block in enumerate(self.grid.blocks):
            fields = q[b], self.through_i[b], self.through_j[b], self.area[b], new[b]
            self.advance(*fields, dt, domain=(*block.shape, len(LEANS)))

    def step(self, dt: float) -> None:
        self.euler(self.q, self.half, dt)
        self.euler(self.half, self.new, dt)
        for b, block in enumerate(self.grid.blocks):
            self.mean(self.q[b], self.new[b], self.q[b], domain=(*block.shape, len(LEANS)))

    def totals(self, of: Any) -> tuple[float, ...]:
        """The exact sums over the globe of a function of (q, exact solution, area), one for each
        level.
        """
        for k, fields in enumerate(self.work):
            for b, f in enumerate(fields):
                f.domain[...] = of(
                    *(each[b].domain.numpy()[:, :, k] for each in (self.q, self.exact, self.area))
                )
        return self.grid.sum(*self.work)


def run(
    n: int, steps: int, backend: str = "numpy", blocks: tuple[int, int] = (1, 1), comm: Any = None
) -> dict[str, Any]:
    """So many steps: mass before and after, the l2 error, and a checksum of the field, on every
    rank.
    """
    model = Model(n, backend, blocks, comm)
    dt = 2 * np.pi / turn(n)
    before = model.totals(lambda q, exact, area: q * area)
    for _ in range(steps):
        model.step(dt)
    model.set(model.exact, steps * dt)
    errors = model.totals(lambda q, exact, area: (q - exact) ** 2 * area)
    norms = model.totals(lambda q, exact, area: exact**2 * area)
    return {
        "before": before,
        "after": model.totals(lambda q, exact, area: q * area),
        "l2": tuple((error / norm) ** 0.5 for error, norm in zip(errors, norms, strict=True)),
        "checksum": model.grid.checksum(model.q),
    }


def turn(n: int) -> int:
    """Steps once round the globe: cells in the middle of a tile are as long as 4 n are round it,
    those at its corners not half as long.
    """
    return 16 * n


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "n", type=int, nargs="?", default=24, help="cells along an edge of the cube (default 24)"
    )
    parser.add_argument(
        "--turns", type=float, default=0.25, help="of the wind round the globe (default 0.25)"
    )
    parser.add_argument("--steps", type=int, help="so many instead")
    parser.add_argument("--backend", default="numpy", help="of gt4py (default numpy)")
    parser.add_argument(
        "--blocks", type=int, nargs=2, default=(1, 1), help="of each tile (default 1 1)"
    )
    arguments = parser.parse_args()
    try:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD if MPI.COMM_WORLD.size > 1 else None
    except (ImportError, RuntimeError):
        comm = None
    n, steps = arguments.n, arguments.steps
    if steps is None:
        steps = round(arguments.turns * turn(n))
    found = run(n, steps, arguments.backend, tuple(arguments.blocks), comm)
    if comm is None or comm.rank == 0:
        print(f"{steps} steps of {turn(n)} round the globe, 6 tiles of {n} x {n} cells")
        print(f"{'level':>5}{'mass':>22}{'its change':>12}{'l2 error':>10}")
        for k, (before, after, error) in enumerate(
            zip(found["before"], found["after"], found["l2"], strict=True)
        ):
            print(f"{k:>5}{after:>22.16g}{(after - before) / before:>12.1e}{error:>10.4f}")
        print(f"checksum of the field: {found['checksum']:016x}")


if __name__ == "__main__":
    main()
