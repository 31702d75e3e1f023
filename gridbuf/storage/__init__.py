"""Storages (GDP-3): fields with named axes, a halo, and memory on the host, the device or both.

Examples
--------
>>> import numpy as np
>>> import gridbuf.storage as gs
>>> s = gs.zeros((12, 12, 7), defaults="gtmc", halo=(2, 2, 0))
>>> s.domain[...] = gs.storage(np.arange(7.0), axes="K")
>>> np.add.reduce(s, axis="IJ").to_numpy()
array([  0.,  64., 128., 192., 256., 320., 384.])
"""

from typing import TYPE_CHECKING

from gridbuf.common import on_demand

if TYPE_CHECKING:
    from gridbuf.storage.public import *  # noqa: F403

__getattr__, __dir__ = on_demand(__name__)
