"""Eight threads that share everything: caches of calls and plans, Fields, storages, gufuncs,
presets. On a free-threaded Python importing gridbuf brings the GIL back (Py_MOD_GIL_USED in
pyext/module.c).
"""

import gc
import os
import random
import sys
import sysconfig
import threading
from collections.abc import Callable

import numpy as np
import pytest

import gridbuf as gb
import gridbuf._core as core

THREADS = 8
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
BACKENDS = ["C", "gt:cpu_ifirst", "gt:cpu_kfirst", "gt:gpu"]
DTYPES = [np.float64, np.float32, np.int64, "f2", np.dtype([("a", "f8"), ("b", "i4")])]

Work = Callable[[random.Random], None]


def together(work: Work, rounds: int) -> None:
    """The work on eight threads at once, which begin together; the first failure is raised here."""
    failures: list[BaseException] = []
    begin = threading.Barrier(THREADS)

    def body(seed: int) -> None:
        draw = random.Random(seed)
        begin.wait()
        try:
            for _ in range(rounds):
                work(draw)
                if failures:
                    return
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(seed,)) for seed in range(THREADS)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    if failures:
        raise failures[0]


@pytest.mark.skipif(not FREE, reason="this Python has a GIL")
def test_importing_brings_the_gil_back() -> None:
    assert core.__file__.endswith(f"{sysconfig.get_config_var('SOABI')}.so")
    assert os.environ.get("PYTHON_GIL") == "0" or sys._is_gil_enabled()


def test_calls_and_plans_that_all_ask_for() -> None:
    """256 calls and 2048 plans are remembered: these are more."""

    def work(draw: random.Random) -> None:
        shape = (draw.randrange(1, 40), draw.randrange(1, 8), 3)
        backend, dtype = draw.choice(BACKENDS), draw.choice(DTYPES)
        plan = gb.plan(shape, dtype, backend=backend, dimensions="IJK")
        assert plan.shape == shape and plan.dtype == np.dtype(dtype)
        f = gb.Field.empty(shape, dtype, backend="C", halo=((1, 0), (0, 0), (0, 1)), dims="IJK")
        assert (
            f.shape == shape and f.halo == ((1, 0), (0, 0), (0, 1)) and f.dtype == np.dtype(dtype)
        )
        assert gb.zeros(shape, "f8").sum() == 0

    together(work, 150)


def test_fields_that_all_hold() -> None:
    """Attributes that are made when first asked for, views, protocols, operators, of one Field that
    others replace meanwhile.
    """
    shared = [
        gb.Field.full((6, 5, 4), float(i), dims="IJK", origin=(1, 1, 0), halo=(1, 1, 1))
        for i in range(4)
    ]

    def work(draw: random.Random) -> None:
        f = draw.choice(shared)
        value = float(np.asarray(f)[0, 0, 0])
        assert f.plan.shape == f.shape and f.T.shape == (4, 5, 6) and f.domain.shape == (4, 3, 2)
        assert f[1:, 2].dims == ("I", "K") and f[1:, 2].origin == (0, 0)
        assert (np.from_dlpack(f) == value).all() and (np.asarray(memoryview(f)) == value).all()
        assert float(np.asarray(f + 1.0)[5, 4, 3]) == value + 1
        gb.copyto(gb.empty_like(f), f)
        shared[draw.randrange(4)] = gb.Field.full(
            (6, 5, 4), value, dims="IJK", origin=(1, 1, 0), halo=(1, 1, 1)
        )

    together(work, 120)


def test_gufuncs_and_reductions_of_new_shapes() -> None:
    def work(draw: random.Random) -> None:
        n, m = draw.randrange(1, 30), draw.randrange(2, 4)
        a = np.broadcast_to(2.0 * np.eye(m), (n, m, m))
        assert (gb.gufunc.inv(a) == 0.5 * np.eye(m)).all()
        kind = draw.choice(["f4", "f8", ">f8"])
        assert (gb.gufunc.det(a.astype(kind)) == 2.0**m).all()
        assert gb.exact.sum(np.full(n, 0.5)) == 0.5 * n

    together(work, 80)


