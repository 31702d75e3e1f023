"""Plans of any request, against a short model of strides, padding, boundary and offset; then
blocks, used before or not.
"""

import math
import random
from typing import Any

import numpy as np

import gridbuf as gb

# Name: (the cartesian axes, slowest first, or how positions are ordered; alignment in items; on a
# GPU).
PRESETS = {
    "C": ("first", 1), "F": ("last", 1), "numpy": ("IJK", 1), "debug": ("IJK", 1),
    "gt:cpu_kfirst": ("IJK", 1),
    "gt:cpu_ifirst": ("KJI", 1), "dace:cpu": ("KIJ", 1), "dace:cpu_kfirst": ("IJK", 1),
    "dace:cpu_KJI": ("KJI", 1),
    "gtx86": ("IJK", 1), "gtmc": ("JKI", 8),
}  # fmt: skip
DTYPES = [
    "?",
    "b",
    "h",
    "i",
    "q",
    "e",
    "f",
    "d",
    "g",
    "F",
    "D",
    "G",
    ">d",
    "V7",
    "S3",
    "U5",
    "M8[s]",
    "(2,3)f",
    "(2,2)i",
]


def draw(rng: random.Random) -> dict[str, Any]:
    ndim = rng.choice([0, 1, 2, 3, 3, 3, 4, 5])
    shape = [
        (
            rng.choice([0, 1, 2, 3, 5, 7, 8, 9, 16, 31, 32, 33, 64, 100])
            if rng.random() < 0.9
            else rng.randrange(200)
        )
        for _ in range(ndim)
    ]
    while math.prod(max(n, 1) for n in shape) > 20000:
        shape[rng.randrange(ndim)] = 2
    case: dict[str, Any] = {
        "shape": shape,
        "dtype": rng.choice(DTYPES),
        "backend": rng.choice(list(PRESETS)),
        "ones": rng.random() < 0.5,
    }
    if rng.random() < 0.6:
        axes = ["I", "J", "K", "0", "1", "2", "3"]
        case["dimensions"] = rng.sample(axes, ndim)
    elif ndim > 3 and PRESETS[case["backend"]][0] not in ("first", "last"):
        case["dimensions"] = rng.sample(["I", "J", "K", "0", "1", "2"], ndim)
    if rng.random() < 0.3:
        case["layout"] = rng.sample(range(ndim), ndim)
    if rng.random() < 0.4:
        which = rng.choice(["halo", "aligned_index"])
        case[which] = [rng.randrange(0, (n // 2 if which == "halo" else 5) + 1) for n in shape]
    if rng.random() < 0.3:
        case["byte_alignment"] = 1 << rng.randrange(13)
    if rng.random() < 0.4:
        case["padding"] = rng.choice([True, False, 0, 1, 2, 3, 8, 31, 64])
    return case


def model(case: dict[str, Any]) -> dict[str, Any]:
    """What a request means, from the description of the storages."""
    dtype = np.dtype(case["dtype"])
    base, shape = dtype.base, [*case["shape"], *dtype.shape]
    ndim, given = len(shape), len(case["shape"])
    order, alignment = PRESETS[case["backend"]]
    names = case.get("dimensions") or ["I", "J", "K", *(str(d) for d in range(64))][:given]
    data = 1 + max((int(n) for n in names if n.isdigit()), default=-1)
    names = [*names, *(str(data + k) for k in range(ndim - given))]
    if "layout" in case:
        ranks = [r + ndim - given for r in case["layout"]] + list(range(ndim - given))
    else:
        if order in ("first", "last"):
            slowest = list(range(ndim)) if order == "first" else list(range(ndim))[::-1]
        else:
            slowest = sorted(
                range(ndim),
                key=lambda d: (
                    (0, int(names[d])) if names[d].isdigit() else (1, order.index(names[d]))
                ),
            )
        ranks = [slowest.index(d) for d in range(ndim)]
    boundary = case.get("byte_alignment", 64)
    if alignment > 1:
        boundary = math.lcm(boundary, alignment * base.itemsize)
    padding = case.get("padding")
    if padding is True:
        row = boundary // math.gcd(boundary, base.itemsize)
    else:
        row = alignment if padding is None else max(int(padding), 1)
    strides, padded, reach = [0] * ndim, list(shape), base.itemsize
    for d in sorted(range(ndim), key=lambda d: -ranks[d]):
        if ranks[d] == ndim - 1:
            padded[d] = -(-shape[d] // row) * row
        strides[d] = reach
        reach *= max(padded[d], 1)
    aligned = [
        *(case.get("aligned_index") or case.get("halo") or [0] * given),
        *[0] * (ndim - given),
    ]
    distance = sum(a * s for a, s in zip(aligned, strides, strict=True))
    return {
        "shape": tuple(shape), "strides": tuple(strides), "padded_shape": tuple(padded),
        "layout": tuple(ranks), "dims": tuple(names),
        "byte_alignment": boundary, "offset": -distance % boundary,
        "nbytes": math.prod(shape) * base.itemsize, "aligned_index": tuple(aligned),
    }  # fmt: skip


def check(case: dict[str, Any]) -> None:
    request = {key: value for key, value in case.items() if key not in ("shape", "dtype", "ones")}
    shape, wanted = tuple(case["shape"]), model(case)
    dtype = np.dtype(case["dtype"])
    plan = gb.plan(shape, dtype, **request)
    for name, value in wanted.items():
        assert getattr(plan, name) == value, (
            f"{name}: {getattr(plan, name)}, the model says {value}"
        )
    if plan.nbytes == 0:
        assert plan.alloc_nbytes <= 8192 + 2 * plan.byte_alignment, (
            f"{plan.alloc_nbytes} bytes for no element"
        )
    for make in (
        gb.empty,
        gb.zeros,
        gb.ones if case["ones"] and dtype.base.kind in "?bifc" else gb.empty,
    ):
        a = make(shape, dtype, **request)
        assert a.shape == wanted["shape"] and a.dtype == dtype.base
        assert a.size < 2 or all(
            n == 1 or got == want
            for n, got, want in zip(a.shape, a.strides, wanted["strides"], strict=True)
        ), (a.strides, wanted["strides"])
        if a.size:
            address = (
                a.__array_interface__["data"][0]
                if a.dtype.kind != "M"
                else a.view("i8").__array_interface__["data"][0]
            )
            assert address % wanted["byte_alignment"] == wanted["offset"]
        if make is not gb.empty and dtype.base.kind in "?bifc":
            assert (a == (make is gb.ones)).all()
        elif make is gb.zeros:
            assert not any(a.tobytes())
        if a.dtype.kind != "V":
            a[...] = np.zeros((), a.dtype) if a.dtype.kind in "SUM" else 1
        else:
            a[...] = np.full((), b"x" * a.itemsize, a.dtype)  # dirt for whoever gets the block next
    if "halo" not in request or len(request["halo"]) == len(shape):
        field_request = {
            ("dims" if key == "dimensions" else key): value for key, value in request.items()
        }
        field = gb.Field.zeros(shape, dtype, **field_request)
        assert (
            field.shape == wanted["shape"]
            and field.dims == wanted["dims"]
            and not any(np.asarray(field).tobytes())
        )
