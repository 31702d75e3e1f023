"""Where the Brunt-Vaisala frequency of a real atmosphere does not exist: docs/failed_points.png.

    python examples/gufunc_failed_points.py [--output docs/failed_points.png]

N = sqrt(g/theta * dtheta/dz) fails where the air is unstable. The field is the Met Office's
potential temperature from iris-sample-data; matplotlib and netCDF4 are needed besides.
"""

import argparse
from pathlib import Path

import iris_sample_data
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import netCDF4
import numpy as np

from gridbuf import gufunc

LEVEL = 8


def stability() -> np.ndarray:
    """N squared between the model levels, in 1/s2."""
    with netCDF4.Dataset(Path(iris_sample_data.path) / "hybrid_height.nc") as file:
        theta, height, sigma, surface = (
            np.asarray(file[name][:], float)
            for name in ("air_potential_temperature", "level_height", "sigma", "surface_altitude")
        )
    z = height[:, None, None] + sigma[:, None, None] * surface
    return 9.81 / theta[:-1] * np.diff(theta, axis=0) / np.diff(z, axis=0)


def draw(output: Path) -> None:
    """N at one level, its failed points, and how many fail at each level."""
    try:
        gufunc.sqrt(stability())
        raise SystemExit("every point is stable: there is nothing to draw")
    except gufunc.PartialSuccess as error:
        n, failed, message = error.results, error.failed, str(error)
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=[1.15, 1, 0.8]
    )
    image = left.imshow(np.ma.array(n[LEVEL], mask=failed[LEVEL]), origin="lower", cmap="viridis")
    figure.colorbar(image, ax=left, label="N in 1/s")
    for axes in (left, middle):
        axes.set_xlabel("grid point")
    left.set_title(f"results, level {LEVEL} (blank: failed)")
    middle.imshow(failed[LEVEL], origin="lower", cmap="Reds", vmin=0, vmax=1.2)
    middle.set_title(f"failed: {failed[LEVEL].sum()} of {failed[LEVEL].size}")
    right.barh(np.arange(len(failed)), failed.mean(axis=(1, 2)) * 100, color="firebrick")
    right.set_xlabel("failed points in %")
    right.set_ylabel("level")
    right.set_title("unstable air, by level")
    figure.suptitle(message, fontsize=10, family="monospace")
    figure.savefig(output, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent.parent / "docs" / "failed_points.png"
    )
    draw(parser.parse_args().output)
