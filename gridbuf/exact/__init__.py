"""Sums without rounding: the same bits for any order, layout, number of threads and cut into
blocks.

The exact sum is rounded once, to what `math.fsum` gives; sums of integers are Python ints.

Examples
--------
>>> import gridbuf as gb, numpy as np
>>> x = np.array([1e16, 1.0, -1e16])
>>> float(x.sum()), gb.exact.sum(x)
(0.0, 1.0)
"""

from typing import TYPE_CHECKING

from gridbuf.common import on_demand

if TYPE_CHECKING:
    from gridbuf.exact.sums import *  # noqa: F403

__getattr__, __dir__ = on_demand(__name__, "sums")
