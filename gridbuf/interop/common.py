"""What the bridges share: how errors name a Field's indices, where its memory lies and whether it
has gaps.
"""

from gridbuf import _core
from gridbuf.strides import packed

XLA_ALIGNMENT = 64  # bytes: from anything less aligned its client of CPUs copies


def index_name(field: _core.Field, i: int) -> str:
    """How an error names an index: its dim and its place, as in "K (index 2)"."""
    return f"{field.dims[i]} (index {i})" if field.dims[i] != str(i) else f"index {i}"


def address(field: _core.Field) -> int:
    """Where the first element lies."""
    return int(field.numpy().ctypes.data)


def compact_strides(field: _core.Field) -> tuple[int, ...]:
    """The strides in bytes of the same values without gaps, in the same order of strides."""
    order = sorted(range(field.ndim), key=lambda i: (abs(field.strides[i]), field.shape[i] > 1, -i))
    return packed(field.shape, field.dtype.itemsize, order[::-1])


def gap(field: _core.Field) -> int | None:
    """The first index, from the smallest stride on, whose stride leaves a gap; None where the
    memory is compact.
    """
    wanted = compact_strides(field)
    order = sorted(range(field.ndim), key=lambda i: abs(wanted[i]))
    return (
        next((i for i in order if field.shape[i] > 1 and field.strides[i] != wanted[i]), None)
        if field.size
        else None
    )
