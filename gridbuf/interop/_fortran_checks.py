"""What Fortran asks of memory; an error says which index is in the way, why, and what to do."""

from collections.abc import Sequence
from typing import Any, NoReturn

from gridbuf import _core
from gridbuf.interop._common import address, as_field, index_name

COPY = "a copy: field.to(backend='F', padding=False)"


def readable(array: Any, intent: str) -> _core.Field:
    """A Field over host memory that Fortran may read, and write unless the intent is "in"."""
    if intent not in ("in", "out", "inout"):
        raise ValueError(f"intent: {intent!r} is none of 'in', 'out', 'inout'")
    field = as_field(array, "array")
    if field.device != "cpu":
        raise ValueError(
            f"array: it is on {field.device}, and Fortran reads memory of the host; gridbuf.as_numpy(array) copies it there"
        )
    if field.readonly and intent != "in":
        raise ValueError(
            f"array: it is read-only, and intent({intent}) would write to it; pass intent='in' or a copy (field.copy())"
        )
    return field


def contiguous(field: _core.Field) -> None:
    """First index fastest, no gaps: what f2py takes without a copy."""
    expected = field.dtype.itemsize
    for i in range(field.ndim):
        if field.size and field.shape[i] > 1 and field.strides[i] != expected:
            _refuse(field, i, expected)
        expected *= field.shape[i]
    _aligned(field)


def declared_extents(field: _core.Field) -> tuple[int, ...]:
    """The extents of an explicit-shape declaration: those of the Field, larger where it has room between rows."""
    extents, units = list(field.shape), [field.dtype.itemsize]  # a unit is what the stride of an index must be
    for i in range(field.ndim if field.size else 0):
        stride, row = field.strides[i], _row(field, i)
        if field.shape[i] > 1 and stride != units[i]:
            if i == 0 or stride < units[i] or stride % units[row]:
                _refuse(field, i, units[i], extents)
            extents[row] = stride // units[row]
            units[i] = stride
        units.append(units[i] * extents[i])
    _aligned(field)
    return tuple(extents)


def _row(field: _core.Field, i: int) -> int:
    """The index before i whose extent Fortran would declare larger: one of a single element has no say in strides."""
    return next((j for j in reversed(range(i)) if field.shape[j] > 1), 0)


def whole_elements(field: _core.Field) -> None:
    """Strides in whole elements: compilers keep them so, and read other memory when they do not divide."""
    size = field.dtype.itemsize
    for i in range(field.ndim):
        if field.size and field.shape[i] > 1 and field.strides[i] % size:
            raise ValueError(
                f"array: {index_name(field, i)} has the stride {field.strides[i]}, no multiple of its {size} bytes an element, and "
                f"Fortran counts strides in elements: it would read other memory; {COPY}"
            )
    _aligned(field)


def _aligned(field: _core.Field) -> None:
    if field.size and not field.numpy().flags.aligned:
        raise ValueError(
            f"array: its elements lie at {address(field):#x}, which is no place for {field.dtype}: compiled code relies on it; {COPY}"
        )


def _refuse(field: _core.Field, i: int, expected: int, extents: Sequence[int] | None = None) -> NoReturn:
    """The most telling error about index i, the first whose stride is not Fortran's."""
    raise ValueError(
        f"array: {index_name(field, i)} has the stride {field.strides[i]}, {_reason(field, i, expected, extents or field.shape)}"
    )


