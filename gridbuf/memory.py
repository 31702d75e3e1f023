"""Statistics and limits of the memory that gridbuf hands out, and who holds it.

Examples
--------
>>> import gridbuf as gb
>>> before = gb.memory.stats()["live_buffers"]
>>> a = gb.empty((10, 10))
>>> gb.memory.stats()["live_buffers"] - before
1
"""

from dataclasses import dataclass

from gridbuf import _core
from gridbuf._core import memory_id as buffer_id
from gridbuf._core import memory_set_limit as set_limit
from gridbuf._core import memory_stats as stats
from gridbuf._core import memory_trim as trim

__all__ = ["LiveBuffer", "Report", "buffer_id", "report", "set_limit", "stats", "trim"]


@dataclass(frozen=True)
class LiveBuffer:
    """A buffer that somebody still holds.

    Attributes
    ----------
    id
        Its number, never used again.
    nbytes
        Bytes reserved, with padding and alignment.
    age
        Seconds since it was made, to the second.
    address
        Of element 0.
    where
        The Python line that made it, with GRIDBUF_TRACE=1; else None.
    plan
        Its shape, dtype and layout; None once nobody holds the plan any more.
    """

    id: int
    nbytes: int
    age: int
    address: int
    where: str | None
    plan: _core.Plan | None

    def __str__(self) -> str:
        what = "" if self.plan is None else f"{''.join(self.plan.dims)} {self.plan.shape} {self.plan.dtype}"
        where = "" if self.where is None else f"  {self.where}"
        return f"#{self.id:<8} {self.nbytes:>15,} bytes  {self.age:>6} s  {what}{where}"


class Report(tuple[LiveBuffer, ...]):
    """Live buffers, largest first; prints as a table."""

    def __str__(self) -> str:
        return "\n".join(str(buffer) for buffer in self) or "no live buffers"


def report(n: int = 10) -> Report:
    """The largest live buffers, largest first.

    Parameters
    ----------
    n
        How many at most.

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((1000, 1000), backend="F")
    >>> largest = gb.memory.report(1)[0]
    >>> largest.plan.shape, largest.id == gb.memory.buffer_id(a)
    ((1000, 1000), True)
    """
    return Report(LiveBuffer(*entry) for entry in _core.memory_live(n))
