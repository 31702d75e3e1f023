"""Pages are 4 KiB here, 16 or 64 KiB elsewhere: under a preloaded library that answers as kernels
with larger ones do.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from in_child import python

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KIB, MIB = 1 << 10, 1 << 20
# Linux's own pairs of a page and a huge page.
SIZES = [(4 * KIB, 2 * MIB), (16 * KIB, 32 * MIB), (64 * KIB, 512 * MIB)]
sizes = pytest.mark.parametrize(
    ("page", "huge"), SIZES, ids=lambda n: f"{n >> 10}K" if n < MIB else f"{n >> 20}M"
)

pytestmark = pytest.mark.skipif(
    os.sysconf("SC_PAGE_SIZE") != 4096 or sys.platform != "linux",
    reason="larger pages are added to Linux's pages of 4 KiB",
)


def compiled(output: Path, *arguments: object) -> Path:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    subprocess.run(
        [compiler, "-std=gnu11", "-O2", "-Wall", "-Werror", "-o", output, *map(str, arguments)],
        check=True,
    )
    return output


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(
        tmp_path_factory.mktemp("pages") / "larger.so",
        "-shared",
        "-fPIC",
        HERE / "larger_pages.c",
        "-ldl",
    )


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [ROOT / "tests" / "fuzz" / "heap_threads.c", *sorted((ROOT / "alloc").glob("*.c"))]
    return compiled(tmp_path_factory.mktemp("heap") / "heap", *sources, "-lpthread", "-lm")


def rules(preload: Path, page: int, huge: int) -> dict[str, str]:
    return {"LD_PRELOAD": str(preload), "PAGES": str(page), "HUGE": str(huge)}


def test_the_preloaded_kernel_is_strict(preload: Path) -> None:
    """Were it not, nothing below would prove anything."""
    code = (
        "import ctypes, mmap, os\nlibc, memory = ctypes.CDLL(None, use_errno=True), mmap.mmap(-1, 1"
        " << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nassert mmap.PAGESIZE =="
        " os.sysconf('SC_PAGE_SIZE') == 65536\nat ="
        " ctypes.addressof(ctypes.c_char.from_buffer(memory))\nassert at % 65536 == 0\nmemory[:] ="
        " b'x' * (1 << 20)\nassert libc.madvise(ctypes.c_void_p(at + 4096), ctypes.c_size_t(4096),"
        " 4) == -1 and ctypes.get_errno() == 22\nassert libc.munmap(ctypes.c_void_p(at + 4096),"
        " ctypes.c_size_t(4096)) == -1\nassert libc.madvise(ctypes.c_void_p(at),"
        " ctypes.c_size_t(4096), 4) == 0\nprint(memory[65535], memory[65536])"
    )
    assert python(code, **rules(preload, *SIZES[2])) == "0 120"


MAPPINGS = """
import random, gridbuf as gb
def mappings():
    with open("/proc/self/maps") as maps:
        lines = maps.readlines()
    spans = ([int(x, 16) for x in line.split()[0].split("-")] for line in lines)
    return len(lines), sum(end - start for start, end in spans)
rng = random.Random(1)
def some(n):
    for _ in range(n):
        gb.empty((rng.randrange(4 << 20, 12 << 20),), "u1")
        gb.memory.trim()
some(100)
before = mappings()
some(COUNT)
after = mappings()
assert after[0] <= before[0] + 8, (before, after)
assert after[1] <= before[1] + (64 << 20), (before, after)
print(before[0], after[0])
"""


@sizes
def test_new_sizes_leave_no_mappings_behind(preload: Path, page: int, huge: int) -> None:
    python(MAPPINGS.replace("COUNT", "2000"), **rules(preload, page, huge))


ZEROS = """
import os, numpy as np, gridbuf as gb
page = os.sysconf("SC_PAGE_SIZE")
for bytes in (1, page - 1, page + 1, 8 * page, (4 << 20) + 3, LARGE):
    for boundary in (1, page, 2 * page):
        for _ in range(2):
            a = gb.zeros((bytes,), np.uint8, byte_alignment=boundary)
            assert not a.any(), (bytes, boundary)
            a[...] = 255
            b = gb.empty((bytes + 8,), np.uint8, byte_alignment=boundary)
            b[...] = 7
            a[...] = 255
            del a
            c = gb.zeros((bytes,), np.uint8, byte_alignment=boundary)
            assert (b == 7).all() and not c.any()
            c[...] = 3
            del b, c
    gb.memory.trim()
"""


@pytest.mark.parametrize("debug", ["0", "1"])
@sizes
def test_zeros_are_zeros_and_nothing_else_is(
    preload: Path, page: int, huge: int, debug: str
) -> None:
    """Nor are guards: GRIDBUF_DEBUG=1 would tell a write past the end, on standard error."""
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            ZEROS.replace("LARGE", str(2 * (huge if huge < 512 * MIB else 2 * MIB) + 4097)),
        ],
        env={
            **os.environ,
            **rules(preload, page, huge),
            "GRIDBUF_DEBUG": debug,
            "GRIDBUF_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode, run.stderr) == (0, "")


NEW_PAGES = """
import os, gridbuf as gb
def resident():
    with open("/proc/self/smaps_rollup") as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith("Rss:")) << 10
a = gb.full((96 << 20,), 1, "u1")
del a
used = resident()
a = gb.zeros((96 << 20,), "u1")
assert used - resident() > 80 << 20, (used, resident())
"""


@sizes
def test_zeros_of_a_large_used_block_take_new_pages(preload: Path, page: int, huge: int) -> None:
    python(NEW_PAGES, **rules(preload, page, huge))


@sizes
def test_plans_reserve_whole_pages(preload: Path, page: int, huge: int) -> None:
    code = (
        "import gridbuf as gb\n"
        "for n in (65_536, 70_000, 131_072 - 4096 - 192, 1 << 20, 5 << 20):\n"
        "    for boundary in (1, 64, 65536):\n"
        "        a = gb.empty((n,), 'u1', byte_alignment=boundary)\n"
        "        live = gb.memory.stats()['live_bytes']\n"
        f"        assert live % {page} == 0 and live >= n, live\n"
        "        del a\n"
    )
    python(code, **rules(preload, page, huge), GRIDBUF_PLACEMENT="packed")


@pytest.mark.parametrize("debug", ["0", "1"])
@sizes
def test_the_heap_on_threads(preload: Path, heap: Path, page: int, huge: int, debug: str) -> None:
    subprocess.run(
        [heap, "2000", "4", "7"],
        env={**os.environ, **rules(preload, page, huge), "GRIDBUF_DEBUG": debug},
        check=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("page", "huge", "boundary"),
    [(4 * KIB, 2 * MIB, 2 * MIB), (16 * KIB, 32 * MIB, 32 * MIB), (64 * KIB, 512 * MIB, 2 * MIB)],
)
def test_large_mappings_start_on_huge_pages_unless_those_are_too_large(
    preload: Path, page: int, huge: int, boundary: int
) -> None:
    code = (
        "import gridbuf as gb\n"
        f"held = [gb.empty((2 * {boundary} + n * {page},), 'u1') for n in range(6)]\n"
        "with open('/proc/self/maps') as maps:\n"
        "    starts = [line.split()[0].split('-') for line in maps]\n"
        "low = [a.ctypes.data for a in held]\n"
        f"assert all(p % {boundary} < {page} + 65536 for p in low), [hex(p) for p in low]\n"
    )
    python(code, **rules(preload, page, huge), GRIDBUF_PLACEMENT="packed")