def _reason(field: _core.Field, i: int, expected: int, extents: Sequence[int]) -> str:
    stride, item = field.strides[i], field.dtype.itemsize
    order = sorted((j for j in range(field.ndim) if field.shape[j] > 1), key=lambda j: (abs(field.strides[j]), j))
    if stride == 0:
        return f"so all its elements are one (a broadcast); {COPY}"
    if stride < 0:
        back = ", ".join("::-1" if field.strides[j] < 0 else ":" for j in range(field.ndim))
        return (
            f"so it runs backwards; turn it round (field[{back}]), pass it to an assumed-shape argument (descriptor), or {COPY}"
        )
    if stride % item:
        return f"no multiple of its {item} bytes an element; {COPY}"
    if order != sorted(order):
        names = (
            "".join(field.dims[j] for j in order) if all(len(dim) == 1 for dim in field.dims) else [field.dims[j] for j in order]
        )
        return (
            f"and Fortran needs {expected} there: in Fortran the first index is the fastest, here it is {index_name(field, order[0])}; "
            f"from fastest to slowest they are {names}: declare them in that order and pass field.transpose({_dims(field, order)!r}), or {COPY}"
        )
    if i == 0:
        gap = f"it has one element in {stride // item} of those in memory"
        return f"and Fortran needs {expected} there: {gap}; pass it to an assumed-shape argument (descriptor), or {COPY}"
    before = _row(field, i)
    row, unit = index_name(field, before), expected // max(extents[before], 1)
    if stride < expected or stride % unit:
        times = f"{stride / unit:g} times that of {row}, and Fortran's extents are whole numbers not below {field.shape[before]}"
        return f"{times}; pass it to an assumed-shape argument (descriptor), or {COPY}"
    room = f"{stride // unit} elements of room for {field.shape[before]} of {row}"
    return f"and without gaps it is {expected}: there are {room}; declare that extent (explicit), pass it to an assumed-shape argument (descriptor), or {COPY}"


def _dims(field: _core.Field, order: list[int]) -> Any:
    whole = order + [j for j in range(field.ndim) if j not in order]
    dims = [field.dims[j] for j in whole]
    return "".join(dims) if all(len(dim) == 1 for dim in dims) else tuple(dims)


def fortran_order(field: _core.Field) -> None:
    """First index fastest, each next one beyond the last; gaps are a section's."""
    least = field.dtype.itemsize
    for i in range(field.ndim):
        if field.size and field.shape[i] > 1:
            if abs(field.strides[i]) < least:
                _refuse(field, i, least)
            least += abs(field.strides[i]) * (field.shape[i] - 1)


# ---- bounds ----

Domain = Sequence[int | tuple[int, int] | None]
Bounds = tuple[tuple[int, ...] | None, tuple[tuple[int, int], ...] | None]


def origin_and_halo(field: _core.Field, lower_bounds: Sequence[int] | None, domain: Domain | None) -> Bounds:
    """What the bounds of a declaration say about the points that are a program's own."""
    if lower_bounds is None and domain is None:
        return None, None
    names, shape = [index_name(field, i) for i in range(field.ndim)], field.shape
    lower = per_index("lower_bounds", (1,) * len(shape) if lower_bounds is None else lower_bounds, len(shape))
    if domain is None:
        for name, low, n in zip(names, lower, shape, strict=True):
            if not low <= 1 <= low + n:
                raise ValueError(
                    f"lower_bounds: {name} is declared {low}:{low + n - 1}, without a point 1; say with domain= which are its own"
                )
        return tuple(1 - low for low in lower), None
    own = per_index("domain", domain, len(shape))
    halo = tuple(_halo(name, low, low + n - 1, points) for name, low, n, points in zip(names, lower, shape, own, strict=True))
    return None, halo


def _halo(name: str, low: int, high: int, points: int | tuple[int, int] | None) -> tuple[int, int]:
    if points is None:
        return 0, 0
    first, last = (1, points) if isinstance(points, int) else points
    if not (low <= first <= last + 1 and last <= high):
        raise ValueError(f"domain: {name}: {first}:{last} does not lie within its declared bounds {low}:{high}")
    return first - low, high - last


def per_index(argument: str, given: Any, ndim: int) -> Any:
    """One entry for each index."""
    if isinstance(given, (str, int)) or len(given) != ndim:
        raise ValueError(f"{argument}: {given!r} must have one entry for each of {ndim} indices")
    return tuple(given)
