"""The table of `gridbuf.check`: whether memory is laid out as a backend wants it."""

import sys
from typing import TYPE_CHECKING, Any

from gridbuf.defaults import get_default_backend
from gridbuf.wrapping import as_field

if TYPE_CHECKING:
    from gridbuf.compared import Row


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

    from gridbuf.compared import compare

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
    return Check(backend, compare(wrapped, backend))
