"""The stencil of gt4py_cartesian; gt4py reads its source, so it lives in a file of its own."""

from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval


def copy(source: Field["T"], target: Field["T"]) -> None:  # type: ignore # noqa: F821
    with computation(PARALLEL), interval(...):
        target = source  # noqa: F841
