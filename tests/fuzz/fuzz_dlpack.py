"""DLPack: capsules of both kinds and the exchange API, right ones and corrupted ones, both ways;
its allocator at every size.

A tensor that is taken is released once, one that is refused stays its producer's (or, through the
exchange API, which hands it over before anybody can look, is released once as well).
"""

import ctypes
import gc
import math
import random
import sys
from typing import Any

import numpy as np
from cases import HERE
from views import array, draw_view, place, values

import gridbuf as gb

sys.path.append(str(HERE.parent / "helpers"))
from dlpack_structs import (
    FAIL,
    Hostile,
    HostileLegacy,
    Legacy,
    Tensor,
    Versioned,
    api,
    exchanging,
    table_of,
)

CODES = {"?": (6, 8), "b": (0, 8), "h": (0, 16), "i": (0, 32), "q": (0, 64), "B": (1, 8),
"H": (1, 16), "I": (1, 32), "Q": (1, 64),
         "e": (2, 16), "f": (2, 32), "d": (2, 64), "F": (5, 64), "D": (5, 128)}  # fmt: skip
# A capsule keeps the address of its name.
USED = {name: b"used_" + name for name in (b"dltensor", b"dltensor_versioned")}
EDGES = [
    2**63 - 1,
    2**63 - 64,
    2**63 - 192,
    2**63 - 193,
    2**62,
    2**62 + 1,
    2**61,
    2**60,
    2**48,
    2**32,
    2**31,
]
# What no reader may take: the field and its values.
WRONG: list[tuple[str, list[int]]] = [
    ("major", [2, 99]), ("ndim", [-1, -(2**31), 2**31 - 1, 65]), ("lanes", [0, 2, 65535]),
    ("bits", [0, 7, 255, 24]),
    ("code", [3, 99, 255]), ("device_type", [0, 99, -1]), ("data", [0]),
]  # fmt: skip


