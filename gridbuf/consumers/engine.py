"""Try one cell: hand memory over, and prove by address, by writing on both sides and by lifetime
that it is the same.
"""

import gc
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import gridbuf
from gridbuf import _core
from gridbuf.consumers.consumer import Absent, Cell, Consumer, Missing, values
from gridbuf.strides import address

Outcome = Literal["yes", "no", "none", "unprotected", "skipped", "wrong"]


@dataclass(frozen=True)
class Result:
    """The outcome of a cell.

    Attributes
    ----------
    outcome
        "yes": shared, and proved so. "no": refused, `reason` is the error. "none": the consumer has
        no such objects. "unprotected": shared, but the consumer would write to read-only memory.
        "skipped": `reason` says what is missing. "wrong": accepted, with a wrong result.
    """

    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome


class Wrong(Exception):
    """A consumer took or gave something else than the memory in question."""


class Unprotected(Exception):
    """All is as it should be, but that the memory is read-only."""


def run(consumer: Consumer, cell: Cell) -> Result:
    """Try a cell of a consumer.

    Parameters
    ----------
    consumer : Consumer
    cell : Cell
    """
    expected = consumer.expected(cell)
    try:
        consumer.start()
        values(cell.layout, cell.dtype)
    except (Missing, ImportError) as error:
        return Result("skipped", str(error))
    try:
        with consumer.context():
            if isinstance(expected, Absent) and not _exists(consumer, cell):
                return Result("none", expected.why)
            (_take if cell.direction == "take" else _give)(consumer, cell)
    except Wrong as error:
        return Result("wrong", str(error))
    except Unprotected as error:
        return Result("unprotected", str(error))
    except Exception as error:
        # Any error is a refusal; the caller compares it with the expected one
        return Result("no", _step(error) + (" ".join(str(error).split()) or type(error).__name__))
    return Result("yes")


def _step(error: Exception) -> str:
    """Which method of the consumer failed, where it is not the one that takes or gives."""
    name = next(
        (
            frame.name
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename != __file__
        ),
        "take",
    )
    return "" if name in ("take", "make", "give") else f"{name}: "


def _exists(consumer: Consumer, cell: Cell) -> bool:
    """Whether the consumer makes objects that its description calls absent."""
    try:
        found, wanted = consumer.make(cell), Consumer().make(cell)
        same = (
            consumer.values(found).dtype == wanted.dtype
            and consumer.strides(found) == wanted.strides
        )
        return same and consumer.readonly(found) == (not wanted.flags.writeable)
    except Exception:
        return False


def _take(consumer: Consumer, cell: Cell) -> None:
    ours = consumer.field(cell)
    theirs = consumer.take(ours)
    _same(consumer, ours, theirs, cell)
    _written_through(consumer, ours, theirs, cell)
    if not consumer.keeps or not ours.size:
        return
    wanted, block = consumer.values(theirs), gridbuf.memory.buffer_id(ours)
    _check(block is not None, "the Field does not say which memory it holds")
    del ours  # theirs outlives ours, and goes on another thread
    _check(_live(block), "the memory was released while the consumer held it")
    _check(_equal(consumer.values(theirs), wanted), "the values changed when our object went")
    held = [theirs]
    del theirs
    _dropped_elsewhere(held)
    _check(
        _soon(lambda: not _live(block)),
        "the memory is not released when the consumer's object has gone",
    )
    ours = consumer.field(cell)  # the other way round
    _dropped_elsewhere([consumer.take(ours)])
    _check(
        _equal(_host(ours), values(cell.layout, cell.dtype)),
        "our memory changed when the consumer's object went",
    )
    _protected(consumer, consumer.take(ours), cell)


def _give(consumer: Consumer, cell: Cell) -> None:
    theirs = consumer.make(cell)
    ours = consumer.give(theirs)
    _same(consumer, ours, theirs, cell)
    _written_through(consumer, ours, theirs, cell)
    wanted, watched = consumer.values(theirs), consumer.watch(theirs)
    del theirs  # ours outlives theirs, and goes on another thread
    _check(_equal(_host(ours), wanted), "the values changed when the consumer's object went")
    held = [ours]
    del ours
    _dropped_elsewhere(held)
    _check(
        watched is None or watched() is None,
        "the consumer's object is kept when the Field has gone",
    )
    theirs = consumer.make(cell)
    _dropped_elsewhere([consumer.give(theirs)])
    _check(
        _equal(consumer.values(theirs), values(cell.layout, cell.dtype)),
        "the consumer's memory changed when the Field went",
    )


def _same(consumer: Consumer, ours: _core.Field, theirs: Any, cell: Cell) -> None:
    wanted = values(cell.layout, cell.dtype)
    found = consumer.values(theirs)
    _check(
        found.shape == wanted.shape == ours.shape, f"shapes: {ours.shape} here, {found.shape} there"
    )
    _check(
        found.dtype == wanted.dtype == ours.dtype, f"dtypes: {ours.dtype} here, {found.dtype} there"
    )
    _check(_equal(found, wanted) and _equal(_host(ours), wanted), "the values differ")
    if ours.size:
        here, there = _address(ours), consumer.address(theirs)
        same = here is None or there is None or here == there
        _check(same, f"it is a copy: the first element is at {here} here, {there} there")
        lie = consumer.strides(theirs)
        _check(lie is None or ours.strides == lie, f"strides: {ours.strides} here, {lie} there")


def _written_through(consumer: Consumer, ours: _core.Field, theirs: Any, cell: Cell) -> None:
    """Ours seen there, theirs seen here; or neither where the memory is read-only."""
    must_not = cell.layout == "read-only" or (consumer.constant and cell.direction == "give")
    _check(
        ours.readonly == must_not, f"our Field is {'read-only' if ours.readonly else 'writable'}"
    )
    if must_not or not ours.size:
        return
    first, last = (0,) * ours.ndim, tuple(n - 1 for n in ours.shape)
    value = ours.dtype.type(0)
    ours[first] = value
    _check(consumer.values(theirs)[first] == value, "writes here are not seen there")
    if not consumer.constant:
        consumer.write(theirs, last, value)
        _check(_host(ours)[last] == value, "writes there are not seen here")


def _protected(consumer: Consumer, theirs: Any, cell: Cell) -> None:
    if cell.layout == "read-only" and not consumer.readonly(theirs):
        raise Unprotected("it is shared, and the consumer would write to it")


def _host(ours: _core.Field) -> np.ndarray[Any, Any]:
    """The values of a Field, wherever it lies."""
    return (ours if ours.device == "cpu" else ours.to(device="cpu")).numpy()


def _address(ours: Any) -> int | None:
    """Where the first element lies; None on a GPU where the array interface cannot express the
    dtype.
    """
    if ours.device == "cpu":
        return address(ours)
    interface = getattr(ours, "__cuda_array_interface__", None)
    return int(interface["data"][0]) if interface else None


def _equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b))


def _live(block: int | None) -> bool:
    return block is not None and any(
        buffer.id == block
        for buffer in gridbuf.memory.report(gridbuf.memory.stats()["live_buffers"] + 1)
    )


def _dropped_elsewhere(held: list[Any]) -> None:
    """Let the last reference go on another thread."""
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()


def _soon(holds: Callable[[], bool]) -> bool:
    """At once, or once cycles are collected."""
    if not holds():
        gc.collect()
    return holds()


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Wrong(otherwise)
