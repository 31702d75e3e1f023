"""NumPy's arrays in gridbuf's memory (NEP 49): whose they are, how long they live, on which
threads.
"""

import contextvars
import gc
import pickle
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest
from in_child import python

import gridbuf as gb
from gridbuf.interop import numpy as handler

PLAIN_START = threading.Thread.start


@pytest.fixture(autouse=True)
def balance() -> Iterator[None]:
    """Every test ends with NumPy's own handler and with the buffers it found."""
    gc.collect()
    live = gb.memory.stats()["live_buffers"]
    yield
    handler.disable()
    assert not handler.enabled()
    gc.collect()
    assert gb.memory.stats()["live_buffers"] == live


def ours(a: np.ndarray) -> bool:
    return gb.memory.buffer_id(a) is not None


@pytest.mark.parametrize(
    "make",
    [np.empty, np.zeros, np.ones, lambda shape: np.arange(np.prod(shape)).reshape(shape).copy()],
)
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (100, 100), (700, 900)])
def test_arrays_lie_in_our_memory_aligned_and_counted(make, shape) -> None:  # type: ignore[no-untyped-def]
    before = gb.memory.stats()
    with handler.memory():
        a = make(shape)
    after = gb.memory.stats()
    assert ours(a) and a.ctypes.data % 64 == 0 and a.flags.owndata and type(a) is np.ndarray
    assert after["live_buffers"] == before["live_buffers"] + 1
    assert after["live_bytes"] - before["live_bytes"] >= a.nbytes
    assert after["numpy_allocations"] > before["numpy_allocations"]
    assert not ours(make(shape))
    assert make is not np.zeros or not a.any()


def test_zeros_are_zero_when_the_block_was_used() -> None:
    with handler.memory():
        for n in (10, 5_000, 100_000, 2_000_000):
            for _ in range(3):
                a = np.zeros(n)
                assert not a.any()
                a[...] = np.nan
                del a


def test_results_of_expressions_are_ours_too() -> None:
    a = np.ones((50, 50))
    with handler.memory():
        for b in (
            a + 1,
            np.sqrt(a),
            a @ a,
            a.astype("f4"),
            np.concatenate([a, a]),
            a[a > 0],
            np.where(a > 0, a, 2.0),
        ):
            assert ours(b)
        assert np.linalg.norm(np.linalg.inv(np.eye(30)) - np.eye(30)) == 0


def test_an_array_outlives_its_context() -> None:
    with handler.memory():
        a = np.arange(100_000.0)
        view = a[::2]
    assert ours(view) and ours(a)
    del a
    gc.collect()
    assert view.sum() == 2 * sum(range(50_000))


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "after"])
@pytest.mark.parametrize("n", [8, 1000, 70_000, 1_000_000])
def test_resize_keeps_the_values_and_the_memory_ours(n: int, inside: bool) -> None:
    def resize() -> None:
        for factor in (1, 2, 3, 0.01, 1, 20, 0):
            size = int(n * factor)
            kept = min(a.size, size)
            expected = a[:kept].copy()
            a.resize(size, refcheck=False)
            assert (a[:kept] == expected).all() and not a[kept:].any()
            assert ours(a)
            a[...] = np.arange(size)

    with handler.memory():
        a = np.arange(float(n))
        if inside:
            resize()
    if not inside:
        resize()


def test_an_array_made_before_is_resized_and_freed_by_numpy() -> None:
    a = np.arange(10.0)
    with handler.memory():
        a.resize(100_000, refcheck=False)
        assert not ours(a) and a[:10].sum() == 45 and not a[10:].any()
        del a


def test_objects_strings_and_structs() -> None:
    with handler.memory():
        token = object()
        before = sys.getrefcount(token)
        a = np.empty(1000, object)
        assert (a == None).all()  # noqa: E711
        a[:] = token
        assert sys.getrefcount(token) == before + 1000
        # Shrinking an array of objects leaks them on NumPy 1.26, whatever the memory
        a.resize(2000, refcheck=False)
        del a
        assert sys.getrefcount(token) == before
        s = np.array(["a", "longer text"] * 50)
        r = np.zeros(7, [("x", "f4"), ("y", "S3")])
        r["y"] = b"abc"
    assert s[1] == "longer text" and r["y"][6] == b"abc" and ours(s) and ours(r)


def test_pickles() -> None:
    with handler.memory():
        a = np.arange(1000.0).reshape(10, 100)
        for protocol in (2, 5):
            assert np.array_equal(pickle.loads(pickle.dumps(a, protocol)), a)
            assert np.array_equal(pickle.loads(pickle.dumps(a[:, ::3], protocol)), a[:, ::3])


def test_contexts_nest_and_are_left_by_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), handler.memory():
        with handler.memory():
            assert handler.enabled()
        assert handler.enabled()
        _ = 1 / 0
    assert not handler.enabled()


def test_a_decorated_function() -> None:
    @handler.memory()
    def make() -> np.ndarray:
        return np.empty(10)

    assert ours(make()) and ours(make()) and not handler.enabled()


def on_a_thread(enable: bool = False) -> bool:
    seen: list[bool] = []

    def body() -> None:
        if enable:
            handler.enable()
        seen.append(ours(np.empty(100)))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert "run" not in vars(thread)
    return seen[0]


def test_the_switch_reaches_this_thread_and_later_ones() -> None:
    handler.enable()
    handler.enable()
    assert ours(np.empty(3)) and on_a_thread()
    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(lambda _: ours(np.zeros(10)), range(10)))
    handler.disable()
    handler.disable()
    assert not ours(np.empty(3)) and not on_a_thread()


def test_a_context_manager_is_for_its_own_thread() -> None:
    with handler.memory():
        assert not on_a_thread()
        assert not contextvars.Context().run(handler.enabled)
        assert contextvars.copy_context().run(handler.enabled)


