"""NumPy through DLPack: `np.from_dlpack` and `gb.from_dlpack`."""

from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import Cannot, Consumer, Missing, Refusals


class FromDlpack(Consumer):
    """NumPy's DLPack has no bfloat16 in, and none out."""

    package, modules = "numpy", ("numpy",)
    takes, gives = "np.from_dlpack(field)", "gb.from_dlpack(array)"
    refuses: ClassVar[Refusals] = {
        ("take", "bfloat16"): Cannot(
            "NumPy's DLPack has no bfloat16", "Unsupported dtype", "`field.numpy()`"
        ),
        ("give", "bfloat16"): Cannot(
            "NumPy's DLPack has no bfloat16", "DLPack only supports", "`gb.Field(array)`"
        ),
        ("take", ">f8"): Cannot(
            "DLPack has native byte order only", "DLPack has no type for", "`np.asarray(field)`"
        ),
        ("give", ">f8"): Cannot(
            "DLPack has native byte order only", "native byte order", "`gb.Field(array)`"
        ),
    }

    def start(self) -> None:
        super().start()
        if np.lib.NumpyVersion(np.__version__) < "2.1.0":
            raise Missing(
                f"NumPy {np.__version__} knows legacy capsules only, and makes read-only arrays of"
                " them; 2.1 is needed"
            )

    def take(self, field: _core.Field) -> Any:
        return np.from_dlpack(field)

    def give(self, theirs: Any) -> _core.Field:
        return _core.from_dlpack(theirs)


consumer = FromDlpack
