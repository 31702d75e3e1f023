"""The stencils of test_interface_stencil_call; gt4py reads their source, so they live in a file of
their own.
"""

from typing import Any

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import FORWARD, PARALLEL, computation, interval

Field3D = gtscript.Field[np.float64]
FieldIJ = gtscript.Field[gtscript.IJ, np.float64]
FieldK = gtscript.Field[gtscript.K, np.float64]
Vector = gtscript.Field[gtscript.IJK, (np.float64, (2,))]


def copy_stencil(in_field: Field3D, out_field: Field3D) -> None:
    with computation(PARALLEL), interval(...):
        out_field = in_field  # noqa: F841


def laplace(inp: Field3D, out: Field3D) -> None:
    with computation(PARALLEL), interval(...):
        out = -4.0 * inp + inp[1, 0, 0] + inp[-1, 0, 0] + inp[0, 1, 0] + inp[0, -1, 0]  # noqa: F841


def plane_and_column(plane: FieldIJ, column: FieldK, out: Field3D, *, factor: float) -> None:
    with computation(PARALLEL), interval(...):
        out = factor * plane + column  # noqa: F841


def accumulate(inp: Field3D, total: Field3D) -> None:
    with computation(FORWARD), interval(...):
        total = total + inp


def second_component(vector: Vector, out: Field3D) -> None:
    with computation(PARALLEL), interval(...):
        out = vector[0, 0, 0][1]  # noqa: F841


def compiled(definition: Any, backend: str = "numpy") -> Any:
    return gtscript.stencil(backend=backend, definition=definition)
