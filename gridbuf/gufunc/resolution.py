"""What a call would give: g.resolve(...)."""

from typing import Any, NamedTuple

import numpy as np

from gridbuf.gufunc.choosing import Choosing
from gridbuf.gufunc.types import DTYPES, types_text


class Output(NamedTuple):
    """An output: as it would be made, or as it was given (`given`)."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    strides: tuple[int, ...]
    dims: tuple[str, ...] | None
    given: bool


class Resolution(NamedTuple):
    """A call that was resolved and not run.

    Attributes
    ----------
    kernel : str
        The types of the kernel, as in `GUFunc.types`.
    dtypes : tuple of dtype
        The same as dtypes: what the inputs are cast to, and what the outputs are cast from.
    outer_shape, nelements : tuple of int, int
        The shape of the stack of elements, and their number.
    core : dict
        The size of each core dimension.
    chunks : int
        Into how many calls of the kernel the work may be cut.
    outputs : tuple of Output
    """

    kernel: str
    dtypes: tuple["np.dtype[Any]", ...]
    outer_shape: tuple[int, ...]
    nelements: int
    core: dict[str, int]
    chunks: int
    outputs: tuple[Output, ...]


def describe(g: Choosing, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Resolution:
    """The resolution of a call with these arguments."""
    _, types, outer, elements, chunks, _, core, outs = g._resolve(args, kwargs)
    given = args[g.nin :] or kwargs.get("out")
    given = (*given, *[None] * g.nout) if isinstance(given, tuple) else (given, *[None] * g.nout)
    outputs = []
    for out, number, old in zip(outs, types[g.nin :], given, strict=False):
        if out is None:
            array = np.asarray(old)
            outputs.append(
                Output(
                    array.shape, array.dtype, array.strides, getattr(old, "__gt_dims__", None), True
                )
            )
        else:
            outputs.append(Output(out[0], DTYPES[number], out[1], out[2], False))
    return Resolution(
        types_text(types, g.nin), tuple(DTYPES[t] for t in types), outer, elements,
        dict(zip(g._dim_names, core, strict=True)), chunks, tuple(outputs),
    )  # fmt: skip
