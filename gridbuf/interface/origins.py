"""Which origin each field of a call has."""

import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gridbuf.names import canonical, get_dims, get_origin
from gridbuf.validation import mapping


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
