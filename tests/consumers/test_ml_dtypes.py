"""ml_dtypes: bfloat16 and the small floats pass by DLPack and `__array__`, and by nothing that
would lose the dtype.
"""

import re

import numpy as np
import pytest
from sources import ROOT

import gridbuf as gb
from gridbuf.consumers.consumer import LAYOUTS, Cell, field, values

ml_dtypes = pytest.importorskip("ml_dtypes")
TABLE = re.findall(r'X\("(\w+)", \w+, (\d+)\)', (ROOT / "dlpack/datatypes.h").read_text())
assert TABLE
WHOLE = [name for name, bits in TABLE if int(bits) >= 8 and hasattr(ml_dtypes, name)]
PARTS = [name for name, bits in TABLE if int(bits) < 8 and hasattr(ml_dtypes, name)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bfloat16_in_each_layout(layout: str) -> None:
    ours = field(Cell("take", layout, "bfloat16"))
    array = np.asarray(ours)
    assert (
        type(array) is np.ndarray
        and array.dtype == ml_dtypes.bfloat16
        and array.strides == ours.strides
    )
    assert np.array_equal(array, values(layout, "bfloat16")) and array.flags.writeable == (
        not ours.readonly
    )
    again = gb.from_dlpack(ours)
    assert (
        again.dtype == ml_dtypes.bfloat16
        and again.strides == ours.strides
        and np.array_equal(again, array)
    )
    if ours.size:
        assert again.numpy().ctypes.data == array.ctypes.data == ours.numpy().ctypes.data


@pytest.mark.parametrize("name", WHOLE)
def test_the_dtype_survives_both_ways(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    theirs = np.arange(12).reshape(3, 4).astype(dtype).T
    ours = gb.Field(theirs, "JI")
    assert ours.dtype == dtype and ours.strides == theirs.strides
    ours[3, 2] = 1
    assert theirs[3, 2] == dtype.type(1)
    assert gb.from_dlpack(ours).dtype == dtype
    # A nan is none
    assert ours.copy().dtype == dtype and np.asarray(ours.copy()).tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_byte_are_not_exported(name: str) -> None:
    ours = gb.Field(np.zeros(4, getattr(ml_dtypes, name)))
    assert ours.dtype == getattr(ml_dtypes, name)
    with pytest.raises(BufferError, match=rf"DLPack has no type for dtype\({name}\)"):
        gb.from_dlpack(ours)


def test_nothing_passes_as_void() -> None:
    ours = gb.Field(np.zeros(4, ml_dtypes.bfloat16))
    assert not hasattr(ours, "__array_interface__")
    with pytest.raises(BufferError, match="no buffer format"):
        memoryview(ours)


def test_ufuncs_and_casts() -> None:
    ours = gb.Field(np.arange(8).astype(ml_dtypes.bfloat16), "I")
    np.multiply(ours.numpy(), 2, out=ours.numpy())
    assert ours[7] == 14
    assert ours.to(dtype="float32").numpy().tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    assert gb.Field.from_array([1.5, 2.5], dtype=ml_dtypes.bfloat16)[1] == 2.5


def test_the_memory_outlives_both() -> None:
    theirs = np.asarray(gb.Field.full((64,), 3, "bfloat16"))
    others = [gb.Field.full((64,), 9, "bfloat16") for _ in range(8)]
    assert (theirs == 3).all() and len(others) == 8
    ours = gb.Field(np.full(64, 5, ml_dtypes.bfloat16))
    assert (ours.numpy() == 5).all()
