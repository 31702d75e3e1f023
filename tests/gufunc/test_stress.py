"""Futures, threads, signals, forks and the floating-point state."""

import ctypes
import gc
import os
import shutil
import signal
import subprocess
import threading

import numpy as np
import pytest
from eventually import eventually
from in_child import python

from gridbuf import gufunc

add, sin = gufunc.from_ufunc(np.add), gufunc.from_ufunc(np.sin)


def test_a_future_gives_the_result_or_raises():
    x = np.arange(200_000.0)
    future = add.submit(x, 1.0)
    np.testing.assert_array_equal(future.result(timeout=300), x + 1)
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
    assert eventually(lambda: len(seen) == 2) and seen == [future, future]


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


WAITING = """
#include <stdatomic.h>
static atomic_int started, go;
int has_started(void) { return started; }
void let_go(void) { go = 1; }
double wait_for_it(double x) { started = 1; while (!go) continue; return x + 1; }
"""


def test_the_gil_is_free_while_kernels_run(tmp_path):
    """A kernel waits for what only another Python thread can do."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = tmp_path / "waiting.c", tmp_path / "waiting.so"
    source.write_text(WAITING)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    code = f"""
        import ctypes, threading
        import numpy as np
        from gridbuf import gufunc
        lib = ctypes.CDLL({str(library)!r})
        wait, results = gufunc.GUFunc("()->()", [gufunc.scalar(lib.wait_for_it, "d->d")]), []
        thread = threading.Thread(target=lambda: results.append(wait(np.ones(100_000), workers=1)))
        thread.start()
        while not lib.has_started():
            pass
        lib.let_go()
        thread.join()
        print(results[0].sum())
    """
    assert python(code, timeout=300) == "200000.0"


def test_ctrl_c_comes_through():
    code = """
        import os, signal, threading, time
        import numpy as np
        from gridbuf import gufunc
        sin, x = gufunc.from_ufunc(np.sin), np.ones(40_000_000)
        out = np.empty_like(x)
        main = threading.main_thread().ident
        try:
            threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGINT)).start()
            while True:
                sin(x, out=out)
        except KeyboardInterrupt:
            print("interrupted")
        print(gufunc.sqrt(np.array([4.0]))[0])
    """
    assert python(code).split() == ["interrupted", "2.0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes_serially():
    code = """
        import os, sys, warnings
        import numpy as np
        from gridbuf import gufunc
        warnings.simplefilter("ignore")
        add, x = gufunc.from_ufunc(np.add), np.arange(1_000_000.0)
        add(x, x); gufunc.sqrt(x)
        pid = os.fork()
        if pid == 0:
            ok = np.array_equal(add(x, x), x + x) and np.array_equal(gufunc.sqrt(x), np.sqrt(x))
            ok = ok and np.array_equal(add(x[:9], x[:9]), x[:9] + x[:9])  # another size
            for new in (lambda: gufunc.dot(x[:7], x[:7]), lambda: add.submit(x, x)):
                try:
                    new()
                    ok = False
                except RuntimeError:
                    pass
            os._exit(0 if ok else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), add(x[:7], x[:7])[1])
    """
    assert python(code).split() == ["0", "2.0"]


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


def test_a_loop_that_raises_a_python_error_does():
    power = gufunc.from_ufunc(np.power)
    with pytest.raises(ValueError, match="negative integer powers"):
        power(np.array([2, 3]), np.array([-1, 2]))
    assert power(np.array([2, 3]), np.array([3, 2])).tolist() == [8, 9]


def test_a_signal_handler_may_use_a_gufunc():
    seen = []
    old = signal.signal(signal.SIGALRM, lambda *_: seen.append(add(1.0, 2.0)))
    try:
        x = np.ones(4_000_000)
        threading.Thread(
            target=signal.pthread_kill, args=(threading.main_thread().ident, signal.SIGALRM)
        ).start()
        while not seen:
            sin(x)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert seen == [3.0]


def test_gufuncs_come_and_go():
    for i in range(300):
        g = gufunc.GUFunc("()->()", [gufunc.scalar(ctypes.CDLL(None).fabs, "d->d")], name=f"g{i}")
        assert g(-float(i)) == i
        del g
    gc.collect()
