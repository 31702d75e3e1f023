"""A plan in words and as a drawing: every figure in them is one of the plan's."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import explain
from gridbuf.explain import picture

PLANS = {
    "ifirst": gb.plan((128, 128, 80), backend="gt:cpu_ifirst", halo=(3, 3, 0)),
    "gtmc, rows padded": gb.plan((12, 12, 7), backend="gtmc", aligned_index=(2, 2, 0)),
    "a data dimension": gb.plan((4, 5, 6, 3), backend="gtx86"),
    "file order": gb.plan((15, 100, 100), np.float32, dimensions="KJI", backend="gt:cpu_kfirst"),
    "two indices": gb.plan((20, 30)),
    "JK": gb.plan((20, 30), dimensions="JK", backend="F"),
    "one": gb.plan((5,), padding=16),
    "scalar": gb.plan(()),
    "empty": gb.plan((0, 3)),
    "many": gb.plan((2,) * 12),
    "negative strides": gb.Plan.of(np.zeros((6, 4))[::-1, ::2]),
    "stride zero": gb.Plan.of(np.broadcast_to(np.zeros((1, 3)), (4, 3))),
}


def table_row(text: str, name: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.strip().startswith(name))
    return line.strip()[len(name) :].split()


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_table_holds_the_plans_own_figures(plan: Any) -> None:
    text = explain.text(plan)
    described = picture.is_described(plan)
    assert (
        f"{plan.alloc_nbytes:,}  {'from the first to the last' if described else 'reserved'}"
        in text
    )
    if plan.ndim:
        assert table_row(text, "index") == list(plan.dims)
        assert table_row(text, "elements") == [f"{n:,}" for n in plan.shape]
        assert described or table_row(text, "padded to") == [f"{n:,}" for n in plan.padded_shape]
        assert table_row(text, "stride in bytes") == [f"{s:,}" for s in plan.strides]
        assert table_row(text, "aligned element") == [str(a) for a in plan.aligned_index]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_bytes_add_up_to_what_is_reserved(plan: Any) -> None:
    said = [sentence for _, sentence in explain.facts(plan)][
        -3 if picture.is_described(plan) else -4 :
    ]
    elements, padding, *others, reserved = (
        int(sentence.split()[0].replace(",", "")) for sentence in said
    )
    assert (elements, reserved) == (plan.nbytes, plan.alloc_nbytes)
    if plan.alloc_nbytes >= plan.nbytes:  # an array with stride zero spans less than it counts
        assert elements + padding + sum(others) == reserved


def test_print_of_a_plan_is_the_explanation_and_repr_stays_one_line() -> None:
    plan = PLANS["ifirst"]
    assert str(plan) == explain.text(plan)
    assert "\n" not in repr(plan)


def test_rows_are_called_aligned_only_when_memory_agrees() -> None:
    for shape in [(16, 8), (16, 9), (7, 16, 5)]:
        for padding in (None, True):
            array = gb.empty(shape, backend="C", padding=padding)
            starts = {array[i, ...].reshape(-1)[:1].ctypes.data % 64 for i in range(shape[0])}
            if array.ndim == 3:
                starts = {
                    array[i, j, :1].ctypes.data % 64
                    for i in range(shape[0])
                    for j in range(shape[1])
                }
            said = "and so does that element of every row" in explain.text(
                gb.plan(shape, backend="C", padding=padding)
            )
            assert said == (starts == {0}), (shape, padding)


def test_padding_is_said_with_its_size() -> None:
    assert "4 at the end of each row along I: 16 elements = 128 bytes" in explain.text(
        PLANS["gtmc, rows padded"]
    )
    assert "none: a row along I" in explain.text(PLANS["ifirst"])


VIEWS = {
    "every other": lambda f: f[::2, 10:40], "part of rows": lambda f: f[10:40],
    "some rows": lambda f: f[:, 2:6],
    "backwards": lambda f: f[::-1], "one": lambda f: f[3:4],
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_of_a_view_nothing_is_called_padding_or_contiguous_that_is_not(view: Any) -> None:
    f = view(gb.Field.zeros((100, 60, 8), dims="IJK", backend="gt:cpu_ifirst", halo=(3, 3, 0)))
    plan, memory = f.plan, np.asarray(f)
    text, html = explain.text(plan), explain.html(plan)
    first, last = (
        np.lib.array_utils.byte_bounds(memory)
        if hasattr(np.lib, "array_utils")
        else np.byte_bounds(memory)
    )
    numbers = [
        int(line.split()[0 if not line.lstrip().startswith("bytes") else 1].replace(",", ""))
        for line in text.splitlines()[-3:]
    ]
    assert numbers == [memory.nbytes, last - first - memory.nbytes, last - first]
    assert (
        "padding between" not in text
        and "reserved" not in text
        and "padding" not in explain.svg(plan, ((0, 0),) * 3)
    )
    side_by_side = memory.shape[0] == 1 or memory.strides[0] == 8
    assert ("one contiguous run" in html) == side_by_side and (
        "as it lies in memory" in html
    ) == side_by_side
    assert ("lie side by side" in text) == (memory.strides[0] == 8)
    assert "every other row" not in text


def test_any_object_with_the_attributes_of_a_plan_will_do() -> None:
    @dataclass
    class Described:
        shape: tuple[int, ...] = (4, 6)
        dtype: np.dtype[Any] = np.dtype(np.int16)  # noqa: RUF009
        dims: tuple[str, ...] = ("I", "J")
        ndim: int = 2
        layout: tuple[int, ...] = (1, 0)
        strides: tuple[int, ...] = (2, 16)
        padded_shape: tuple[int, ...] = (8, 6)
        aligned_index: tuple[int, ...] = (1, 0)
        byte_alignment: int = 16
        offset: int = 14
        nbytes: int = 48
        alloc_nbytes: int = 112
        device: Any = ("gpu", 1)
        memory: str = "managed"

    text = explain.text(Described(), halo=(1, (0, 2)))
    assert text.startswith("IJ (4, 6) of int16 on gpu 1 (managed memory)")
    assert table_row(text, "halo low, high") == ["1,", "1", "0,", "2"]
    assert "element (1, 0) starts on a 16-byte boundary; element (0, 0) 14 bytes after one" in text
    assert (
        "48  elements" in text
        and "48  padding between them (100.0 %)" in text
        and "16  around them" in text
    )
    assert "<svg" in explain.html(Described())


def test_a_halo_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="halo: 1 entries for 3 indices"):
        explain.text(PLANS["ifirst"], halo=(3,))


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [(0, "0 B"), (8064, "8,064 B"), (10239, "10,239 B"), (10240, "10 KiB"),
    (1536 * 1024, "1.5 MiB"), (3 << 40, "3 TiB"), (-24, "-24 B")],
)  # fmt: skip
def test_bytes_as_people_read_them(nbytes: int, words: str) -> None:
    assert explain.nbytes_text(nbytes) == words


# ---- the drawing ----


class Balanced(HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_drawing_is_well_formed_and_needs_nothing_from_outside(plan: Any) -> None:
    html = explain.html(plan, title="<b> & co")
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    assert "&lt;b&gt; &amp; co" in html
    assert not re.search(r"nan|inf|<script|href|url\(|@import", html.replace("inherit", ""))
    assert " id=" not in html, "two drawings on one page must not share ids"


@pytest.mark.parametrize(
    "plan",
    [p for p in PLANS.values() if p.ndim >= 2],
    ids=[n for n, p in PLANS.items() if p.ndim >= 2],
)
def test_the_box_names_the_contiguous_index(plan: Any) -> None:
    box = picture.box(plan, explain.halo_pairs(None, plan.ndim))
    assert box is not None
    assert box.fastest == max(box.axes, key=lambda i: plan.layout[i])
    assert all(0 <= patch.position <= 1 for patch in box.patches)
    assert box.outlines == ()


def test_the_box_shows_i_j_and_k_first() -> None:
    assert picture.drawn_axes(("0", "K", "J", "I")) == (3, 2, 1)
    assert picture.drawn_axes(("J", "0")) == (0, 1)


def test_the_row_marks_boundaries_where_the_addresses_have_them() -> None:
    """Against a real array: the cells said to begin at a boundary are those whose address does."""
    spec = {"backend": "gtmc", "aligned_index": (2, 3, 0), "dtype": np.float32}
    plan, array = gb.plan((40, 12, 7), **spec), gb.empty((40, 12, 7), **spec)
    row = picture.row(plan, explain.halo_pairs((2, 3, 0), 3), limit=20)
    assert row is not None and row.fastest == 0
    assert row.lead_nbytes == array[0, 3, 0:].ctypes.data % plan.byte_alignment
    for cell in row.cells:
        if cell.index is not None:
            address = array[0, 3, 0:].ctypes.data + cell.index * array.strides[0]
            assert cell.on_boundary == (address % plan.byte_alignment == 0), cell


def test_the_row_has_low_halo_domain_and_high_halo_then_padding() -> None:
    plan = gb.plan((12, 12, 7), backend="gtmc", halo=((2, 3), 0, 0))
    row = picture.row(plan, ((2, 3), (0, 0), (0, 0)))
    assert row is not None
    assert [cell.kind for cell in row.cells] == ["halo"] * 2 + ["domain"] * 7 + ["halo"] * 3 + [
        "padding"
    ] * 4


def test_a_long_row_is_cut_in_the_middle() -> None:
    row = picture.row(PLANS["ifirst"], ((3, 3), (3, 3), (0, 0)), limit=20)
    assert row is not None and len(row.cells) == 20
    assert [cell.index for cell in row.cells].count(None) == 1
    assert row.cells[0].index == 0 and row.cells[-1].index == 127


def test_scalars_and_empty_arrays_have_no_row() -> None:
    assert picture.row(PLANS["scalar"], ()) is None
    assert picture.row(PLANS["empty"], ((0, 0), (0, 0))) is None


def test_fields_and_plans_draw_themselves_in_a_notebook() -> None:
    field = gb.Field.zeros((8, 9), dims="IJ", halo=(1, 2))
    assert "<svg" in field._repr_html_() and "Field IJ" in field._repr_html_()
    assert "halo" in field._repr_html_()
    assert "<svg" in field.plan._repr_html_()
