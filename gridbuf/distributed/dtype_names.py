"""Element types as text: what ranks tell each other, and what a manifest says of its arrays."""

import ast
from typing import Any

import numpy as np

Elements = np.dtype[Any]


def dtype_name(dtype: Elements) -> str:
    """Text that `dtype_of` reads."""
    if dtype.names is not None:
        return repr(described(dtype))
    name: str = dtype.name
    return name if dtype.kind == "V" and name != f"void{8 * dtype.itemsize}" else dtype.str


def described(dtype: Elements) -> Any:
    """Where the fields of a record lie; where they lie one after the other it need not be said."""
    if dtype.subdtype is not None:
        return described(dtype.subdtype[0]), dtype.subdtype[1]
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    fields = [dtype.fields[name] for name in dtype.names]
    formats, offsets = [described(field[0]) for field in fields], [field[1] for field in fields]
    packed = {"names": [*dtype.names], "formats": formats}
    if np.dtype(packed) == dtype:  # type: ignore[call-overload]
        return dtype.descr
    return {**packed, "offsets": offsets, "itemsize": dtype.itemsize}


def dtype_of(name: str) -> Elements:
    kind: Any = ast.literal_eval(name) if name.startswith(("[", "{")) else name
    try:
        found: Elements = np.dtype(kind)
    except TypeError:
        import ml_dtypes

        found = np.dtype(getattr(ml_dtypes, name))
    return found
