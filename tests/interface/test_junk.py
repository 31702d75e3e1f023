"""Junk in `__gt_interface__`: reading it is a clear error or a checked description, never a
crash.
"""

import ctypes
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gridbuf import interface

MEMORY = bytearray(1024)
BASE = ctypes.addressof((ctypes.c_char * len(MEMORY)).from_buffer(MEMORY))
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 65),
    1 << 65) | st.floats() | st.text(max_size=6) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner,
    max_size=3).map(tuple) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = {
    "shape": st.lists(st.integers(-1, 3) | st.just(1 << 62), max_size=4).map(tuple),
    "strides": st.none() | st.lists(st.integers(-16, 16), max_size=4).map(tuple),
    "typestr": st.sampled_from(["<f8", "|V8", "f8", "<f3", "|O8", ""]),
    "data": st.tuples(st.sampled_from([0, -1, BASE + 512]), st.booleans()),
    "dims": st.none() | st.lists(st.sampled_from(["I", "J", "K", "0", "x"]), max_size=4).map(tuple),
    "acquire": st.none() | st.just(len),
}
DEVICES = st.sampled_from([None, "cpu", "gpu", ("gpu", 0)])


def read(description: Any) -> None:
    obj = type("Described", (), {"__gt_interface__": description})()
    try:
        found = interface.read(obj)
    except (TypeError, ValueError) as error:
        assert str(error)
        return
    assert len(found["strides"]) == len(found["shape"]) and np.dtype(found["typestr"]).itemsize > 0
    assert found["dims"] is None or len(found["dims"]) == len(found["shape"])


@given(description=JUNK)
def test_junk_as_the_map(description: Any) -> None:
    read(description)


@given(entry=JUNK, device=DEVICES)
def test_junk_as_an_entry(entry: Any, device: Any) -> None:
    read({device: entry})


@given(
    entry=st.fixed_dictionaries({}, optional={key: value | JUNK for key, value in KEYS.items()}),
    device=DEVICES,
)
def test_junk_in_an_entry(entry: dict[str, Any], device: Any) -> None:
    read({device: entry})


@given(entry=st.fixed_dictionaries({}, optional=KEYS), device=DEVICES)
def test_nearly_sound_entries(entry: dict[str, Any], device: Any) -> None:
    read({device: entry})
