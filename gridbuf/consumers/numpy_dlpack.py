"""NumPy through DLPack: `np.from_dlpack` and `gb.from_dlpack`."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Cannot, Consumer, Refusals


class FromDlpack(Consumer):
    """NumPy's DLPack has no bfloat16 in, and none out."""

    package, modules = "numpy", ("numpy",)
    takes, gives = "np.from_dlpack(field)", "gb.from_dlpack(array)"
    refuses: ClassVar[Refusals] = {
        ("take", "bfloat16"): Cannot("NumPy's DLPack has no bfloat16", "Unsupported dtype", "`field.numpy()`"),
        ("give", "bfloat16"): Cannot("NumPy's DLPack has no bfloat16", "DLPack only supports", "`gb.Field(array)`"),
        ("take", ">f8"): Cannot("DLPack has native byte order only", "DLPack has no type for", "`np.asarray(field)`"),
        ("give", ">f8"): Cannot("DLPack has native byte order only", "native byte order", "`gb.Field(array)`"),
    }

    def take(self, field: _core.Field) -> Any:
        return np.from_dlpack(field)

    def give(self, theirs: Any) -> _core.Field:
        return _core.from_dlpack(theirs)


consumer = FromDlpack
