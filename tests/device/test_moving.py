"""Copies in which a GPU takes part: any layout to any layout, with as few calls of the driver as
there can be.
"""

import gc
import threading
import time
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of
from hypothesis import given
from hypothesis import strategies as st

import gridbuf as gb

COPIES = (
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpy2DAsync_v2",
    "cuMemcpyPeerAsync",
    "cuLaunchKernel",
)


def moves(fake: Fake) -> dict[str, int]:
    return {name: fake.count(name) for name in COPIES if fake.count(name)}


def new_moves(fake: Fake, before: dict[str, int]) -> int:
    return sum(moves(fake).values()) - sum(before.values())


shapes = st.lists(st.integers(1, 9), min_size=0, max_size=4).map(tuple)


@st.composite
def places(draw: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    ranks = draw(st.permutations(range(len(shape))))
    where = draw(
        st.sampled_from(
            [{"device": "gpu"}, {"memory": "pinned"}, {"memory": "managed"}, {"device": "cpu"}]
        )
    )
    return {"layout": tuple(ranks), "padding": draw(st.sampled_from([False, 3, 8])), **where}


@st.composite
def cuts(draw: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(None, None, draw(st.sampled_from([1, 1, 2, -1, -3]))) for _ in shape)


@given(data=st.data(), shape=shapes)
def test_any_layout_to_any_layout(data: Any, shape: tuple[int, ...]) -> None:
    dtypes = data.draw(
        st.sampled_from(
            [
                ("f8", "f8"),
                ("f4", "f8"),
                ("i2", "f4"),
                ("f8", "i8"),
                ("c16", "c16"),
                ("i1", "i1"),
                ("S3", "S3"),
            ]
        )
    )
    src = gb.Field.empty(shape, dtypes[0], **data.draw(places(shape)))
    dst = gb.Field.empty(shape, dtypes[1], **data.draw(places(shape)))
    values = (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(dtypes[0])
    gb.copyto(src, values)
    gb.copyto(dst, np.zeros((), dtypes[1]) if dtypes[1] != "S3" else np.array(b"", "S3"))
    cut = data.draw(cuts(shape))
    gb.copyto(dst[cut] if shape else dst, src[cut] if shape else src, casting="unsafe")
    expected = np.zeros(shape, dtypes[1])
    expected[cut] = values[cut]
    assert np.array_equal(values_of(dst), expected)
    back = gb.empty(shape, dtypes[1], layout=tuple(range(len(shape)))[::-1])
    gb.copyto(back, dst)
    assert np.array_equal(back, expected)


@pytest.mark.parametrize("kind", ["pinned", None, "managed"])
@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f8"), ("f8", "f4")])
def test_large_ones_in_chunks(kind: str | None, dtypes: tuple[str, str]) -> None:
    values = np.random.default_rng(1).random((210, 121, 64)).astype(dtypes[0])
    for order, spec in (("C", {}), ("F", {}), ("C", {"backend": "gt:gpu", "halo": (3, 3, 0)})):
        host = (
            gb.from_array(values, dtype=None, backend=order, memory=kind, device="cpu")
            if kind
            else np.asarray(values, order=order)
        )
        f = gb.Field.empty(values.shape, dtypes[1], device="gpu", **spec)
        gb.copyto(f, host)
        back = np.zeros(values.shape, dtypes[0], order="F")
        gb.copyto(back, f)
        assert np.array_equal(back, values.astype(dtypes[1]).astype(dtypes[0]))
        strided = np.zeros((420, 121, 128), dtypes[0])[::2, ::-1, ::2]
        gb.copyto(strided, f)
        assert np.array_equal(strided, back)
        gb.copyto(f[::2], strided[::-2])
        assert np.array_equal(values_of(f)[::2], strided[::-2].astype(dtypes[1]))


def test_overlapping_views_of_one_buffer() -> None:
    values = np.arange(1000.0).reshape(10, 100)
    f = gb.Field.from_array(values, device="gpu")
    gb.copyto(f[1:], f[:-1])
    values[1:] = values[:-1].copy()
    assert np.array_equal(values_of(f), values)
    gb.copyto(f, f[::-1, ::-1])
    assert np.array_equal(values_of(f), values[::-1, ::-1])


def test_between_two_gpus(fake: Fake) -> None:
    values = np.arange(6000.0).reshape(10, 20, 30)
    f = gb.Field.from_array(values, device=("gpu", 1), backend="gt:gpu")
    assert f.device == ("gpu", 1) == f.plan.device and f.__dlpack_device__() == (2, 1)
    g = gb.Field.empty(f.shape, device=("gpu", 0))
    gb.copyto(g, f)
    gb.copyto(f[::2], g[1::2])
    values[::2] = values[1::2].copy()
    assert np.array_equal(values_of(f), values) and np.array_equal(values_of(g)[1::2], values[1::2])
    assert f.to(device="gpu").device == ("gpu", 0)


def test_broadcast_and_values() -> None:
    f = gb.Field.zeros((3, 4), device="gpu")
    gb.copyto(f, gb.Field.from_array([1.0, 2, 3, 4], device="gpu"))
    assert (values_of(f) == [1, 2, 3, 4]).all()
    a = np.zeros((5, 3, 4))
    gb.copyto(a, f)
    assert (a == [1, 2, 3, 4]).all()
    gb.copyto(f, 3)
    gb.copyto(f[1:], [[5.0], [6.0]])
    assert values_of(f)[:, 0].tolist() == [3, 5, 6]
    with pytest.raises(TypeError, match=r"[Cc]an"):
        gb.copyto(gb.Field.zeros(3, "i4", device="gpu"), np.zeros(3))
    with pytest.raises(ValueError, match="broadcast"):
        gb.copyto(f, np.zeros(3))
    seen: list[float] = []
    gb.copyto(f, np.ones((3, 4)), progress=seen.append)
    assert seen[-1] == 1.0


# ---- how many calls of the driver ----


def test_pooled_allocation_calls_nothing(fake: Fake) -> None:
    for place in ({"device": "gpu"}, {"memory": "pinned"}, {"memory": "managed"}):
        gb.Field.empty((50, 50), **place)
        before = fake.count()
        for _ in range(20):
            gb.Field.empty((50, 50), **place)
        assert fake.count() == before, place
    gb.empty((50, 50), memory="pinned")
    before = fake.count()
    gb.empty((50, 50), memory="pinned")
    assert fake.count() == before


@pytest.mark.parametrize("spec", [{}, {"backend": "gt:gpu"}, {"backend": "F"}], ids=str)
def test_an_upload_is_one_move(fake: Fake, spec: dict[str, Any]) -> None:
    shape = (40, 50, 60)
    f = gb.Field.empty(shape, device="gpu", **spec)
    layout = f.plan.layout
    for host in (gb.ones(shape, layout=layout, memory="pinned"),
    gb.ones(shape, layout=layout, padding=16, memory="pinned"),
                 gb.ones(shape, layout=layout)):  # fmt: skip
        for _ in range(2):
            before = moves(fake)
            gb.copyto(f, host)
            assert new_moves(fake, before) == 1
            before = moves(fake)
            gb.copyto(host, f)
            assert new_moves(fake, before) == 1


def test_another_layout_is_one_move_and_one_kernel(fake: Fake) -> None:
    f = gb.Field.empty((40, 50, 60), device="gpu", backend="gt:gpu")
    host = gb.ones((40, 50, 60), memory="pinned")
    for dst, src in ((f, host), (host, f), (f, host)):
        before = moves(fake)
        gb.copyto(dst, src)
        assert new_moves(fake, before) == 2
    g = gb.Field.empty(f.shape, device="gpu")
    before = moves(fake)
    gb.copyto(g, f)
    assert new_moves(fake, before) == 1


# ---- asynchronous copies ----


def test_copy_async_says_when(fake: Fake) -> None:
    f, host = gb.Field.zeros((64, 64), device="gpu"), gb.ones((64, 64), memory="pinned")
    gb.cuda.synchronize()
    fake.hold(True)
    copy = gb.copy_async(f, host)
    assert (
        not copy.done()
        and not copy.host_free()
        and not copy.wait(0.03)
        and "on its way" in repr(copy)
    )
    assert f.__cuda_array_interface__["stream"] == 1
    fake.pump()
    assert copy.done() and copy.host_free() and copy.wait() and "arrived" in repr(copy)
    fake.hold(False)
    assert (values_of(f) == 1).all()


def test_both_sides_stay_alive(fake: Fake) -> None:
    fake.hold(True)
    copy = gb.copy_async(gb.Field.empty((64, 64), device="gpu"), gb.ones((64, 64), memory="pinned"))
    gc.collect()
    assert (
        gb.memory.stats(device="gpu")["live_buffers"]
        == gb.memory.stats(memory="pinned")["live_buffers"]
        == 1
    )
    fake.pump()
    assert copy.wait(60)
    gc.collect()
    assert (
        gb.memory.stats(device="gpu")["live_buffers"]
        == gb.memory.stats(memory="pinned")["live_buffers"]
        == 0
    )


def test_letting_go_of_a_copy_waits_for_it(fake: Fake) -> None:
    f, host = gb.Field.zeros((64, 64), device="gpu"), gb.ones((64, 64), memory="pinned")
    fake.run_every(500)
    gb.copy_async(f, host)
    host[...] = 5
    fake.run_every(0)
    fake.hold(False)
    assert (values_of(f) == 1).all()


def test_callbacks(fake: Fake) -> None:
    f, host = gb.Field.zeros((64, 64), device="gpu"), gb.ones((64, 64), memory="pinned")
    called: list[str] = []
    event = threading.Event()
    fake.hold(True)
    copy = gb.copy_async(f, host)
    copy.add_done_callback(lambda c: called.append("first" if c is copy and c.done() else "wrong"))
    copy.add_done_callback(lambda c: event.set())
    time.sleep(0.05)
    assert not called
    fake.pump()
    assert event.wait(60) and called == ["first"]
    copy.add_done_callback(lambda c: called.append("late"))
    assert called == ["first", "late"]


@pytest.mark.parametrize("how", ["pageable", "cast", "down", "other layout"])
def test_copies_that_the_host_works_on(how: str) -> None:
    values = np.random.default_rng(2).random((200, 120, 64))
    f = gb.Field.empty(
        values.shape, device="gpu", backend="gt:gpu" if how == "other layout" else "C"
    )
    if how == "down":
        gb.copyto(f, values)
        target = np.zeros(values.shape, "f4", order="F")
        copy = gb.copy_async(target, f)
        assert copy.wait(60) and copy.host_free() and np.array_equal(target, values.astype("f4"))
        return
    source = (
        values.astype("f4")
        if how == "cast"
        else gb.from_array(values, memory="pinned")
        if how == "other layout"
        else values.copy()
    )
    copy = gb.copy_async(f, source)
    while not copy.host_free():
        time.sleep(0.001)
    expected = np.array(source, "f8")
    source[...] = -1
    assert copy.wait() and np.array_equal(values_of(f), expected)


def test_copies_that_fail() -> None:
    f = gb.Field.zeros((4, 5), device="gpu")
    with pytest.raises(ValueError, match="broadcast"):
        gb.copy_async(f, gb.zeros((3, 3), memory="pinned"))
    copy = gb.copy_async(f, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="broadcast"):
        copy.wait()
    done: list[Any] = []
    copy.add_done_callback(done.append)
    assert copy.done() and done == [copy] and "failed" in repr(copy)
    with pytest.raises(TypeError, match="neither"):
        gb.copy_async(np.zeros(3), np.zeros(3))
    with pytest.raises(TypeError, match="stream"):
        gb.copy_async(f, np.zeros((4, 5)), stream="x")


def test_streams_of_others_are_understood() -> None:
    class Torchs:
        cuda_stream = 2

    class Cupys:
        ptr = 2

    class Cores:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 2

    for stream in (2, Torchs(), Cupys(), Cores()):
        with gb.cuda.stream(stream) as handle:
            assert handle == 2 == gb._core.cuda_get_stream()
        assert gb._core.cuda_get_stream() == 0
        f = gb.Field.empty(3, device="gpu")
        assert gb.copy_async(f, gb.ones(3, memory="pinned"), stream=stream).wait() and f[1] == 1


def test_many_threads_wait_for_one_copy(fake: Fake) -> None:
    fake.run_every(200)
    for _ in range(30):
        f, host = gb.Field.empty((64, 64), device="gpu"), gb.ones((64, 64), memory="pinned")
        copy, called = gb.copy_async(f, host), threading.Event()
        copy.add_done_callback(lambda _, called=called: called.set())  # type: ignore[misc]
        threads = [threading.Thread(target=copy.wait) for _ in range(4)]
        others = [gb.copy_async(gb.Field.empty((64, 64), device="gpu"), host) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert copy.done() and called.wait(60) and all(other.wait(60) for other in others)
    fake.run_every(0)


def test_ctrl_c_while_waiting(fake: Fake) -> None:
    import signal

    f, host = gb.Field.zeros((64, 64), device="gpu"), gb.ones((64, 64), memory="pinned")
    main, seen = threading.main_thread().ident or 0, threading.Event()

    def interrupt(number: int, frame: object) -> None:
        seen.set()
        raise KeyboardInterrupt

    def press() -> None:
        signal.pthread_kill(main, signal.SIGINT)
        seen.wait()
        fake.pump()  # a copy that has begun is waited for

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        for wait in (lambda: gb.copy_async(f, host).wait(), lambda: gb.copyto(f, host)):
            fake.hold(True)
            seen.clear()
            presser = threading.Thread(target=press)
            with pytest.raises(KeyboardInterrupt):
                presser.start()
                wait()
            presser.join()
            fake.hold(False)
    finally:
        signal.signal(signal.SIGINT, before)
    gb.copyto(f, host)
    assert (values_of(f) == 1).all()


def test_without_room_for_a_temporary_the_host_lays_out() -> None:
    values = np.random.default_rng(3).random((100, 60, 50))
    f = gb.Field.empty(values.shape, device="gpu", backend="gt:gpu")
    gb.memory.set_limit(gb.memory.stats(device="gpu")["live_bytes"], device="gpu")
    try:
        for host in (values, gb.from_array(values, memory="pinned")):
            gb.copyto(f, host)
            back = np.zeros_like(values)
            gb.copyto(back, f)
            assert np.array_equal(back, values)
    finally:
        gb.memory.set_limit(None, device="gpu")


@pytest.mark.parametrize("offset", [1, 2, 4])
def test_misaligned_memory(offset: int) -> None:
    room = gb.Field.zeros(1000, "i1", device="gpu")

    class Shifted:
        """Items of 8 bytes, 9 bytes apart, anywhere."""

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            address = room.__cuda_array_interface__["data"][0] + offset
            return {
                "shape": (10, 5),
                "typestr": "<f8",
                "data": (address, False),
                "strides": (90, 9),
                "version": 3,
            }

    values = np.arange(50.0).reshape(10, 5)
    gb.copyto(Shifted(), values)
    f = gb.Field.empty((10, 5), device="gpu", backend="F")
    gb.copyto(f, Shifted())
    assert np.array_equal(values_of(Shifted()), values) and np.array_equal(values_of(f), values)
    gb.fill(Shifted(), 2.5)
    gb.copyto(f, gb.Field(Shifted())[::-1])
    assert (values_of(f) == 2.5).all() and f.copy()[3, 3] == 2.5
