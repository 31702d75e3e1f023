"""Layout and alignment: strings, presets, buffers, elements."""

import math
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.storage import buffers
from gridbuf.storage.meta import meta_of


def order(s: gs.Storage) -> str:
    """The axes of a storage from the largest stride to the smallest."""
    return "".join(name for _, name in sorted(zip(s.strides, s.axes, strict=True), reverse=True))


@pytest.mark.parametrize(
    "axes, defaults, layout",
    [
        ("IJK", "F", "KJI"), ("IJK", "C", "IJK"), ("IJK", "gtx86", "IJK"), ("IJK", "gtcuda", "KJI"),
        ("IJK", "gtmc", "JKI"),
        ("KJI", "F", "IJK"), ("KJI", "C", "KJI"), ("KJI", "gtx86", "IJK"), ("KJI", "gtcuda", "KJI"),
        ("KJI", "gtmc", "JKI"),
        ("IJK", "gt:cpu_ifirst", "KJI"), ("JIK", "gt:cpu_kfirst", "IJK"),
        ("IJK", "dace:cpu", "KIJ"),
    ],
)  # fmt: skip
def test_the_table_of_default_layouts(axes: str, defaults: str, layout: str) -> None:
    s = gs.empty((3, 4, 5), axes=axes, defaults=defaults, device="cpu")
    assert s.layout == layout and order(s) == layout


@pytest.mark.parametrize("axes", ["", "I", "J", "K", "IJ", "IK", "JK"])
def test_c_and_f_of_fewer_axes_in_order(axes: str) -> None:
    shape = (3, 4)[: len(axes)]
    assert gs.empty(shape, axes=axes, defaults="C").layout == "IJK"
    assert gs.empty(shape, axes=axes, defaults="F").layout == "KJI"


@pytest.mark.parametrize("axes", ["JI", "KI", "KJ"])
def test_c_and_f_of_two_axes_in_reverse(axes: str) -> None:
    c, f = (gs.empty((3, 4), axes=axes, defaults=name) for name in "CF")
    assert (c.layout, f.layout) == ("KJI", "IJK")
    assert c.strides == (32, 8) and f.strides == (8, 24)


def test_missing_letters_have_a_place() -> None:
    a = gs.ones((3, 4), axes="IJ", layout="JKI")
    assert a.layout == "JKI" and a.strides == (8, 24)
    assert (a + gs.ones((5,), axes="K")).strides == (8, 5 * 3 * 8, 3 * 8)


def test_int_sequences_as_in_gridbuf_empty() -> None:
    assert gs.empty((3, 4, 5), layout=(2, 0, 1)).layout == "JKI"
    assert gs.empty((3, 4, 5), axes="KJI", layout=(0, 1, 2)).layout == "KJI"
    assert gs.empty((3, 4), axes="IJ", layout=(1, 0)).layout == "KJI"
    assert gs.empty((3, 4), axes="KI", layout=(0, 1)).layout == "KJI"
    assert gs.empty((3,), layout=(0,)).layout == "IJK"
    s = gs.empty((3, 4, 5), layout=(2, 0, 1))
    assert s.strides == gb.empty((3, 4, 5), layout=(2, 0, 1)).strides


@pytest.mark.parametrize("layout", ["IJ", "IIK", "ijk", "", (0, 0, 1), (0, 1), (1, 2, 3)])
def test_bad_layouts(layout: object) -> None:
    with pytest.raises(ValueError, match="layout"):
        gs.empty((3, 4, 5), layout=layout)


def test_a_storage_without_axes_takes_what_orders_none() -> None:
    assert (
        gs.empty((), axes="", layout=()).layout == gs.empty((), axes="", layout=[]).layout == "IJK"
    )


def test_layouts_of_the_wrong_type() -> None:
    for layout in (3, (0, 1, 2.0)):
        with pytest.raises(TypeError, match="layout"):
            gs.empty((3, 4, 5), layout=layout)
    with pytest.raises(TypeError, match="layout: expected an integer, got 'IJ'"):
        gs.empty((3, 4, 5), layout=("IJ", "K"))


@pytest.mark.parametrize("axes, shape, strides, layout", [
    ("IJK", (3, 4, 5), (8, 24, 96), "KJI"), ("IJK", (3, 4, 5), (32, 8, 96), "KIJ"),
    ("KJI", (3, 4, 5), (160, 40, 8), "KJI"),
    ("IJ", (3, 4), (8, 24), "KJI"), ("KI", (3, 4), (32, 8), "KJI"), ("KI", (3, 4), (8, 24), "IJK"),
    ("J", (3,), (8,), "IJK"),
])  # fmt: skip
def test_layout_read_from_strides(
    axes: str, shape: tuple[int, ...], strides: tuple[int, ...], layout: str
) -> None:
    array = np.ndarray(shape, strides=strides, buffer=np.zeros(1000))
    assert gs.as_storage(array, axes=axes).layout == layout


