"""Shallow water on the cubed sphere: cases 2 and 5 of Williamson et al. (1992), a steady flow about
an axis that leans by 45 degrees, and a zonal flow over a mountain. shallow_water.py runs it.

Finite volumes of second order: surface and velocity, of three Cartesian components, at the centres
of cells, Rusanov's flux between the values that gradients give on both sides of a face, three
stages of Runge and Kutta. Masses and what flows are multiples of QUANTUM: no sum of them rounds.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cubed_sphere import HIGH, INNER, LOW, Geometry, around, dot

import gridbuf.distributed as gbd

RADIUS, OMEGA, GRAVITY, DAY = 6.37122e6, 7.292e-5, 9.80616, 86400.0  # in metres and seconds
QUANTUM = 2.0**-36  # metres, over a cell of mean area
CASES = {  # the lean of the axis; velocity and height of the surface, far from it
    "steady": (np.pi / 4, 2 * np.pi * RADIUS / (12 * DAY), 2.94e4 / GRAVITY),
    "mountain": (0.0, 20.0, 5960.0),
}


def flux(low: np.ndarray, high: np.ndarray, bottom: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Of mass and momentum between two states: surface and velocity in the last axis."""
    sides = []
    for surface, velocity in ((low[..., :1], low[..., 1:]), (high[..., :1], high[..., 1:])):
        depth, across = surface - bottom, dot(velocity, normal)[..., None]
        waves = np.sqrt(GRAVITY * depth * dot(normal, normal)[..., None])
        sides.append((np.concatenate([depth, depth * velocity], axis=-1), across, waves))
    (a, across_a, waves_a), (b, across_b, waves_b) = sides
    fastest = np.maximum(np.abs(across_a) + waves_a, np.abs(across_b) + waves_b)
    return 0.5 * (a * across_a + b * across_b - fastest * (b - a))


