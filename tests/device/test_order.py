"""Several GPUs and streams: whatever is queued where, a copy comes after what it reads was written,
and before it is overwritten. The fake driver holds the work back, lets one GPU be slow, and finds
work that nothing puts in order.
"""

import ctypes
import gc
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb

HELD = pytest.mark.parametrize("slow", [0, 1])


@pytest.fixture
def held(fake: Fake) -> Iterator[Fake]:
    """Everything is queued, nothing done, and races are looked for."""
    gb.cuda.synchronize(0)
    gb.cuda.synchronize(1)
    fake.watch(True)
    fake.hold(True)
    yield fake
    fake.pump()
    fake.hold(False)


def settle() -> None:
    gb.cuda.synchronize(0)
    gb.cuda.synchronize(1)


def filled(value: float, shape: tuple[int, ...] = (10, 20), **spec: Any) -> gb.Field:
    return gb.Field.full(shape, value, **spec)


LAYOUTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"backend": "F"}),
    ({"layout": (1, 0)}, {}),
    ({"padding": 32}, {"padding": 48}),
]


@HELD
@pytest.mark.parametrize("layouts", LAYOUTS, ids=str)
@pytest.mark.parametrize("stream", [None, 2, "of the target", "of the source", "blocking"], ids=str)
def test_between_gpus_every_step_waits_for_the_one_before(
    held: Fake, slow: int, layouts: Any, stream: Any
) -> None:
    f = filled(3.0, device=("gpu", 0), **layouts[0])
    g = gb.Field.zeros((10, 20), device=("gpu", 1), **layouts[1])
    held.pump()
    held.slow(slow)
    handle = {
        None: 0,
        2: 2,
        "of the target": held.stream(1),
        "of the source": held.stream(0),
        "blocking": held.stream(1, True),
    }[stream]
    with gb.cuda.stream(handle):
        gb.copyto(g, f)
        gb.fill(f, 4.0)  # behind the copy, whichever GPU is slow
    held.pump()
    held.slow(-1)
    held.hold(False)
    assert (values_of(g) == 3).all() and (values_of(f) == 4).all()


@HELD
def test_a_gpus_temporaries_are_not_used_again_before_the_other_one_has_read_them(
    held: Fake, slow: int
) -> None:
    f, other = (filled(x, device=("gpu", 0), layout=(1, 0)) for x in (1.0, 2.0))
    g, h = (gb.Field.zeros((10, 20), device=("gpu", 1)) for _ in range(2))
    held.pump()
    held.slow(slow)
    for stream in (0, held.stream(0), held.stream(1)):
        with gb.cuda.stream(stream):
            for _ in range(3):  # the pool has the temporaries again each time
                gb.copyto(g, f)
                gb.copyto(h, other)
                gb.Field.zeros((10, 20), device=("gpu", 0))
    del f, other
    gc.collect()
    gb.memory.trim(device="gpu")
    held.pump()
    held.slow(-1)
    held.hold(False)
    assert (values_of(g) == 1).all() and (values_of(h) == 2).all()


@HELD
def test_pinned_memory_is_marked_where_the_work_is(held: Fake, slow: int) -> None:
    f, g = filled(1.0, device=("gpu", 1)), gb.Field.zeros((10, 20), device=("gpu", 0))
    p = gb.zeros((10, 20), memory="pinned")
    held.pump()
    held.slow(slow)
    first, second = held.stream(1), held.stream(0)
    down = gb.copy_async(p, f, stream=first)
    up = gb.copy_async(g, p, stream=second)  # another GPU waits for the first one's copy
    held.pump()
    assert down.done() and up.done() and (p == 1).all()
    held.slow(-1)
    held.hold(False)
    assert (values_of(g) == 1).all()


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize(
    "how",
    [
        "pinned",
        "pinned, other layout",
        "pageable",
        "pageable, other layout",
        "converted",
        "swapped",
    ],
)
@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_copy_async_on_any_gpu_and_stream(
    fake: Fake, device: int, how: str, down: bool, own: bool
) -> None:
    fake.watch(True)
    values = np.arange(24000.0).reshape(100, 240)
    f = gb.Field.from_array(
        values, device=("gpu", device), layout=(1, 0) if "layout" in how else (0, 1)
    )
    dtype = {"converted": "f4", "swapped": ">f8"}.get(how, "f8")
    host = (
        gb.zeros(values.shape, dtype, memory="pinned")
        if "pinned" in how
        else np.zeros(values.shape, dtype)
    )
    if not down:
        host[...] = values + 1
    settle()
    fake.run_every(50)
    stream = fake.stream(device) if own else None
    copy = gb.copy_async(host, f, stream=stream) if down else gb.copy_async(f, host, stream=stream)
    assert copy.wait(60) and copy.host_free()
    fake.run_every(0)
    assert np.array_equal(host if down else values_of(f), values if down else values + 1)


