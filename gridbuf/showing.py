"""Fields for a person: text with values and statistics, HTML for a notebook, and plots."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gridbuf import _core
from gridbuf.names import joined
from gridbuf.validation import integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THRESHOLD = 200  # items beyond which text shows the corners alone
FEW = 1000  # items of a GPU's memory that are copied to be shown


def short(self: _core.Field) -> str:
    """One line: dims, shape, dtype, strides, origin, halo and memory."""
    names = joined(self.dims) if self._dims_given else "dims not given,"
    memory = self.plan.memory
    return (
        f"Field({names} {self.shape} {self.dtype}, strides={self.strides},"
        f" origin={self.origin}, halo={self.halo}, device={self.device!r}"
        + (f", memory={memory!r}" if memory else "")
        + (", readonly)" if self.readonly else ")")
    )


def values_text(field: _core.Field) -> str | None:
    """The values, large Fields by their corners; None for memory of a GPU that is not small."""
    if isinstance(field, _core.DeviceField):
        if field.size > FEW:
            return None
        array = field.to("cpu").numpy()
    else:
        array = field.numpy()
    edge = 2 if field.ndim > 2 else 3
    return np.array2string(array, threshold=THRESHOLD, edgeitems=edge)


def statistics_text(field: _core.Field) -> str | None:
    """Least, mean and greatest value of the domain, and how many are NaN; None where there is no
    order of values or the memory is a GPU's.
    """
    if isinstance(field, _core.DeviceField) or field.dtype.kind not in "iuf":
        return None
    domain = field.domain.numpy()
    if not domain.size:
        return None
    where, missing = "", 0
    if field.dtype.kind == "f":
        missing = int(np.isnan(domain).sum())
        if missing == domain.size:
            return f"domain of {domain.size:,} points: all are NaN"
        where = f", {missing:,} NaN" if missing else ""
    least, mean, greatest = (
        (np.nanmin(domain), np.nanmean(domain, dtype="f8"), np.nanmax(domain))
        if missing
        else (domain.min(), domain.mean(dtype="f8"), domain.max())
    )
    return (
        f"domain of {domain.size:,} points: least {least:.6g}, mean {mean:.6g},"
        f" greatest {greatest:.6g}{where}"
    )


def text(self: _core.Field) -> str:
    """The text of `print(field)`: its repr, values and statistics of the domain."""
    values = values_text(self)
    lines = [repr(self), f"{self.size:,} values on the GPU" if values is None else values]
    return "\n".join([*lines, *filter(None, [statistics_text(self)])])


def html(self: _core.Field) -> str:
    """The layout, drawn for a notebook, with the values to unfold beneath."""
    from html import escape

    from gridbuf import explain

    drawing = explain.html(self.plan, halo=self.halo, title="Field " + joined(self.dims))
    values, statistics = values_text(self), statistics_text(self)
    summary = escape(statistics or "values")
    if values is None:
        return drawing
    return (
        f'{drawing}<details style="font-size:12px"><summary>{summary}</summary>'
        f'<pre style="margin:4px 0">{escape(values)}</pre></details>'
    )


def plot(self: _core.Field, *, ax: "Axes | None" = None, **options: Any) -> Any:
    """Draw one line or one plane of the Field with matplotlib, its halo marked.

    The first of the two indices goes to the right, the second upwards: I and J make a map, I and K
    a section.

    Parameters
    ----------
    ax : matplotlib.axes.Axes, optional
        The axes to draw in; default those of a new figure.
    **options
        By the name of an index (`K=3`), the point at which to cut, counted from the first point of
        the array. Indices beyond the first two that are not given are cut where the domain begins.
        All others go to matplotlib's `pcolormesh` (a plane) or `plot` (a line). The colours of a
        plane span the values of the domain, unless `vmin`, `vmax` or `norm` is given.

    Returns
    -------
    matplotlib.collections.QuadMesh or matplotlib.lines.Line2D

    Raises
    ------
    TypeError
        For values that are no real numbers.
    ValueError
        For a Field without indices.
    IndexError
        For a point beyond the Field.
    ModuleNotFoundError
        Without matplotlib, which is loaded by this call.

    Examples
    --------
    >>> import gridbuf as gb
    >>> f = gb.Field.zeros((12, 10, 4), dims="IJK", halo=(2, 2, 0))
    >>> mesh = f.plot(K=3)  # doctest: +SKIP
    """
    if self.dtype.kind not in "biuf":
        raise TypeError(f"plot: values of {self.dtype} are no real numbers")
    if not self.ndim:
        raise ValueError("plot: the Field has one value and no index to draw it along")
    names = [str(name) for name in self.dims]
    foreign = next((n for n in options if (n.isupper() or n.isdigit()) and n not in names), None)
    if foreign:
        raise ValueError(f"{foreign}: the Field has the indices {', '.join(names)}")
    cuts = {name: integer(options.pop(name), name) for name in names if name in options}
    halos = self.halo or ((0, 0),) * self.ndim
    drawn = _drawn([name for name in sorted(names) if name not in cuts], cuts)
    key: list[Any] = []
    for name, (low, _), size in zip(names, halos, self.shape, strict=True):
        at = cuts.get(name, min(low, size - 1))
        if name not in drawn and not -size <= at < size:
            raise IndexError(f"{name}: {at} is beyond the {size} points of the Field")
        key.append(slice(None) if name in drawn else at)
        if name not in drawn:
            cuts[name] = at
    part = self[tuple(key)]
    if isinstance(part, _core.DeviceField):
        part = part.to("cpu")
    left = [name for name in names if name in drawn]
    values = part.numpy().transpose([left.index(name) for name in reversed(drawn)])
    halo = {name: pair for name, pair in zip(names, halos, strict=True) if name in drawn}
    made = _draw(ax, values, drawn, halo, options)
    made.axes.set_title(", ".join(f"{name} = {cuts[name]}" for name in names if name in cuts))
    return made


def _drawn(free: list[str], cuts: dict[str, Any]) -> list[str]:
    """The indices that are drawn: the first two that are not cut."""
    if not free:
        raise ValueError(f"plot: {', '.join(cuts)} cut every index; leave one or two to draw along")
    return free[:2]


def _draw(
    ax: Any, values: Any, names: list[str], halo: dict[str, Any], options: dict[str, Any]
) -> Any:
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(layout="constrained")
    sizes = dict(zip(names, reversed(values.shape), strict=True))
    inside = {name: (low - 0.5, sizes[name] - high - 0.5) for name, (low, high) in halo.items()}
    ax.set_xlabel(names[0])
    grey: dict[str, Any] = {"color": "tab:red", "linewidth": 1, "linestyle": "--"}
    if len(names) == 1:
        (made,) = ax.plot(values, **options)
        for edge, width in zip(inside[names[0]], halo[names[0]], strict=True):
            if width:
                ax.axvline(edge, **grey)
        return made
    limits = _limits(values, [halo[name] for name in reversed(names)])
    if not options.keys().isdisjoint(("norm", "vmin", "vmax")):
        limits = {}
    made = ax.pcolormesh(values, **{"shading": "nearest", **limits, **options})
    ax.figure.colorbar(made, ax=ax)
    ax.set_ylabel(names[1])
    if names == ["I", "J"]:
        ax.set_aspect("equal")
    if any(map(any, halo.values())):
        (left, right), (low, high) = (inside[name] for name in names)
        ax.plot([left, right, right, left, left], [low, low, high, high, low], **grey)
    return made


def _limits(values: Any, halo: list[tuple[int, int]]) -> dict[str, float]:
    """Limits of the colours by the domain: a halo that is not filled yet would wash it out."""
    inside = values[
        tuple(slice(low, n - high) for n, (low, high) in zip(values.shape, halo, strict=True))
    ]
    finite = inside[np.isfinite(inside)]
    return {"vmin": float(finite.min()), "vmax": float(finite.max())} if finite.size else {}
