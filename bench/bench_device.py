"""Device memory: allocation, fills, copies and uploads against cupy and the driver's own moves.

The cases need a GPU and cupy; without them `make bench` passes over this file. `python
bench/bench_device.py` counts calls of the fake driver, which it builds where GRIDBUF_LIBCUDA names
none; with `--write` the table goes into docs/device.md.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Case

SETUP = """
import cupy, numpy as np, gridbuf as gb
sync = gb.cuda.synchronize
n = (512, 512, 256)                     # 537 MB of float64
small = (64, 64, 64)
gb.Field.empty(small, device="gpu"); cupy.empty(small)
f, g = gb.Field.ones(n, device="gpu"), gb.Field.ones(n, device="gpu")
t = gb.Field.ones(n, device="gpu", backend="gt:gpu")
a, b = f.cupy(), g.cupy()
pinned, pageable = gb.ones(n, memory="pinned"), gb.ones(n)
size = pinned.nbytes
def raw_upload(): a.data.copy_from_host_async(pinned.ctypes.data, size); sync()
def raw_download(): a.data.copy_to_host_async(pinned.ctypes.data, size); sync()
def raw_copy(): b.data.copy_from_device_async(a.data, size); sync()
def raw_fill(): a.data.memset_async(1, size); sync()
def fill(): gb.fill(f, 1.5); sync()
def copy(): gb.copyto(g, f); sync()
def relayout(): gb.copyto(t, f); sync()
def async_upload(): gb.copy_async(f, pinned).wait()
sync()
"""

STENCIL = """
import gridbuf as gb, numpy as np, gt4py.storage as gt_storage
from gt4py.cartesian import gtscript
from stencils import diffuse as definition
diffuse = gtscript.stencil(backend="gt:gpu", definition=definition)
shape, origin = (514, 514, 80), (1, 1, 0)
ours = [gb.ones(shape, backend="gt:gpu", aligned_index=origin) for _ in range(2)]
theirs = [gt_storage.ones(shape, np.float64, backend="gt:gpu", aligned_index=origin)
    for _ in range(2)]
def run(pair):
    for _ in range(20): diffuse(*pair, origin=origin, domain=(512, 512, 80))
    gb.cuda.synchronize()
run(ours); run(theirs)
"""

_MOVES = {"rounds": 15, "number": 1}
_CASES = [
    Case(
        "Field.empty on the GPU, pooled / cupy.empty",
        'gb.Field.empty(small, device="gpu")',
        "cupy.empty(small)",
        SETUP,
        0.5,
        0.5,
    ),
    Case(
        "gb.empty on the GPU (a cupy array) / cupy.empty",
        'gb.empty(small, device="gpu")',
        "cupy.empty(small)",
        SETUP,
        1.0,
    ),
    Case("fill 537 MB / the driver's memset", "fill()", "raw_fill()", SETUP, 1.11, **_MOVES),
    Case("copy 537 MB / the driver's copy", "copy()", "raw_copy()", SETUP, 1.11, **_MOVES),
    Case(
        "transposed copy on the GPU / the driver's straight copy",
        "relayout()",
        "raw_copy()",
        SETUP,
        1.5,
        **_MOVES,
    ),
    Case(
        "upload from pinned / the driver's upload",
        "gb.copyto(f, pinned)",
        "raw_upload()",
        SETUP,
        1.11,
        **_MOVES,
    ),
    Case(
        "download to pinned / the driver's download",
        "gb.copyto(pinned, f)",
        "raw_download()",
        SETUP,
        1.11,
        **_MOVES,
    ),
    Case(
        "copy_async from pinned / the driver's upload",
        "async_upload()",
        "raw_upload()",
        SETUP,
        1.11,
        **_MOVES,
    ),
    Case(
        "relayout + upload from pinned / upload alone",
        "gb.copyto(t, pinned)",
        "raw_upload()",
        SETUP,
        1.25,
        **_MOVES,
    ),
    Case(
        "upload of pageable memory / cupy's set",
        "gb.copyto(f, pageable)",
        "a.set(pageable)",
        SETUP,
        1.0,
        **_MOVES,
    ),
]
HALOS = """
import cupy, numpy as np, gridbuf as gb, gridbuf.distributed as gbd
grid = gbd.grid((512, 512), periodic="IJ", halo=3)
T = [grid.ones("IJK", sizes={"K": 80}, device="gpu", backend="gt:gpu") for _ in range(8)]
arrays, plan = [f.cupy() for f in T], grid.plan(*T)
def ours(): plan(*T); gb.cuda.synchronize()
def slabs():
    for a in arrays:
        a[:3], a[-3:] = a[-6:-3], a[3:6]
        a[:, :3], a[:, -3:] = a[:, -6:-3], a[:, 3:6]
    gb.cuda.synchronize()
