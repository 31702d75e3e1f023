"""Pools: statistics, limits, ids, reports; out of memory and every other failure; threads, streams,
forks, the end of the process.
"""

import gc
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb

POOLS: list[dict[str, Any]] = [{"device": "gpu"}, {"memory": "pinned"}, {"memory": "managed"}]


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_statistics_of_each_pool(pool: dict[str, Any]) -> None:
    gb.memory.trim(**pool)
    before = gb.memory.stats(**pool)
    assert (
        before["live_bytes"] == before["live_buffers"] == before["cached_bytes"] == 0
        and before["limit"] is None
    )
    a = gb.Field.empty((1000, 100), **pool)
    b = gb.Field.empty((1000, 100), **pool)
    during = gb.memory.stats(**pool)
    assert (
        during["live_buffers"] == 2
        and during["live_bytes"] >= 1_600_000
        and during["peak_bytes"] >= during["live_bytes"]
    )
    assert (
        during["allocations"] - before["allocations"]
        == 2
        == during["hits"] + during["misses"] - before["hits"] - before["misses"]
    )
    name = {"gpu": "gpu:0", "pinned": "pinned", "managed": "managed:0"}[pool.get("memory") or "gpu"]
    everything = gb.memory.stats()
    assert everything["kinds"][name]["live_bytes"] == during["live_bytes"]
    assert everything["live_bytes"] == sum(
        kind["live_bytes"] for kind in everything["kinds"].values()
    )
    assert set(gb.memory.stats(device="cpu")["kinds"]) == {"host"}
    largest = [x for x in gb.memory.report(50) if x.pool == name]
    assert {x.id for x in largest} == {gb.memory.buffer_id(a), gb.memory.buffer_id(b)}
    assert largest[0].plan == a.plan and name in str(largest[0]) and largest[0].nbytes >= 800_000
    del a, b, largest
    gc.collect()
    after = gb.memory.stats(**pool)
    assert after["live_buffers"] == 0 and after["cached_bytes"] >= 1_600_000
    assert gb.memory.trim(**pool) >= 1_600_000 and gb.memory.stats(**pool)["cached_bytes"] == 0


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_limits(pool: dict[str, Any]) -> None:
    gb.memory.set_limit(2_000_000, **pool)
    try:
        a = gb.Field.empty(100_000, **pool)
        view, capsule = a[1:], a.__dlpack__()
        del a
        gb.Field.empty(100_000, **pool)
        with pytest.raises(MemoryError, match="limit"):
            gb.Field.empty(200_000, **pool)
        del view
        with pytest.raises(MemoryError, match="limit"):
            gb.Field.empty(200_000, **pool)
        del capsule
        gb.Field.empty(200_000, **pool)
    finally:
        gb.memory.set_limit(None, **pool)
    assert gb.memory.stats(**pool)["limit"] is None
    gb.Field.empty(400_000, **pool)


def test_a_limit_says_of_which_memory() -> None:
    for pool, where in (({"device": "gpu"}, "allowed on GPU 0"),
        ({"memory": "pinned"}, "allowed of pinned memory"),
                        ({"memory": "managed"}, "allowed of managed memory on GPU 0")):  # fmt: skip
        gb.memory.set_limit(1000, **pool)
        try:
            with pytest.raises(MemoryError, match=where):
                gb.Field.empty(100_000, **pool)
        finally:
            gb.memory.set_limit(None, **pool)


def test_wrong_pools_and_limits() -> None:
    for wrong in (
        {"device": "tpu"},
        {"memory": "fast"},
        {"device": ("gpu", -1)},
        {"device": ("gpu",)},
    ):
        for call in (gb.memory.stats, gb.memory.trim, lambda **p: gb.memory.set_limit(5, **p)):
            with pytest.raises(ValueError, match="allowed"):
                call(**wrong)
    with pytest.raises(ValueError, match="limit"):
        gb.memory.set_limit(-1, device="gpu")
    with pytest.raises(TypeError, match="limit"):
        gb.memory.set_limit("x", memory="pinned")  # type: ignore[arg-type]


def test_ids_are_never_used_again() -> None:
    seen = set()
    for pool in (*POOLS, {}):
        for _ in range(20):
            number = gb.memory.buffer_id(gb.Field.empty((10, 10), **pool))
            assert number is not None and number not in seen
            seen.add(number)


def work() -> np.ndarray:
    """A bit of everything that calls the driver."""
    values = np.arange(6000.0).reshape(10, 20, 30)
    f = gb.Field.zeros(values.shape, device="gpu", backend="gt:gpu")
    gb.copyto(f, values)
    f[1:3] = 7.0
    values[1:3] = 7.0
    g = gb.Field.empty(f.shape, device="gpu")
    gb.copyto(g, f)
    gb.copyto(g[::2], f[1::2])
    pinned = gb.zeros(f.shape, memory="pinned")
    copy = gb.copy_async(pinned, g)
    managed = gb.Field.ones(f.shape, memory="managed")
    gb.copyto(managed, f)
    copy.wait()
    expected = values.copy()
    expected[::2] = values[1::2]
    assert np.array_equal(pinned, expected) and np.array_equal(managed.numpy(), values)
    g.__dlpack__(stream=2)
    return values_of(f)


