"""After fork the child goes on in C: it does what its parent could, never enters Go, and never
hangs.

GRIDBUF_FORKS says how many children the storms have.
"""

import concurrent.futures
import hashlib
import json
import multiprocessing
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fork_storms import FORKS, ONE, add, child, new_shape, work

import gridbuf as gb
from gridbuf import gufunc

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
BACKENDS = ("C", "F", "numpy", "gt:cpu_kfirst", "gt:cpu_ifirst", "dace:cpu", "gtmc")
POINT = np.dtype([("x", "f8"), ("n", "i4")])


def from_child(body: Callable[[], Any]) -> Any:
    """What body returns in a forked child."""
    read, write = os.pipe()

    def send() -> None:
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(body(), pipe)

    with os.fdopen(read, "rb") as pipe:
        pid = os.fork()
        if pid == 0:
            signal.alarm(120)
            try:
                send()
            finally:
                os._exit(0)
        os.close(write)
        text = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(text)


def spellings(shape: tuple[int, ...]) -> Iterator[Any]:
    """Every way to ask for memory."""
    values = np.arange(float(np.prod(shape))).reshape(shape)
    for backend in BACKENDS:
        yield gb.empty(shape, backend=backend, aligned_index=(1,) * len(shape))
        yield gb.zeros(shape, "f4", backend=backend, padding=True)
        yield gb.ones(list(shape), dtype=np.dtype("i2"), backend=backend, byte_alignment=512)
        yield gb.full(shape, 7, np.complex128, backend=backend)
        yield gb.from_array(values, backend=backend)
        yield gb.Field.empty(shape, backend=backend, dims="KJI")
        yield gb.Field.zeros(shape, POINT, backend=backend, halo=(1, (0, 1), 0))
        yield gb.Field.ones(shape, np.dtype((np.float64, (2,))), backend=backend)
        yield gb.Field.full(shape, 3, backend=backend, origin=(1, 1, 1))
        yield gb.Field.from_array(values, backend=backend)
        yield gb.plan(shape, backend=backend, layout=(1, 0, 2))
    a = gb.empty(shape, backend="gtmc")
    f = gb.Field.empty(shape, dims="IJK", halo=(1, 1, 1), backend="gt:cpu_ifirst")
    for data in (a, a[1:, ::2], f, f[1:], f.domain, values.tolist()):
        for make in (gb.empty_like, gb.zeros_like, gb.ones_like):
            yield make(data)
            yield make(data, dtype=np.int32)
        yield gb.full_like(data, 2.0)
    yield f.to(backend="dace:cpu", dims="KJI")
    yield f.copy()
    yield gb.Field(values.T, dims="KJI").plan
    yield gb.Field(bytearray(8)).plan
    yield gb.Plan.of(a[::-1])
    yield gb.storage.empty(shape, np.float64)
    yield gb.storage.zeros(shape, np.float32, alignment=4)


@pytest.fixture(autouse=True)
def a_gufunc_call_known_to_the_parent() -> None:
    add(ONE, ONE)


@pytest.fixture(scope="module")
def storm() -> Iterator[Callable[[str], list[int]]]:
    """The statuses of the children of a storm, by a process of its own that waits for the
    next one.
    """
    program, path = Path(__file__).with_name("fork_storms.py"), os.pathsep.join(sys.path)
    with subprocess.Popen(
        [sys.executable, program], env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True
    ) as parent:  # fmt: skip
        asked, told = parent.stdin, parent.stdout
        assert asked is not None and told is not None

        def of(name: str) -> list[int]:
            print(name, file=asked, flush=True)
            found: list[int] = json.loads(told.readline())
            return found

        yield of
        asked.close()


def test_from_an_idle_parent(storm: Callable[[str], list[int]]) -> None:
    assert storm("idle") == [0] * FORKS


def test_a_grandchild_works_too(storm: Callable[[str], list[int]]) -> None:
    assert storm("grandchildren") == [0] * 20


def test_every_spelling_of_every_backend() -> None:
    def facts(shape: tuple[int, ...]) -> list[Any]:
        return [(type(x).__name__, x.shape, x.strides) for x in spellings(shape)]

    shape = (31, 7, 11)
    assert from_child(lambda: facts(shape)) == facts(shape)


