"""Handing memory over: the DLPack exchange API, DLPack and wrapping, against the peers' own."""

import ctypes
import importlib.util
import statistics
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from measure import Case

SETUP = (
    "import numpy as np, gridbuf as gb\n"
    "a = np.zeros((10, 10, 10))\n"
    'f = gb.Field.zeros((10, 10, 10), dims="IJK")\n'
    "w = gb.Field(a)\n"
)


def _has(*packages: str) -> bool:
    return all(importlib.util.find_spec(p) for p in packages)


CASES = [
    Case("np.from_dlpack(Field) / (ndarray)", "np.from_dlpack(f)", "np.from_dlpack(a)", SETUP, 1.0),
    Case(
        "np.from_dlpack(wrapping Field) / (ndarray)",
        "np.from_dlpack(w)",
        "np.from_dlpack(a)",
        SETUP,
        1.0,
    ),
    Case(
        "Field(ndarray) / np.from_dlpack(ndarray)", "gb.Field(a)", "np.from_dlpack(a)", SETUP, 1.5
    ),
]
if _has("jax"):
    CASES.append(
        Case(
            "jnp.from_dlpack(Field) / (ndarray)",
            "jnp.from_dlpack(f)",
            "jnp.from_dlpack(a)",
            SETUP + "import jax.numpy as jnp",
            1.0,
        )
    )
if _has("torch"):
    TORCH = SETUP + "import torch\nt = torch.zeros((10, 10, 10), dtype=torch.float64)\n"
    CASES += [
        Case(
            "torch.from_dlpack(Field) / (ndarray)",
            "torch.from_dlpack(f)",
            "torch.from_dlpack(a)",
            TORCH,
            1.0,
        ),
        Case(
            "gb.from_dlpack(tensor) / np.from_dlpack(tensor)",
            "gb.from_dlpack(t)",
            "np.from_dlpack(t)",
            TORCH,
            1.0,
        ),
    ]
if _has("tvm_ffi"):
    NOP = 'import tvm_ffi\nnop = tvm_ffi.get_global_func("testing.nop")\n'
    CASES.append(
        Case("tvm_ffi call with a Field / with an ndarray", "nop(f)", "nop(a)", SETUP + NOP, 1.0)
    )
    if _has("torch"):
        CASES.append(
            Case(
                "tvm_ffi call with a Field / with a torch tensor",
                "nop(f)",
                "nop(t)",
                TORCH + NOP,
                1.0,
            )
        )


def _loops(folder: str) -> ctypes.PyDLL:
    """bench/exchange_loop.c, compiled; PyDLL, because the conversions are to be called with the
    GIL.
    """
    library, source = Path(folder) / "exchange_loop.so", Path(__file__).parent / "exchange_loop.c"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True
    )
    loops = ctypes.PyDLL(str(library))
    for function in (loops.own, loops.borrow, loops.back):
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_long]
    loops.back.argtypes = [*loops.own.argtypes, ctypes.c_void_p]
    return loops


def _table(obj: Any) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(type(obj).__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


def facts() -> list[tuple[str, float, float, str]]:
    """Nanoseconds a conversion, from a loop in C; the tensors of torch beside ours where there are
    any.
    """
    import numpy as np

    import gridbuf as gb

    objects = {
        "Field": gb.Field.zeros((10, 10, 10), dims="IJK"),
        "wrapping Field": gb.Field(np.zeros((10, 10, 10))),
    }
    if _has("torch"):
        import torch

        objects["torch tensor"] = torch.zeros((10, 10, 10), dtype=torch.float64)
    release = ctypes.cast(ctypes.pythonapi.Py_DecRef, ctypes.c_void_p)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        loops = _loops(folder)
        for way, function, most, more in (
            ("out, owned", loops.own, 100.0, ()),
            ("out, borrowed", loops.borrow, 100.0, ()),
            ("out and in again", loops.back, 200.0, (release,)),
        ):
            times: dict[str, list[float]] = {name: [] for name in objects}
            for _ in range(25):
                for name, obj in objects.items():
                    times[name].append(function(_table(obj), obj, 20_000, *more))
            medians = {name: statistics.median(t) for name, t in times.items()}
            found += [
                (f"exchange API, {way}: {name}", medians[name] * 1e9, most, "ns")
                for name in objects
                if "Field" in name
            ]
            if "torch tensor" in medians:
                ratio = medians["Field"] / medians["torch tensor"]
                found.append((f"exchange API, {way}: Field / torch tensor", ratio, 1.0, "times"))
    return found
