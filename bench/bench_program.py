"""Copy programs: packing and unpacking halo slabs, against memcpy of the same bytes and against a
copy each by NumPy and gb.copyto.
"""

from measure import Case

SETUP = """
import numpy as np, gridbuf as gb
from gridbuf._core import CopyProgram

def box(shape, axis, at):
    return tuple(slice(at, at + 3) if a == axis else slice(3, n - 3) if a < 2 else slice(None)
        for a, n in enumerate(shape))

def address(a):
    return a.__array_interface__["data"][0]

def programs(fields, axis):
    # both slabs of each field, in the order of its memory, into one message; and back
    arrays = [f.numpy() for f in fields]
    slabs = [(i, a[box(a.shape, axis, at)]) for i, a in enumerate(arrays)
        for at in (3, a.shape[axis] - 6)]
    message = gb.empty(sum(s.nbytes for _, s in slabs), "uint8")
    pack, unpack, pairs, at = [], [], [], 0
    for i, slab in slabs:
        strides, step = [0] * slab.ndim, slab.itemsize
        for d in sorted(range(slab.ndim), key=lambda d: slab.strides[d]):
            strides[d], step = step, step * slab.shape[d]
        here = (0, at, tuple(strides))
        there = (i + 1, address(slab) - address(arrays[i]), slab.strides)
        pack.append((*here, *there, slab.shape, slab.dtype, 0))
        unpack.append((*there, *here, slab.shape, slab.dtype, 0))
        pairs.append((np.ndarray(slab.shape, slab.dtype, message, at, strides), slab))
        at += slab.nbytes
    slots = [message, *((f"f{i}", a.dtype, a.shape, a.strides, True) for i, a in enumerate(arrays))]
    programs = CopyProgram(slots, pack), CopyProgram(slots, unpack)
    return *programs, message, np.empty_like(message), pairs

fields = [gb.Field.zeros(SHAPE, "float64", dims="IJK", halo=(3, 3, 0), backend=BACKEND)
    for _ in range(COUNT)]
pack, unpack, message, other, pairs = programs(fields, AXIS)
"""
SLABS = {  # shape, preset, fields, axis
    "246 kB in runs of 1 kB and more": ((134, 134, 80), "gt:cpu_ifirst", 1, 1),
    "246 kB, K first": ((134, 134, 80), "gt:cpu_kfirst", 1, 1),
    "246 kB in 24-byte pieces": ((134, 134, 80), "gt:cpu_ifirst", 1, 0),
    "8 fields of 18 kB": ((38, 38, 20), "gt:cpu_ifirst", 8, 1),
    "8 fields of 18 kB in 24-byte pieces": ((38, 38, 20), "gt:cpu_ifirst", 8, 0),
    "8 fields of 0.5 kB": ((10, 10, 4), "gt:cpu_ifirst", 8, 1),
}


def _case(name: str, ours: str, peer: str, target: float, faster: bool = False) -> Case:
    shape, backend, count, axis = SLABS[name]
    setup = (
        SETUP.replace("SHAPE", str(shape))
        .replace("BACKEND", repr(backend))
        .replace("COUNT", str(count))
    )
    return Case(
        f"{name}: {ours} / {peer}",
        ours,
        peer,
        setup.replace("AXIS", str(axis)),
        target,
        faster=faster,
    )


MEMCPY = "np.copyto(other, message)"
BY_NUMPY = "[np.copyto(a, b) for a, b in pairs]"
BY_COPYTO = "[gb.copyto(a, b) for a, b in pairs]"
CASES = [
    *(_case(name, "pack.run(*fields)", MEMCPY, 1.25) for name in list(SLABS)[:2]),
    *(
        _case(name, "pack.run(*fields)", BY_NUMPY, target, True)
        for name, target in zip(SLABS, (1, 1, 2, 2, 2, 5), strict=True)
    ),
    *(_case(name, "unpack.run(*fields)", BY_COPYTO, 1) for name in SLABS),
]
