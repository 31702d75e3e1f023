"""Statistics and limits of gridbuf's memory, and the buffers that hold it.

`device` and `memory` name a pool, as they do in `gridbuf.empty`: `device="gpu"` or `("gpu", n)`,
`memory="pinned"` or `"managed"`; `device="cpu"` alone the host's heap.

Examples
--------
>>> import gridbuf as gb
>>> before = gb.memory.stats()["live_buffers"]
>>> a = gb.empty((10, 10))
>>> gb.memory.stats()["live_buffers"] - before
1
"""

from typing import Any, NamedTuple

from gridbuf import _core
from gridbuf._core import MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED, MEMORY_PINNED
from gridbuf._core import memory_id as buffer_id
from gridbuf.docstrings import as_in
from gridbuf.names import joined
from gridbuf.validation import integer

__all__ = ["LiveBuffer", "Report", "buffer_id", "report", "set_limit", "stats", "trim"]

_KINDS = {
    MEMORY_HOST: "host",
    MEMORY_PINNED: "pinned",
    MEMORY_DEVICE: "gpu",
    MEMORY_MANAGED: "managed",
}
_HEAP = (MEMORY_HOST, 0)
_COUNTERS = (
    "live_bytes",
    "cached_bytes",
    "peak_bytes",
    "live_buffers",
    "allocations",
    "hits",
    "misses",
)


def _pool(device: Any, memory: Any) -> tuple[int, int] | None:
    """The kind and device of a pool of the driver's memory; None for the host's heap."""
    number = 0
    if (
        isinstance(device, tuple)
        and len(device) == 2
        and isinstance(device[0], str)
        and device[0] == "gpu"
    ):
        number = integer(device[1], "device")
        device = "gpu" if 0 <= number < 1 << 15 else device
    if not (device is None or (isinstance(device, str) and device in ("cpu", "gpu"))):
        raise ValueError(
            f"device: {device!r} is not known; allowed are None, 'cpu', 'gpu' and ('gpu', n)"
        )
    if not (memory is None or (isinstance(memory, str) and memory in ("pinned", "managed"))):
        raise ValueError(
            f"memory: {memory!r} is not known; allowed are None, 'pinned' and 'managed'"
        )
    if memory == "pinned":
        return MEMORY_PINNED, 0  # one pool for all devices
    if memory == "managed":
        return MEMORY_MANAGED, number
    return (MEMORY_DEVICE, number) if device == "gpu" else None


def _name(kind: int, device: int) -> str:
    """The name of a pool in figures; of the host's heap and of pinned memory there is one for
    all devices.
    """
    return _KINDS[kind] if kind in (MEMORY_HOST, MEMORY_PINNED) else f"{_KINDS[kind]}:{device}"


def _pools() -> list[tuple[int, int]]:
    """The driver's pools; none before the first use of a GPU."""
    if not _core.cuda_started():
        return []
    count = _core.cuda_count()
    return [
        (MEMORY_PINNED, 0),
        *((kind, n) for n in range(count) for kind in (MEMORY_DEVICE, MEMORY_MANAGED)),
    ]


def stats(*, device: Any = None, memory: Any = None) -> dict[str, Any]:
    """A pool's counters, all read at one moment.

    Parameters
    ----------
    device, memory
        Which pool; "cpu" is the host's heap. Without either: all of them together, with the limit
        and the bound of the heap.

    Returns
    -------
    dict
        live_bytes, cached_bytes, peak_bytes (bytes), live_buffers, allocations, hits and misses
        (counts; for a miss memory had to be mapped); limit (bytes or None); cache_bound (bytes).
        The heap's have besides numpy_allocations: how many NumPy made for itself
        (gridbuf.interop.numpy); and kinds: the first seven by kind of memory, with "pinned",
        "gpu:0", "managed:0", ... once a GPU was used.

    Raises
    ------
    ValueError
        When there is no such pool.
    RuntimeError
        When the pool is a GPU's, and there is no driver or no GPU.

    Examples
    --------
    >>> import gridbuf as gb
    >>> a, s = gb.empty((10, 10)), gb.memory.stats()
    >>> s["hits"] + s["misses"] == s["allocations"]
    True
    >>> s["kinds"]["host"]["live_bytes"] == s["live_bytes"]
    True
    """
    pool = _pool(device, memory)
    if pool is not None:
        return _core.memory_stats(*pool)
    found = {**_core.memory_stats(*_HEAP), "numpy_allocations": _core.numpy_allocations()}
    kinds = {"host": {key: found[key] for key in _COUNTERS}}
    for each in [] if device == "cpu" else _pools():
        counters = _core.memory_stats(*each)
        kinds[_name(*each)] = {key: counters[key] for key in _COUNTERS}
        for key in _COUNTERS:
            found[key] += counters[key]
    return {**found, "kinds": kinds}


