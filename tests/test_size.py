"""The extension stays small: a megabyte comes in with one import in Go, or with a template that is compiled once more."""

import struct
import sysconfig
from pathlib import Path

import pytest

from gridbuf import _core

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # has the stand-ins of core/turns.c, and no limited API
LARGEST = 3_400_000 if FREE_THREADED else 3_000_000  # bytes, stripped
LOADED = 1  # PT_LOAD


def stripped(elf: bytes) -> int:
    """Where the last segment that is loaded ends: a few KB less than a stripped file has."""
    (headers,) = struct.unpack_from("<Q", elf, 32)
    each, n = struct.unpack_from("<HH", elf, 54)
    ends = []
    for at in range(headers, headers + each * n, each):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", elf, at)
        ends += [offset + size] * (kind == LOADED)
    return max(ends)


def test_the_extension_is_small() -> None:
    path = Path(_core.__file__)
    elf = path.read_bytes()
    if elf[:5] != b"\x7fELF\x02":
        pytest.skip("no ELF file of 64 bits")
    if any(name in elf for name in (b"__asan_init", b"__ubsan_handle", b"__tsan_init", b"gbridge_panic")):
        pytest.skip("built for a sanitizer, or for a test")
    assert 1_000_000 < stripped(elf) <= LARGEST
