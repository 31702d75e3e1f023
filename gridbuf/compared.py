"""Fields compared with the layout of a backend, a row for each: the rows of `gridbuf.check`."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from gridbuf import _core
from gridbuf.strides import boundary


class Row(NamedTuple):
    """The findings about one field, and whether it fits."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    order: str
    wanted: str
    alignment: str
    ok: bool
    verdict: str


def compare(fields: Sequence[tuple[str, Any, _core.Field]], backend: str) -> tuple[Row, ...]:
    """A row for each name, object, and Field over its memory."""
    floats = Counter(field.dtype.name for _, _, field in fields if field.dtype.kind == "f")
    usual = floats.most_common(1)[0][0] if floats else None
    return tuple(row_of(name, obj, field, backend, usual) for name, obj, field in fields)


def order_of(
    strides: tuple[int, ...], shape: tuple[int, ...], dims: tuple[str, ...], layout: tuple[int, ...]
) -> tuple[str, str]:
    """Two orders of the names, from the largest stride to the smallest: the one that memory has,
    and the one that is wanted.

    An index of one element has no stride to speak of, and stands where it is wanted.
    """
    wanted = sorted(range(len(dims)), key=layout.__getitem__)
    # A stable sort keeps the wanted order of equal strides
    moving = sorted((i for i in wanted if shape[i] > 1), key=lambda i: -abs(strides[i]))
    found = iter(moving)
    order = [next(found) if shape[i] > 1 else i for i in wanted]
    return "".join(dims[i] for i in order), "".join(dims[i] for i in wanted)


def row_of(name: str, obj: Any, field: _core.Field, backend: str, usual: str | None) -> Row:
    ranks, _, device = _core.preset(backend, field.dims)
    found, wanted = order_of(field.strides, field.shape, field.dims, ranks or ())
    problems = []
    on_gpu = field.device != "cpu"
    if (device != "cpu") != on_gpu and not isinstance(field, _core.ManagedField):
        problems.append("wrong device: it lies on " + ("a GPU" if on_gpu else "the host"))
    if found != wanted:
        it = name if name.isidentifier() else "field"
        a_field = isinstance(obj, _core.Field)
        kept = "" if field.dtype == "f8" else "dtype=None, "  # else it makes float64
        remedy = (
            f"{it}.to(backend={backend!r})"
            if a_field
            else f"gridbuf.from_array({it}, {kept}backend={backend!r})"
        )
        problems.append(f"slow: copy once with {remedy}")
    if field.dtype.kind == "f" and usual not in (None, field.dtype.name):
        problems.append(f"{field.dtype} beside {usual}")
    return Row(
        name, field.shape, str(field.dtype), found or "scalar", wanted or "scalar",
        _boundary(field), not problems, "; ".join(problems) or "fits"
    )  # fmt: skip


def _boundary(field: _core.Field) -> str:
    """The boundary that the first element of the domain lies on."""
    if field.size == 0:
        return "-"
    interface = (
        field.__cuda_array_interface__
        if isinstance(field, _core.DeviceField)
        else field.numpy().__array_interface__
    )
    at = interface["data"][0]
    inside = field.origin is not None and all(
        o < n for o, n in zip(field.origin, field.shape, strict=True)
    )
    if field.origin is not None and inside:
        at += sum(o * s for o, s in zip(field.origin, field.strides, strict=True))
    return f"{boundary(at)} B"