@pytest.mark.parametrize("busy", ["allocating", "copying", "gufuncs", "all"])
def test_from_a_busy_parent(busy: str, storm: Callable[[str], list[int]]) -> None:
    assert storm(busy) == [0] * FORKS


# ---- requests as a Python program makes them, the same in a child ----


def request(rng: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n = rng.choice([0, 1, 2, 3, 3, 3, 4, 5])
    shape = tuple(
        rng.choice([0, 1, 2, 3, 5, 8, 13, 100, 1 << 40, -1, rng.randrange(1000)]) for _ in range(n)
    )
    dtype = rng.choice(
        ["f8", np.float32, np.dtype("i2"), "c16", POINT, "V24", np.dtype(("f8", (2,)))]
    )
    spec: dict[str, Any] = {}
    if rng.random() < 0.7:
        spec["backend"] = rng.choice([*BACKENDS, "gt:gpu", "cuda", "gtcuda", "no such"])
    if rng.random() < 0.4:
        spec["dimensions"] = rng.choice(
            [
                "IJK",
                "KJI",
                "IJ",
                "K",
                "JI0",
                "IJK01",
                tuple(rng.sample(["I", "J", "K", "0", "12"], min(n, 5))),
            ]
        )
    if rng.random() < 0.3:
        spec["aligned_index"] = tuple(rng.choice([0, 1, 2, 7, -1]) for _ in range(n))
    if rng.random() < 0.2:
        spec["layout"] = tuple(rng.sample(range(n), n))
    if rng.random() < 0.3:
        spec["padding"] = rng.choice([None, True, False, 0, 1, 3, 8, 1 << 29])
    if rng.random() < 0.3:
        spec["byte_alignment"] = rng.choice([1, 8, 64, 256, 4096, 48])
    if rng.random() < 0.2:
        spec["halo"] = tuple(rng.choice([0, 1, (1, 2)]) for _ in range(n))
    if rng.random() < 0.1:
        spec["device"] = rng.choice(["cpu", "gpu", ("gpu", 1)])
    return (shape, dtype), spec


def answers(seed: int, count: int) -> str:
    """What planning count random requests says, errors included."""
    rng, said = random.Random(seed), hashlib.sha256()
    for _ in range(count):
        args, spec = request(rng)
        try:
            p = gb.plan(*args, **spec)
            text = repr((p, p.padded_shape, p.layout, p.offset, p.nbytes, p.memory, p.dtype))
        except (ValueError, TypeError) as error:
            text = f"{type(error).__name__}: {error}"
        said.update(text.encode())
    return said.hexdigest()


def test_a_child_plans_as_its_parent() -> None:
    batches = range(30)
    assert from_child(lambda: [answers(seed, 1000) for seed in batches]) == [
        answers(seed, 1000) for seed in batches
    ]


def test_a_child_checks_requirements_as_its_parent() -> None:
    def check() -> str:
        data = np.zeros((4, 5, 6))
        gb.Field(data, "IJK", require={"backend": "gt:cpu_kfirst", "dtype": "f8"})
        with pytest.raises(ValueError, match="orders the strides otherwise") as missed:
            gb.Field(data, "IJK", require={"backend": "gt:cpu_ifirst"})
        return str(missed.value)

    assert from_child(check) == check()


def test_a_plan_is_printed_in_a_child_with_its_figures() -> None:
    plan = gb.plan((12, 12, 7), backend="gtmc")
    said = from_child(lambda: str(plan))
    assert (
        re.search(r"stride in bytes +8 +896 +128", said) and "a forked child does not have" in said
    )


def test_a_preset_of_a_python_function_and_one_registered_in_the_child() -> None:
    gb.register_backend("fork_function", layout=lambda dims: tuple(range(len(dims)))[::-1])

    def body() -> None:
        assert gb.empty(new_shape(), backend="fork_function").strides[0] == 8
        gb.register_backend("fork_child", layout="KIJ", alignment=4)
        assert (
            gb.plan((3, 5, 7), backend="fork_child").padded_shape == (3, 8, 7)
            and "fork_child" in gb.backends()
        )
        with pytest.raises(
            ValueError, match=r'"fork_none" is not known; known are .*did you mean .fork_'
        ):
            gb.empty((3,), backend="fork_none")

    assert child(body) == 0
    assert "fork_child" not in gb.backends()


def test_a_child_wraps_by_every_description_and_refuses_with_the_same_words() -> None:
    memory = np.zeros((3, 4), POINT)
    sound = memory.__array_interface__

    def described(name: str, value: object) -> Any:
        return type("Described", (), {name: value})()

    def refusals() -> list[str]:
        said = []
        for wrong in (
            {"typestr": "|O8"},
            {"descr": [("a", "<f8"), ("b", "|O")]},
            {"strides": (1 << 62, 16)},
            {"shape": (3, -4)},
            {"data": (0, False)},
        ):
            for name in ("__array_interface__", "__cuda_array_interface__"):
                with pytest.raises(ValueError, match=name) as caught:
                    gb.Field(described(name, sound | wrong))
                said.append(str(caught.value))
        return said

    def body() -> None:
        plain = memory["x"]
        for obj, of in (
            (described("__array_interface__", sound), memory),
            (described("__array_struct__", plain.__array_struct__), plain),
        ):
            assert (
                np.shares_memory(gb.Field(obj).numpy(), memory)
                and gb.as_numpy(obj).dtype == of.dtype
            )
            assert gb.from_array([obj, obj], dtype=None).shape == (2, 3, 4)

    assert child(body) == 0
    assert from_child(refusals) == refusals()


# ---- what is sent to a child is a new object there ----


def received(field: gb.Field, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    made = gb.Field.full((field.shape[0] + 1,), 2, dtype, backend="gt:cpu_ifirst")
    return (
        field,
        field.plan.strides,
        field.halo,
        made,
        gb.zeros((7, field.shape[0]), dtype).dtype.names,
    )


def check_answer(answer: tuple[Any, ...], field: gb.Field) -> None:
    back, strides, halo, made, names = answer
    assert (
        type(back) is type(field)
        and strides == field.strides
        and halo == field.halo
        and names == ("x", "n")
    )
    assert (back.numpy() == field.numpy()).all() and (made.numpy()["x"] == 2).all()


FIELDS = [
    gb.Field.full((n, 4, 3), n, dims="IJK", halo=(1, 1, 0), backend="gt:cpu_ifirst")
    for n in range(3, 30)
]


def test_a_pool_is_sent_fields_and_dtypes() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        # a worker that cannot read what it is sent dies and is replaced for ever: hence the limit
        answers = pool.starmap_async(received, [(f, POINT) for f in FIELDS]).get(timeout=300)
    for field, answer in zip(FIELDS, answers, strict=True):
        check_answer(answer, field)


def test_an_executor_is_sent_fields_and_dtypes() -> None:
    with concurrent.futures.ProcessPoolExecutor(
        2, mp_context=multiprocessing.get_context("fork")
    ) as pool:
        for field, future in [(f, pool.submit(received, f, POINT)) for f in FIELDS]:
            check_answer(future.result(timeout=300), field)


# ---- memory of both ----


def test_memory_from_before_the_fork_is_freed_in_the_child() -> None:
    held = [gb.empty((100, 100)), gb.Field.zeros((1000, 1000))]

    def body() -> None:
        before = gb.memory.stats()["live_buffers"]
        held.clear()
        assert gb.memory.stats()["live_buffers"] == before - 2
        gb.memory.trim()

    assert child(body) == 0


def test_out_of_memory_in_a_child_is_an_error() -> None:
    def body() -> None:
        with pytest.raises(
            MemoryError, match=r"cannot allocate \d+ bytes: the system has none left"
        ):
            gb.empty((1 << 45,))
        assert gb.zeros(new_shape()).sum() == 0

    assert child(body) == 0


def test_what_needs_go_says_so_and_names_the_remedy() -> None:
    def body() -> None:
        with pytest.raises(
            RuntimeError,
            match=r"Go runtime.*forked child.*before the fork.*'spawn' or 'forkserver'",
        ):
            gufunc.from_ufunc(np.hypot)

    assert child(body) == 0


def test_the_parent_is_not_disturbed() -> None:
    assert child(work) == 0
    assert gb.plan((int(time.time()) % 100000 + 1, 9)).ndim == 2