@pytest.mark.parametrize(
    "way",
    [
        "to another dtype",
        "repeated, to the host",
        "swapped, to the host",
        "between GPUs, another dtype",
    ],
)
def test_the_stream_is_honoured_on_the_way_through_the_host(fake: Fake, way: str) -> None:
    shape = (10, 20)
    f = gb.Field.zeros((20,) if "repeated" in way else shape, "i1", device="gpu")
    dst = (
        gb.Field.zeros(shape, "i4", device=("gpu", int("between" in way)))
        if "dtype" in way
        else np.zeros(shape, ">i2" if "swapped" in way else "i1")
    )
    settle()
    stream = fake.stream(0)
    fake.hold(True)
    # A kernel of the user's, which is not done
    fake.set_bytes(f.__cuda_array_interface__["data"][0], 7, f.size, stream)
    copy = gb.copy_async(dst, f, stream=stream)
    assert not copy.wait(0.05)
    fake.run_every(50)
    assert copy.wait(60)
    fake.run_every(0)
    assert ((dst if isinstance(dst, np.ndarray) else values_of(dst)) == 7).all()


def test_the_default_stream_of_a_thread_is_honoured_by_workers(fake: Fake) -> None:
    f = gb.Field.zeros(1000, device="gpu")
    settle()
    fake.hold(True)
    with gb.cuda.stream(2):
        gb.fill(f, 5.0)
    host = np.zeros(1000, "f4")  # converted, by a thread of ours
    copy = gb.copy_async(host, f, stream=2)
    assert not copy.wait(0.05)
    fake.run_every(50)
    assert copy.wait(60) and (host == 5).all()


def test_a_stream_works_on_its_own_gpu_and_others_on_their_default_one(held: Fake) -> None:
    with gb.cuda.stream(held.stream(1)) as stream:
        on_its_own = gb.Field.zeros(10, device=("gpu", 1))
        elsewhere = gb.Field.ones(10, device=("gpu", 0))
        assert on_its_own.__cuda_array_interface__["stream"] == stream
        assert elsewhere.__cuda_array_interface__["stream"] == 1
    held.pump()
    held.hold(False)
    assert (values_of(elsewhere) == 1).all()
    with pytest.raises(ValueError, match="stream: it is one of GPU 1"):
        gb.copy_async(elsewhere, gb.ones(10, memory="pinned"), stream=held.stream(1))


def test_a_stream_costs_no_call_where_there_is_one_gpu_and_one_where_there_are_several(
    fake: Fake,
) -> None:
    gb.Field.zeros(10, device="gpu")
    before = fake.count("cuStreamGetCtx")
    with gb.cuda.stream(2):
        gb.Field.zeros(10, device="gpu")
    assert fake.count("cuStreamGetCtx") == before
    with gb.cuda.stream(fake.stream(0)):
        for _ in range(5):
            gb.Field.zeros(10, device="gpu")
    assert fake.count("cuStreamGetCtx") == before + 1


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_memory_of_all_gpus_that_cupy_used_waits_for_every_one(held: Fake, kind: str) -> None:
    exports = gb._core.cuda_exports()
    take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)(
        exports[f"cupy_malloc_{kind}"]
    )
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
        exports["cupy_free"]
    )
    gb.memory.trim(memory=kind)
    p = take(None, 1 << 20, 0)
    assert p
    gb.Field.empty(3, device=("gpu", 1))
    held.set_bytes(p, 7, 1 << 20, held.stream(1))  # somebody's work on the other GPU
    free(None, p, 0)
    again = take(None, 1 << 20, 0)
    assert again and again != p, "the other GPU is not through with it"
    free(None, again, 0)
    held.pump()