def draw(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["import", "import", "export", "export", "allocate"])
    case: dict[str, Any] = {"kind": kind, "data": rng.randrange(1 << 30)}
    dtype = rng.choice(list(CODES))
    if kind == "allocate":
        shape = [rng.choice([0, 1, 2, 3, 7, 100, 1000]) for _ in range(rng.randrange(4))]
        if rng.random() < 0.4:
            shape.append(rng.choice(EDGES))
        while math.prod(shape) > 1 << 20 and max(shape) < 1 << 31:
            shape.pop()
        return case | {
            "dtype": dtype,
            "shape": shape,
            "wrong": rng.choice(WRONG)[0] if rng.random() < 0.2 else None,
        }
    shape = [rng.choice([0, 1, 1, 2, 3, 4, 5, 9]) for _ in range(rng.randrange(5))]
    view = draw_view(rng, shape, dtype, kind == "export")
    item = np.dtype(dtype).itemsize
    view["strides"] = [s // item * item for s in view["strides"]]  # DLPack counts elements
    low = sum(min(s * (n - 1), 0) for s, n in zip(view["strides"], shape, strict=True) if n)
    high = sum(max(s * (n - 1), 0) for s, n in zip(view["strides"], shape, strict=True) if n)
    view["offset"], view["nbytes"] = -low, high - low + item
    case |= {"view": view, "nbytes": place(rng, [view], True)}
    if kind == "import":
        case["way"] = rng.choice(["versioned", "legacy", "exchange"])
        case["door"] = rng.choice(["from_dlpack", "Field", "as_numpy", "copy", "copyto"])
        case["flags"] = rng.choice([0, 0, 1, 2, 3])
        case["byte_offset"] = rng.choice([0, 0, 8, 64])
        if rng.random() < 0.5:
            name, found = rng.choice(WRONG)
            case["wrong"] = [name, rng.choice(found)]
        elif case["door"] in ("copy", "copyto"):
            pass  # they read what a tensor describes, so it must be there
        elif rng.random() < 0.3:
            case["wrong"] = [rng.choice(["shape", "strides"]), rng.choice([-1, *EDGES, -(2**63)])]
        elif rng.random() < 0.1:
            case["wrong"] = ["extended", rng.choice([[4, 16], [10, 8], [8, 8], [12, 8], [17, 4]])]
    else:
        case["version"] = rng.choice([None, [1, 0], [1, 3], [0, 8], [2, 0], [99, 99], [2**70, 0]])
        case["copy"] = rng.choice([None, None, True, False])
        case["device"] = rng.choice([None, None, [1, 0], [2, 0], [99, 0]])
        case["readonly"] = rng.random() < 0.2
        case["consume"] = rng.random() < 0.8
    return case


def check(case: dict[str, Any]) -> None:
    {"import": check_import, "export": check_export, "allocate": check_allocate}[case["kind"]](case)


def wrong_for(case: dict[str, Any], size: int, ndim: int) -> bool:
    """Whether the corruption is one that must be refused."""
    if "wrong" not in case:
        return False
    name, value = case["wrong"]
    if name == "major":
        return case["way"] != "legacy"
    if name == "data":
        return size > 0
    if name == "shape":
        return ndim > 0 and value < 0
    return name not in ("extended", "strides")


def check_import(case: dict[str, Any]) -> None:
    rng, view = np.random.default_rng(case["data"]), case["view"]
    memory = np.zeros(case["nbytes"], np.uint8)
    a = array(memory, view)
    a[...] = values(rng, a.dtype, a.shape)
    code, bits = CODES[view["dtype"]]
    ndim = len(view["shape"])
    changes: dict[str, Any] = {
        "data": memory.ctypes.data + view["offset"] - case["byte_offset"],
        "byte_offset": case["byte_offset"], "ndim": ndim,
        "code": code, "bits": bits, "shape": tuple(view["shape"]),
        "strides": tuple(s // a.itemsize for s in view["strides"]),
        "flags": case["flags"],
    }  # fmt: skip
    name, value = case.get("wrong", (None, None))
    safe = name in (None, "major")
    if name in ("shape", "strides") and ndim:
        changes[name] = (value, *changes[name][1:])
    elif name == "extended":
        changes["code"], changes["bits"] = value
    elif name is not None and name not in ("shape", "strides"):
        changes[name] = value
        if name == "data":
            changes["byte_offset"] = 0
    made = (HostileLegacy if case["way"] == "legacy" else Hostile)(**changes)
    made.memory = memory
    source: Any = made
    if case["way"] == "exchange":
        type_, _ = exchanging()
        source = type_(made.tensor)
    refused: Any = None
    got = None
    try:
        if case["door"] in ("from_dlpack", "copy"):
            got = (
                gb.from_dlpack(source, copy=True)
                if case["door"] == "copy"
                else gb.from_dlpack(source)
            )
        elif case["door"] == "Field":
            got = gb.Field(source)
        elif case["door"] == "as_numpy":
            got = gb.as_numpy(source)
        else:
            got = np.zeros(a.shape, a.dtype)
            gb.copyto(got, source)
    except (BufferError, ValueError, TypeError, RuntimeError, MemoryError, AttributeError) as error:
        refused = error
    must = wrong_for(case, a.size, ndim)
    if must:
        assert refused, f"taken: {got!r}"
    if not refused and safe:
        assert got is not None and tuple(got.shape) == a.shape and got.dtype == a.dtype
        assert np.asarray(got).tobytes() == a.tobytes()
        if case["door"] == "from_dlpack" and case["way"] != "legacy" and case["flags"] & 1:
            assert got.readonly
    # a copy is taken where one was asked for, and where values are read
    copied = case["flags"] & 2 and case["way"] != "legacy" and case["door"] != "copyto"
    if safe and not must and not copied and case["door"] in ("from_dlpack", "as_numpy", "copyto"):
        assert not refused, f"a tensor without a fault: {refused!r}"
    kept = made.deleted
    if not refused and case["door"] in ("from_dlpack", "Field", "as_numpy"):
        assert kept == 0, "released while somebody has it"
    del got
    wanted = 0 if refused and case["way"] != "exchange" else 1
    if made.deleted != wanted:
        gc.collect()
    # through the exchange API a refusal happens after or before the tensor was asked for
    assert made.deleted == wanted or (
        refused and case["way"] == "exchange" and made.deleted == 0 and not safe
    ), f"released {made.deleted} times"
    Hostile.alive.clear()


def check_export(case: dict[str, Any]) -> None:
    before = gb.memory.stats()["live_buffers"]
    rng, view = np.random.default_rng(case["data"]), case["view"]
    memory = gb.zeros((case["nbytes"],), np.uint8)
    a = array(memory, view)
    a[...] = values(rng, a.dtype, a.shape)
    if case["readonly"]:
        a.flags.writeable = False
    field = gb.Field(a)
    keywords = {
        key: tuple(case[name])
        for key, name in (("max_version", "version"), ("dl_device", "device"))
        if case[name] is not None
    }
    if case["copy"] is not None:
        keywords["copy"] = case["copy"]
    try:
        capsule = field.__dlpack__(**keywords)
    except BufferError:
        wrong = case["device"] not in (None, [1, 0]) or case["version"] == [2**70, 0]
        assert wrong or case["readonly"], "nothing is wrong with this"
        capsule = None
    if capsule is not None:
        versioned = case["version"] is not None and case["version"][0] >= 1
        label = b"dltensor_versioned" if versioned else b"dltensor"
        pointer = api.PyCapsule_GetPointer(capsule, label)
        tensor = (Versioned if versioned else Legacy).from_address(pointer)
        t = tensor.tensor
        assert (t.ndim, t.code, t.bits, t.lanes, t.device_type) == (
            a.ndim,
            *CODES[view["dtype"]],
            1,
            1,
        )
        assert tuple(t.shape[i] for i in range(t.ndim)) == a.shape
        if versioned:
            assert tensor.major == 1 and bool(tensor.flags & 2) == (case["copy"] is True)
            assert bool(tensor.flags & 1) == (case["readonly"] and case["copy"] is not True)
        if case["consume"]:
            ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), USED[label])
            del field, a, memory
            if t.data and view["nbytes"]:
                strides = (
                    tuple(t.strides[i] * t.bits // 8 for i in range(t.ndim)) if t.strides else None
                )
                dtype = np.dtype(view["dtype"])
                shape = tuple(t.shape[i] for i in range(t.ndim))
                size = math.prod(shape)
                if size:
                    low = sum(
                        min(s * (n - 1), 0) for s, n in zip(strides or (), shape, strict=False)
                    )
                    high = (
                        sum(max(s * (n - 1), 0) for s, n in zip(strides or (), shape, strict=False))
                        if strides
                        else (size - 1) * dtype.itemsize
                    )
                    raw = (ctypes.c_char * (high - low + dtype.itemsize)).from_address(
                        t.data + t.byte_offset + low
                    )
                    seen = np.ndarray(shape, dtype, raw, -low, strides)
                    expected = array(np.zeros(case["nbytes"], np.uint8), view)
                    expected[...] = values(
                        np.random.default_rng(case["data"]), expected.dtype, expected.shape
                    )
                    assert np.array_equal(seen, expected)
                    del seen, raw
            tensor.deleter(pointer)
        del capsule
    field = a = memory = None  # type: ignore[assignment]
    if gb.memory.stats()["live_buffers"] != before:
        gc.collect()
    assert gb.memory.stats()["live_buffers"] == before, "somebody kept the memory"


def check_allocate(case: dict[str, Any]) -> None:
    table = table_of(gb.Field)
    code, bits = CODES[case["dtype"]]
    shape = (ctypes.c_int64 * max(len(case["shape"]), 1))(*case["shape"])
    prototype = Tensor(
        device_type=1, ndim=len(case["shape"]), code=code, bits=bits, lanes=1, shape=shape
    )
    if case["wrong"]:
        (
            setattr(prototype, case["wrong"], dict(WRONG)[case["wrong"]][0])
            if case["wrong"]
            not in (
                "major",
                "data",
            )
            else None
        )
    said: list[Any] = []
    fail = FAIL(lambda ctx, kind, text: said.append((kind, text)))
    out = ctypes.c_void_p()
    stats = gb.memory.stats()
    status = table.allocate(ctypes.byref(prototype), ctypes.byref(out), None, fail)
    nbytes = math.prod(case["shape"]) * bits // 8
    if status != 0:
        assert len(said) == 1 and said[0][1], said
        assert case["wrong"] or max(case["shape"], default=0) >= 1 << 31, (
            f"no {nbytes} bytes: {said}"
        )
        assert gb.memory.stats()["live_bytes"] == stats["live_bytes"]
        return
    assert not said and case["wrong"] in (None, "major", "data")
    after = gb.memory.stats()
    assert after["live_buffers"] == stats["live_buffers"] + 1
    assert after["live_bytes"] - stats["live_bytes"] >= nbytes, (
        f"{after['live_bytes'] - stats['live_bytes']} bytes for {nbytes}"
    )
    made = Versioned.from_address(out.value or 0)
    assert [made.tensor.shape[i] for i in range(made.tensor.ndim)] == case["shape"]
    if 0 < nbytes < 1 << 22:
        ctypes.memset(made.tensor.data + made.tensor.byte_offset, 0xA5, nbytes)
    made.deleter(out.value)
    end = gb.memory.stats()
    assert (end["live_bytes"], end["live_buffers"]) == (stats["live_bytes"], stats["live_buffers"])
