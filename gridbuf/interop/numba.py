"""Numba: Fields as arguments of compiled functions.

Importing this file teaches Numba what a Field on the host is: an array over the Field's own memory.
Inside the function it is Numba's own array type; what the function returns is an ndarray over the
same memory.

A function whose signature was written out for arrays (`njit("f8(f8[:,:])")`) takes arrays from
Python and nothing else: pass it `field.numpy()`. Finding out a Field's type costs about half a
microsecond a call.

Examples
--------
>>> import gridbuf as gb, numba, gridbuf.interop.numba
>>> @numba.njit
... def double(field):
...     for i in range(field.shape[0]):
...         field[i] *= 2
>>> f = gb.Field.ones(4)
>>> double(f)
>>> f[3]
np.float64(2.0)
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaNotImplementedError, NumbaValueError
from numba.extending import NativeValue, lower_cast, models, register_model, typeof_impl, unbox
from numba.np import numpy_support

from gridbuf import _core


class FieldType(types.Array):
    """Numba's array type for a Field; only the way in from Python differs."""

    def __init__(
        self, dtype: Any, ndim: int, layout: str, readonly: bool = False, aligned: bool = True
    ) -> None:
        array = types.Array(dtype, ndim, layout, readonly=readonly, aligned=aligned)
        super().__init__(
            dtype, ndim, layout, readonly=readonly, name=f"Field({array.name})", aligned=aligned
        )

    def copy(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        layout: str | None = None,
        readonly: bool | None = None,
    ) -> Any:
        """The type of an array derived from it (a slice, a result): a plain array."""
        return self.as_array.copy(dtype, ndim, layout, readonly)

    @property
    def as_array(self) -> types.Array:
        """The same, as of an ndarray."""
        return types.Array(
            self.dtype, self.ndim, self.layout, readonly=not self.mutable, aligned=self.aligned
        )

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """A function with a signature for arrays takes Fields, too."""
        return self.as_array.can_convert_to(typingctx, other)


register_model(FieldType)(models.ArrayModel)


@typeof_impl.register(_core.Field)
def _typeof_field(field: _core.Field, context: Any) -> FieldType:
    try:
        dtype = numpy_support.from_dtype(field.dtype)
    except NumbaNotImplementedError as error:
        raise NumbaValueError(f"field: Numba has no type for {field.dtype!r}") from error
    if field.dtype == np.float16:  # known, but not in arguments of functions for the host
        raise NumbaValueError(
            "field: Numba computes with float16 on GPUs only; pass field.to(dtype='float32')"
        )
    array = field.numpy()
    return FieldType(
        dtype, field.ndim, numpy_support.map_layout(array), field.readonly, array.flags.aligned
    )


@lower_cast(FieldType, types.Array)
def _as_array(context: Any, builder: Any, fromty: FieldType, toty: types.Array, value: Any) -> Any:
    return value


@unbox(FieldType)
def _unbox_field(typ: FieldType, obj: Any, c: Any) -> Any:
    """Through `field.numpy()`, which holds the Field for as long as compiled code holds the
    array.
    """
    array = c.pyapi.call_method(obj, "numpy", ())
    result = cgutils.alloca_once_value(c.builder, c.context.get_constant_null(typ.as_array))
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    with c.builder.if_then(cgutils.is_not_null(c.builder, array)):
        native = c.unbox(typ.as_array, array)
        c.builder.store(native.value, result)
        c.builder.store(native.is_error, failed)
        c.pyapi.decref(array)
    return NativeValue(c.builder.load(result), is_error=c.builder.load(failed))


__all__ = ["FieldType"]
