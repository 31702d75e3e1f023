"""JAX: `jnp.from_dlpack`, through the helper that says why XLA cannot share."""

import contextlib
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Absent, Cannot, Cell, Consumer, Refusals, values
from gridbuf.strides import packed

GAPS = Cannot(
    "XLA takes compact memory only",
    r"\(index \d\) has the stride -?\d+ where compact memory has"
    r" \d+.*gridbuf.interop.jax.compact\(field\) is a copy",
    "`gridbuf.interop.jax.compact(field)`, or allocate with `gridbuf.interop.jax.empty`",
)
ONLY_C = Absent("JAX lays out its own arrays in C order")


class Jax(Consumer):
    """Compact memory in any order of strides, on a boundary of 64 bytes; its arrays are
    constants.
    """

    package, modules = "jax", ("jax",)
    takes, gives = "gridbuf.interop.jax.to_array(field)", "gb.Field(array)"
    constant = True
    refuses: ClassVar[Refusals] = {
        **{("take", layout): GAPS for layout in ("padded", "sliced", "reversed")},
        ("take", ">f8"): Cannot(
            "native byte order only", "JAX cannot hold", "`field.to(dtype='f8')`"
        ),
        **{
            ("give", layout): ONLY_C for layout in ("F", "permuted", "padded", "sliced", "reversed")
        },
        ("give", ">f8"): Absent("native byte order only"),
    }

    def context(self) -> contextlib.AbstractContextManager[Any]:
        import jax

        return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()

    def take(self, field: _core.Field) -> Any:
        from gridbuf.interop import jax as gbj

        return gbj.to_array(field)

    def make(self, cell: Cell) -> Any:
        import jax.numpy as jnp

        return jnp.array(values(cell.layout, cell.dtype), copy=True)

    def address(self, theirs: Any) -> int:
        return int(theirs.unsafe_buffer_pointer())

    def strides(self, theirs: Any) -> tuple[int, ...]:
        return packed(theirs.shape, theirs.dtype.itemsize, theirs.format.layout.major_to_minor)

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        import jax.numpy as jnp

        # np.asarray(theirs) remembers what it saw first
        return np.asarray(jnp.array(theirs, copy=True))

    def readonly(self, theirs: Any) -> bool:
        try:
            theirs[(0,) * theirs.ndim] = 0
        except TypeError:
            return True
        return False


consumer = Jax
