"""The exchange matrix: memory given to packages and taken from them, tried out cell by cell.

A cell is a consumer, a direction, a layout and a dtype. Each consumer has a file here: how
memory passes, and which cells are expected to fail and why. `run` tries a cell and proves it by
address, by writing on both sides, and by deleting either side first. `python -m gridbuf doctor
--consumers` and the tests run the same cells. The table in docs/exchange.md is made from the
expectations, which the tests compare with the results.

Examples
--------
>>> from gridbuf import consumers
>>> numpy = consumers.load("NumPy")
>>> print(consumers.run(numpy, consumers.Cell("take", "padded")))
yes
>>> print(consumers.run(consumers.load("ctypes"), consumers.Cell("take", "padded")))
no: underlying buffer is not C contiguous
"""

import importlib

from gridbuf.consumers.consumer import (
    DIRECTIONS,
    DTYPES,
    LAYOUTS,
    Absent,
    Cannot,
    Cell,
    Consumer,
    Expected,
    Missing,
    Unprotected,
    cells,
    outcome,
)
from gridbuf.consumers.engine import Result, run

# Each name in the table, and the file here that is about it; a file is loaded when it is asked for.
FILES = {
    "NumPy": "numpy",
    "NumPy DLPack": "numpy_dlpack",
    "memoryview": "memoryview",
    "ctypes": "ctypes",
    "PyTorch": "torch",
    "JAX": "jax",
    "tvm-ffi": "tvm_ffi",
    "CuPy": "cupy",
    "Numba": "numba",
    "mpi4py": "mpi4py",
    "GHEX": "ghex",
    "xarray": "xarray",
    "dask.array": "dask",
    "gt4py.cartesian": "gt4py_cartesian",
    "gt4py.next": "gt4py_next",
    "DaCe": "dace",
    "nanobind": "nanobind",
    "pybind11": "pybind11",
    "Cython": "cython",
    "Fortran": "fortran",
}


# Packages that are not in the matrix, or are there by another name.
BESIDE = ("cupy-cuda12x", "cupy-cuda13x", "numba-cuda", "ndsl", "ml_dtypes")


def load(name: str) -> Consumer:
    """The consumer of that name; its package need not be there until a cell is run."""
    if name not in FILES:
        raise ValueError(f"name: {name!r} is not among {', '.join(FILES)}")
    consumer: Consumer = importlib.import_module(f"gridbuf.consumers.{FILES[name]}").consumer()
    consumer.name = name
    return consumer


def packages() -> tuple[str, ...]:
    """The names on the package index of all that take our memory."""
    named = (load(name).package for name in FILES)
    return tuple(dict.fromkeys([*(package for package in named if package is not None), *BESIDE]))


__all__ = [
    "BESIDE", "DIRECTIONS", "DTYPES", "FILES", "LAYOUTS", "Absent", "Cannot", "Cell", "Consumer",
    "Expected", "Missing", "Result", "Unprotected",
    "cells", "load", "outcome", "packages", "run",
]  # fmt: skip
