"""NumPy's own arrays in gridbuf's memory (NEP 49): whatever NumPy does with memory, with values,
objects and strings counted.
"""

import copy
import gc
import pickle
import random
import sys
import threading
from typing import Any

import numpy as np

import gridbuf as gb
from gridbuf.interop.numpy import memory

STEPS = ["new", "new", "objects", "strings", "resize", "grow", "fromiter", "sort", "pickle",
"concatenate", "view", "astype", "drop", "drop",
         "outside", "copy", "reduce", "where", "structured", "record", "save", "huge", "field",
         "random", "swap", "partition", "einsum",
         "frombuffer", "iter", "setstate", "trim"]  # fmt: skip


def draw(rng: random.Random) -> dict[str, Any]:
    return {
        "threads": [[[rng.choice(STEPS), rng.choice([0, 1, 2, 7, 7, 64, 64, 100, 300, 1000, 5000]),
        rng.randrange(100)] for _ in range(rng.randrange(3, 25))]
                    for _ in range(rng.choice([1, 1, 1, 3]))],
        "switch": rng.random() < 0.3,
    }  # fmt: skip


class Counted:
    """An object whose lives are counted."""

    alive = 0

    def __init__(self, value: int) -> None:
        self.value = value
        Counted.alive += 1

    def __del__(self) -> None:
        Counted.alive -= 1

    def __lt__(self, other: "Counted") -> bool:
        return self.value < other.value

    def __reduce__(self) -> Any:
        return Counted, (self.value,)


class Held:
    """Arrays whose values are known: (array, the list of its values)."""

    def __init__(self) -> None:
        self.arrays: list[tuple[Any, Any]] = []

    def take(self, pick: int) -> tuple[Any, Any]:
        if not self.arrays:
            self.add(np.arange(5.0), [0.0, 1.0, 2.0, 3.0, 4.0])
        return self.arrays[pick % len(self.arrays)]

    def add(self, a: Any, values: list[Any]) -> None:
        self.arrays.append((a, values))
        if len(values) > 20000 or len(self.arrays) > 12:
            self.arrays.pop(0)

    def look(self) -> None:
        for a, values in self.arrays:
            assert [v.value if isinstance(v, Counted) else v for v in a.tolist()] == values, (
                "somebody wrote here"
            )


