"""The extension and Go's library stay small: a megabyte comes in with one import in Go, or with a
template that is compiled once more.
"""

import struct
from pathlib import Path

import pytest

from gridbuf import _core

LARGEST = 8_000_000  # bytes of both, stripped
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


def test_the_libraries_are_small() -> None:
    extension = Path(_core.__file__)
    libraries = [path.read_bytes() for path in (extension, extension.with_name("_go.so"))]
    if any(elf[:5] != b"\x7fELF\x02" for elf in libraries):
        pytest.skip("no ELF file of 64 bits")
    if any(
        name in elf
        for elf in libraries
        for name in (b"__asan_init", b"__ubsan_handle", b"__tsan_init", b"gbridge_panic")
    ):
        pytest.skip("built for a sanitizer, or for a test")
    sizes = [stripped(elf) for elf in libraries]
    assert min(sizes) > 500_000 and sum(sizes) <= LARGEST, sizes
