"""Proof that nothing was copied: everybody who takes a Field points at the same memory."""

from typing import Any

import numpy as np


def pointers(field: Any) -> dict[str, int]:
    """The address of a Field's element 0 as each way into it gives it, gt4py's own included."""
    from gt4py.storage.cartesian.utils import asarray as seen_by_gt4py

    ways: dict[str, Any] = {
        "field.__array_interface__": field,
        "field.numpy()": field.numpy(),
        "np.asarray(field)": np.asarray(field),
        "np.asarray(memoryview(field))": np.asarray(memoryview(field)),
        "np.from_dlpack(field)": np.from_dlpack(field),
        "gt4py, in a stencil call": seen_by_gt4py(field, device="cpu"),
    }
    return {name: array.__array_interface__["data"][0] for name, array in ways.items()}
