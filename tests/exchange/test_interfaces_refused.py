"""What arrayinterface/ and cudaarrayinterface/ refuse, every door of Python's objects refuses: the
tables are those of Go's tests.
"""

import ctypes
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import _core

ROOT = Path(__file__).parents[2]
BYTES = bytearray(4096)
HOST, CUDA = "__array_interface__", "__cuda_array_interface__"


def rows(room: str) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in (ROOT / room / "testdata" / "refused.jsonl").read_text().splitlines()
    ]


def fields(descr: list[Any]) -> list[Any]:
    """JSON has no tuples: (name, type), (name, type, shape); a name may be (title, name), a type a
    list of fields.
    """
    made = []
    for name, kind, *shape in descr:
        entry = (
            tuple(name) if isinstance(name, list) else name,
            fields(kind) if isinstance(kind, list) else kind,
        )
        made.append((*entry, *map(tuple, shape)))
    return made


def said(row: dict[str, Any]) -> dict[str, Any]:
    d = {"shape": (3, 4), "typestr": "<f8", "version": 3} | {
        key: tuple(row[key]) if key in ("shape", "strides") else row[key]
        for key in row
        if key not in ("why", "host", "buffer", "mask")
    }
    d["data"] = bytearray(row["buffer"]) if "buffer" in row else (row.get("data", 4096), False)
    if "mask" in row:
        d["mask"] = np.zeros((3, 4), bool)
    if "descr" in row:
        d["descr"] = fields(row["descr"])
    return d


def refusal(door: str, interface: dict[str, Any]) -> str:
    """What a Field over memory described so at that door is refused with, but for the door's own
    name.
    """
    obj = type("Described", (), {door: interface})()
    with pytest.raises(ValueError, match=re.escape(f"data: {door}")) as caught:
        gb.Field(obj)
    return str(caught.value).replace(door, "DOOR").replace(f" of {type(obj)!r}", "")


@pytest.mark.parametrize(
    "row", rows("arrayinterface"), ids=lambda row: re.sub(r"\d{9,}|[^ -~]", "..", row["why"])[:60]
)
def test_both_doors_refuse_with_the_same_words(row: dict[str, Any]) -> None:
    refused = refusal(HOST, said(row))
    assert row["why"] in refused
    # A buffer and an offset are the host's; versions are others
    if "host" not in row and "version" not in row:
        assert refusal(CUDA, said(row)) == refused


@pytest.mark.parametrize("row", rows("cudaarrayinterface"), ids=lambda row: row["why"][:40])
def test_what_only_devices_have(row: dict[str, Any]) -> None:
    assert row["why"] in refusal(CUDA, said(row))


UNREADABLE: dict[str, list[Any]] = {
    "version": [None, "3", 3.0, 1 << 80], "shape": [None, 3, "34", (3, "4"), (1 << 63, 4), {3: 4}],
    "strides": [8, "ab", (8, None), (1 << 63, 8)],
    "typestr": [None, 5, b"<f8", "\ud800"],
    "data": [None, (), (1,), (1, 2, 3), ("1", False), (-8, False), (1 << 64, False), 4096, "text",
    [4096, False]],
}  # fmt: skip


@pytest.mark.parametrize("key", UNREADABLE)
def test_both_doors_refuse_what_is_no_plain_data(key: str) -> None:
    for value in UNREADABLE[key]:
        for door in (HOST, CUDA):
            with pytest.raises((ValueError, TypeError), match=f"data: {door}.*{key}"):
                gb.Field(type("Described", (), {door: said({}) | {key: value}})())
    for stream in ("1", True, 2.0, 1 << 63):
        with pytest.raises(ValueError, match=f"data: {CUDA}.*stream"):
            gb.Field(type("Described", (), {CUDA: said({"stream": stream})})())


def test_a_device_s_interface_is_a_dict() -> None:
    for value in (5, [], "dict"):
        with pytest.raises(TypeError, match=r"is .*, not a dict"):
            gb.Field(type("Described", (), {CUDA: value})())


@pytest.mark.parametrize(
    "row",
    [row for row in rows("arrayinterface") if set(row) == {"typestr", "why"}],
    ids=lambda row: ascii(row["typestr"]),
)
def test_the_reader_of_typestrs_says_the_same(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as raised:
        _core.described_memory(row, "row", (3,), row["typestr"], (4096, False), None)
    found = str(raised.value).partition(": typestr: ")[2]
    assert row["why"] in found and ("has no bytes" in found or found in refusal(HOST, said(row)))
    assert _core.described_memory(row, "row", (3,), "<f8", (4096, True), None) == (
        (3,),
        (4096, True),
        (8,),
        np.dtype("<f8"),
    )
    with pytest.raises(TypeError, match="a str such as"):
        _core.described_memory(row, "row", (3,), 5, (4096, True), None)


def test_items_that_numpy_would_make_another_size_of() -> None:
    """Its sizes end at 2^31; newer ones refuse what older ones take modulo 2^32."""
    for typestr in ("|V4294967304", "|V2147483648", "<U536870912", "|S4294967297"):
        with pytest.raises(ValueError, match="typestr"):
            gb.as_numpy(type("Described", (), {HOST: said({"typestr": typestr, "shape": [1]})})())


def test_fields_without_a_name_and_without_bytes() -> None:
    address = ctypes.addressof((ctypes.c_char * len(BYTES)).from_buffer(BYTES))
    for descr in (
        [("", "<f4"), ("b", "|V4"), ("", "<f8")],
        [("a", "|V0"), ("b", "<f8", (1, 2))],
        [("a", "<f8", (0,)), ("", "|V16")],
    ):
        obj = type(
            "Described",
            (),
            {
                HOST: {
                    "shape": (2,),
                    "typestr": "|V16",
                    "descr": descr,
                    "data": (address, False),
                    "version": 3,
                }
            },
        )()
        assert gb.as_numpy(obj).dtype == np.dtype(descr)
