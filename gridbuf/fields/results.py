"""New Fields for results: laid out as their operands are."""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.fields.operands import names_of
from gridbuf.fields.resolving import Resolution
from gridbuf.like import of_class
from gridbuf.names import canonical
from gridbuf.strides import slowest_first

Field = _core.Field


def _slowest_first(lead: _core.Field, resolution: Resolution, ndim: int) -> tuple[int, ...]:
    """The indices of a result, the one with the largest stride first, as they lie in `lead`."""
    names, own = resolution.names, names_of(lead)
    if names is None and resolution.defaults is not None:  # some of lead's own indices
        names, own = resolution.defaults, lead.dims
    order = slowest_first(lead.strides)
    if names is None or own is None:
        missing = list(range(max(ndim - lead.ndim, 0)))
        kept = [i + ndim - lead.ndim for i in order if i + ndim - lead.ndim >= 0]
        return (*missing, *kept)
    if set(names) <= set(own):
        return tuple(names.index(own[i]) for i in order if own[i] in names)
    # No operand knows where all indices belong. Data dimensions are slowest; I, J, K go as they do
    # in lead.
    letters = [own[i] for i in order if own[i] in "IJK"]
    backwards = len(letters) > 1 and letters[-1] == min(letters)
    wanted = canonical(names)
    spatial = [name for name in wanted if name in "IJK"]
    return tuple(
        names.index(n)
        for n in (
            *(n for n in wanted if n not in "IJK"),
            *(spatial[::-1] if backwards else spatial),
        )
    )


def lead_of(operands: tuple[Any, ...], names: tuple[str, ...] | None) -> _core.Field:
    """The Field that a result takes after: the first that has all of its names, else the first."""
    fields = [obj for obj in operands if isinstance(obj, Field)]
    return next(
        (f for f in fields if names is not None and set(names) == set(names_of(f) or ())), fields[0]
    )


def new(lead: _core.Field, resolution: Resolution, dtype: "np.dtype[Any]") -> _core.Field:
    """New memory where lead's is, with the class and the attributes of lead."""
    ndim = len(resolution.shape)
    names = resolution.names or resolution.defaults or (lead.dims if lead.ndim == ndim else None)
    spec: dict[str, Any] = {"halo": resolution.halo, "origin": resolution.origin, "dims": names}
    order = _slowest_first(lead, resolution, ndim)
    spec["layout"] = tuple(order.index(i) for i in range(ndim))
    if lead._own_plan is not None:
        plan = lead._own_plan
        spec["byte_alignment"] = plan.byte_alignment & -plan.byte_alignment
        fastest = plan.layout.index(plan.ndim - 1) if plan.ndim else -1
        if (
            ndim
            and fastest >= 0
            and plan.shape[fastest] < plan.padded_shape[fastest]
            and plan.shape[fastest] == resolution.shape[order[-1]]
        ):
            spec["padding"] = plan.padded_shape[fastest]
        spec["memory"] = plan.memory
    if isinstance(lead, _core.DeviceField):
        spec["device"] = lead.device
    made = Field.empty(resolution.shape, dtype, **{k: v for k, v in spec.items() if v is not None})
    made._dims_given = resolution.names is not None
    return of_class(lead, made)
