"""Device memory: allocation, fills, copies and uploads against cupy and the driver's own moves.

The cases need a GPU and cupy; without them `make bench` passes over this file. `python bench/bench_device.py` counts calls of
the driver: on a GPU, or on the fake driver with GRIDBUF_LIBCUDA and cuda/fake/build.sh.
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
from gt4py.cartesian.gtscript import PARALLEL, computation, interval
Grid = gtscript.Field[np.float64]
@gtscript.stencil(backend="gt:gpu")
def diffuse(inp: Grid, out: Grid):
    with computation(PARALLEL), interval(...):
        lap = 4.0 * inp - (inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0])
        out = inp - 0.1 * lap
shape, origin = (514, 514, 80), (1, 1, 0)
ours = [gb.ones(shape, backend="gt:gpu", aligned_index=origin) for _ in range(2)]
theirs = [gt_storage.ones(shape, np.float64, backend="gt:gpu", aligned_index=origin) for _ in range(2)]
def run(pair):
    for _ in range(20): diffuse(*pair, origin=origin, domain=(512, 512, 80))
    gb.cuda.synchronize()
run(ours); run(theirs)
"""

_MOVES = {"rounds": 15, "number": 1}
_CASES = [
    Case(
        "Field.empty on the GPU, pooled / cupy.empty", 'gb.Field.empty(small, device="gpu")', "cupy.empty(small)", SETUP, 0.5, 0.5
    ),
    Case("gb.empty on the GPU (a cupy array) / cupy.empty", 'gb.empty(small, device="gpu")', "cupy.empty(small)", SETUP, 1.0),
    Case("fill 537 MB / the driver's memset", "fill()", "raw_fill()", SETUP, 1.11, **_MOVES),
    Case("copy 537 MB / the driver's copy", "copy()", "raw_copy()", SETUP, 1.11, **_MOVES),
    Case("transposed copy on the GPU / the driver's straight copy", "relayout()", "raw_copy()", SETUP, 1.5, **_MOVES),
    Case("upload from pinned / the driver's upload", "gb.copyto(f, pinned)", "raw_upload()", SETUP, 1.11, **_MOVES),
    Case("download to pinned / the driver's download", "gb.copyto(pinned, f)", "raw_download()", SETUP, 1.11, **_MOVES),
    Case("copy_async from pinned / the driver's upload", "async_upload()", "raw_upload()", SETUP, 1.11, **_MOVES),
    Case("relayout + upload from pinned / upload alone", "gb.copyto(t, pinned)", "raw_upload()", SETUP, 1.25, **_MOVES),
    Case("upload of pageable memory / cupy's set", "gb.copyto(f, pageable)", "a.set(pageable)", SETUP, 1.0, **_MOVES),
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
    Case("halos of eight fields in one launch / slab by slab in cupy", "ours()", "slabs()", HALOS, 0.5, rounds=15, number=10)
]
_STENCILS = [Case("gt:gpu diffusion on our arrays / gt4py.storage's", "run(ours)", "run(theirs)", STENCIL, 1.0, **_MOVES)]


def _cases() -> list[Case]:
    import gridbuf as gb

    found = {name: importlib.util.find_spec(name) is not None for name in ("cupy", "gt4py")}
    if "GRIDBUF_LIBCUDA" in os.environ or not found["cupy"] or not gb.cuda.available():
        return []
    return _CASES + _HALOS + (_STENCILS if found["gt4py"] else [])


CASES = _cases()

COUNT = """
import ctypes, os, gridbuf as gb, numpy as np
count = ctypes.CDLL(os.environ["GRIDBUF_LIBCUDA"]).fake_count
count.restype = ctypes.c_int64
moves = [b"cuMemcpyHtoDAsync_v2", b"cuMemcpyDtoHAsync_v2", b"cuMemcpyDtoDAsync_v2", b"cuMemcpy2DAsync_v2", b"cuLaunchKernel"]
n = (64, 64, 40)
f, t = gb.Field.empty(n, device="gpu"), gb.Field.empty(n, device="gpu", backend="gt:gpu")
g = gb.Field.empty(n, device="gpu")
pinned, padded = gb.ones(n, memory="pinned"), gb.ones(n, memory="pinned", padding=64)
def measure(what, action):
    action(); action(); gb.cuda.synchronize()
    before = count(b""), sum(map(count, moves))
    action()
    print(f"{what:52} {count(b'') - before[0]:6} calls, {sum(map(count, moves)) - before[1]} of them move or launch")
measure("Field.empty on the GPU, pooled", lambda: gb.Field.empty(n, device="gpu"))
measure("empty, pinned, pooled", lambda: gb.empty(n, memory="pinned"))
measure("fill", lambda: gb.fill(f, 1.5))
measure("copy within the GPU", lambda: gb.copyto(g, f))
measure("transposed copy within the GPU", lambda: gb.copyto(t, f))
measure("upload from pinned", lambda: gb.copyto(f, pinned))
measure("upload from pinned with padded rows", lambda: gb.copyto(f, padded))
measure("download to pinned", lambda: gb.copyto(pinned, f))
measure("relayout + upload from pinned", lambda: gb.copyto(t, pinned))
import gridbuf.distributed as gbd
grid = gbd.grid((32, 32), periodic="IJ", halo=2)
T = [grid.zeros("IJK", sizes={"K": 20}, device="gpu") for _ in range(8)]
plan = grid.plan(*T)
measure("halos of one field, within the process", lambda: grid.exchange(T[0]))
measure("halos of eight fields, within the process", lambda: plan(*T))
measure("the adjoint of these", lambda: plan.accumulate(*T))
measure("__cuda_array_interface__", lambda: f.__cuda_array_interface__)
measure("__dlpack__ for the default stream", lambda: f.__dlpack__(stream=1))
"""


def main() -> None:
    """Calls of the driver for each kind of work, on the fake driver."""
    if importlib.util.find_spec("gridbuf") is None:
        sys.exit("gridbuf is not installed here")
    with tempfile.TemporaryDirectory() as folder:
        library = os.environ.get("GRIDBUF_LIBCUDA") or str(Path(folder) / "libfakecuda.so")
        if not Path(library).exists():
            subprocess.run(["sh", str(Path(__file__).parent.parent / "cuda" / "fake" / "build.sh"), library], check=True)
        subprocess.run([sys.executable, "-c", COUNT], env=os.environ | {"GRIDBUF_LIBCUDA": library}, check=True)


if __name__ == "__main__":
    main()
