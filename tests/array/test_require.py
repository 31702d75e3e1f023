"""Field(x, require=...): memory is shared, or the first requirement that is missed is named with a
way out that works.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf as gridbuf  # the name that the error's call uses
from gridbuf.requirements import KEYS

IJK = ("I", "J", "K")


def shared(data: Any, require: dict[str, Any], **keywords: Any) -> gb.Field:
    field = gb.Field(data, require=require, **keywords)
    assert np.shares_memory(field, np.asarray(data)) or not field.size
    return field


def refused(data: Any, require: dict[str, Any], words: str, **keywords: Any) -> str:
    """The message; and the call that it gives makes a copy of the same values that passes."""
    before = np.array(data)
    with pytest.raises(ValueError, match=words) as caught:
        gb.Field(data, require=require, **keywords)
    message = str(caught.value)
    proper = eval(message.split("A proper copy: ")[1], {"gridbuf": gridbuf, "data": data})
    assert type(proper) is gb.HostField and not np.shares_memory(proper, np.asarray(data))
    gb.Field(proper, require=require)
    if "halo" in keywords:
        assert proper.halo == gb.Field(data, **keywords).halo
    assert (np.asarray(proper) == before.astype(proper.dtype)).all()
    return message


def test_what_was_made_for_a_backend_passes() -> None:
    for backend in ("gt:cpu_ifirst", "gt:cpu_kfirst", "dace:cpu", "gtmc", "C", "F"):
        data = gb.zeros((12, 13, 7), backend=backend, aligned_index=(2, 2, 0))
        require = {
            "backend": backend,
            "byte_alignment": 64,
            "dtype": float,
            "device": "cpu",
            "aligned_index": (2, 2, 0),
        }
        shared(data, require, dims="IJK")
        shared(data, {"backend": backend}, dims="IJK", halo=(2, 2, 0))


def test_a_slice_passes_where_only_its_strides_are_larger() -> None:
    data = gb.zeros((12, 13, 7), backend="gt:cpu_ifirst")
    shared(data[:5, 2:, 1:4], {"backend": "gt:cpu_ifirst"}, dims="IJK")
    refused(data[::2], {"backend": "gt:cpu_ifirst"}, "backend", dims="IJK")
    refused(data[::-1], {"backend": "gt:cpu_ifirst"}, "backend", dims="IJK")
    refused(
        np.broadcast_to(np.zeros(7), (3, 4, 7)), {"backend": "gt:cpu_kfirst"}, "backend", dims="IJK"
    )


def test_expected_and_found_strides_are_said() -> None:
    message = refused(
        np.zeros((4, 5, 6)),
        {"backend": "gt:cpu_ifirst"},
        "require: backend: 'gt:cpu_ifirst'",
        dims="IJK",
    )
    assert "expected (8, 32, 160) for dims IJK, found (240, 48, 8)" in message


def test_the_first_requirement_missed_is_the_one_named() -> None:
    data = np.zeros((4, 5, 6), np.float32)
    everything = {"byte_alignment": 4096, "backend": "gt:cpu_ifirst", "dtype": "f8"}
    assert re.match(
        "require: dtype: expected float64, found float32",
        refused(data, everything, "dtype", dims=IJK),
    )
    del everything["dtype"]
    assert "require: backend:" in refused(data, everything, "backend", dims=IJK)
    ordered = gb.zeros((4, 5, 6), np.float32, backend="gt:cpu_ifirst", byte_alignment=4096)[1:]
    assert "require: byte_alignment:" in refused(ordered, everything, "byte_alignment", dims=IJK)


def test_alignment_is_that_of_the_aligned_index() -> None:
    data = gb.zeros((16, 5), backend="C", byte_alignment=256, aligned_index=(3, 1))
    shared(data, {"byte_alignment": 256, "aligned_index": (3, 1)})
    shared(data, {"byte_alignment": 256}, halo=(3, 1))
    shared(data, {"byte_alignment": 256}, origin=(3, 1))
    refused(data, {"byte_alignment": 256}, "byte_alignment")
    refused(data, {"aligned_index": (3, 2)}, "aligned_index")
    refused(data, {"byte_alignment": 256}, r"byte_alignment: element \(1, 1\)", halo=(1, (1, 0)))


def test_layout_padding_and_the_backend_s_own_boundary() -> None:
    plain, padded = gb.zeros((5, 6, 7)), gb.zeros((5, 6, 7), padding=True)
    shared(padded, {"padding": True, "layout": (0, 1, 2)})
    shared(plain, {"padding": False})
    refused(plain, {"padding": True}, "padding: True")
    refused(plain, {"padding": 4}, "padding: 4")
    refused(padded, {"padding": False}, "padding: False")
    refused(plain, {"layout": (2, 1, 0)}, r"layout: \(2, 1, 0\)")
    rows = gb.zeros((5, 6, 7), layout=(2, 0, 1))
    refused(
        rows, {"backend": "gtmc"}, "backend: 'gtmc' puts rows on multiples of 64 bytes", dims="IJK"
    )
    shared(gb.zeros((5, 6, 7), backend="gtmc"), {"backend": "gtmc"}, dims="IJK")


@pytest.mark.parametrize("found", ["i4", "f4", "f8", "c16", "?", ">f8"])
@pytest.mark.parametrize("expected", ["i8", "f4", "c8", "u1", np.float64])
@pytest.mark.filterwarnings(
    "ignore::numpy.exceptions.ComplexWarning" if hasattr(np, "exceptions") else "ignore"
)
def test_any_dtype_has_a_way_out(found: str, expected: Any) -> None:
    if np.dtype(found) != np.dtype(expected):
        refused(np.ones((3, 4), found), {"dtype": expected, "backend": "F"}, "dtype: expected")


def test_structured_and_extended_dtypes() -> None:
    dtype = np.dtype([("a", "f8"), ("b", "i4")])
    refused(np.zeros((3, 4), dtype), {"layout": (1, 0)}, "layout")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    refused(np.ones((3, 4), ml_dtypes.bfloat16), {"layout": (1, 0)}, "layout")
    refused(np.ones((3, 4)), {"dtype": ml_dtypes.bfloat16}, "dtype: expected bfloat16")


def test_halo_and_origin_go_into_the_copy() -> None:
    message = refused(
        np.zeros((6, 7)),
        {"backend": "F", "byte_alignment": 64},
        "backend",
        dims="JI",
        halo=(1, (2, 0)),
    )
    assert "halo=((1, 1), (2, 0))" in message and "dims=('J', 'I')" in message


def test_any_kind_of_data() -> None:
    refused(memoryview(np.zeros((3, 4))), {"backend": "F"}, "backend")
    refused(gb.Field.zeros((3, 4), dims="KI"), {"backend": "gt:cpu_kfirst"}, "backend")
    shared(gb.Field.zeros((3, 4), dims="KI", backend="gt:cpu_kfirst"), {"backend": "gt:cpu_kfirst"})
    jnp = pytest.importorskip("jax.numpy")
    refused(jnp.ones((3, 4)), {"backend": "F"}, "backend")


def test_arrays_of_one_or_no_element_have_any_order() -> None:
    for shape in ((), (1, 1), (0, 3), (1, 5, 1)):
        shared(np.zeros(shape), {"backend": "F"})


def test_a_device_is_a_requirement() -> None:
    shared(np.zeros(3), {"device": "cpu"})
    for require in ({"device": "gpu"}, {"backend": "gt:gpu"}, {"memory": "pinned"}):
        with pytest.raises(
            ValueError, match=r"require: .*(device|memory): expected .*from_array\(data"
        ):
            gb.Field(np.zeros((3, 4)), require=require)


@pytest.mark.parametrize(
    ("require", "error", "words"),
    [
        ("F", TypeError, "require: expected a dict"),
        ({"backnd": "F"}, ValueError, "'backnd' is no requirement"),
        ({1: 2}, ValueError, "1 is no requirement"),
        ({None: 2}, ValueError, "None is no requirement"),
        ({"backend": "gt:nothing"}, gb.BackendError, "gt:nothing"),
        ({"byte_alignment": 3}, ValueError, "byte_alignment"),
        ({"layout": (0, 0)}, ValueError, "layout"),
        ({"aligned_index": (1,)}, ValueError, "aligned_index"),
        ({"dtype": "nothing"}, TypeError, "nothing"),
    ],
)
def test_wrong_requirements(require: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        gb.Field(np.zeros((3, 4)), require=require)


@pytest.mark.parametrize("plan", [3, None, property(lambda self: "of the day")])
def test_a_subclass_may_have_another_plan(plan: Any) -> None:
    own = type("Own", (gb.Field,), {"plan": plan})
    assert type(own(np.zeros((4, 5)), require={"backend": "C"})).__name__ == "Own"
    with pytest.raises(ValueError, match="byte_alignment"):
        own(np.zeros(9)[1:], require={"byte_alignment": 1 << 30})


def test_nothing_is_required_by_none() -> None:
    assert (
        gb.Field(np.zeros((3, 4)), require=None).shape
        == gb.Field(np.zeros((3, 4)), require={}).shape
    )
    assert gb.Field(np.zeros((3, 4))[::-1], require={"backend": None, "dtype": None}).shape == (
        3,
        4,
    )


def test_what_was_made_passes_also_where_the_padded_index_has_one_element() -> None:
    data = gb.zeros((1, 7), np.float32, backend="F", padding=8)
    assert data.strides == (4, 32)
    shared(data, {"backend": "F", "padding": 8})


TABLE = [
    json.loads(line)
    for line in (
        (Path(__file__).parents[2] / "alloc/testdata/satisfy.jsonl").read_text().splitlines()
    )
]
PADDING = {-1: True, 1: False}


@pytest.mark.parametrize("row", [row for row in TABLE if "far" not in row], ids=str)
def test_the_table_that_go_programs_are_held_to(row: dict[str, Any]) -> None:
    """As `alloc.Satisfies` says, but for how each language writes a list and a device."""
    memory = gb.empty(1 << 21, np.uint8, byte_alignment=1 << 20)
    data: Any = np.ndarray(
        row.get("shape", (5, 6, 7)), float, memory, (1 << 20) + row["at"], row["strides"]
    )
    require = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row.items()
        if key in KEYS
    }
    if "padding" in row:
        require["padding"] = PADDING.get(row["padding"], row["padding"])
    if not row["why"]:
        gb.Field(data, "IJK", require=require)
        return
    with pytest.raises(ValueError, match=r"^require: ") as caught:
        gb.Field(data, "IJK", require=require)
    said = re.sub(
        r"element \((.*?)\)",
        lambda index: f"element [{index[1].replace(',', '')}]",
        str(caught.value),
    )
    assert row["why"] in said.replace("('gpu', 0)", "on gpu 0")