ours(); slabs()
"""
_HALOS = [
    Case(
        "halos of eight fields in one launch / slab by slab in cupy",
        "ours()",
        "slabs()",
        HALOS,
        0.5,
        rounds=15,
        number=10,
    )
]
_STENCILS = [
    Case(
        "gt:gpu diffusion on our arrays / gt4py.storage's",
        "run(ours)",
        "run(theirs)",
        STENCIL,
        1.0,
        **_MOVES,
    )
]


def _cases() -> list[Case]:
    import gridbuf as gb

    found = {name: importlib.util.find_spec(name) is not None for name in ("cupy", "gt4py")}
    if "GRIDBUF_LIBCUDA" in os.environ or not found["cupy"] or not gb.cuda.available():
        return []
    return _CASES + _HALOS + (_STENCILS if found["gt4py"] else [])


CASES = _cases()

PAGE = Path(__file__).parent.parent / "docs" / "device.md"
BEGIN = "<!-- calls of the driver, written by bench/bench_device.py -->\n"
END = "<!-- end of the calls -->"
COUNT = """
import ctypes, os, gridbuf as gb, gridbuf.distributed as gbd, numpy as np
count = ctypes.CDLL(os.environ["GRIDBUF_LIBCUDA"]).fake_count
count.restype = ctypes.c_int64
moves = [b"cuMemcpyHtoDAsync_v2", b"cuMemcpyDtoHAsync_v2", b"cuMemcpyDtoDAsync_v2",
    b"cuMemcpy2DAsync_v2", b"cuLaunchKernel"]
n = (64, 64, 40)
f, t = gb.Field.empty(n, device="gpu"), gb.Field.empty(n, device="gpu", backend="gt:gpu")
g, unseen = gb.Field.empty(n, device="gpu"), gb.Field.zeros(n, memory="managed")
pinned, pageable = gb.ones(n, memory="pinned"), np.ones(n)
padded = gb.ones(n, memory="pinned", padding=64)
grid = gbd.grid((32, 32), periodic="IJ", halo=2)
T = [grid.zeros("IJK", sizes={"K": 20}, device="gpu") for _ in range(8)]
plan = grid.plan(*T)
print("| once warm | calls | of them moves and kernels |")
print("| --- | --- | --- |")
def measure(what, action):
    action(); action(); gb.cuda.synchronize()
    before = count(b""), sum(map(count, moves))
    action()
    print(f"| {what} | {count(b'') - before[0]} | {sum(map(count, moves)) - before[1]} |")
measure("`Field.empty` on the GPU, and its end", lambda: gb.Field.empty(n, device="gpu"))
measure("`empty` of pinned memory, and its end", lambda: gb.empty(n, memory="pinned"))
measure("`__cuda_array_interface__`, nothing in flight", lambda: f.__cuda_array_interface__)
measure("`__dlpack__(stream=1)`, nothing in flight", lambda: f.__dlpack__(stream=1))
measure("a host view of managed memory that no GPU was shown", unseen.numpy)
measure("`zeros`", lambda: gb.Field.zeros(n, device="gpu"))
measure("`ones`", lambda: gb.Field.ones(n, device="gpu"))
measure("`fill`", lambda: gb.fill(f, 1.5))
measure("one element", lambda: f.__setitem__((1, 2, 3), 1.5))
measure("a copy within the GPU", lambda: gb.copyto(g, f))
measure("the same, transposed", lambda: gb.copyto(t, f))
measure("upload from pinned memory", lambda: gb.copyto(f, pinned))
measure("upload of 1.3 MB of pageable memory", lambda: gb.copyto(f, pageable))
measure("upload from pinned memory with padded rows", lambda: gb.copyto(f, padded))
measure("upload from pinned memory, transposed", lambda: gb.copyto(t, pinned))
measure("download to pinned memory", lambda: gb.copyto(pinned, f))
measure("`copy_async` from pinned memory, and `wait`", lambda: gb.copy_async(f, pinned).wait())
measure("halos of one Field within a process", lambda: grid.exchange(T[0]))
measure("halos of eight", lambda: plan(*T))
measure("the adjoint of these", lambda: plan.accumulate(*T))
"""


def counted() -> str:
    """Calls of the driver for each kind of work, push and pop of the context among them, on the
    fake driver.
    """
    with tempfile.TemporaryDirectory() as folder:
        library = os.environ.get("GRIDBUF_LIBCUDA") or str(Path(folder) / "libfakecuda.so")
        if not Path(library).exists():
            subprocess.run(
                ["sh", str(Path(__file__).parent.parent / "cuda" / "fake" / "build.sh"), library],
                check=True,
            )
        environment = os.environ | {"GRIDBUF_LIBCUDA": library}
        return subprocess.run(
            [sys.executable, "-c", COUNT],
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout


def main() -> None:
    if importlib.util.find_spec("gridbuf") is None:
        sys.exit("gridbuf is not installed here")
    table = counted()
    print(table, end="")
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(before + BEGIN + table + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
