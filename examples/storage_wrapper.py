"""A wrapper that adds names of dimensions to what it wraps (the second example of GT4Py's "GT
Storage Interface", corrected).

What was wrong there: `__init__` had no self, and the loop wrote to its own variable instead of
to the interface.
"""

from typing import Any

import numpy as np

import gridbuf.interface
import gridbuf.storage as gs


class StorageWrapper:
    """A storage whose indices mean something else."""

    def __init__(self, *args: Any, dims: str = "IJK", **kwargs: Any) -> None:
        self._storage = gs.storage(*args, **kwargs)
        self._dims = tuple(dims)

    @property
    def __gt_interface__(self) -> dict[Any, dict[str, Any]]:
        return {
            device: {**entry, "dims": self._dims}
            for device, entry in self._storage.__gt_interface__.items()
        }


def main() -> None:
    wrapped = StorageWrapper(np.arange(6.0).reshape(2, 3), dims="KJ")
    with gridbuf.interface.acquired({"field": wrapped}) as buffers:
        print(buffers["field"])  # in the order J, K


if __name__ == "__main__":
    main()
