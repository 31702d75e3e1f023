"""gridbuf.check: what it says of layouts, names and dtypes; and `Field.gt_domain`."""

from html.parser import HTMLParser
from typing import Any, ClassVar

import numpy as np
import pytest
from in_child import python

import gridbuf as gb

B = "gt:cpu_ifirst"


@pytest.mark.parametrize("backend", ["gt:cpu_ifirst", "gt:cpu_kfirst", "gtmc", "numpy", "F"])
@pytest.mark.parametrize("dims", ["IJK", "KJI", "IJ", "K", "IJK0"])
def test_what_gridbuf_allocates_fits(backend: str, dims: str) -> None:
    f = gb.Field.zeros((5, 6, 7, 2)[: len(dims)], dims=dims, backend=backend, halo=(1,) * len(dims))
    found = gb.check(f, backend=backend)
    (row,) = found.rows
    assert (
        found.ok
        and row.ok
        and row.verdict == "fits"
        and row.order == row.wanted
        and sorted(row.order) == sorted(dims)
    )
    assert int(row.alignment.split()[0]) >= 64 and row.name == "f"


def test_orders_are_those_of_memory() -> None:
    a = np.zeros((4, 5, 6))
    rows = gb.check(a, t=a.transpose(2, 1, 0), backwards=a[::-1], backend=B).rows
    assert [(r.name, r.order, r.wanted, r.ok) for r in rows] == [
        ("a", "IJK", "KJI", False), ("t", "KJI", "KJI", True), ("backwards", "IJK", "KJI", False)
    ]  # fmt: skip
    assert rows[0].verdict == f"slow: copy once with gridbuf.from_array(a, backend={B!r})"
    assert gb.check(gb.from_array(a, backend=B), backend=B).ok
    f = gb.Field(a, "IJK")
    assert gb.check(f, backend=B).rows[0].verdict == f"slow: copy once with f.to(backend={B!r})"
    (row,) = gb.check(f.to(backend="C"), backend=B).rows
    assert row.name == "field 0" and f"copy once with field.to(backend='{B}')" in row.verdict


def test_an_index_of_one_element_has_no_order() -> None:
    assert (
        gb.check(
            np.zeros((1, 5, 1)), np.zeros((1, 1, 1)), np.zeros(()), np.zeros((0, 3)), backend=B
        )
        .rows[0]
        .ok
    )
    assert gb.check(np.zeros((4, 1, 5)), backend=B).rows[0].order == "IJK"
    assert gb.check(np.zeros((0, 3)), backend=B).rows[0].alignment == "-"


def test_dtypes_that_differ() -> None:
    a, b, c, mask = (gb.zeros((4, 5, 6), dtype, backend=B) for dtype in ("f8", "f8", "f4", "?"))
    found = gb.check(a, b, c, mask, backend=B)
    assert [row.ok for row in found.rows] == [True, True, False, True]
    assert found.rows[2].verdict == "float32 beside float64"


def test_the_remedy_keeps_the_dtype() -> None:
    h, u, n = np.zeros((4, 5, 6), "f4"), np.zeros((4, 5, 6)), np.zeros((4, 5, 6), int)
    told = [row.verdict for row in gb.check(h=h, u=u, n=n, backend="gt:cpu_ifirst").rows]
    for verdict, given in zip(told, (h, u, n), strict=True):
        call = (
            verdict.split(" with ")[1]
            .split(";")[0]
            .replace("(h", "(given")
            .replace("(u", "(given")
            .replace("(n", "(given")
        )
        made = eval(call, {"gridbuf": gb, "given": given})
        assert made.dtype == given.dtype and gb.check(made, backend="gt:cpu_ifirst").ok


def test_alignment_is_that_of_the_domain() -> None:
    f = gb.Field.zeros((16, 8, 4), dims="IJK", backend=B, halo=(3, 3, 0))
    assert int(gb.check(f, backend=B).rows[0].alignment.split()[0]) >= 64
    assert gb.check(gb.Field(f.numpy(), "IJK"), backend=B).rows[0].alignment == "8 B"


def test_text_and_html_have_the_same_words() -> None:
    a, b = np.zeros((4, 5, 6)), gb.zeros((4, 5, 6), backend=B)
    found = gb.check(a, **{"<b>": b}, backend=B)

    class Cells(HTMLParser):
        words: ClassVar[list[str]] = []

        def handle_data(self, data: str) -> None:
            self.words.append(data)

    reader = Cells()
    reader.feed(found._repr_html_())
    assert "<b>" in reader.words
    for word in reader.words:
        assert word in repr(found)
    assert len(repr(found).splitlines()) == 4


def test_wrong_calls() -> None:
    with pytest.raises(TypeError, match="backend: none was given"):
        gb.check(np.zeros(3))
    with gb.default_backend(B):
        assert gb.check(np.zeros(3)).backend == B
    with pytest.raises(gb.BackendError, match="did you mean 'gt:cpu_ifirst'"):
        gb.check(np.zeros(3), backend="gt:cpu_ifrst")
    with pytest.raises(TypeError, match="u: <class 'list'> has no memory"):
        gb.check(u=[1.0], backend=B)


# ---- gt_domain ----


@pytest.mark.parametrize(
    ("dims", "halo"), [("IJK", (1, 2, 0)), ("KJI", (0, 2, 1)), ("0IJK", (0, 1, 2, 0))]
)
def test_the_domain_in_gt4py_s_order(dims: str, halo: tuple[int, ...]) -> None:
    sizes: dict[str, Any] = {"I": 10, "J": 12, "K": 5, "0": 2}
    f = gb.Field.zeros([sizes[d] for d in dims], dims=dims, halo=halo)
    assert f.gt_domain == (8, 8, 5)
    assert f[..., 1:].gt_domain == tuple(f[..., 1:].domain.shape[f.dims.index(d)] for d in "IJK")


def test_a_domain_that_a_field_cannot_know() -> None:
    with pytest.raises(ValueError, match="gt_domain: the Field has the indices IJ and no K"):
        _ = gb.Field.zeros((3, 4), dims="IJ").gt_domain
    assert gb.Field.zeros((3, 4, 5), dims="IJK").gt_domain == (3, 4, 5)


def test_modules_of_checks_are_imported_by_the_first_check() -> None:
    code = """
    import sys
    import gridbuf as gb
    needed = {"gridbuf.compared", "gridbuf.requirements", "gridbuf.strides"}
    assert not needed & set(sys.modules)
    f = gb.Field(gb.zeros((3, 4), backend="F"), require={"backend": "F"})
    assert gb.check(f, backend="F").ok and needed <= set(sys.modules)
    """
    python(code)
