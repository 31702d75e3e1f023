"""What copy_async takes, and what its handle promises."""

import gc
import subprocess
import sys
import threading
import time
import types
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb


@pytest.mark.parametrize("how", ["pageable", "converted", "list", "down"])
def test_letting_go_of_a_copy_that_a_worker_makes_waits_for_it(how: str) -> None:
    for turn in range(20):
        f = gb.Field.zeros((300, 50), device="gpu")
        host = np.full((300, 50), float(turn), "f4" if how == "converted" else "f8")
        if how == "down":
            gb.fill(f, float(turn))
            target = np.zeros((300, 50), "f4")
            gb.copy_async(target, f)
            assert (target == turn).all()
        else:
            gb.copy_async(f, host.tolist() if how == "list" else host)
            host[...] = -1
            assert (values_of(f) == turn).all()


def test_a_handle_that_the_garbage_collector_lets_go_of_on_a_workers_thread(fake: Fake) -> None:
    fake.run_every(200)
    fields = [gb.Field.zeros((64, 64), device="gpu") for _ in range(40)]
    for i, f in enumerate(fields):
        copy: Any = gb.copy_async(f, np.full((64, 64), float(i), "f4"))
        copy.loop = copy  # only the collector finds it
        del copy
        if i % 7 == 0:
            gc.collect()
    gc.collect()
    fake.run_every(0)
    assert all((values_of(f) == i).all() for i, f in enumerate(fields))


def test_host_free_is_true_once_pageable_memory_was_read(fake: Fake) -> None:
    """The driver may copy it when it likes."""
    fake.late(True)
    f, host = gb.Field.zeros(1000, device="gpu"), np.ones(1000)
    gb.cuda.synchronize()
    fake.hold(True)
    copy = gb.copy_async(f, host)
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        assert not copy.host_free()
        time.sleep(0.01)
    fake.run_every(50)
    while not copy.host_free():
        time.sleep(0.001)
    host[...] = 9
    fake.run_every(0)
    assert copy.wait() and (values_of(f) == 1).all()


class WithInterface:
    """A foreign object on a GPU that says no more than it must."""

    def __init__(self, field: gb.Field) -> None:
        self.keep, self.__cuda_array_interface__ = field, field.__cuda_array_interface__


class OnTheHost:
    """As torch's and jax's arrays: the type has the interface, an array on the host has not."""

    def __init__(self, array: Any) -> None:
        self.array, self.__array_interface__ = array, array.__array_interface__

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("this one is on the host")


def test_any_source_and_target() -> None:
    values = np.arange(12.0).reshape(3, 4)
    f, other = gb.Field.empty((3, 4), device="gpu"), gb.Field.from_array(values, device="gpu")
    simple = types.SimpleNamespace(
        __cuda_array_interface__=other.__cuda_array_interface__, keep=other
    )
    for source in (
        values.tolist(),
        WithInterface(other),
        simple,
        OnTheHost(values),
        memoryview(values),
        gb.Field.from_array(values),
    ):
        gb.fill(f, 0)
        assert gb.copy_async(f, source).wait(60) and np.array_equal(values_of(f), values), source
    assert gb.copy_async(f, 5).wait(60) and (values_of(f) == 5).all()
    for make in (lambda a: a, OnTheHost, memoryview):
        target = np.zeros((3, 4))
        assert gb.copy_async(make(target), WithInterface(other)).wait(60) and np.array_equal(
            target, values
        )
    for wrong in ((np.zeros(3), np.zeros(3)), ([1.0], f), (OnTheHost(values), values)):
        with pytest.raises(TypeError):
            gb.copy_async(*wrong)


def test_a_host_array_whose_type_has_the_interface_is_a_workers(fake: Fake) -> None:
    f = gb.Field.empty((300, 400), device="gpu")
    fake.hold(True)  # laying out in chunks would wait here
    timer = threading.Timer(60, fake.run_every, [50])
    timer.start()
    copy = gb.copy_async(f, OnTheHost(np.ones((300, 400), "f4")))
    assert not copy.done()
    timer.cancel()
    fake.run_every(50)
    assert copy.wait(60)
    fake.run_every(0)
    assert (values_of(f) == 1).all()


def test_wrong_calls_say_so_at_once() -> None:
    f = gb.Field.zeros((4, 5), device="gpu")
    with pytest.raises(TypeError, match="stream"):
        gb.copy_async(f, np.zeros((4, 5)), stream="x")
    with pytest.raises(ValueError, match="not memory that CUDA knows"):
        gb.copy_async(
            f,
            types.SimpleNamespace(
                __cuda_array_interface__=np.zeros((4, 5)).__array_interface__ | {"version": 3}
            ),
        )


CHILD = """
import gc, os, sys
import numpy as np, gridbuf as gb
gb.fill(gb.Field.empty(10, device="gpu"), 1)
f = gb.Field.zeros((100, 100), device="gpu")
copies = [gb.copy_async(f, np.ones((100, 100), "f4")) for _ in range(20)]
child = os.fork()
if child == 0:
    for copy in copies:
        try: copy.wait(30)
        except RuntimeError: pass
    try: gb.copy_async(f, np.ones((100, 100), "f4")).wait(30)
    except RuntimeError as error: ok = "fork" in str(error)
    else: ok = False
    del copies, copy
    gc.collect()
    os._exit(0 if ok else 3)
_, status = os.waitpid(child, 0)
assert all(copy.wait(30) for copy in copies)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_does_not_wait_for_threads_that_it_lacks() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD], timeout=300, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_with_copies_on_their_way() -> None:
    code = (
        "import numpy as np, gridbuf as gb\n"
        "f = gb.Field.zeros((500, 500), device='gpu')\n"
        "kept = [gb.copy_async(f, np.ones((500, 500), 'f4')) for _ in range(20)]\n"
        "gb.copy_async(f, np.ones((500, 500)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=300, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