@pytest.mark.parametrize("stream", [1, 2, "own"])
def test_a_copy_for_dlpack_is_made_before_its_reader_reads(held: Fake, stream: Any) -> None:
    f = filled(6.0, device="gpu", layout=(1, 0))
    held.pump()
    handle = held.stream(0) if stream == "own" else stream
    before = held.count("cuStreamWaitEvent")
    g = gb.from_dlpack(Exported(f.__dlpack__(stream=handle, max_version=(1, 0), copy=True)))
    target = gb.Field.zeros((10, 20), device="gpu", layout=(1, 0))
    # Reads on the consumer's stream: a race if it were not behind the copy
    copy = gb.copy_async(target, g, stream=handle)
    assert stream != "own" or held.count("cuStreamWaitEvent") > before
    held.pump()
    held.hold(False)
    assert copy.done() and (values_of(target) == 6).all()


class Exported:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **wishes: Any) -> Any:
        return self.capsule


def test_the_producers_stream_is_waited_for_on_the_copys_own(held: Fake) -> None:
    f = gb.Field.zeros(100, "i1", device="gpu")
    address = f.__cuda_array_interface__["data"][0]
    held.pump()
    theirs, ours = held.stream(0), held.stream(0)
    held.set_bytes(address, 9, 100, theirs)

    told = {
        "shape": (100,),
        "typestr": "|i1",
        "data": (address, False),
        "version": 3,
        "stream": theirs,
    }

    p = gb.zeros(100, "i1", memory="pinned")
    copy = gb.copy_async(p, types.SimpleNamespace(__cuda_array_interface__=told), stream=ours)
    held.pump(ours)
    assert not copy.done()
    held.pump()
    assert copy.done() and (p == 9).all()


@HELD
def test_managed_memory_of_another_gpu(held: Fake, slow: int) -> None:
    f = gb.Field.zeros((10, 20), memory="managed", device=("gpu", 1))
    g = filled(2.0, device=("gpu", 0))
    held.pump()
    held.slow(slow)
    gb.copyto(f, g)
    assert (f.numpy() == 2).all(), "the host waits for the GPU that writes"


def test_a_wait_is_for_the_recording_that_it_met(held: Fake) -> None:
    f = gb.Field.zeros(100, "i1", device="gpu")
    held.pump()
    address = f.__cuda_array_interface__["data"][0]
    first, second, third, fourth = (held.stream(0) for _ in range(4))
    held.set_bytes(address, 9, 100, first)
    event = held.order_again(None, first, second)
    held.order_again(event, third, fourth)
    copy = gb.copy_async(gb.zeros(100, "i1", memory="pinned"), f, stream=second)
    held.pump(third)
    held.pump(second)
    assert not copy.done(), "the event was recorded again, on a stream that is faster"
    held.pump()
    assert copy.done()


def test_threads_with_default_streams_of_their_own(fake: Fake) -> None:
    fake.run_every(20)
    wrong: list[str] = []

    def work(number: int) -> None:
        for i in range(15):
            f = gb.Field.full(
                (40, 30), float(100 * number + i), device=("gpu", i % 2), layout=(1, 0)
            )
            with gb.cuda.stream(2):
                g = gb.Field.empty((40, 30), device=("gpu", (i + 1) % 2))
                gb.copyto(g, f)
                back = np.zeros((40, 30))
                gb.copyto(back, g)
            if not (back == 100 * number + i).all():
                wrong.append(f"{number}: {i}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fake.run_every(0)
    assert not wrong
