"""Where a stencil computes: the origin of each field, the domain that halos, origins and sizes
leave, and which fields are broadcast to it.
"""

import operator
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from numpy.lib.stride_tricks import as_strided

from gridbuf import _core
from gridbuf.names import canonical, get_dims, get_origin
from gridbuf.validation import mapping

# ---- origins ----


def resolve_origins(
    fields: Mapping[str, Any], origin: Any = None, dims: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, tuple[int, ...]]:
    """The origin of each field, in the order I, J, K, 0, 1, ...

    Parameters
    ----------
    fields : mapping
        Name to object.
    origin : mapping or sequence of int, optional
        An entry of the field's name wins; then "_all_" or a sequence, of which the entries
        for the field's axes are taken, with zeros for its data dimensions; then the object's
        `__gt_origin__`; then zeros.
    dims : mapping, optional
        The annotation of each field, for objects that do not name their indices.

    Returns
    -------
    dict
        Name to origin, a tuple of int.

    Raises
    ------
    TypeError
        When origin is neither a mapping nor a sequence.
    ValueError
        When an entry names no field, or has not one int for each of the field's axes.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interface
    >>> a, b = gb.Field.zeros((4, 4), dims="IJ", halo=(1, 1)), gb.Field.zeros((4,), dims="K")
    >>> gridbuf.interface.resolve_origins({"a": a, "b": b})
    {'a': (1, 1), 'b': (0,)}
    >>> gridbuf.interface.resolve_origins({"a": a, "b": b}, {"_all_": (2, 2, 1), "a": (0, 0)})
    {'a': (0, 0), 'b': (1,)}
    """
    mapping(fields, "fields", "names and fields")
    annotations = mapping({} if dims is None else dims, "dims", "names and annotations")
    if origin is None:
        given: dict[str, Any] = {}
    elif isinstance(origin, Mapping):
        given = {str(name): value for name, value in origin.items()}
    elif isinstance(origin, Sequence) and not isinstance(origin, str):
        given = {"_all_": origin}
    else:
        raise TypeError(f"origin: expected a map, a sequence of ints or None, got {origin!r}")
    unknown = sorted(set(given) - set(fields) - {"_all_"})
    if unknown:
        raise ValueError(
            f"origin: {', '.join(unknown)} is not among the fields {', '.join(fields)}"
        )
    return {name: _origin(name, obj, given, annotations.get(name)) for name, obj in fields.items()}


def _ints(entry: Any, of: str) -> tuple[int, ...]:
    if not isinstance(entry, set | frozenset | Mapping):
        with suppress(TypeError):
            return tuple(map(operator.index, entry))
    raise TypeError(f"origin: expected a sequence of ints for {of}, got {entry!r}")


def _origin(name: str, obj: Any, given: dict[str, Any], annotation: Any) -> tuple[int, ...]:
    names = get_dims(obj, annotation)
    if names is None:
        shape = getattr(obj, "shape", ())
        names = tuple("IJK"[: len(shape)]) + tuple(str(i) for i in range(max(len(shape) - 3, 0)))
    names = canonical(names)
    spatial = [axis for axis in names if axis in "IJK"]
    if name in given:
        own = _ints(given[name], name)
        if len(own) == len(spatial):
            own += (0,) * (len(names) - len(own))
        if len(own) != len(names):
            raise ValueError(
                f"origin: {own} for {name} has {len(own)} entries, its axes are {names}"
            )
        return own
    if "_all_" in given:
        every = _ints(given["_all_"], "all fields")
        if len(every) != 3:
            raise ValueError(
                f"origin: {every} for all fields must have an entry for each of I, J and K"
            )
        return tuple(every["IJK".index(axis)] for axis in spatial) + (0,) * (
            len(names) - len(spatial)
        )
    carried = get_origin(obj)
    if carried is not None and len(carried) != len(names):
        raise ValueError(f"origin: {name} carries {carried}, its axes are {names}")
    return (0,) * len(names) if carried is None else carried


# ---- domains ----


Sizes = tuple[int, ...]
Extent = tuple[tuple[int, int], ...]  # per axis, how far beyond the domain a stencil reads


class Sizing:
    """A field of a call: its sizes and origin in the order of its axes, its halo, and the
    extent that the stencil reads.
    """

    __slots__ = ("axes", "boundary", "halo", "name", "origin", "output", "shape", "told")

    def __init__(
        self,
        name: str,
        info: Any,
        shape: Sizes,
        origin: Sizes,
        halo: Any,
        *,
        output: bool,
        told: bool,
    ) -> None:
        self.name = name
        self.shape = shape
        self.origin = origin
        self.halo = halo
        self.output = output
        self.told = told  # the caller gave its origin
        self.axes: tuple[str, ...] = tuple(info.axes)
        self.boundary: Extent = tuple(tuple(info.boundary["IJK".index(axis)]) for axis in self.axes)

    def spans(self, i: int) -> bool:
        """Whether it has one element along the axis that stands for all: a size of 1 counts as
        missing.
        """
        return self.shape[i] == 1 and self.origin[i] == 0


