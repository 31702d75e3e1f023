"""glibc's thresholds, and bits that do not depend on addresses."""

import pytest
from in_child import python

from gridbuf.interop import glibc

MAPPED = """
import ctypes
class Mallinfo(ctypes.Structure):
    names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
             "fordblks", "keepcost")
    _fields_ = [(name, ctypes.c_int) for name in names]
libc = ctypes.CDLL(None)
libc.mallinfo.restype = Mallinfo
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
def mapped():
    before = libc.mallinfo().hblks
    assert libc.malloc(24 << 20)
    return libc.mallinfo().hblks - before
"""

only_glibc = pytest.mark.skipif(not glibc.is_glibc(), reason="the C library is not glibc")


@only_glibc
def test_large_blocks_of_other_libraries_come_from_the_heap() -> None:
    code = MAPPED + (
        "first = mapped()\n"
        "from gridbuf.interop import numpy\n"
        "numpy.enable()\n"
        "print(first, mapped())"
    )
    assert python(code) == "1 0"


@only_glibc
@pytest.mark.parametrize(
    "variables",
    [
        {"MALLOC_MMAP_THRESHOLD_": "65536"},
        {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=65536"},
    ],
    ids=str,
)
def test_what_the_environment_says_stands(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert not glibc.keep_blocks()
    code = MAPPED + "from gridbuf.interop import numpy\nnumpy.enable()\nprint(mapped())"
    assert python(code) == "1"


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> str:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(glibc.os, "confstr", unknown, raising=False)
    assert not glibc.keep_blocks()


PROGRAM = """
import hashlib, random
from gridbuf.interop import numpy
numpy.enable()
import numpy as np
noise = [np.ones(random.randrange(1, 5000)) for _ in range(random.randrange(200))]
junk = [bytearray(random.randrange(1, 5000)) for _ in range(random.randrange(200))]
generator, digest = np.random.default_rng(1), hashlib.sha256()
for dtype in ("f4", "f8"):
    for n in (1, 7, 33, 1000, 4099):
        a, b = (generator.random((n, 13)).astype(dtype) + 0.5 for _ in range(2))
        for x, y in ((a, b), (a[1:], b[1:]), (a[:, 1:], b[:, :-1]), (a.T, b.T)):
            for function in (np.exp, np.sin, np.cos, np.log, np.sqrt, np.tanh, np.arcsin, np.cbrt):
                with np.errstate(invalid="ignore"):
                    digest.update(function(x).tobytes())
            for function in (np.power, np.arctan2, np.hypot, np.divide, np.fmod):
                digest.update(function(x, y).tobytes())
            sums = x.sum(0), x.mean(), x.std(), np.cumsum(x), np.einsum("ij,ij->j", x, y)
            for found in (*sums, np.prod(x, 1)):
                digest.update(found.tobytes())
print(digest.hexdigest())
"""


def test_runs_on_our_memory_have_the_same_bits() -> None:
    """Arrays lie elsewhere in each run, and begin at multiples of 64 bytes in all."""
    assert len({python(PROGRAM) for _ in range(3)}) == 1