def test_c_and_f_say_nothing_of_device_or_alignment() -> None:
    model = gs.empty((4, 4, 4), alignment=8)
    for name in "CF":
        assert gs.empty_like(model, defaults=name).alignment == 8
        assert gs.empty((4, 4, 4), defaults=name).alignment == 1


@pytest.mark.parametrize("alignment", [1, 2, 3, 7, 8, 32, 100])
@pytest.mark.parametrize("layout", ["IJK", "KJI", "JKI"])
def test_alignment_counts_elements(alignment: int, layout: str) -> None:
    index = (3, 1, 2)
    s = gs.empty((5, 6, 7), np.float32, layout=layout, alignment=alignment, aligned_index=index)
    address = s.__array_interface__["data"][0]
    at = address + sum(i * stride for i, stride in zip(index, s.strides, strict=True))
    assert at % (alignment * 4) == 0
    rows = sorted(s.strides)[1:]
    assert all(stride % (alignment * 4) == 0 for stride in rows)
    assert s.alignment == alignment and s.nbytes == 5 * 6 * 7 * 4


def test_the_example_of_the_allocation_rule() -> None:
    s = gs.empty((12, 12, 7), defaults="gtmc", aligned_index=(2, 2, 0))
    assert s.strides == (8, 896, 128) and s.__array_interface__["data"][0] % 64 == 48


@pytest.mark.parametrize(
    "alignment, error", [(0, ValueError), (-8, ValueError), (1.5, TypeError), ("8", TypeError)]
)
def test_bad_alignment(alignment: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="alignment"):
        gs.empty((4,), alignment=alignment)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(), (7,), (12, 7), (12, 12, 7), (0, 3, 4)])
@pytest.mark.parametrize("alignment", [1, 3, 8, 32])
@pytest.mark.parametrize("layout", ["IJK", "KJI", "JKI"])
def test_device_memory_follows_the_core_s_rule(
    shape: tuple[int, ...], alignment: int, layout: str
) -> None:
    axes = "IJK"[: len(shape)]
    meta = meta_of(axes, layout, ((0, 0),) * len(axes), (2, 1, 1)[: len(axes)], alignment)
    host = buffers.host_empty(shape, np.dtype("f4"), meta)
    request = buffers.device_request(shape, host.dtype, meta, 0)
    strides = request.strides
    offset = request.offset
    nbytes = request.nbytes
    boundary = request.boundary
    assert strides == host.strides and boundary == alignment * 4
    if shape and math.prod(shape):
        assert offset == host.ctypes.data % boundary
        assert nbytes >= offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 4


@pytest.mark.parametrize("axes", ["IJK", "KJI", "JI", "K", ""])
@pytest.mark.parametrize(
    "spec", [{}, {"alignment": 4}, {"defaults": "gtmc"}, {"aligned_index": (9, 1, 2)}], ids=str
)
def test_the_plan_of_a_storage_says_which_point_is_aligned(axes: str, spec: dict[str, Any]) -> None:
    index = (
        {"aligned_index": tuple(spec["aligned_index"]["IJK".index(name)] for name in axes)}
        if "aligned_index" in spec
        else {}
    )
    shape = tuple({"I": 9, "J": 8, "K": 7}[name] for name in axes)
    s = gs.zeros(shape, axes=axes, halo=tuple((2, 1) for _ in axes), **{**spec, **index})
    for view in (s, s.domain, s[tuple(slice(1, None) for _ in axes)]) if axes else (s,):
        plan = gb.Plan.of(view)
        point = view.__array_interface__["data"][0] + sum(
            i * n for i, n in zip(view.aligned_index, view.strides, strict=True)
        )
        assert (
            plan.aligned_index == view.aligned_index
            and plan.shape == view.shape
            and plan.strides == view.strides
        )
        assert (
            point % plan.byte_alignment == 0
            and plan.byte_alignment >= view.alignment * view.dtype.itemsize
        )
        assert view.__array_interface__["data"][0] % plan.byte_alignment == plan.offset
    assert gb.Plan.of(s.to_numpy()).aligned_index == (0,) * s.ndim  # an array says nothing of it
