"""Checks of a plan: the fields that may be exchanged over the seams of the grid, and memory that is
given twice.

Errors that every rank can see are raised on every rank, before anything is sent. Memory given twice
is harmless where both fields are filled alike, and refused otherwise.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.binding import Binding, has_sign
from gridbuf.distributed.plans.layouts import POSITIONS, Bound
from gridbuf.distributed.plans.vectors import Sources


def check(builder: LinkBuilder, bounds: Sequence[Bound], source: Sources, bound: Bound) -> None:
    """Check one field of a plan against the seams of the grid."""
    names = builder.whole.names
    axes, positions = bound.geometry.axes, bound.geometry.positions
    if not builder.straight:
        builder.check_width(bound.geometry, bound.name)
    item = source.item
    if item.kind != "scalar":
        for f in source.fields:
            compare(bound, bounds[f], item.kind)
    for where, rule in builder.rules.items():
        alone = rule.source is None
        if rule.sign < 0 and (alone or item.kind == "vector") and not has_sign(bound.dtype):
            raise ValueError(f"{bound.name}: {bound.dtype} has no sign, and {where} changes it")
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
    """Refuse a vector or a pair of fields that cannot stand for each other."""
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


EFFORT: Any = 10_000  # NumPy's effort to decide whether interleaved views share an element


def check_same(binding: Binding, flat: Sequence[Any]) -> None:
    """Refuse an object that stands for two fields under different rules."""
    seen: dict[int, int] = {}
    for slot, each in enumerate(flat):
        first = seen.setdefault(id(each), slot)
        if first == slot:
            continue
        a, b = first // binding.count, slot // binding.count
        if first % binding.count != slot % binding.count:
            raise ValueError(f"{binding.bounds[b].name}: one Field is given for two blocks")
        ours, theirs = binding.sources[a], binding.sources[b]
        alike = (ours.item.kind, ours.item.sign, ours.component) == (
            theirs.item.kind,
            theirs.item.sign,
            theirs.component,
        )
        partners = [
            [id(flat[f * binding.count + slot % binding.count]) for f in each.fields]
            for each in (ours, theirs)
        ]
        if not binding.plain and not (alike and partners[0] == partners[1]):
            raise ValueError(
                f"{binding.bounds[b].name}: the same Field as {binding.bounds[a].name}, in"
                " another item; its halo would be filled in two ways"
            )


def shared(a: Any, b: Any) -> bool:
    """Whether two arrays have an element in common. Interleaved views whose overlap NumPy cannot
    decide quickly count as different.
    """
    if not np.may_share_memory(a, b):
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=EFFORT))
    except np.exceptions.TooHardError:
        return False


class OnGPU:
    """The address of a Field of a GPU, for comparisons of addresses."""

    def __init__(self, field: _core.DeviceField) -> None:
        known = getattr(field, "__cuda_array_interface__", None)  # not every dtype has one
        self.__array_interface__ = (
            {"shape": (0,), "typestr": "|u1", "data": (1, True), "version": 3}
            if known is None
            else known
        )


def memory_of(field: _core.Field) -> Any:
    """An array at the addresses of a Field; memory of a GPU is not read."""
    return np.asarray(OnGPU(field)) if isinstance(field, _core.DeviceField) else field.numpy()


def check_shared(binding: Binding, flat: Sequence[_core.Field]) -> None:
    """Refuse different Fields that have elements in common: one may have to send the points that
    the other receives.
    """
    arrays = [memory_of(field) for field in flat]
    for (i, a), (j, b) in combinations(enumerate(arrays), 2):
        if flat[i] is not flat[j] and shared(a, b):
            names = [binding.bounds[slot // binding.count].name for slot in (i, j)]
            raise ValueError(
                f"{names[1]}: it shares memory with {names[0]}; each field of an exchange has"
                " its own"
            )


def check_apart(filled: tuple[str, Sequence[_core.Field]], read: tuple[str, Sequence[Any]]) -> None:
    """Refuse to fill points that are read meanwhile, or that two blocks would fill."""
    name, fields = filled
    arrays = [field.numpy() for field in fields]
    if any(shared(a, b) for a, b in combinations(arrays, 2)):
        raise ValueError(f"{name}: two of its blocks share memory")
    if any(shared(a, np.asarray(b)) for a in arrays for b in read[1]):
        raise ValueError(
            f"{name}: it shares memory with {read[0]}, which is read while it is filled"
        )