def test_a_running_thread_keeps_its_handler_until_it_asks() -> None:
    go, seen = threading.Event(), []

    def body() -> None:
        go.wait()
        seen.append(ours(np.empty(10)))
        handler.enable()
        seen.append(ours(np.empty(10)))

    thread = threading.Thread(target=body)
    thread.start()
    handler.enable()
    go.set()
    thread.join()
    assert seen == [False, True]


def test_subclasses_of_thread_and_those_that_set_run() -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            self.mine = ours(np.empty(5))

    handler.enable()
    workers = [Worker() for _ in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert [w.mine for w in workers] == [True] * 3


def test_a_thread_that_cannot_be_started_again_is_left_as_it_was() -> None:
    handler.enable()
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError, match="once"):
        thread.start()
    assert "run" not in vars(thread)


def test_whoever_wrapped_the_start_of_threads_meanwhile_keeps_his_wrapper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handler.enable()
    inner, started = threading.Thread.start, []
    with monkeypatch.context() as patch:
        patch.setattr(
            threading.Thread, "start", lambda thread: (started.append(thread), inner(thread))
        )
        handler.disable()
        assert not on_a_thread() and len(started) == 1
    assert threading.Thread.start is inner and not on_a_thread()  # the wrapper's end put ours back
    handler.enable()
    assert on_a_thread()
    handler.disable()
    threading.Thread.start = PLAIN_START  # type: ignore[method-assign]


def test_eight_threads_make_and_drop_temporaries() -> None:
    handler.enable()

    def work(seed: int) -> bool:
        values = np.full(1000, float(seed))
        for i in range(1500):
            values = np.concatenate([values + 1, values[: i % 7]])[:1000] - 1
        return bool((values == seed).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_arrays_are_freed_on_other_threads() -> None:
    before = gb.memory.stats()["live_buffers"]
    with handler.memory():
        held = [np.full(n, 1.0) for n in range(1, 3000, 7)]
    assert gb.memory.stats()["live_buffers"] == before + len(held)
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert gb.memory.stats()["live_buffers"] == before


def test_a_limit_holds_for_numpy_too() -> None:
    gb.memory.set_limit(gb.memory.stats()["live_bytes"] + (1 << 20))
    try:
        with handler.memory():
            assert np.empty(1000).size == 1000
            with pytest.raises(MemoryError):
                np.zeros(1 << 20)
            a = np.empty(1 << 16)
            with pytest.raises(MemoryError):
                a.resize(1 << 20, refcheck=False)
            del a
        assert np.zeros(1 << 20).size == 1 << 20
    finally:
        gb.memory.set_limit(None)


def test_sizes_that_overflow_are_refused() -> None:
    with handler.memory():
        for make in (np.empty, np.zeros):
            with pytest.raises((MemoryError, ValueError)):
                make(1 << 58)
            with pytest.raises((MemoryError, ValueError)):
                make((1 << 40, 1 << 40))


def test_the_report_lists_them_and_tracing_says_where() -> None:
    with handler.memory():
        a = np.empty(3_000_000)
    assert gb.memory.buffer_id(a) in [b.id for b in gb.memory.report(10)]
    code = (
        "import numpy as np, gridbuf as gb\nfrom gridbuf.interop import numpy as h\nh.enable()\na ="
        " np.zeros((50, 50))\nprint(gb.memory.report(1)[0].where)\ntry: [np.empty(9) for _ in (1,"
        " 2)][5]\nexcept IndexError: pass"
    )
    assert python(code, GRIDBUF_TRACE="1") == "<string>:4"


def test_a_process_may_end_with_arrays_alive() -> None:
    code = (
        "import numpy as np, threading, sys\nfrom gridbuf.interop import numpy as"
        " h\nh.enable()\nsys.kept = [np.zeros(n) for n in (3, 3000, 3000000)]\nobjects ="
        " np.array([sys.kept, object()], object)\ndef forever():\n    while True: np.ones(1000) +"
        " 1\nfor _ in range(3): threading.Thread(target=forever, daemon=True).start()\n"
    )
    for _ in range(3):
        python(code)


def test_a_wrong_handler_is_refused() -> None:
    with pytest.raises(TypeError, match="handler: expected a NumPy memory handler"):
        gb._core.set_numpy_handler("gridbuf")


def test_blocks_and_the_switch_in_any_order() -> None:
    """NumPy has gridbuf's memory while a block is open or the switch is on, and else its own."""
    for steps in product(("enter", "leave", "enable", "disable"), repeat=6):
        blocks: list[Any] = []
        on = False
        for step in steps:
            if step == "enter":
                blocks.append(handler.memory())
                blocks[-1].__enter__()
            elif step == "leave" and blocks:
                blocks.pop().__exit__(None, None, None)
            elif step == "enable":
                handler.enable()
                on = True
            elif step == "disable":
                handler.disable()
                on = False
            assert handler.enabled() == (on or bool(blocks)), steps
        while blocks:
            blocks.pop().__exit__(None, None, None)
        handler.disable()
        assert not handler.enabled(), steps


def held() -> Iterator[None]:
    with handler.memory():
        yield


def test_a_block_that_ends_inside_another_one() -> None:
    outer = held()
    next(outer)
    with handler.memory():
        outer.close()
        assert handler.enabled()
    assert not handler.enabled()
    with handler.memory():
        pass
    assert not handler.enabled()


def test_a_block_that_ends_on_another_thread() -> None:
    block = held()
    next(block)

    def end() -> bool:
        with handler.memory():
            block.close()
            return handler.enabled()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(end).result() and not pool.submit(handler.enabled).result()
    with handler.memory():
        pass
    assert not handler.enabled()
