"""Which fields may be exchanged over which seams: what every rank can see is refused on every rank,
before anything is sent.
"""

from collections.abc import Sequence

from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.binding import Sources, has_sign
from gridbuf.distributed.plans.layouts import POSITIONS, Bound


def check(builder: LinkBuilder, bounds: Sequence[Bound], source: Sources, bound: Bound) -> None:
    """Hold one of the fields of a plan against the seams of the grid."""
    names = builder.whole.names
    axes, positions = bound.geometry.axes, bound.geometry.positions
    if not builder.straight:
        builder.check_width(bound.geometry, bound.name)
    item = source.item
    if item.kind != "scalar":
        for f in source.fields:
            compare(bound, bounds[f], item.kind)
    for where, how in () if builder.straight else builder.crossings(axes):
        if item.kind != "scalar" and how.axes.index(source.component) > 1:
            raise ValueError(
                f"{bound.name}: {where} turns {names[source.component]} into"
                f" {names[how.axes.index(source.component)]}, and a {item.kind} has components"
                f" along {names[0]} and {names[1]} alone"
            )
        signed = item.kind == "vector" or (item.sign < 0 and how.turns_back)
        if signed and not has_sign(bound.dtype):
            raise ValueError(
                f"{bound.name}: {bound.dtype} has no sign, and {where} needs one; use gbd.pair, or"
                " a scalar without sign"
            )
        if signed and not {0, 1} <= set(axes):
            raise ValueError(
                f"{bound.name}: it has only the dims {bound.dims}, and {where} changes its sign"
                " along two"
            )
        for a in axes:
            if not how.turns:
                continue
            came = (
                bounds[source.fields[component(source, how.axes.index(source.component))]]
                if item.kind != "scalar"
                else bound
            )
            there = dict(zip(came.geometry.axes, came.geometry.positions, strict=True))
            if there[a] != positions[axes.index(how.axes[a])]:
                raise ValueError(
                    f"{bound.name}: {where} turns its axes, and its points, at"
                    f" {described(bound, names)}, come from {came.name}, at"
                    f" {described(came, names)}: they do not fit"
                )


def component(source: Sources, axis: int) -> int:
    return axis if axis < 2 else source.component


def described(bound: Bound, names: Sequence[str]) -> str:
    return ", ".join(
        f"{POSITIONS[p]}s of {names[a]}"
        for a, p in zip(bound.geometry.axes, bound.geometry.positions, strict=True)
    )


def compare(a: Bound, b: Bound, kind: str) -> None:
    """The two fields of a vector or a pair can stand for each other."""
    for what, ours, theirs in (
        ("dtype", a.dtype, b.dtype),
        ("dims", sorted(a.dims), sorted(b.dims)),
        ("sizes", sorted(a.extra), sorted(b.extra)),
    ):
        if ours != theirs:
            raise ValueError(
                f"{a.name}: its {what} is {ours}, that of {b.name} {theirs}; the two of a {kind}"
                " have the same"
            )
