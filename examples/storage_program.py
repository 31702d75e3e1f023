"""A program on storages: a tracer is carried by a wind and diffused, with IJ winds, a K
diffusivity, xarray in and out, and checkpoints.

The stencils are gt4py's. `Model.step` is the same program on storages and on plain arrays: only the
stencils are called otherwise.
"""

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import IJ, PARALLEL, Field, K, computation, interval

import gridbuf.interop.xarray as gbx
import gridbuf.storage as gs
from gridbuf.interface import stencil_call

AXES = {"lon": "I", "lat": "J", "level": "K"}  # what xarray calls the axes


def advect(
    q: Field[float], u: Field[IJ, float], v: Field[IJ, float], out: Field[float], *, c: float
) -> None:
    """Upwind fluxes through the four sides of a cell; u is the wind at its low side in I, v
    in J.
    """
    with computation(PARALLEL), interval(...):
        west = (u if u > 0.0 else 0.0) * q[-1, 0, 0] + (u if u < 0.0 else 0.0) * q
        east = (u[1, 0] if u[1, 0] > 0.0 else 0.0) * q + (u[1, 0] if u[1, 0] < 0.0 else 0.0) * q[
            1, 0, 0
        ]
        south = (v if v > 0.0 else 0.0) * q[0, -1, 0] + (v if v < 0.0 else 0.0) * q
        north = (v[0, 1] if v[0, 1] > 0.0 else 0.0) * q + (v[0, 1] if v[0, 1] < 0.0 else 0.0) * q[
            0, 1, 0
        ]
        out = q - c * (east - west + north - south)  # noqa: F841


def diffuse(q: Field[float], kappa: Field[K, float], out: Field[float], *, c: float) -> None:
    with computation(PARALLEL), interval(...):
        out = q + c * kappa * (q[1, 0, 0] + q[-1, 0, 0] + q[0, 1, 0] + q[0, -1, 0] - 4.0 * q)  # noqa: F841


def periodic(q: Any) -> None:
    """Fill a halo of one point from the other side of the domain."""
    q[0], q[-1] = q[-2], q[1]
    q[:, 0], q[:, -1] = q[:, -2], q[:, 1]


@dataclass
class Model:
    """The fields and the stencils: storages and stencils wrapped for them, or plain arrays and
    gt4py's own.
    """

    q: Any
    u: Any
    v: Any
    kappa: Any
    advect: Any
    diffuse: Any
    between: Any  # room for what lies between the two stencils

    def step(self, c: float) -> None:
        periodic(self.q)
        self.advect(self.q, self.u, self.v, self.between, c=c)
        periodic(self.between)
        self.diffuse(self.between, self.kappa, self.q, c=c)


def stencils(backend: str) -> tuple[Any, Any]:
    return tuple(gtscript.stencil(backend=backend, definition=each) for each in (advect, diffuse))  # type: ignore[return-value]


def read(array: xr.DataArray) -> Any:
    """A Field over the DataArray's memory, with the names that storages know."""
    return gbx.from_dataarray(array, axes={str(name): AXES[str(name)] for name in array.dims})


def on_storages(data: xr.Dataset, backend: str) -> Model:
    """Fields from the data, in the layout of the backend and with a halo; winds and diffusivity
    have the axes that they need.
    """
    sizes = [data.sizes[name] + 2 * (name != "level") for name in AXES]
    q = gs.zeros(sizes, defaults=backend, halo=(1, 1, 0))
    q.domain = read(data["tracer"])  # by name, whatever the order of the dims
    u, v = (gs.zeros(sizes, axes="IJ", defaults=backend, halo=(1, 1, 0)) for _ in "uv")
    for wind, name in ((u, "u"), (v, "v")):
        wind.domain = read(data[name])
        periodic(wind)
    kappa = gs.storage(read(data["kappa"]), defaults=backend)
    first, second = map(stencil_call, stencils(backend))
    return Model(q, u, v, kappa, first, second, gs.zeros_like(q))


def on_arrays(model: Model, backend: str) -> Model:
    """The same on plain arrays of the same memory layout: then origin and domain have to be said to
    each stencil.
    """
    q, u, v, kappa, between = (
        each.copy().to_numpy() for each in (model.q, model.u, model.v, model.kappa, model.between)
    )
    origin = {"_all_": (1, 1, 0), "kappa": (0,)}
    where = {"origin": origin, "domain": model.q.domain.shape}
    first, second = (
        lambda *fields, stencil=each, **numbers: stencil(*fields, **numbers, **where)
        for each in stencils(backend)
    )
    return Model(q, u, v, kappa, first, second, between)


def dataset(nx: int, ny: int, nz: int) -> xr.Dataset:
    """A blob of tracer in a rotating wind that is the same on all levels."""
    lon, lat = (np.arange(n) * 360.0 / n for n in (nx, ny))
    x, y = np.meshgrid(np.radians(lon), np.radians(lat))
    blob = np.exp(-((x - np.pi) ** 2) - (y - np.pi / 2) ** 2)
    return xr.Dataset(
        {
            "tracer": (("level", "lat", "lon"), np.broadcast_to(blob, (nz, ny, nx)).copy()),
            "u": (("lat", "lon"), np.cos(y)),
            "v": (("lat", "lon"), np.sin(x)),
            "kappa": (("level",), np.linspace(0.1, 0.5, nz)),
        },
        {"lon": lon, "lat": lat, "level": np.arange(nz)},
    )


def main(backend: str = "numpy", folder: str = ".", steps: int = 20) -> xr.DataArray:
    data = dataset(24, 20, 6)
    model = on_storages(data, backend)
    fastest = max(float(np.max(np.abs(wind.domain))) for wind in (model.u, model.v))
    c = 0.2 / fastest
    before = np.sum(model.q.domain, axis="IJ")

    checkpoint = Path(folder) / "checkpoint.pickle"
    for step in range(steps):
        if step == steps // 2:
            checkpoint.write_bytes(pickle.dumps({"step": step, "c": c, "q": model.q}))
        model.step(c)

    # The second half again, from the checkpoint: the same to the last bit.
    restored = pickle.loads(checkpoint.read_bytes())
    again = on_storages(data, backend)
    again.q[...] = restored["q"]
    for _ in range(restored["step"], steps):
        again.step(restored["c"])
    assert np.array_equal(again.q.domain, model.q.domain)

    after = np.sum(model.q.domain, axis="IJ")
    drift = float(np.max(np.abs(after / before - 1.0)))
    peak = np.max(model.q.domain, axis="IJ")
    print(
        f"{steps} steps on {backend}: tracer kept to {drift:.1e}, peak {peak[0]:.3f} below,"
        f" {peak[-1]:.3f} above"
    )

    result = gbx.to_dataarray(model.q.domain, like=data["tracer"], axes=AXES, name="tracer")
    print(
        f"as a DataArray: {dict(result.sizes)}, mean at the equator"
        f" {float(result.sel(lat=0.0).mean()):.4f}"
    )
    return result


if __name__ == "__main__":
    main(*sys.argv[1:2])
