"""Servers whose sizes lie: a ValueError says what came, and nothing is mapped or left open."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from share_server import answering

import gridbuf as gb

RIGHT = {
    "bytes": 8192,
    "offset": 64,
    "typestr": "<f8",
    "shape": [10, 20],
    "strides": [8, 128],
    "dims": ["I", "J"],
    "halo": [[1, 1], [0, 2]],
    "writable": True,
}
F_ADD_SEALS, SHRINK_AND_GROW = 1033, 2 | 4


@pytest.fixture
def memory() -> Iterator[int]:
    descriptor = os.memfd_create("gridbuf", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(descriptor, 8192)
    import fcntl

    fcntl.fcntl(descriptor, F_ADD_SEALS, SHRINK_AND_GROW)
    yield descriptor
    os.close(descriptor)


def attach(path: Path, answer: Any, descriptors: list[int], **keywords: bool) -> gb.Field:
    with answering(path, answer, descriptors) as address:
        return gb.attach(address, "T", **keywords)


def test_what_is_right_is_attached(memory: int, tmp_path: Path) -> None:
    field = attach(tmp_path / "s", {"version": 1, "array": RIGHT}, [memory], writable=True)
    field[...] = np.arange(20)
    assert field.halo == ((1, 1), (0, 2)) and field[9, 19] == 19
    for change in ({"halo": []}, {"strides": [0, 8]}, {"shape": [0, 1 << 40], "halo": None}):
        attach(tmp_path / "s", {"version": 1, "array": RIGHT | change}, [memory])
    scalar = {"shape": [], "strides": [], "dims": [], "halo": None}
    assert attach(tmp_path / "s", {"version": 1, "array": RIGHT | scalar}, [memory]).shape == ()


LIES = [
    ("bytes: the server said 4096; its memory has 8192", {"bytes": 4096}),
    ("bytes: the server said 1099511627776", {"bytes": 1 << 40}),
    ("bytes: the server said -8192", {"bytes": -8192}),
    ("bytes: the server said '8192'", {"bytes": "8192"}),
    ("bytes: the server said True", {"bytes": True}),
    ("bytes: the server said None", {"bytes": None}),
    ("offset: the server sent .-8.", {"offset": -8}),
    ("offset: the server sent .1.5.", {"offset": 1.5}),
    ("at offset 8192 of float64; they reach beyond its 8192 bytes", {"offset": 8192}),
    ("reach beyond", {"offset": (1 << 63) - 1}),
    ("offset: the server sent", {"offset": 1 << 70}),
    ("reach beyond", {"shape": [10, 100]}),
    ("reach beyond", {"shape": [1 << 62, 1 << 62], "strides": [8, 8]}),
    ("reach beyond", {"shape": [1 << 62, 1 << 62], "strides": [0, 0]}),
    ("shape: the server sent", {"shape": [1 << 64, 1]}),
    ("shape: the server sent .-10, 20", {"shape": [-10, 20]}),
    ("shape: the server sent 'all'", {"shape": "all"}),
    ("shape: the server sent .True, 20", {"shape": [True, 20]}),
    ("strides: the server sent .-8, 128", {"strides": [-8, 128]}),
    ("reach beyond", {"strides": [8, 1 << 62]}),
    ("2 and 1 entries", {"strides": [8]}),
    ("33 and 33 entries", {"shape": [1] * 33, "strides": [8] * 33}),
    ("typestr: the server sent '.O'", {"typestr": "|O"}),
    ("typestr: the server sent '.O8'", {"typestr": "|O8"}),
    ("typestr: the server sent '<f3'", {"typestr": "<f3"}),
    ("typestr: the server sent 'f8,f8'", {"typestr": "f8,f8"}),
    ("typestr: the server sent", {"typestr": "|V99999999999"}),
    ("reach beyond", {"typestr": "|V99999999"}),
    ("typestr: the server sent 8", {"typestr": 8}),
    ("dims", {"dims": ["I", "1x"]}),
    ("dims", {"dims": ["I"]}),
    ("dims", {"dims": ["I", "I"]}),
    ("dims: the server sent 'IJ'; expected 2 of 'I', 'J', 'K'", {"dims": "IJ"}),
    ("dims: the server sent .1, 2", {"dims": [1, 2]}),
    ("dims: the server sent None", {"dims": None}),
    ("dims: the server sent .'.ud800', 'I'", {"dims": ["\ud800", "I"]}),
    ("dims: the server sent", {"dims": ["I" * 100_000, "J"]}),
    ("halo: the server sent 0; expected null or 2 lists", {"halo": 0}),
    ("halo: the server sent .1, 1", {"halo": [1, 1]}),
    (r"halo: the server sent \[\[1\]", {"halo": [[1], [1]]}),
    (r"halo: the server sent \[\[1, 1\]\]", {"halo": [[1, 1]]}),
    ("halo: the server sent .True, 1", {"halo": [[True, 1], [0, 0]]}),
    ("halo: the server sent", {"halo": [[1 << 70, 1], [0, 0]]}),
    ("halo", {"halo": [[6, 6], [0, 0]]}),
    ("halo", {"halo": [[-1, 1], [0, 0]]}),
    ("writable: the server sent memory for reading only", {"writable": False}),
]


def test_memory_without_bytes_is_refused(tmp_path: Path) -> None:
    empty = os.memfd_create("empty")
    try:
        nothing = RIGHT | {"bytes": 0, "shape": [0, 0], "halo": None}
        with pytest.raises(ValueError, match="bytes: the server said 0; its memory has 0"):
            attach(tmp_path / "s", {"version": 1, "array": nothing}, [empty])
    finally:
        os.close(empty)


@pytest.mark.parametrize(("match", "change"), LIES)
def test_lies_are_refused(match: str, change: dict[str, Any], memory: int, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ValueError, match=match) as raised:
        attach(tmp_path / "s", {"version": 1, "array": RIGHT | change}, [memory], writable=True)
    assert len(str(raised.value)) < 400
    del raised  # its frames have the mapping
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("match", "answer"),
    [
        ("expected version 1 of the protocol", {"version": 2, "array": RIGHT}),
        ("expected version 1 of the protocol", [1]),
        ("expected version 1 of the protocol", {}),
        ("no JSON", b"\x04\x00\x00\x00{{{{"),
        ("no JSON", b"\x02\x00\x00\x00\xff\xfe"),
        ("no JSON", b"\x00\x00\x08\x00" + b"[" * (1 << 19)),
        ("a message of 4294967299 bytes; at most 1048576", b"\xff\xff\xff\xff"),
        ("no description with a descriptor", {"version": 1}),
        ("no description with a descriptor", {"version": 1, "array": [RIGHT]}),
        ("name: gone", {"version": 1, "error": "name: gone"}),
    ],
)
def test_answers_that_are_none(match: str, answer: Any, memory: int, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for descriptors in ([], [memory], [memory, memory]):
        with pytest.raises(ValueError, match=match):
            attach(tmp_path / "s", answer, descriptors)
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_answer_that_ends_early(memory: int, tmp_path: Path) -> None:
    for answer in (b"\x04\x00", b"\x04\x00\x00\x00{"):
        with pytest.raises(ConnectionResetError):
            attach(tmp_path / "s", answer, [memory])


def test_descriptors_of_something_else(tmp_path: Path) -> None:
    """No memory, memory that can shrink under the reader, and none at all."""
    answer = {"version": 1, "array": RIGHT}
    with open("/dev/zero", "rb") as zeros, open(tmp_path / "file", "wb+") as file:
        file.truncate(8192)
        with pytest.raises(ValueError, match="its memory has 0"):
            attach(tmp_path / "s", answer, [zeros.fileno()])
        with pytest.raises(ValueError, match="not sealed"):
            attach(tmp_path / "s", answer, [file.fileno()])
    with pytest.raises(ValueError, match="no description with a descriptor"):
        attach(tmp_path / "s", answer, [])


@pytest.mark.parametrize("names", ["T", [1], {"T": 1}])
def test_names_that_are_none(names: Any, tmp_path: Path) -> None:
    with (
        answering(tmp_path / "s", {"version": 1, "names": names}, []) as address,
        pytest.raises(ValueError, match="as names"),
    ):
        gb.offered(address)


def test_lists_within_lists(tmp_path: Path) -> None:
    """As deep as JSON is read, and deeper: an error has no room for all of them."""
    for depth in (500, 900, 980, 990, 1000, 5000, 100_000):
        nested = b'{"version": 1, "names": ' + b"[" * depth + b"]" * depth + b"}"
        message = len(nested).to_bytes(4, "little") + nested
        with (
            answering(tmp_path / "s", message, []) as address,
            pytest.raises(ValueError, match=r"as names|no JSON") as raised,
        ):
            gb.offered(address)
        assert len(str(raised.value)) < 400