@pytest.mark.parametrize("code", [2, 700], ids=["out of memory", "illegal address"])
def test_a_failure_at_every_call_in_turn(fake: Fake, code: int) -> None:
    work()
    nth, failed = 0, 0
    while True:
        nth += 1
        gb.memory.trim()
        fake.fail("", nth, code)
        try:
            work()
        except (MemoryError, RuntimeError) as error:
            assert "CUDA_ERROR" in str(error), error
            failed += 1
        over = fake.pending_failures()
        fake.no_failures()
        gc.collect()
        for pool in POOLS:
            assert gb.memory.stats(**pool)["live_buffers"] == 0, (nth, pool)
        if over:
            break
    assert failed > 10 and nth > 30
    work()


def test_out_of_memory_gives_the_cache_back_first(fake: Fake) -> None:
    gb.memory.trim()
    fields = [gb.Field.empty(1 << 20, device="gpu") for _ in range(4)]
    del fields
    gc.collect()
    cached = gb.memory.stats(device="gpu")["cached_bytes"]
    fake.fail("cuMemAllocAsync", 1)
    fake.fail("cuMemAlloc_v2", 1)
    big = gb.Field.empty(1 << 22, device="gpu")
    assert gb.memory.stats(device="gpu")["cached_bytes"] < cached and big.size == 1 << 22
    fake.no_failures()


def test_threads(fake: Fake) -> None:
    errors: list[BaseException] = []

    def loop(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            with gb.cuda.stream(2 if seed % 2 else 0):
                for _ in range(60):
                    values = rng.random((rng.integers(1, 40), 30))
                    f = gb.Field.from_array(values, device="gpu", backend="F")
                    g = f.copy()
                    assert np.array_equal(values_of(g[::-1]), values[::-1])
                    pinned = gb.empty(values.shape, memory="pinned")
                    gb.copy_async(pinned, g).wait()
                    assert np.array_equal(pinned, values)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_a_block_is_not_handed_to_another_stream_while_work_is_pending(fake: Fake) -> None:
    gb.memory.trim()
    fake.hold(True)
    f = gb.Field.ones(5000, device="gpu")
    address = f.__cuda_array_interface__["data"][0]
    del f
    with gb.cuda.stream(2):
        g = gb.Field.empty(5000, device="gpu")
        assert g.__cuda_array_interface__["data"][0] != address
    fake.pump()
    fake.hold(False)


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=300
    )


def test_a_forked_child_is_refused_and_may_release() -> None:
    done = run("""
import os, gridbuf as gb, numpy as np
f, p = gb.Field.ones((3, 4), device="gpu"), gb.ones((3, 4), memory="pinned")
gb.ones((5, 5)); gb.cuda.synchronize()
pid = os.fork()
if pid == 0:
    for call in (lambda: gb.Field.empty((3, 4), device="gpu"),
        lambda: gb.copyto(np.zeros((3, 4)), f), lambda: gb.fill(f, 2.0)):
        try: call()
        except RuntimeError as error: assert "fork" in str(error), error
        else: os._exit(1)
    a = gb.ones((5, 5)); assert a.sum() == 25 and p.sum() == 12
    del f, p
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert f[1, 1] == 1 and p.sum() == 12
gb.Field.empty((3, 4), device="gpu")
""")
    assert done.returncode == 0, done.stderr


def test_memory_that_lives_until_the_process_ends() -> None:
    done = run("""
import atexit, gridbuf as gb, numpy as np, sys
f, p = gb.Field.ones((30, 4), device="gpu"), gb.ones((30, 4), memory="pinned")
m = gb.Field.ones((30, 4), memory="managed")
sys.keep = [f, p, m, f.__dlpack__(), np.from_dlpack(gb.Field(p)), f[1:]]
sys.cycle = [f]; sys.cycle.append(sys.cycle)
copies = [gb.copy_async(f, p) for _ in range(4)]
atexit.register(lambda: gb.copyto(p, f))
""")
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.skipif("GRIDBUF_LIBCUDA" not in os.environ, reason="steers the fake driver")
def test_a_context_that_is_gone_at_the_end() -> None:
    done = run("""
import ctypes, os, gridbuf as gb
f, p = gb.Field.ones((30, 4), device="gpu"), gb.ones((30, 4), memory="pinned")
copy = gb.copy_async(f, p)
fake = ctypes.CDLL(os.environ["GRIDBUF_LIBCUDA"])
fake.fake_shut_down(4)
try: gb.fill(f, 1.0)
except RuntimeError as error: assert "(4)" in str(error), error
else: raise SystemExit(3)
del f, copy
""")
    assert done.returncode == 0, done.stderr


def test_debug_mode() -> None:
    done = subprocess.run(
        [sys.executable, "-c",
         "import gridbuf as gb; f = gb.Field.zeros((3, 4), device='gpu'); del f; gb.memory.trim()"],
        env=os.environ | {"GRIDBUF_DEBUG": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
