"""The picture of the demo's last part: the field with the blocks that the processes had, and the
points that they exchange.
"""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

from gridbuf.demo.blocks import HALO

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle


def draw(path: Path, weather: Any, result: NDArray[np.float64], grid: Any, how: str) -> None:
    """Write the picture.

    Parameters
    ----------
    path : Path
        A PNG.
    weather : Weather
        What the field is.
    result : ndarray
        It, in I, J, K order, rim included.
    grid : Grid
        With the blocks.
    how : str
        What had them.
    """
    figure, axes = plt.subplots(figsize=(8, 7.2), dpi=120, facecolor="white")
    level = result[:, :, 0].T
    low, high = np.percentile(level, (0.5, 99.5))
    # Cell i of the domain reaches from i to i + 1; the rim lies around it.
    edges = [np.arange(-HALO, n - HALO + 1) for n in result.shape[:2]]
    image = axes.pcolormesh(
        edges[0], edges[1], level, cmap="inferno", vmin=low, vmax=high, rasterized=True
    )
    for block in grid.all_blocks():
        (i, j), (end, top) = block.start, block.stop
        axes.add_patch(
            Rectangle((i, j), end - i, top - j, fill=False, edgecolor="white", linewidth=2.4)
        )
        around = (i - HALO, j - HALO), end - i + 2 * HALO, top - j + 2 * HALO
        axes.add_patch(
            Rectangle(*around, fill=False, edgecolor="white", linewidth=1.0, linestyle=(0, (4, 3)))
        )
        axes.text(
            (i + end) / 2,
            (j + top) / 2,
            f"{block.number}\n{end - i} x {top - j}",
            color="white",
            ha="center",
            va="center",
            fontsize=15,
            weight="bold",
        )
    axes.set_aspect("equal")
    axes.set_xlabel("I")
    axes.set_ylabel("J")
    axes.set_title(f"Diffused on {how}", loc="left", fontsize=12, weight="bold")
    figure.colorbar(image, ax=axes, pad=0.02, shrink=0.9).ax.set_title(weather.units, fontsize=10)
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)