def halo_of(obj: Any) -> list[tuple[int, int]] | None:
    """The halo of a storage or Field in the order I, J, K; None where it has none."""
    halo: Any = (
        getattr(obj, "halo", None) if isinstance(obj, (_core.StorageBase, _core.Field)) else None
    )
    dims = get_dims(obj)
    if halo is None or dims is None:
        return None
    return [halo[dims.index(axis)] for axis in "IJK" if axis in dims]


class DomainWarning(UserWarning):
    """Fields of a call have domains of different sizes, and only what they have in common is
    computed.
    """


def find_domain(
    fields: list[Sizing], given: Any, halos_count: bool, stacklevel: int = 2
) -> tuple[int, int, int]:
    """The domain: what was given, else the points in every field's domain; an axis that no field
    has is of size 1.
    """
    for field in fields:
        if not field.told:
            _check_reach(field)
    if given is not None:
        return given  # type: ignore[no-any-return]
    size: dict[str, int] = {}
    least: dict[str, str] = {}
    for broadcast in (False, True):
        for field in fields:
            for i, axis in enumerate(field.axes):
                if field.spans(i) is not broadcast or (
                    broadcast and axis in size and not _own_axis(size, axis)
                ):
                    continue
                high = field.halo[i][1] if halos_count and field.halo else 0
                own = field.shape[i] - field.origin[i] - max(field.boundary[i][1], high)
                if own < size.get(axis, own + 1):
                    size[axis], least[axis] = own, field.name
    for axis, points in size.items():
        if points < 1:
            raise ValueError(
                f"domain: {least[axis]} leaves no point along {axis}: its size without halo and"
                f" points read beyond the domain is {points}"
            )
    found = size.get("I", 1), size.get("J", 1), size.get("K", 1)
    if halos_count:
        _warn_of_extents(fields, found, stacklevel + 1)
    return found


def _warn_of_extents(fields: list[Sizing], found: Sizes, stacklevel: int) -> None:
    """Warn of fields that differ in their points inside the halo, whatever a stencil reads; a size
    of 1 that stands for all points says nothing.
    """
    for n, axis in enumerate("IJK"):
        own = {
            field.name: field.shape[i] - field.origin[i] - (field.halo[i][1] if field.halo else 0)
            for field in fields
            for i in [field.axes.index(axis) if axis in field.axes else -1]
            if i >= 0 and not field.spans(i)
        }
        if len(set(own.values())) > 1:
            points = ", ".join(f"{name} has {count}" for name, count in own.items())
            warnings.warn(
                f"domain: along {axis} {points} points inside its halo, and {found[n]} are"
                " computed; domain= chooses the points",
                DomainWarning,
                stacklevel=stacklevel,
            )
            return


def _own_axis(size: Mapping[str, int], axis: str) -> bool:
    """Whether only fields of size 1 have spoken of the axis."""
    return size[axis] <= 1


def _check_reach(field: Sizing) -> None:
    for axis, size, origin, (lower, _), i in zip(
        field.axes, field.shape, field.origin, field.boundary, range(3), strict=False
    ):
        if origin >= lower or size == 1:
            continue
        carries = (
            f"its halo is {field.halo[i]} along {axis}"
            if field.halo and any(field.halo[i])
            else f"it carries no halo along {axis}"
        )
        points = "1 point" if lower == 1 else f"{lower} points"
        raise ValueError(
            f"{field.name}: {carries}, and the stencil reads {points} beyond the domain there; give"
            " it a halo, or say origin= and domain="
        )


def broadcast_shape(field: Sizing, domain: Sizes) -> Sizes | None:
    """The shape to broadcast the field to, None where it is as it must be; an output cannot be."""
    wanted = list(field.shape)
    for i, axis in enumerate(field.axes):
        lower, upper = field.boundary[i]
        needed = domain["IJK".index(axis)] + lower + upper
        if needed == 1 or not field.spans(i):
            continue
        if field.output:
            raise ValueError(
                f"{field.name}: its size is 1 along {axis}, the domain's"
                f" {domain['IJK'.index(axis)]}; only what is read is broadcast"
            )
        wanted[i] = needed
    return None if tuple(wanted) == field.shape else tuple(wanted)


def check_room(field: Sizing, shape: Sizes, domain: Sizes) -> None:
    """ValueError where a frozen stencil, which looks at nothing, would read or write beyond the
    field.
    """
    for axis, size, origin, (lower, upper) in zip(
        field.axes, shape, field.origin, field.boundary, strict=False
    ):
        first, end = origin - lower, origin + domain["IJK".index(axis)] + upper
        if first < 0 or end > size:
            raise ValueError(
                f"{field.name}: its size is {size} along {axis}, the frozen stencil takes the"
                f" points from {first} to {end - 1}"
            )


def repeated(array: Any, shape: Sizes) -> Any:
    """The array broadcast to the shape. Not read-only, as np.broadcast_to has it: gt4py's compiled
    stencils refuse that for what they read, too.
    """
    strides = tuple(
        0 if own != size else stride
        for own, size, stride in zip(array.shape, shape, array.strides, strict=True)
    )
    return as_strided(array, shape, strides)