class Model:
    """Mass and momentum, `fluid`, in the cells of this process's blocks."""

    def __init__(self, n: int, case: str, **parallel: Any) -> None:
        self.case, self.steps, self.dt, self.unit = case, 0, 14400.0 / n, 4 * np.pi / (6 * n * n)
        self.grid = grid = gbd.cubed_sphere(n, halo=1, timeout=120, **parallel)
        lean, self.speed, self.height = CASES[case]
        self.axis = np.array([-np.sin(lean), 0.0, np.cos(lean)])
        self.fields = {"fluid": grid.zeros("IJ0", sizes={"0": 4})}
        self.start, self.state = (grid.zeros("IJ0", sizes={"0": 4}) for _ in range(2))
        self.slopes = grid.zeros("IJ01", sizes={"0": 4, "1": 3})
        self.fluxes = [grid.zeros("IJ0", sizes={"0": 4}, faces=dim) for dim in "IJ"]
        self.centre, self.bottom = grid.zeros("IJ0", sizes={"0": 3}), grid.zeros("IJ")
        self.geometry = {block.number: Geometry(n, block) for block in grid.blocks}
        for g, bottom, centre in self.each(self.bottom, self.centre):
            centre[INNER], bottom[INNER] = g.centre, mountain(g.centre) * (case == "mountain")
        grid.exchange(self.centre, self.bottom)
        for g, fluid, bottom, centre in self.each(self.fields["fluid"], self.bottom, self.centre):
            g.find_weights(centre)
            surface, velocity = self.balanced(g)[..., 0], self.balanced(g)[..., 1:]
            mass = np.rint((surface - bottom[INNER]) * g.area / QUANTUM) * QUANTUM
            fluid[INNER][..., 0], fluid[INNER][..., 1:] = mass, mass[..., None] * velocity

    def each(self, *fields: Any) -> Iterator[Any]:
        for block, *parts in self.grid.each(*fields):
            yield self.geometry[block.number], *(part.numpy() for part in parts)

    def balanced(self, g: Geometry) -> np.ndarray:
        """Surface and velocity of a flow that turns as a whole."""
        drop = (RADIUS * OMEGA * self.speed + 0.5 * self.speed**2) / GRAVITY
        surface = self.height - drop * dot(self.axis, g.centre)[..., None] ** 2
        return np.concatenate([surface, self.speed * np.cross(self.axis, g.centre)], axis=-1)

    def step(self) -> None:
        self.start[...] = self.fields["fluid"]  # of every block
        for part in (3, 2, 1):
            self.stage(self.dt / part)
        self.steps += 1

    def stage(self, dt: float) -> None:
        """Forward by dt from `start`, by the tendencies of `fluid`."""
        self.find_state()
        self.grid.exchange(self.state)
        for g, state, slopes in self.each(self.state, self.slopes):
            rises = [(each - state[INNER])[..., None] for each in around(state)]
            slopes[INNER] = sum(map(np.multiply, rises, g.weights[..., None, :]))
        self.grid.exchange(self.slopes)
        cells = self.state, self.slopes, self.centre, self.bottom
        for g, state, slopes, centre, bottom, *fluxes in self.each(*cells, *self.fluxes):
            for dim, out in zip("IJ", fluxes, strict=True):
                low, high = (
                    state[at] + dot(slopes[at], (g.middle[dim] - centre[at])[..., None, :])
                    for at in (LOW[dim], HIGH[dim])
                )
                ground = 0.5 * (bottom[LOW[dim]] + bottom[HIGH[dim]])[..., None]
                flow = flux(low, high, ground, g.normal[dim]) * (dt / (RADIUS * self.unit))
                flow[..., 0] = np.rint(flow[..., 0] / QUANTUM) * QUANTUM
                out[INNER] = flow
        # Two tiles find the flow between them, each by its own axes: one of them is right for both.
        self.grid.sync(gbd.vector(*self.fluxes))
        for g, *parts in self.each(self.fields["fluid"], self.start, self.slopes, *self.fluxes):
            fluid, start, slopes, flow_i, flow_j = (part[INNER] for part in parts)
            mass, momentum, turning = fluid[..., :1], fluid[..., 1:], dot(self.axis, g.centre)
            force = mass * GRAVITY / RADIUS * slopes[..., 0, :]
            force += 2 * OMEGA * turning[..., None] * np.cross(g.centre, momentum)
            fluid[...] = start + (flow_i[:-1] - flow_i[1:] + flow_j[:, :-1] - flow_j[:, 1:])
            momentum -= dt * force
            momentum -= dot(momentum, g.centre)[..., None] * g.centre  # stay on the sphere

    def find_state(self) -> None:
        """Surface and velocity of `fluid`."""
        for g, fluid, bottom, state in self.each(self.fields["fluid"], self.bottom, self.state):
            state[INNER][..., 0] = fluid[INNER][..., 0] / g.area + bottom[INNER]
            state[INNER][..., 1:] = fluid[INNER][..., 1:] / fluid[INNER][..., :1]

    def total(self, of: Callable[..., np.ndarray]) -> float:
        """The exact sum over the globe, in cells of mean area."""
        self.find_state()
        density = self.grid.zeros("IJ")
        for g, state, bottom, out in self.each(self.state, self.bottom, density):
            out[INNER] = g.area * of(g, state[INNER], bottom[INNER])
        return self.grid.sum(density)

    def mass(self) -> float:
        return self.grid.sum(self.fields["fluid"][:, :, 0])

    def energy(self) -> float:
        def density(g: Geometry, state: np.ndarray, bottom: np.ndarray) -> np.ndarray:
            surface, speed2 = state[..., 0], dot(state[..., 1:], state[..., 1:])
            return (surface - bottom) * speed2 / 2 + GRAVITY * (surface**2 - bottom**2) / 2

        return self.total(density)

    def error(self) -> float:
        """Of the surface, against `balanced`: the relative l2 norm."""
        wrong = self.total(lambda g, state, _: (state[..., 0] - self.balanced(g)[..., 0]) ** 2)
        return float(np.sqrt(wrong / self.total(lambda g, *_: self.balanced(g)[..., 0] ** 2)))

    def picture(self) -> Any:
        """On rank 0 longitude and latitude, in degrees, and the surface there."""
        self.find_state()
        state, centre = self.grid.gather(self.state), self.grid.gather(self.centre)
        if state is None:
            return None
        x, y, z = (np.stack([each.numpy()[..., k] for each in centre]) for k in range(3))
        surface = np.stack([each.numpy()[..., 0] for each in state])
        return np.degrees(np.arctan2(y, x)), np.degrees(np.arcsin(z)), surface


def mountain(at: np.ndarray) -> np.ndarray:
    longitude, latitude = np.arctan2(at[..., 1], at[..., 0]), np.arcsin(at[..., 2])
    away = np.hypot(longitude + np.pi / 2, latitude - np.pi / 6)
    return 2000.0 * np.maximum(0.0, 1 - away / (np.pi / 9))