def set_limit(limit: int | None, /, *, device: Any = None, memory: Any = None) -> None:
    """Bound live memory.

    Memory that a view or a capsule still holds counts as live. An allocation
    beyond the limit raises MemoryError.

    Parameters
    ----------
    limit : int or None
        Bytes; None lifts the bound.
    device, memory
        Which pool, as in `gridbuf.empty`; the host's heap unless given.

    Raises
    ------
    TypeError, ValueError
        When limit is no int, or negative, or there is no such pool.
    RuntimeError
        When the pool is a GPU's, and there is no driver or no GPU.

    Examples
    --------
    >>> import gridbuf as gb
    >>> gb.memory.set_limit(1 << 40)  # 1 TiB
    >>> gb.memory.stats()["limit"]
    1099511627776
    >>> gb.memory.set_limit(None)
    """
    pool = _pool(device, memory) or _HEAP
    nbytes = -1 if limit is None else integer(limit, "limit", allowed="an int (bytes) or None")
    if limit is not None and nbytes < 0:
        raise ValueError(
            f"limit: {limit!r} bytes is not allowed; give 0 or more, or None for no limit"
        )
    _core.memory_set_limit(*pool, min(nbytes, (1 << 63) - 1))


@as_in(stats)
def trim(*, device: Any = None, memory: Any = None) -> int:
    """Give cached memory back to the system.

    Parameters
    ----------
    device, memory
        Which pool, as in `gridbuf.empty`; all pools unless given.

    Returns
    -------
    int
        The number of bytes.

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((1000, 1000))
    >>> del a
    >>> gb.memory.trim() >= 8_000_000
    True
    """
    pool = _pool(device, memory)
    if pool is not None:
        return _core.memory_trim(*pool)
    return sum(_core.memory_trim(*each) for each in [_HEAP, *([] if device == "cpu" else _pools())])


class LiveBuffer(NamedTuple):
    """A buffer that is still held.

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
        Its shape, dtype and layout; None once the plan is no longer held.
    pool
        "host", "pinned", "gpu:0", "managed:0", ...
    """

    id: int
    nbytes: int
    age: int
    address: int
    where: str | None
    plan: _core.Plan | None
    pool: str = "host"

    def __str__(self) -> str:
        what = (
            ""
            if self.plan is None
            else f"{joined(self.plan.dims)} {self.plan.shape} {self.plan.dtype}"
        )
        where = "" if self.where is None else f"  {self.where}"
        pool = "" if self.pool == "host" else f"  {self.pool}"
        return f"#{self.id:<8} {self.nbytes:>15,} bytes  {self.age:>6} s  {what}{pool}{where}"


class Report(tuple[LiveBuffer, ...]):
    """Live buffers, largest first; prints as a table."""

    def __str__(self) -> str:
        return "\n".join(str(buffer) for buffer in self) or "no live buffers"


def report(n: int = 10) -> Report:
    """The largest live buffers of all pools, largest first.

    Parameters
    ----------
    n : int, optional
        How many at most.

    Returns
    -------
    Report
        A tuple of `LiveBuffer`.

    Examples
    --------
    >>> import gridbuf as gb
    >>> a = gb.empty((1000, 1000), backend="F")
    >>> largest = gb.memory.report(1)[0]
    >>> largest.plan.shape, largest.id == gb.memory.buffer_id(a)
    ((1000, 1000), True)
    """
    found = [LiveBuffer(*entry[:6], pool=_name(*entry[6:])) for entry in _core.memory_live(n)]
    return Report(sorted(found, key=lambda buffer: -buffer.nbytes)[:n])
