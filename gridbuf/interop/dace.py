"""DaCe: Fields describe themselves to DaCe programs, plans to SDFGs, and an SDFG's workspace comes
from gridbuf's memory.

DaCe takes a Field as it is. Importing this file gives Fields `__descriptor__`, which names what
DaCe would get wrong: it reads the dtype without its byte order, and it knows neither read-only nor
reversed memory.

Examples
--------
>>> import dace, gridbuf as gb, gridbuf.interop.dace
>>> field = gb.Field.empty((4, 5), dims="IJ", backend="gt:cpu_ifirst", padding=8)
>>> dace.data.create_datadescriptor(field).strides
(1, 8)
"""

from typing import Any

import dace

from gridbuf import _core
from gridbuf.strides import index_name


def descriptor(obj: _core.Field | _core.Plan) -> Any:
    """The `dace.data.Array` of a Field, or of memory still to be allocated by its plan.

    Parameters
    ----------
    obj : gridbuf.Field or gridbuf.Plan
        On the host or on a GPU.

    Returns
    -------
    dace.data.Array

    Raises
    ------
    TypeError
        For a Field that DaCe cannot pass on: read-only, with a reversed index or without indices,
        or of a dtype that DaCe has no type for. The text says what to pass instead.

    Examples
    --------
    >>> import dace, gridbuf as gb, gridbuf.interop.dace as gbd
    >>> sdfg = dace.SDFG("example")
    >>> plan = gb.plan((4, 5, 6), backend="gt:cpu_ifirst", padding=8)
    >>> _ = sdfg.add_datadesc("a", gbd.descriptor(plan))
    >>> sdfg.arrays["a"].strides, sdfg.arrays["a"].total_size
    ((1, 8, 40), 236)
    """
    if not isinstance(obj, (_core.Field, _core.Plan)):
        raise TypeError(f"obj: expected a Field or a Plan, got {type(obj).__name__}")
    itemsize = obj.dtype.itemsize
    if not obj.shape:
        raise TypeError(
            "field: it has no indices, and DaCe passes single numbers by value; pass field[()]"
        )
    if any(stride % itemsize for stride in obj.strides):
        raise TypeError(
            f"field: its strides {obj.strides} are not multiples of its item size {itemsize}; pass"
            " field.copy()"
        )
    if isinstance(obj, _core.Field):
        _check(obj)
    strides = tuple(stride // itemsize for stride in obj.strides)
    span = (
        1 + sum((n - 1) * s for n, s in zip(obj.shape, strides, strict=True))
        if 0 not in obj.shape
        else 0
    )
    storage = dace.StorageType.Default if obj.device == "cpu" else dace.StorageType.GPU_Global
    return dace.data.Array(
        _typeclass(obj.dtype), obj.shape, strides=strides, total_size=span, storage=storage
    )


def _check(field: _core.Field) -> None:
    if field.readonly:
        raise TypeError(
            "field: it is read-only, and DaCe programs may write to any argument; pass field.copy()"
        )
    if not hasattr(field, "__array_interface__"):
        raise TypeError(
            f"field: DaCe reads memory through __array_interface__, which has no {field.dtype};"
            " pass an array of its own memory, as gridbuf.empty gives, or"
            " field.to(dtype='float32')"
        )
    for i, stride in enumerate(field.strides):
        if stride < 0:
            back = ", ".join("::-1" if j == i else ":" for j in range(field.ndim))
            raise TypeError(
                f"field: {index_name(field, i)} has the stride {stride}, and DaCe has no negative"
                f" strides; pass field[{back}] or field.copy()"
            )


def _typeclass(dtype: Any) -> Any:
    known = dace.dtypes.dtype_to_typeclass()
    if not dtype.isnative or dtype.type not in known or dtype.names is not None:
        native = (
            f"; pass field.to(dtype={dtype.newbyteorder('=').str!r})" if not dtype.isnative else ""
        )
        raise TypeError(f"field: DaCe has no type for {dtype!r}{native}")
    return known[dtype.type]


def give_workspace(compiled: Any) -> dict[str, _core.Field]:
    """Give a compiled SDFG the external memory that it asks for, from gridbuf's heap.

    Parameters
    ----------
    compiled : dace.codegen.compiled_sdfg.CompiledSDFG
        Initialised with the arguments of the call to come.

    Returns
    -------
    dict
        The blocks by storage type, as Fields of bytes. The SDFG holds no reference: keep them while
        it runs.

    Raises
    ------
    TypeError
        When compiled is none.

    Examples
    --------
    >>> import gridbuf.interop.dace as gbd
    >>> class Compiled:  # what dace's `sdfg.compile()` gives, after `initialize`
    ...     def get_workspace_sizes(self):
    ...         return {dace.StorageType.CPU_Heap: 800}
    ...     def set_workspace(self, storage, memory):
    ...         self.memory = memory
    >>> gbd.give_workspace(Compiled())["CPU_Heap"].nbytes
    800
    """
    if not hasattr(compiled, "get_workspace_sizes"):
        raise TypeError(
            f"compiled: expected a compiled program of dace, got {type(compiled).__name__}"
        )
    blocks = {}
    for storage, nbytes in compiled.get_workspace_sizes().items():
        device: Any = "gpu" if storage is dace.StorageType.GPU_Global else "cpu"
        block = _core.Field.empty(max(int(nbytes), 1), "uint8", device=device)
        compiled.set_workspace(storage, block)
        blocks[storage.name] = block
    return blocks


def install() -> None:
    """Give Fields `__descriptor__`.

    Importing this file does it.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.dace as gbd
    >>> gbd.install()
    >>> gb.Field.__descriptor__ is gbd.descriptor
    True
    """
    _core.Field.__descriptor__ = descriptor  # type: ignore[attr-defined]


install()

__all__ = ["descriptor", "give_workspace", "install"]
