"""Statistics and limits of the memory that gridbuf hands out.

Examples
--------
>>> import gridbuf as gb
>>> before = gb.memory.stats()["live_buffers"]
>>> a = gb.empty((10, 10))
>>> gb.memory.stats()["live_buffers"] - before
1
"""

from gridbuf._core import memory_set_limit as set_limit
from gridbuf._core import memory_stats as stats
from gridbuf._core import memory_trim as trim

__all__ = ["set_limit", "stats", "trim"]
