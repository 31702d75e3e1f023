"""The pictures: the field before and after, how it lies in memory, and what that is worth; and the
field with the blocks that the processes had.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from numpy.typing import NDArray

from demo.measure import GRIDBUF, GT4PY, PLAIN, Score
from demo.stencils import HALO
from gridbuf.explain import picture

matplotlib.use("Agg")

INK, FAINT = "#1f2937", "#6b7280"
BAR_COLORS = {
    GRIDBUF: picture.COLORS["domain"],
    GT4PY: picture.COLORS["halo"],
    PLAIN: picture.COLORS["padding"],
}
STYLE: Any = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
}


def draw(
    path: Path,
    weather: Any,
    before: Any,
    after: Any,
    scores: Sequence[Score],
    shape: Sequence[int],
    *,
    steps: int,
    backend: str,
) -> None:
    """Write the picture.

    Parameters
    ----------
    path : Path
        A PNG.
    weather : Weather
        What the axes of the field mean.
    before, after : ndarray
        The real field, in I, J, K order.
    scores : sequence of Score
        From the larger grid, of this shape.
    backend : str
        Whose layout is drawn beside the plain array's.
    """
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(15, 11.4), dpi=120, facecolor="white")
        rows = figure.add_gridspec(
            3,
            1,
            height_ratios=(4.6, 3.7, 1.0),
            hspace=0.3,
            left=0.055,
            right=0.975,
            top=0.885,
            bottom=0.06,
        )
        _maps(figure, rows[0], weather, before, after, steps)
        middle = rows[1].subgridspec(1, 3, width_ratios=(1, 1, 1.25), wspace=0.28)
        plain = next(s for s in scores if s.kind == PLAIN)
        ours = next(s for s in scores if s.kind == GRIDBUF and s.backend == backend)
        _box(figure.add_subplot(middle[0]), plain.plan, "A plain C-ordered array")
        _box(figure.add_subplot(middle[1]), ours.plan, f"gridbuf, for {ours.backend}")
        _bars(figure.add_subplot(middle[2]), scores, shape)
        _strip(figure.add_subplot(rows[2]), ours.plan)
        figure.text(
            0.055,
            0.957,
            "gridbuf: the right memory layout for a stencil program",
            fontsize=19,
            weight="bold",
        )
        what = (
            "One gt4py stencil, the same values, the same results. Only the order of the numbers in"
            " memory differs."
        )
        figure.text(0.055, 0.932, what, fontsize=11.5, color=FAINT)
        figure.savefig(path)
        plt.close(figure)


# ---- the field ----


def _maps(figure: Figure, cell: Any, weather: Any, before: Any, after: Any, steps: int) -> None:
    level = 0  # near the ground the field is roughest
    columns = cell.subgridspec(1, 3, wspace=0.16)
    first, last = before[:, :, level].T, after[:, :, level].T
    change, (low, high) = last - first, np.percentile(first, (0.5, 99.5))
    largest = float(np.abs(change).max())
    height, unit = weather.heights[level], weather.units
    panels = (
        (
            first,
            f"{weather.name.replace('_', ' ').capitalize()}, {height:.0f} m up",
            "inferno",
            low,
            high,
        ),
        (last, f"After {steps} steps of diffusion, the rim held", "inferno", low, high),
        (change, "The difference", "RdBu_r", -largest, largest),
    )
    for column, (values, title, colors, bottom, top) in enumerate(panels):
        axes = figure.add_subplot(columns[column])
        image = axes.pcolormesh(
            weather.longitudes,
            weather.latitudes,
            values,
            cmap=colors,
            vmin=bottom,
            vmax=top,
            shading="nearest",
            rasterized=True,
        )
        axes.set_title(title, loc="left", fontsize=11, weight="bold")
        axes.set_aspect("equal")
        axes.set_xlabel("rotated longitude in degrees (I)")
        if column == 0:
            axes.set_ylabel("rotated latitude in degrees (J)")
        figure.colorbar(image, ax=axes, pad=0.02, shrink=0.89).ax.set_title(unit, fontsize=10)


# ---- the layout ----


def _pairs(plan: Any) -> tuple[tuple[int, int], ...]:
    return tuple((HALO, HALO) if name in "IJ" else (0, 0) for name in plan.dims)


def _box(axes: Axes, plan: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, weight="bold")
    axes.set_axis_off()
    axes.set_aspect("equal")
    drawn = picture.box(plan, _pairs(plan))
    assert drawn is not None  # these plans have three indices
    for patch in drawn.patches:
        axes.add_patch(
            Polygon(
                patch.corners,
                facecolor=picture.COLORS["domain"],
                alpha=0.18 + 0.72 * (1 - patch.position),
                linewidth=0,
            )
        )
        axes.add_patch(Polygon(patch.corners, fill=False, edgecolor=INK, alpha=0.35, linewidth=0.7))
    for outline in drawn.outlines:
        axes.add_patch(
            Polygon(
                outline,
                fill=False,
                edgecolor=picture.COLORS["halo"],
                linewidth=1.6,
                linestyle=(0, (4, 3)),
            )
        )
    for axis, (x0, y0), (x1, y1) in drawn.arrows:
        fast = axis == drawn.fastest
        axes.annotate(
            "",
            (x1, y1),
            (x0, y0),
            arrowprops={
                "arrowstyle": "-|>",
                "color": INK,
                "lw": 2.4 if fast else 1,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
        words = f"{plan.dims[axis]}: {plan.strides[axis]:,} bytes apart"
        style: dict[str, Any] = {"weight": "bold" if fast else "normal", "fontsize": 9.5}
        if x0 == x1:
            axes.text(
                x0 - 0.05,
                (y0 + y1) / 2,
                words.replace(": ", ":\n", 1),
                ha="right",
                va="center",
                **style,
            )
        elif y1 > y0:
            axes.text(
                (x0 + x1) / 2 + 0.07,
                (y0 + y1) / 2 - 0.02,
                words.replace(" bytes", "\nbytes"),
                ha="left",
                va="top",
                **style,
            )
        else:
            axes.text(
                (x0 + x1) / 2 - 0.2, (y0 + y1) / 2 - 0.09, words, ha="center", va="top", **style
            )
    note = (
        f"each bar: one row along {plan.dims[drawn.fastest]}\nstrong to faint: first to last in"
        " memory\ndashed: the domain inside the halo"
    )
    axes.text(-0.72, -0.52, note, ha="left", va="top", fontsize=8.5, color=FAINT, linespacing=1.4)
    axes.set_xlim(-0.72, 1.95)
    axes.set_ylim(-0.85, 1.45)


def _strip(axes: Axes, plan: Any) -> None:
    cells = picture.row(plan, _pairs(plan), limit=34)
    assert cells is not None
    name, step = plan.dims[cells.fastest], plan.strides[cells.fastest]
    axes.set_title(
        f"The start and the end of a row along {name}, as gridbuf lays it out: the domain's first"
        f" element sits on a {plan.byte_alignment}-byte boundary",
        loc="left",
        fontsize=11,
        weight="bold",
    )
    axes.set_axis_off()
    lead = min(cells.lead_nbytes / step, 8.0)
    axes.add_patch(Rectangle((0, 0), lead, 1, fill=False, edgecolor=FAINT, linestyle=":"))
    axes.text(
        lead / 2,
        0.5,
        f"{cells.lead_nbytes} bytes",
        ha="center",
        va="center",
        fontsize=8.5,
        color=FAINT,
    )
    boundaries, x = [(0.0, False)] if lead else [], lead
    for cell in cells.cells:
        if cell.index is None:
            axes.text(x + 0.5, 0.5, "...", ha="center", va="center")
        else:
            axes.add_patch(
                Rectangle(
                    (x, 0),
                    1,
                    1,
                    facecolor=picture.COLORS[cell.kind],
                    alpha=0.75,
                    edgecolor="white",
                    linewidth=1.2,
                )
            )
            axes.text(
                x + 0.5,
                0.5,
                str(cell.index),
                ha="center",
                va="center",
                fontsize=8,
                color="white" if cell.kind != "padding" else INK,
            )
        if cell.on_boundary:
            boundaries.append((x, cell.index == plan.aligned_index[cells.fastest]))
        x += 1
    for at, aligned in boundaries:
        axes.plot(
            (at, at),
            (-0.3, 1.3),
            color=picture.COLORS["boundary"],
            linewidth=2.6 if aligned else 1.1,
            solid_capstyle="butt",
        )
    kinds = dict.fromkeys(cell.kind for cell in cells.cells if cell.index is not None)
    legend: list[Artist] = [
        Rectangle((0, 0), 1, 1, facecolor=picture.COLORS[kind], alpha=0.75, label=kind)
        for kind in kinds
    ]
    legend.append(
        Line2D(
            [],
            [],
            color=picture.COLORS["boundary"],
            linewidth=2,
            label=f"{plan.byte_alignment}-byte boundary",
        )
    )
    axes.legend(
        handles=legend,
        loc="upper left",
        bbox_to_anchor=(0, 0.02),
        ncols=5,
        frameon=False,
        fontsize=9,
        borderaxespad=0,
    )
    axes.set_xlim(-0.2, x + 0.2)
    axes.set_ylim(-0.4, 1.4)


# ---- what it is worth ----


def _bars(axes: Axes, scores: Sequence[Score], shape: Sequence[int]) -> None:
    backends = list(dict.fromkeys(s.backend for s in scores))
    kinds = (PLAIN, GT4PY, GRIDBUF)
    for score in sorted(scores, key=lambda s: kinds.index(s.kind)):
        y = backends.index(score.backend) + 0.27 * (kinds.index(score.kind) - 1)
        axes.barh(
            y,
            score.ms_per_step,
            height=0.25,
            color=BAR_COLORS[score.kind],
            label=score.kind if score.backend == backends[0] else None,
        )
        faster = (
            f"   {score.speedup:.1f} times as fast"
            if score.kind != PLAIN and score.speedup >= 1.1
            else ""
        )
        axes.text(
            score.ms_per_step,
            y,
            f" {score.ms_per_step:.3g}{faster}",
            va="center",
            fontsize=8,
            color=INK,
            weight="bold" if faster else "normal",
        )
    axes.set_xlim(0, max(s.ms_per_step for s in scores) * 1.12)
    axes.set_yticks(range(len(backends)), backends, color=INK, fontsize=9.5)
    axes.invert_yaxis()
    axes.set_title(
        f"Milliseconds per step, {' x '.join(map(str, shape))} float64",
        loc="left",
        fontsize=12,
        weight="bold",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(-0.02, -0.07),
        ncols=3,
        frameon=False,
        fontsize=9,
        columnspacing=1.2,
    )


def draw_bars(path: Path, scores: Sequence[Score], shape: Sequence[int]) -> None:
    """Write the bars alone: a picture that a telephone's screen shows."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5.6, 4.6), dpi=150, facecolor="white")
        _bars(axes, scores, shape)
        figure.savefig(path, bbox_inches="tight")
        plt.close(figure)


# ---- the blocks ----


def draw_blocks(path: Path, weather: Any, result: NDArray[np.float64], grid: Any, how: str) -> None:
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
