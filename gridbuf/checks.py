"""Whether memory is laid out as a backend wants it: the table of `gridbuf.check`, and the demands
of `Field(data, require={...})`.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gridbuf import _core
from gridbuf.defaults import get_default_backend
from gridbuf.names import joined
from gridbuf.strides import boundary
from gridbuf.validation import suggestion
from gridbuf.wrapping import as_field


class Check:
    """The table of `gridbuf.check`, which makes it.

    Attributes
    ----------
    backend : str
        The backend that the fields were compared with.
    rows : tuple
        A named tuple for each field: name, shape, dtype, order, wanted, alignment, ok and verdict.
    ok : bool
        Whether every field is as the backend wants it.
    """

    def __init__(self, backend: str, rows: "tuple[Row, ...]") -> None:
        self.backend, self.rows = backend, rows
        self.ok = all(row.ok for row in rows)

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        head = ("field", "shape", "dtype", "order", "wanted", "aligned", "verdict")
        return head, [
            (r.name, str(r.shape), r.dtype, r.order, r.wanted, r.alignment, r.verdict)
            for r in self.rows
        ]

    def __repr__(self) -> str:
        from gridbuf.common import columns

        head, rows = self._table()
        return (
            f"on {self.backend}; orders go from the largest stride to the smallest\n"
            + "\n".join(columns([head, *rows]))
        )

    def _repr_html_(self) -> str:
        from html import escape

        head, rows = self._table()
        top = "".join(f'<th style="text-align:left">{escape(c)}</th>' for c in head)
        body = ""
        for row, found in zip(rows, self.rows, strict=True):
            weight = "normal" if found.ok else "bold"
            body += (
                "<tr>"
                + "".join(
                    f'<td style="text-align:left;font-weight:{weight}">{escape(c)}</td>'
                    for c in row
                )
                + "</tr>"
            )
        caption = f"on {escape(self.backend)}; orders go from the largest stride to the smallest"
        return (
            f"<div>{caption}</div><table"
            f' style="border-collapse:collapse"><thead><tr>{top}</tr></thead><tbody>{body}</tbody>'
            "</table>"
        )


def check(*fields: Any, backend: str | None = None, **named: Any) -> Check:
    """Compare fields with the layout of a backend: the order of strides, the device, the
    boundary, one dtype for all.

    Nothing is copied or changed.

    Parameters
    ----------
    *fields
        Fields, storages, DataArrays, arrays: all that `gridbuf.Field` wraps. Their names are
        those of the caller's variables.
    backend : str, optional
        The backend to compare with; default that of `set_default_backend`.
    **named
        More fields, under these names.

    Returns
    -------
    Check
        A table in a terminal and in a notebook; `rows` and `ok` for programs.

    Raises
    ------
    TypeError
        When something has no memory, or there is no backend to compare with.
    BackendError
        When there is no such backend.

    Examples
    --------
    >>> import numpy as np, gridbuf as gb
    >>> h, u = gb.zeros((8, 8, 4), backend="gt:cpu_ifirst"), np.zeros((8, 8, 4))
    >>> gb.check(h, u, backend="gt:cpu_ifirst")  # doctest: +ELLIPSIS
    on gt:cpu_ifirst; orders go from the largest stride to the smallest
    field  shape      dtype    order  wanted  aligned  verdict
    h      (8, 8, 4)  float64  KJI    KJI     64 B     fits
    u      (8, 8, 4)  float64  IJK    KJI     ... slow: copy once with gridbuf.from_array(u, backend='gt:cpu_ifirst')
    >>> gb.check(h, backend="gt:cpu_ifirst").ok
    True
    """  # noqa: E501

    if backend is None:
        backend = get_default_backend()
        if backend == "C":
            raise TypeError(
                "backend: none was given; name the one to compare with here, or once by"
                " gridbuf.set_default_backend(name)"
            )
    frame = sys._getframe(1)
    called = {
        id(value): name
        for scope in (frame.f_globals, frame.f_locals)
        for name, value in scope.items()
        if name[:1] != "_"
    }
    each = [(called.get(id(obj), f"field {i}"), obj) for i, obj in enumerate(fields)] + list(
        named.items()
    )
    wrapped = [(name, obj, as_field(obj, name)) for name, obj in each]
    floats = Counter(field.dtype.name for _, _, field in wrapped if field.dtype.kind == "f")
    usual = floats.most_common(1)[0][0] if floats else None
    return Check(
        backend, tuple(row_of(name, obj, field, backend, usual) for name, obj, field in wrapped)
    )


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


# ---- Field(data, require={...}) ----


KEYS = (
    "dtype",
    "device",
    "memory",
    "backend",
    "layout",
    "padding",
    "byte_alignment",
    "aligned_index",
)


def check_require(field: _core.Field, require: Mapping[str, Any]) -> bool:
    """True when the Field meets every requirement; ValueError names the first that it misses.

    Parameters
    ----------
    field
        A Field over the memory in question.
    require
        Any of `dtype`, `device`, `memory`, `backend`, `layout`, `padding`, `byte_alignment` and
        `aligned_index`, which mean what they mean for `gridbuf.empty`. They are checked in this
        order. A backend asks for the order of its strides, for unit stride where it is smallest,
        and for its own alignment; strides may be larger than a plan's, as those of a slice are.

    Examples
    --------
    >>> import gridbuf as gb, numpy as np
    >>> data = np.zeros((4, 5, 6))
    >>> try:
    ...     gb.Field(data, "IJK", require={"backend": "gt:cpu_ifirst"})
    ... except ValueError as error:
    ...     print(error)
    require: backend: 'gt:cpu_ifirst' orders the strides otherwise. Strides: expected (8, 32, 160) for dims IJK, \
