"""What a device is asked for."""

from typing import Any, NamedTuple

import numpy as np


class Request(NamedTuple):
    """Memory to allocate: element 0 lies `offset` bytes behind a multiple of `boundary`."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    offset: int
    nbytes: int
    boundary: int
    device_id: int