def test_storages_whose_meaning_others_change() -> None:
    shared = gb.storage.full((4, 3), 2.0)

    def work(draw: random.Random) -> None:
        a = gb.storage.ones((4, 3))
        both = a + shared
        assert float(np.asarray(both)[0, 0]) == 3.0
        assert float(np.asarray(both[1:3, draw.randrange(3)])[0]) == 3.0
        shared[draw.randrange(4), 0] = 2.0
        shared._meta = shared._meta  # as its setters do

    together(work, 100)


def test_presets_and_statistics_while_others_allocate() -> None:
    made = iter(range(10**9))

    def work(draw: random.Random) -> None:
        if draw.random() < 0.02:
            name = f"threads:{os.getpid()}:{next(made)}:{draw.random()}"
            gb.register_backend(name, layout=lambda dims: tuple(reversed(range(len(dims)))))
            assert gb.plan((3, 4), backend=name).layout == (1, 0)
        kept = gb.zeros((draw.randrange(1, 5000),))
        assert core.memory_live(5) and gb.memory.stats()["live_buffers"] > 0
        del kept

    together(work, 100)


def test_what_dies_while_another_thread_collects() -> None:
    """The collector of one thread visits Fields, views and storages that others drop."""
    field = gb.Field.full((6, 5, 4), 1.0, dims="IJK", halo=(1, 1, 1))

    def work(draw: random.Random) -> None:
        for _ in range(20):
            assert gb.Field.zeros((5, 7))[1:, ::2].numpy().sum() == 0
            gb.storage.ones((4, 3)) + 1.0
            assert gb.from_dlpack(field[1:, draw.randrange(5)]).shape == (5, 4)
        gc.collect()

    together(work, 30)


def test_a_backend_gets_its_meaning_in_another_thread() -> None:
    """Remembered calls are forgotten once a name has been given a meaning."""
    name, registered = f"threads:late:{os.getpid()}", threading.Event()

    def work(draw: random.Random) -> None:
        for _ in range(5):
            gb.plan((draw.randrange(1, 9), 4))
        if not registered.is_set():
            with pytest.raises(ValueError, match=f"{name}.* is not known"):
                gb.plan((3, 4), backend=name)
        if everybody.wait() == 0:
            gb.register_backend(name, layout="KJI")
            registered.set()
        registered.wait(60)
        assert gb.plan((3, 4, 5), backend=name).layout == (2, 1, 0)

    everybody = threading.Barrier(THREADS)
    together(work, 1)


def test_one_capsule_is_taken_once() -> None:
    """Threads that are handed the same capsule: one has it, the others are told."""
    for _ in range(50):
        capsule = gb.Field.full((3, 4), 2.0).__dlpack__(max_version=(1, 0))
        taken: list[gb.Field] = []
        refused: list[BufferError] = []

        def work(
            draw: random.Random,
            capsule: object = capsule,
            taken: list[gb.Field] = taken,
            refused: list[BufferError] = refused,
        ) -> None:
            try:
                taken.append(gb.from_dlpack(capsule))
            except BufferError as error:
                refused.append(error)

        together(work, 1)
        assert len(taken) == 1 and len(refused) == THREADS - 1 and (taken[0].numpy() == 2).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_children_of_a_busy_parent_call_at_once() -> None:
    """A child forked while other threads plan and allocate finds caches whole, and no lock held."""
    gb.zeros((3, 3)).fill(1)
    forking = threading.Lock()  # other packages refuse a fork while another thread is in one

    def work(draw: random.Random) -> None:
        for _ in range(30):
            gb.plan((draw.randrange(1, 400), 3), backend=draw.choice(BACKENDS))
        if draw.random() < 0.1:
            with forking:
                child = os.fork()
            if child == 0:
                code = 1
                try:
                    code = 0 if all(gb.zeros((n, 2)).sum() == 0 for n in range(1, 60)) else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    together(work, 20)