found (240, 48, 8). A proper copy: gridbuf.Field.from_array(data, dtype='<f8', dims=('I', 'J', 'K'), backend='gt:cpu_ifirst')
    """  # noqa: E501
    if not isinstance(require, Mapping):
        raise TypeError(f"require: expected a dict with some of {', '.join(KEYS)}, got {require!r}")
    unknown = [key for key in require if key not in KEYS]
    if unknown:
        raise ValueError(
            f"require: {unknown[0]!r} is no requirement; there are"
            f" {', '.join(KEYS)}{suggestion(str(unknown[0]), KEYS)}"
        )
    wanted = {key: value for key, value in require.items() if value is not None}
    if "dtype" in wanted and np.dtype(wanted["dtype"]) != field.dtype:
        plan = _core.plan(field.shape, wanted["dtype"], **_spec(field, wanted))
        _miss(
            field, wanted, plan, f"dtype: expected {np.dtype(wanted['dtype'])}, found {field.dtype}"
        )
    unmet = _core.unmet(field, field.shape, field.dtype, **_spec(field, wanted))
    if unmet is not None:
        _miss(field, wanted, unmet[1], _words(field, wanted, *unmet))
    return True


def _spec(field: _core.Field, wanted: dict[str, Any]) -> Any:
    """The request to plan. Where a boundary is asked for, the element on it is the first within the
    halo unless another is named.
    """
    spec = {key: value for key, value in wanted.items() if key != "dtype"} | {
        "dimensions": field.dims
    }
    if "byte_alignment" in wanted or "backend" in wanted:
        spec.setdefault("aligned_index", _aligned_index(field))
    return spec


def _aligned_index(field: _core.Field) -> tuple[int, ...]:
    return (
        tuple(low for low, _ in field.halo)
        if field.halo is not None
        else field.origin or (0,) * field.ndim
    )


def _words(
    field: _core.Field,
    wanted: dict[str, Any],
    what: str,
    plan: _core.Plan,
    boundary: int,
    after: int,
) -> str:
    """The missed requirement, under the name of the requirement that asks for it: the narrowest one
    given, else the backend.
    """
    key = {
        "order": "layout",
        "rows": "padding",
        "packed": "padding",
        "boundary": "byte_alignment",
    }.get(what, what)
    if key not in wanted:
        key = "backend" if "backend" in wanted else "aligned_index"
    source = f"{key}: {wanted[key]!r}"
    if what in ("device", "memory"):
        source = what if key == what else f"{source}: {what}"
        return f"{source}: expected {getattr(plan, what)!r}, found {getattr(field.plan, what)!r}"
    if what == "boundary":
        source = source if key == "backend" else key
        return (
            f"{source}: element {plan.aligned_index} must lie on a boundary of {boundary} bytes,"
            f" and it lies {after} bytes after one"
        )
    words = {
        "order": "orders the strides otherwise",
        "rows": f"puts rows on multiples of {boundary} bytes",
        "packed": "leaves no room between rows",
    }
    return f"{source} {words[what]}"


def _miss(field: _core.Field, wanted: dict[str, Any], plan: _core.Plan, what: str) -> NoReturn:
    raise ValueError(
        f"require: {what}. Strides: expected {plan.strides} for dims {joined(field.dims)}, found"
        f" {field.strides}. A proper copy: {_call(field, wanted)}"
    )


def _call(field: _core.Field, wanted: dict[str, Any]) -> str:
    """The call that makes a copy which meets the requirements, as Python text over the name
    `data`.
    """
    dtype = np.dtype(wanted.get("dtype", field.dtype))
    # dtypes of ml_dtypes have kind V
    name = dtype.descr if dtype.names else dtype.str if dtype.kind != "V" else dtype.name
    data = "data"
    if not np.can_cast(field.dtype, dtype, "same_kind"):
        data = f"gridbuf.as_numpy(data).astype({name!r})"
    spec: dict[str, Any] = {"dtype": name} | ({"dims": field.dims} if field._dims_given else {})
    spec |= {
        key: getattr(field, key) for key in ("halo", "origin") if getattr(field, key) is not None
    }
    spec |= {key: wanted[key] for key in KEYS if key in wanted and key != "dtype"}
    return (
        f"gridbuf.Field.from_array({data},"
        f" {', '.join(f'{key}={value!r}' for key, value in spec.items())})"
    )