def step(held: Held, what: str, n: int, pick: int) -> None:
    a, values = held.take(pick)
    if what == "new":
        held.add(np.full(n, float(pick)), [float(pick)] * n)
        assert not np.zeros(n).any()
    elif what == "objects":
        n = min(n, 300)
        held.add(np.array([Counted(i) for i in range(n)] + [None], object)[:-1], list(range(n)))
    elif what == "strings" and hasattr(np.dtypes, "StringDType"):
        texts = ["x" * (i * pick % 60) for i in range(min(n, 300))]
        held.add(np.array(texts, np.dtypes.StringDType()), texts)
        held.add(np.array(texts, np.dtypes.StringDType())[::2].copy(), texts[::2])
    elif what in ("resize", "grow"):
        b, m = np.arange(float(n)), 2 * n + pick if what == "grow" else n // 2
        b.resize(m, refcheck=False)
        held.add(b, [float(i) if i < n else 0.0 for i in range(m)])
    elif what == "fromiter":
        held.add(np.fromiter((i * 2 for i in range(n)), "q"), [i * 2 for i in range(n)])
    elif what in ("sort", "partition"):
        b = np.random.default_rng(pick).permutation(n)
        b.sort() if what == "sort" or n == 0 else b.partition(list(range(n)))
        held.add(b, list(range(n)))
        if a.dtype == object:
            held.add(np.sort(a), sorted(values))
    elif what == "pickle":
        buffers: list[Any] = []
        b = pickle.loads(pickle.dumps(a, 5, buffer_callback=buffers.append), buffers=buffers)
        held.add(b.copy() if buffers else b, list(values))
    elif what == "concatenate":
        held.add(np.concatenate([a, a]), values * 2)
    elif what == "view":
        held.add(a[::-1], values[::-1])
        held.add(a[len(values) // 2 :], values[len(values) // 2 :])
    elif what == "astype" and a.dtype.kind in "fiu":
        held.add(a.astype("f4").astype(object), [float(v) for v in values])
    elif what == "drop" and held.arrays:
        held.arrays.pop(pick % len(held.arrays))
    elif what == "copy":
        held.add(copy.deepcopy(a), list(values))
        held.add(np.array(a, order="F"), list(values))
    elif what == "reduce" and a.dtype.kind in "fiu":
        assert np.add.reduce(a) == sum(values) or a.dtype == "f4"
        held.add(np.cumsum(np.ones(n)), [float(i + 1) for i in range(n)])
    elif what == "where":
        held.add(
            np.where(np.arange(n) % 2 == 0, 1.0, 2.0),
            [1.0 if i % 2 == 0 else 2.0 for i in range(n)],
        )
    elif what == "structured":
        b = np.zeros(min(n, 500), [("a", "f8"), ("b", "i4")])
        b["b"] = pick
        held.add(b["b"], [pick] * len(b))
    elif what == "record":
        b = np.zeros(min(n, 50), [("a", object), ("b", "i4")])
        b["a"] = [Counted(i) for i in range(len(b))]
        held.add(b["a"], list(range(len(b))))
    elif what == "save":
        held.add(np.frombuffer(np.arange(n).tobytes(), "q").copy(), list(range(n)))
    elif what == "huge":
        try:
            np.empty(1 << 58)
        except (MemoryError, ValueError):
            return
        raise AssertionError("2^61 bytes")
    elif what == "field":
        f = gb.Field(np.arange(float(n)))
        held.add(np.from_dlpack(f[::2]), [float(i) for i in range(0, n, 2)])
    elif what == "random":
        np.random.default_rng(pick).normal(size=n).std()
    elif what == "swap" and a.dtype.kind in "fiu":
        held.add(a.byteswap().view(a.dtype.newbyteorder()), list(values))
    elif what == "einsum":
        assert np.einsum("i,i->", np.ones(n), np.ones(n)) == n
    elif what == "frombuffer":
        held.add(np.frombuffer(bytes([pick]) * n, "u1") if n else np.zeros(0, "u1"), [pick] * n)
    elif what == "iter":
        with np.nditer(
            [np.arange(n), None],
            ["external_loop", "buffered", "zerosize_ok"],
            [["readonly"], ["writeonly", "allocate"]],
            ["f8", "f8"],
        ) as it:
            for x, y in it:
                y[...] = x
            held.add(it.operands[1], [float(i) for i in range(n)])
    elif what == "setstate":
        b = np.zeros(3)
        b.__setstate__((1, (n,), np.dtype("u1"), False, bytes([pick]) * n))
        held.add(b, [pick] * n)
    elif what == "trim":
        gb.memory.trim()


def work(steps: list[Any], failed: list[BaseException], kept: list[Any]) -> None:
    try:
        held = Held()
        with memory():
            for what, n, pick in steps:
                if what != "outside":
                    step(held, what, n, pick)
        for what, n, pick in steps:  # without the handler, arrays of both kinds meet
            if what == "outside":
                step(held, "grow", n, pick)
                step(held, "concatenate", n, pick)
        held.look()
        kept.append(held.arrays[: len(held.arrays) // 2])  # freed on another thread
    except BaseException as error:
        failed.append(error)


def live() -> tuple[int, int, int]:
    stats = gb.memory.stats()
    return stats["live_buffers"], stats["live_bytes"], Counted.alive


def check(case: dict[str, Any]) -> None:
    before, failed, kept = live(), list[BaseException](), list[Any]()
    old = sys.getswitchinterval()
    if case["switch"]:
        sys.setswitchinterval(1e-5)
    if len(case["threads"]) == 1:
        work(case["threads"][0], failed, kept)
    else:
        threads = [
            threading.Thread(target=work, args=(steps, failed, kept)) for steps in case["threads"]
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        del threads, t
    sys.setswitchinterval(old)
    if failed:
        raise failed[0]
    kept.clear()
    if live() != before:
        gc.collect()
    assert live() == before, f"{live()} after {before}"


# What NumPy makes once and keeps (tables of its random generators, say) is made before anything is
# counted.
work([[what, 7, pick] for what in STEPS for pick in range(3) if what != "drop"], [], [])
