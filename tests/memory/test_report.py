"""Who holds memory: ids that never come back, and a report of the largest buffers."""

import numpy as np
from in_child import python

import gridbuf as gb


def test_an_address_comes_back_but_an_id_never_does() -> None:
    a = gb.empty((10, 10))
    address, number = a.ctypes.data, gb.memory.buffer_id(a)
    del a
    b = gb.empty((10, 10))
    assert b.ctypes.data == address
    assert gb.memory.buffer_id(b) != number


def test_views_and_fields_have_the_id_of_the_memory_they_lie_in() -> None:
    f = gb.Field.empty((4, 5), dims="IJ")
    number = gb.memory.buffer_id(f)
    assert number is not None
    assert {
        gb.memory.buffer_id(x) for x in (f[1:], f.numpy(), f.numpy()[::2], gb.Field(f.numpy()))
    } == {number}
    assert gb.memory.buffer_id(np.zeros(3)) is None
    assert gb.memory.buffer_id("text") is None


def test_the_report_lists_the_largest_first_with_their_shape() -> None:
    small, large = gb.empty((100, 100)), gb.Field.zeros((300, 300, 3), dims="KJI")
    report = gb.memory.report(100000)
    sizes = [buffer.nbytes for buffer in report]
    assert sizes == sorted(sizes, reverse=True)
    by_id = {buffer.id: buffer for buffer in report}
    mine = by_id[gb.memory.buffer_id(large)]
    assert (
        mine.plan == large.plan
        and mine.address == large.numpy().ctypes.data
        and 0 <= mine.age < 3600
    )
    assert mine.nbytes == large.plan.alloc_nbytes and mine.where is None
    assert by_id[gb.memory.buffer_id(small)].plan.shape == (100, 100)
    assert sum(sizes) == gb.memory.stats()["live_bytes"]
    assert "KJI (300, 300, 3) float64" in str(report)


def test_a_report_of_few_holds_the_largest() -> None:
    held = [gb.empty((n,), np.uint8) for n in (200_000, 100_000, 400_000, 300_000)]
    everything = [b.id for b in gb.memory.report(100000)]  # what other tests still hold, too
    assert [b.id for b in gb.memory.report(2)] == everything[:2]
    mine = [gb.memory.buffer_id(array) for array in held]
    assert [number for number in everything if number in mine] == [
        mine[2],
        mine[3],
        mine[0],
        mine[1],
    ]
    assert len(gb.memory.report(0)) == 0


def test_tracing_says_which_line_made_a_buffer() -> None:
    code = "import gridbuf as gb\n\na = gb.zeros((50, 50))\nprint(gb.memory.report(1)[0].where)"
    assert python(code, GRIDBUF_TRACE="1") == "<string>:3"
