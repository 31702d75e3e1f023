"""Futures, threads, signals, forks and the floating-point state."""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from gridbuf import gufunc

add, sin = gufunc.adopt(np.add), gufunc.adopt(np.sin)


def run(code: str, timeout: float = 60) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_future_gives_the_result_or_raises():
    x = np.arange(200_000.0)
    future = add.submit(x, 1.0)
    np.testing.assert_array_equal(future.result(timeout=30), x + 1)
    assert future.done() and future.exception() is None
    failing = gufunc.sqrt.submit(np.array([4.0, -1.0]))
    assert isinstance(failing.exception(), gufunc.PartialSuccess)
    with pytest.raises(gufunc.PartialSuccess):
        failing.result()


def test_submit_checks_its_arguments_at_once():
    for wrong in [(np.ones(3), np.ones(4)), (np.ones(3),)]:
        with pytest.raises(gufunc.SignatureError):
            add.submit(*wrong)


def test_callbacks_run_once_each_also_late():
    future, seen = add.submit(np.ones(3), 1.0), []
    future.add_done_callback(seen.append)
    future.result()
    future.add_done_callback(seen.append)
    for _ in range(100):
        if len(seen) == 2:
            break
        time.sleep(0.01)
    assert seen == [future, future]


def test_a_future_holds_its_operands():
    x = np.random.default_rng(0).normal(size=500_000)
    expected = np.sin(x)
    future = sin.submit(x)
    del x
    gc.collect()
    np.testing.assert_allclose(future.result(), expected)


def test_many_threads_share_a_gufunc():
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            x = rng.normal(size=int(rng.integers(1, 100_000)))
            info = gufunc.sqrt(x, errors="return")[1]
            if not np.array_equal(info.failed, x < 0) or not np.array_equal(add(x, x), x + x):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_the_gil_is_free_while_kernels_run():
    x = np.random.default_rng(0).normal(size=3_000_000)
    ticks, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before, started = ticks[0], time.perf_counter()
    while time.perf_counter() - started < 0.3:
        sin(x, workers=1)
    during = ticks[0] - before
    stop.set()
    thread.join()
    assert during > 30  # a held GIL lets some five through


def test_ctrl_c_comes_through():
    code = """
        import os, signal, threading, time
        import numpy as np
        from gridbuf import gufunc
        sin, x = gufunc.adopt(np.sin), np.ones(40_000_000)
        out = np.empty_like(x)
        main = threading.main_thread().ident
        threading.Timer(0.15, signal.pthread_kill, (main, signal.SIGINT)).start()
        try:
            while True:
                sin(x, out=out)
        except KeyboardInterrupt:
            print("interrupted")
        print(gufunc.sqrt(np.array([4.0]))[0])
    """
    assert run(code).split() == ["interrupted", "2.0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes_serially():
    code = """
        import os, sys, warnings
        import numpy as np
        from gridbuf import gufunc
        warnings.simplefilter("ignore")
        add, x = gufunc.adopt(np.add), np.arange(1_000_000.0)
        add(x, x); gufunc.sqrt(x)
        pid = os.fork()
        if pid == 0:
            ok = np.array_equal(add(x, x), x + x) and np.array_equal(gufunc.sqrt(x), np.sqrt(x))
            for new in (lambda: add(x[:7], x[:7]), lambda: add.submit(x, x)):
                try:
                    new()
                    ok = False
                except RuntimeError:
                    pass
            os._exit(0 if ok else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), add(x[:7], x[:7])[1])
    """
    assert run(code).split() == ["0", "2.0"]


def test_the_floating_point_state_is_untouched():
    libm = ctypes.CDLL(None)
    FE_ALL, FE_INVALID, FE_UPWARD = 0x3D, 0x01, 0x800
    if os.uname().machine != "x86_64" or not hasattr(libm, "fesetround"):
        pytest.skip("constants of x86-64")
    libm.feclearexcept(FE_ALL)
    gufunc.sqrt(np.array([-1.0, 4.0]), errors="ignore")
    gufunc.divide(np.ones(100_000), np.zeros(100_000), errors="ignore")
    assert libm.fetestexcept(FE_INVALID | 0x04) == 0
    libm.fesetround(FE_UPWARD)
    try:
        gufunc.sqrt(np.array([2.0]))
        assert libm.fegetround() == FE_UPWARD
    finally:
        libm.fesetround(0)


def test_a_kernel_that_panics_does_not_take_the_process_down():
    doubled = gufunc.GUFunc("()->()", [gufunc.go("test.panic")])
    x = np.ones(200_000)
    x[[5, 150_000]] = -1
    result, info = doubled(x, errors="return")
    assert [i.tolist() for i in info.indices] == [[5, 150_000]] and (result[~info.failed] == 2).all()


def test_a_loop_that_raises_a_python_error_does():
    power = gufunc.adopt(np.power)
    with pytest.raises(ValueError, match="negative integer powers"):
        power(np.array([2, 3]), np.array([-1, 2]))
    assert power(np.array([2, 3]), np.array([3, 2])).tolist() == [8, 9]


def test_a_signal_handler_may_use_a_gufunc():
    seen = []
    old = signal.signal(signal.SIGALRM, lambda *_: seen.append(add(1.0, 2.0)))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        x = np.ones(4_000_000)
        started = time.perf_counter()
        while not seen and time.perf_counter() - started < 10:
            sin(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert seen == [3.0]


def test_gufuncs_come_and_go():
    for i in range(300):
        g = gufunc.GUFunc("()->()", [gufunc.go("test.panic")], name=f"g{i}")
        assert g(float(i)) == 2 * i
        del g
    gc.collect()
