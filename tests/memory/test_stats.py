"""The heap's counters: what each means, what a limit does, and that they agree under eight
threads.
"""

import gc
import threading

import in_child
import numpy as np
import pytest

import gridbuf as gb

COUNTED = [
    "live_bytes",
    "cached_bytes",
    "peak_bytes",
    "live_buffers",
    "allocations",
    "hits",
    "misses",
]


def check(s: dict[str, int]) -> None:
    """What holds at any moment."""
    assert (
        0 <= s["live_bytes"] <= s["peak_bytes"]
        and s["cached_bytes"] >= 0
        and s["live_buffers"] >= 0
    )
    assert s["hits"] + s["misses"] == s["allocations"] >= s["live_buffers"] and s["hits"] >= 0
    assert (s["live_bytes"] == 0) == (s["live_buffers"] == 0)


def test_every_counter_by_kind_of_memory_and_in_total() -> None:
    s = gb.memory.stats()
    assert set(s) == {*COUNTED, "limit", "cache_bound", "numpy_allocations", "kinds"}
    assert s["limit"] is None and s["cache_bound"] > 0 and "host" in s["kinds"]
    for name in COUNTED:
        totals = [kind[name] for kind in s["kinds"].values()]
        assert s[name] == sum(totals) if name != "peak_bytes" else s[name] >= max(totals)
    check(s)


@pytest.mark.parametrize("shape", [(3,), (100, 100), (900, 900)])
def test_a_buffer_comes_misses_goes_and_hits(shape: tuple[int, ...]) -> None:
    gb.memory.trim()
    first = gb.memory.stats()
    a = gb.empty(shape)
    reserved = gb.plan(shape).alloc_nbytes
    live = gb.memory.stats()
    assert (
        live["live_buffers"] == first["live_buffers"] + 1
        and live["live_bytes"] == first["live_bytes"] + reserved
    )
    assert live["peak_bytes"] >= live["live_bytes"]
    del a
    gone = gb.memory.stats()
    assert (
        gone["live_bytes"] == first["live_bytes"]
        and gone["cached_bytes"] == live["cached_bytes"] + reserved
    )
    b = gb.empty(shape)
    again = gb.memory.stats()
    assert again["hits"] == gone["hits"] + 1 and again["misses"] == gone["misses"]
    assert again["live_bytes"] + again["cached_bytes"] == gone["live_bytes"] + gone["cached_bytes"]
    del b


def test_a_new_size_of_a_large_block_is_a_miss_and_trim_gives_it_back() -> None:
    gb.memory.trim()  # a free extent would be cut to the size
    before = gb.memory.stats()
    a = gb.empty((123_457,))
    after = gb.memory.stats()
    assert (after["misses"], after["hits"]) == (before["misses"] + 1, before["hits"])
    del a
    assert gb.memory.trim() >= 123_457 * 8
    assert gb.memory.stats()["cached_bytes"] <= after["cached_bytes"]


def test_a_limit_gives_the_cache_back_before_it_refuses() -> None:
    cached = gb.empty((5_000_000,))
    del cached
    before = gb.memory.stats()
    assert before["cached_bytes"] >= 40_000_000
    limit = before["live_bytes"] + (1 << 20)
    gb.memory.set_limit(limit)
    try:
        with pytest.raises(MemoryError) as caught:
            gb.empty((1_000_000,))
    finally:
        gb.memory.set_limit(None)
    needed = gb.plan((1_000_000,)).alloc_nbytes
    assert str(caught.value).startswith(
        f"cannot allocate {needed} bytes: {before['live_bytes']} bytes are live in"
        f" {before['live_buffers']} buffers and the limit is {limit}"
    )
    assert gb.memory.stats()["cached_bytes"] < before["cached_bytes"] - 39_000_000


def test_the_counters_agree_while_eight_threads_allocate() -> None:
    stop, failures = threading.Event(), []
    gc.collect()  # what other tests left is not to go meanwhile
    start = gb.memory.stats()

    def churn(seed: int) -> None:
        rng = np.random.default_rng(seed)
        held: list[object] = []
        try:
            while not stop.is_set():
                held.append(gb.empty((int(rng.integers(1, 20_000)),)))
                gb.Field.zeros((int(rng.integers(1, 50)), 7))
                if len(held) > 20:
                    del held[:: int(rng.integers(1, 4))]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=churn, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for i in range(2000):
        check(gb.memory.stats())
        if i % 100 == 0:
            gb.memory.trim()
    stop.set()
    for t in threads:
        t.join()
    assert not failures
    end = gb.memory.stats()
    assert end["live_bytes"] == start["live_bytes"] and end["live_buffers"] == start["live_buffers"]


MIXTURE = """
import random, gridbuf as gb
rng, held, live, most = random.Random(SEED), [], 0, 40 << 20
for _ in range(4000):
    n = int(2 ** rng.uniform(LOW, HIGH))
    while live + n > most:
        a = held.pop(rng.randrange(len(held)))
        assert a[0] == a[-1] == a.nbytes % 251
        live -= a.nbytes
    held.append(gb.empty((n,), "uint8"))
    held[-1][...] = n % 251
    live += n
s = gb.memory.stats()
assert s["live_bytes"] + s["cached_bytes"] < 2.5 * s["peak_bytes"], s
z = [gb.zeros((int(2 ** rng.uniform(LOW, HIGH)),), "uint8") for _ in range(20)]
assert not any(a.any() for a in z)
del held, a, z
gb.memory.trim()
assert gb.memory.stats()["cached_bytes"] < 2 << 20
"""


@pytest.mark.parametrize("low, high", [(8, 21), (16, 22), (10, 17)])
def test_free_memory_serves_any_size_and_holds_what_its_user_wrote(low: int, high: int) -> None:
    in_child.python(
        MIXTURE.replace("SEED", "1").replace("LOW", str(low)).replace("HIGH", str(high))
    )


def test_the_ranks_of_a_node_share_what_is_kept() -> None:
    code = (
        "import gridbuf as gb; a = [gb.zeros((8 << 20,)) for _ in range(100)];"
        " print(gb.memory.stats()['cache_bound'])"
    )
    alone, among = (int(in_child.python(code, OMPI_COMM_WORLD_LOCAL_SIZE=n)) for n in ("1", "64"))
    assert among < alone and among <= max(alone // 64, 64 << 20)
