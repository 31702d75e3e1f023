"""What a call gives depends on its arguments and on the kernels that were registered, not on the
calls before it.
"""

import ctypes
import ctypes.util
import itertools
from typing import Any

import numpy as np
import pytest

from gridbuf import gufunc

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
CALLS: dict[str, Any] = {
    "f": lambda g: g(np.full(2, 8, "f")), "d": lambda g: g(np.full(2, 8.0)),
    "int8": lambda g: g(np.full(2, 8, "b")),
    "number": lambda g: g(8.0), "int": lambda g: g(8),
    "asked": lambda g: g(np.full(2, 8, "f"), dtype="d"),
    "signature": lambda g: g(np.full(2, 8, "b"), signature="f->f"),
}  # fmt: skip


def of_types(types: str) -> gufunc.Kernel:
    return gufunc.scalar(LIBM.cbrtf if types == "f" else LIBM.cbrt, f"{types}->{types}")


def outcome(call: Any, g: gufunc.GUFunc) -> str:
    try:
        return str(call(g).dtype)
    except (gufunc.SignatureError, KeyError) as error:
        return type(error).__name__


def generated() -> gufunc.GUFunc:
    kinds = {"f": "f", "d": "d", "b": "f", "l": "d"}
    return gufunc.GUFunc("()->()", generator=lambda types, layouts: of_types(kinds[types]))


@pytest.mark.parametrize("order", list(itertools.permutations(CALLS, 3)), ids="-".join)
def test_a_generated_kernel_changes_no_other_call(order: tuple[str, ...]) -> None:
    g = generated()
    assert [outcome(CALLS[name], g) for name in order] == [
        outcome(CALLS[name], generated()) for name in order
    ]


def test_a_kernel_of_other_types_than_asked_is_refused_and_not_kept() -> None:
    asked = []

    def generate(types: str, layouts: tuple[str, ...]) -> gufunc.Kernel:
        asked.append(types)
        return of_types("f" if len(asked) == 1 else "d")

    g = gufunc.GUFunc("()->()", generator=generate)
    with pytest.raises(
        gufunc.SignatureError,
        match="generator: asked for the types 'd', it returned a kernel for 'f->f'",
    ):
        g(np.ones(2))
    assert g.types == []
    for _ in range(3):
        assert g(np.full(2, 8.0)).tolist() == [2, 2]
    assert asked == ["d", "d"]


def test_a_kernel_that_is_registered_later_counts_from_then_on() -> None:
    g = generated()
    assert g(np.ones(2, "b")).dtype == np.float32
    g.register(of_types("d"))
    assert g(np.ones(2, "b")).dtype == np.float64  # reached by a safe cast: no generator is asked


def test_an_asked_dtype_is_generated_too() -> None:
    g = gufunc.GUFunc("()->()", generator=lambda types, layouts: of_types(types))
    assert g(np.full(2, 8, "b"), signature="d->d").dtype == np.float64
    with pytest.raises(gufunc.SignatureError, match="types asked for"):
        g(np.full(2, 8.0), dtype="f")
