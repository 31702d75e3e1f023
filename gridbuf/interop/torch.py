"""PyTorch: tensors over the memory of Fields, Fields over the memory of tensors, tensors laid out
for a backend.

`torch.from_dlpack(field)` and `gridbuf.Field(tensor)` do the same without this file; here what
PyTorch would get wrong or refuse is said before it happens.

Examples
--------
>>> import gridbuf as gb, gridbuf.interop.torch as gbt
>>> field = gb.Field.zeros((4, 5, 6), dims="IJK", backend="gt:cpu_ifirst")
>>> tensor = gbt.to_tensor(field)
>>> tensor.stride()
(1, 4, 20)
>>> _ = tensor.add_(1.0)
>>> float(field[3, 4, 5])
1.0
"""

from typing import Any

import numpy as np
import torch

from gridbuf import _core
from gridbuf.strides import index_name
from gridbuf.validation import as_dtype
from gridbuf.wrapping import as_field


def to_tensor(field: Any) -> torch.Tensor:
    """A tensor over the memory of a Field, an array or any other buffer; nothing is copied.

    Parameters
    ----------
    field
        A Field, or what `gridbuf.Field` takes.

    Returns
    -------
    torch.Tensor
        Over the Field's memory.

    Raises
    ------
    ValueError
        When an index runs backwards or the memory is read-only: PyTorch has neither.
    BufferError
        When PyTorch has no such dtype.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.torch as gbt
    >>> try:
    ...     gbt.to_tensor(gb.Field.zeros((4, 3), dims="IJ")[:, ::-1])
    ... except ValueError as error:
    ...     print(error)
    field: J (index 1) has the stride -8, and PyTorch has no negative strides; turn the index round again \
(field[:, ::-1]), or pass a copy: field.copy() or gridbuf.Field.from_array(field)
    """  # noqa: E501
    source = as_field(field)
    _check_strides(source)
    if source.readonly:
        raise ValueError(
            "field: it is read-only, and PyTorch has no read-only tensors: it would write to this"
            " memory; pass a copy (field.copy()) or the object that may be written to"
        )
    try:
        return torch.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError) as error:
        raise BufferError(f"field: PyTorch cannot hold {source.dtype!r}: {error}") from error


def from_tensor(
    tensor: torch.Tensor, dims: Any = None, *, origin: Any = None, halo: Any = None
) -> _core.Field:
    """A Field over the memory of a tensor; nothing is copied.

    Parameters
    ----------
    tensor : torch.Tensor
        Strided, and its memory must be its value: one that requires a gradient, or is lazily
        conjugated or negated, is refused with the call that helps.
    dims, origin, halo : optional
        As for `gridbuf.Field`.

    Returns
    -------
    Field
        Over the tensor's memory.

    Raises
    ------
    TypeError
        When it is no tensor.
    ValueError
        When it has no strided memory of plain numbers, or dims, origin or halo do not fit.

    Examples
    --------
    >>> import torch, gridbuf.interop.torch as gbt
    >>> tensor = torch.zeros(3, 2)
    >>> field = gbt.from_tensor(tensor, "KI")
    >>> field[2, 1] = 7.0
    >>> float(tensor[2, 1]), field.dims
    (7.0, ('K', 'I'))
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor: expected a torch.Tensor, got {type(tensor).__name__}")
    if tensor.layout is not torch.strided:
        raise ValueError(
            f"tensor: its layout is {tensor.layout}; only strided memory can be shared:"
            " tensor.to_dense() copies"
        )
    if tensor.is_quantized:
        raise ValueError(
            f"tensor: its {tensor.dtype} needs a scale that memory alone does not hold;"
            " tensor.dequantize() copies"
        )
    if tensor.device.type == "meta":
        raise ValueError("tensor: it is on the device 'meta' and has no memory")
    return _core.Field(tensor, dims, origin=origin, halo=halo)


def empty(shape: Any, dtype: Any = torch.float64, **spec: Any) -> torch.Tensor:
    """An uninitialised tensor of gridbuf's memory, with the layout, padding and alignment of
    `gridbuf.empty`.

    Parameters
    ----------
    shape : int or sequence of int
        The size of each index.
    dtype : torch.dtype or dtype_like
        The type of the elements.
    **spec
        The keywords of `gridbuf.empty`.

    Returns
    -------
    torch.Tensor
        Over gridbuf's memory.

    Examples
    --------
    >>> import torch, gridbuf.interop.torch as gbt
    >>> gbt.empty((10, 4), torch.float32, backend="gtmc").stride()
    (1, 16)
    """
    return to_tensor(_core.Field.empty(shape, numpy_dtype(dtype), **spec))


def zeros(shape: Any, dtype: Any = torch.float64, **spec: Any) -> torch.Tensor:
    """As `empty`, filled with zeros.

    Parameters
    ----------
    shape, dtype, **spec
        As for `empty`.

    Returns
    -------
    torch.Tensor
        Over gridbuf's memory.

    Examples
    --------
    >>> import torch, gridbuf.interop.torch as gbt
    >>> gbt.zeros(3, torch.int16).tolist()
    [0, 0, 0]
    """
    return to_tensor(_core.Field.zeros(shape, numpy_dtype(dtype), **spec))


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype of a torch.dtype; bfloat16 and the float8 need the package ml_dtypes.

    Parameters
    ----------
    dtype : torch.dtype
        PyTorch's.

    Returns
    -------
    numpy.dtype

    Examples
    --------
    >>> import torch, gridbuf.interop.torch as gbt
    >>> gbt.numpy_dtype(torch.complex64)
    dtype('complex64')
    """
    if not isinstance(dtype, torch.dtype):
        return as_dtype(dtype)
    found: np.dtype[Any] = _core.Field(torch.empty(0, dtype=dtype)).dtype
    return found


def _check_strides(field: _core.Field) -> None:
    backwards = [i for i in range(field.ndim) if field.strides[i] < 0]
    if backwards:
        i = backwards[0]
        back = ", ".join("::-1" if j in backwards else ":" for j in range(field.ndim))
        raise ValueError(
            f"field: {index_name(field, i)} has the stride {field.strides[i]}, and PyTorch has no"
            f" negative strides; turn the index round again (field[{back}]), or pass a copy:"
            " field.copy() or gridbuf.Field.from_array(field)"
        )


__all__ = ["empty", "from_tensor", "numpy_dtype", "to_tensor", "zeros"]
