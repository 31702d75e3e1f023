"""Write numpy_formats.txt: buffer formats, and what NumPy reads in them.

Run it as `python numpy_formats.py > numpy_formats.txt`. The formats are NumPy's own for the dtypes
below, and others in the notations of ctypes, pybind11 and this package. Columns: format, item size,
type.
"""

import numpy as np
from numpy._core._internal import _dtype_from_pep3118

PLAIN = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 g F D G >f8 >i8 >i4 >c16 S5 U5 >U5 V12"
DTYPES = [
    *PLAIN.split(),
    [("a", "f8"), ("b", "i4")],
    [("a", "f8"), ("b", "i4", (2, 3))],
    [("a", ">f8"), ("b", "<i4"), ("c", "i2")],
    [("a", "i1"), ("n", [("x", "f4"), ("y", ">f8")]), ("z", "i8")],
    np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True),
    np.dtype(
        [("a", "i1"), ("b", np.dtype([("p", "f8"), ("q", "i1")], align=True), 2), ("c", "i2")],
        align=True,
    ),
    [("a", "S3"), ("b", "U2"), ("c", "V4")],
    [("a", "?"), ("b", "F"), ("c", "g")],
    [("a", "i1", (2,)), ("b", [("q", "i1")], (2, 2))],
]
OTHERS = """l q >l =l !h ^l n c w s 5s e Zd @Zf T{b:a:d:b:} T{@b:a:d:b:b:c:} T{3s:a:xxd:b:} T{T{d:p:b:q:7x}:x:i:y:}
T{(2)T{d:p:b:q:}:x:b:y:} T{>d:a:T{i:p:}:b:h:c:} T{^d:a:^i:b:} T{^d:a:(2,3)^i:b:} T{^b:a:7x^d:b:^h:c:6x}
T{^b:a:T{^f:x:>d:y:}:n:^q:z:} T{^3s:a:^2w:b:^4x:c:} id dbi <bd ^bd @bd <l:a:<d:b: T{<i:a:<d:b:}"""


def show(dtype: np.dtype) -> str:
    """A dtype in the words of the Go test."""
    if not dtype.names:
        return dtype.str
    parts = []
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        shape = "".join(f"[{n}]" for n in field.shape)
        parts.append(f"{offset}:{name}{shape}={show(field.base)}")
    return f"{{{' '.join(parts)}}}"


for dtype in map(np.dtype, DTYPES):
    view = memoryview(np.empty(0, dtype))
    try:
        print(view.format, view.itemsize, show(np.asarray(view).dtype), sep="\t")
    except RuntimeError:
        # NumPy leaves the padding of a nested aligned structure out and cannot read it back
        continue
for text in OTHERS.split():
    try:
        dtype = _dtype_from_pep3118(text)
    except ValueError:
        continue  # n, which NumPy does not know
    print(text, dtype.itemsize, show(dtype), sep="\t")
