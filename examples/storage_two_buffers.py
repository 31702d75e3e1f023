"""A class of your own with a buffer on the host and one on the GPU (the first example of GT4Py's
"GT Storage Interface", corrected).

What was wrong there: `__init__` had no self, the GPU's entry was read from the host buffer, and
the copies were left to do.
"""

from types import ModuleType
from typing import Any

import numpy as np

import gridbuf.interface


class SomeStorage:
    """Keeps the two buffers equal, with `acquire` before and `touch` after they are used."""

    NONE_MODIFIED, NP_MODIFIED, CP_MODIFIED = 0, 1, 2

    def __init__(self, shape: tuple[int, ...], dtype: Any, cp: ModuleType | Any) -> None:
        self._np_buffer = np.zeros(shape, dtype)
        self._cp_buffer = cp.zeros(shape, dtype)
        self._cp = cp
        self._sync_state = self.NONE_MODIFIED

    def _touch_np(self) -> None:
        self._sync_state = self.NP_MODIFIED

    def _touch_cp(self) -> None:
        self._sync_state = self.CP_MODIFIED

    def _np_to_cp(self) -> None:
        if self._sync_state == self.NP_MODIFIED:
            self._cp_buffer[...] = self._cp.asarray(self._np_buffer)
            self._sync_state = self.NONE_MODIFIED

    def _cp_to_np(self) -> None:
        if self._sync_state == self.CP_MODIFIED:
            self._np_buffer[...] = self._cp.asnumpy(self._cp_buffer)
            self._sync_state = self.NONE_MODIFIED

    @property
    def __gt_interface__(self) -> dict[Any, dict[str, Any]]:
        np_interface = {
            **self._np_buffer.__array_interface__,
            "acquire": self._cp_to_np,
            "touch": self._touch_np,
        }
        cp_interface = {
            **self._cp_buffer.__cuda_array_interface__,
            "acquire": self._np_to_cp,
            "touch": self._touch_cp,
        }
        return {None: np_interface, "gpu": cp_interface}


def main() -> None:
    try:
        import cupy
    except ImportError:
        print("this example needs cupy and a GPU")
        return
    s = SomeStorage((2, 3), np.float64, cupy)
    with gridbuf.interface.acquired({"s": s}, outputs=("s",), device="gpu") as buffers:
        buffers["s"][...] = 1.0  # on the GPU
    with gridbuf.interface.acquired({"s": s}) as buffers:
        print(buffers["s"])  # on the host: acquire has brought the values


if __name__ == "__main__":
    main()
