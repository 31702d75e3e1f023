"""What the library shows, what it leaves alone when loaded, and where its memory lies."""

import ctypes
import mmap
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from in_child import python

import gridbuf as gb
import gridbuf._core

LIBRARY = Path(gridbuf._core.__file__)
# Which does nothing to anonymous memory, and refuses where there is none
MSYNC, ASYNC = (ctypes.CDLL(None).msync, 1)
MSYNC.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_the_library_exports_its_init_function_and_nothing_else() -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in symbols.splitlines()] == ["PyInit__core"]


def test_the_library_needs_no_cuda_and_no_libpython() -> None:
    needed = subprocess.run(["ldd", LIBRARY], capture_output=True, text=True).stdout
    assert "cuda" not in needed and "libpython" not in needed


def test_importing_loads_no_driver_and_keeps_the_limit_of_open_files() -> None:
    code = (
        "import resource; before = resource.getrlimit(resource.RLIMIT_NOFILE); import gridbuf; "
        "assert resource.getrlimit(resource.RLIMIT_NOFILE) == before; "
        "maps = open('/proc/self/maps').read(); assert 'libcuda' not in maps"
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = min(soft, 1024)
    python(f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({low}, {hard})); {code}")


def is_mapped(address: int) -> bool:
    """As the kernel says. To read /proc/self/maps takes memory, which may lie where an array
    was.
    """
    page = address // mmap.PAGESIZE * mmap.PAGESIZE
    return MSYNC(page, mmap.PAGESIZE, ASYNC) == 0


@pytest.mark.parametrize("elements", [20_000, 1_000_000, 5_000_000])
def test_array_memory_is_mapped_for_itself_and_not_part_of_the_go_heap(elements: int) -> None:
    a, f = gb.empty((elements,)), gb.Field.zeros((elements,))
    addresses = a.ctypes.data, f.numpy().ctypes.data
    assert all(is_mapped(x) for x in addresses)
    del a, f
    gb.memory.trim()  # Go gives its heap back in its own time; a mapping of ours is gone at once
    assert not any(is_mapped(x) for x in addresses)


def test_a_host_field_has_no_cuda_array_interface() -> None:
    f = gb.Field.zeros((2, 2))
    assert not hasattr(f, "__cuda_array_interface__") and not hasattr(
        type(f), "__cuda_array_interface__"
    )
    assert type(f) is gb.HostField and isinstance(f, gb.Field)


@pytest.mark.parametrize(
    "keywords",
    [{"device": "gpu"}, {"device": ("gpu", 1)}, {"backend": "gt:gpu"}, {"memory": "pinned"}],
)
def test_devices_that_are_not_there_say_so_after_the_argument_errors(
    keywords: dict[str, object],
) -> None:
    """In a process of its own, where the driver's library is one that does not exist."""
    code = (
        "import gridbuf as gb\nfor make, missing in ((gb.empty, 'driver|cupy'), (gb.Field.empty,"
        " 'driver')):\n    try: make((3, 4), **KEYWORDS)\n    except (RuntimeError, ImportError) as"
        " error: assert any(word in str(error) for word in missing.split('|')), error\n    else:"
        " raise SystemExit('nothing is missing')\n    try: make((3, 4), halo=(2, 9), **KEYWORDS)\n "
        "   except ValueError as error: assert 'halo' in str(error)\n    else: raise"
        " SystemExit('halo fits')\n"
    ).replace("KEYWORDS", repr(keywords))
    python(code, options=["-W", "ignore"], GRIDBUF_LIBCUDA="/nowhere/libcuda.so.1")


def test_a_megabyte_of_elements_beyond_two_gib_is_planned_with_64_bits() -> None:
    p = gb.plan((1 << 16, 1 << 16, 4), np.float64, backend="gt:cpu_ifirst")
    assert p.nbytes == 1 << 37 and p.strides == (8, 1 << 19, 1 << 35)


def test_signals_still_reach_python() -> None:
    code = (
        "import gridbuf as gb, os, signal, threading\n"
        "gb.empty((3, 3))\n"
        "try:\n"
        "    threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()\n"
        "    while True: gb.zeros((100, 100))\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    assert python(code) == "interrupted"
    code = (
        "import gridbuf, os\nr, w = os.pipe(); os.close(r)\ntry: os.write(w, b'x')\nexcept"
        " BrokenPipeError: print('broken')"
    )
    assert python(code) == "broken"
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", "import gridbuf, ctypes; ctypes.string_at(8)"],
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0 and "Segmentation fault" in run.stderr
