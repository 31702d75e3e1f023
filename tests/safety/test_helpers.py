"""Threads that help with copies, sums and gufuncs: made when first wanted, as many as the system
allows, without signals, and anew in a forked child.
"""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from in_child import python

import gridbuf as gb
from gridbuf import gufunc

ALONE = (
    "import os; threads = lambda: {t: open(f'/proc/self/task/{t}/comm').read().strip() for t in"
    " os.listdir('/proc/self/task')}\n"
)
# Each prints what it computed; all share their work among several threads where there are some.
DOORS = {
    "copyto": (
        "w = np.ones((2000, 2000)); gb.copyto(w, np.asfortranarray(np.arange(4e6).reshape(2000,"
        " 2000))); print(w.sum())"
    ),
    "fill": "w = np.ones(6_000_000); gb.fill(w, 2.0); print(w.sum())",
    "zeros": "print(gb.ones((6_000_000,)).sum())",
    "exact": "from gridbuf import exact; print(exact.sum(np.arange(4e6)))",
    "numpy's loop": "print(gufunc.from_ufunc(np.exp)(np.zeros(3_000_000)).sum())",
    "shipped": "print(gufunc.sqrt(np.full(3_000_000, 4.0)).sum())",
    "matrices": "print(gufunc.inv(np.full((100_000, 2, 2), [[2.0, 0], [0, 4]])).sum())",
    "reduce": "print(gufunc.from_ufunc(np.add).reduce(np.arange(4e6)))",
    "reduce axis": "print(gufunc.from_ufunc(np.add).reduce(np.ones((4, 1_000_000)), axis=1).sum())",
}
NEED_GO = {"numpy's loop", "shipped", "matrices", "reduce", "reduce axis"}
# Children of a program without Go; each is a user of its own, with `spare` threads to spare.
LIMITED = """
import ctypes, os, resource, sys
import numpy as np
import gridbuf as gb
from gridbuf import gufunc

def limit(spare):
    user = {user} + spare
    os.setresuid(user, user, 0)         # the limit binds the real user
    ctypes.CDLL(None).setfsuid(0)       # and files may be root's
    most = len(os.listdir("/proc/self/task")) + spare
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return most

def child(spare):
    gb.set_num_threads(6)
    if {loaded}:
        gufunc.sqrt(np.arange(4.0))     # small: Go is loaded, and no helper is made
    most = limit(spare)
    try:
        for again in range(5):
            {door}
    except RuntimeError as error:
        print(type(error).__name__, "this needs the Go runtime" in str(error),
            "ulimit -u" in str(error))
    assert len(os.listdir("/proc/self/task")) <= most

for spare in range(21):
    if os.fork() == 0:
        child(spare)
        sys.stdout.flush()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    print("--", spare, status, flush=True)
"""


def result(door: str) -> str:
    """What a door prints five times, without limits."""
    return python(
        "import numpy as np\nimport gridbuf as gb\nfrom gridbuf import gufunc\nfor again in"
        f" range(5):\n    {door}\n"
    )


def limited(door: str, loaded: bool) -> list[str]:
    """What a door prints with 0 to 20 threads to spare."""
    user = 2_000_000 + os.getpid() * 21
    parts = python(LIMITED.format(user=user, door=DOORS[door], loaded=loaded)).split("-- ")
    printed = [parts[0], *(part.partition("\n")[2] for part in parts[1:-1])]
    ends = [part.partition("\n")[0] for part in parts[1:]]
    assert ends == [f"{spare} 0" for spare in range(21)]
    return [text.strip() for text in printed]


only_root = pytest.mark.skipif(
    os.getuid() != 0, reason="becomes a user of its own, to whom RLIMIT_NPROC applies"
)


@pytest.mark.slow
@only_root
@pytest.mark.parametrize("door", DOORS)
def test_where_no_thread_may_be_made_work_goes_on_with_those_that_are_there(door: str) -> None:
    """Go was loaded before the limit, or is not needed."""
    assert limited(door, loaded=door in NEED_GO) == [result(DOORS[door])] * 21


@pytest.mark.slow
@only_root
@pytest.mark.parametrize("door", sorted(NEED_GO))
def test_where_go_has_no_room_for_its_threads_the_call_is_refused(door: str) -> None:
    """Go was not loaded before the limit. With enough threads to spare the call runs."""
    refused, answer = "RuntimeError True True", result(DOORS[door])
    printed = limited(door, loaded=False)
    assert printed[0] == refused and printed[-1] == answer
    assert sorted(printed, key=[refused, answer].index) == printed


@pytest.mark.slow
@only_root
def test_go_makes_no_thread_after_it_was_loaded() -> None:
    """Go's runtime ends the process where it cannot make one. GOGC=1: its collector, which runs on
    all processors, begins every few calls.
    """
    program = """
import ctypes, os, resource
import numpy as np
import gridbuf as gb
from gridbuf import gufunc
gb.set_num_threads(1)
gufunc.sqrt(np.arange(4.0))
os.setresuid({user}, {user}, 0)
ctypes.CDLL(None).setfsuid(0)
here = len(os.listdir("/proc/self/task"))
resource.setrlimit(resource.RLIMIT_NPROC, (here, here))
for again in range(300):
    for ufunc in (np.add, np.multiply, np.hypot):
        made = gufunc.from_ufunc(ufunc)
        for dtype in "fd":
            for ndim in range(6):
                made(np.ones((2,) * ndim, dtype), np.ones((2,) * ndim, dtype))
assert len(os.listdir("/proc/self/task")) == here
"""
    for processors in (1, 2, 8, 40):
        text = program.format(user=3_000_000 + os.getpid() * 100 + processors)
        python(text, GOGC="1", GOMAXPROCS=str(processors))


def test_helpers_are_made_when_first_wanted_and_have_no_signals() -> None:
    python(
        ALONE
        + """
import signal
import numpy as np, gridbuf as gb
gb.set_num_threads(3)
before = set(threads())
w, z = np.ones((1500, 1500)), np.asfortranarray(np.ones((1500, 1500)))
gb.copyto(w[:2], z[:2])
assert set(threads()) == before, "a small copy needs no helpers"
for _ in range(20): gb.copyto(w, z)
new = {t: name for t, name in threads().items() if t not in before}
assert 1 <= len(new) <= 2 and set(new.values()) == {"gridbuf"}, new
for t in new:
    with open(f"/proc/self/task/{t}/status") as file:
        status = dict(line.split(":", 1) for line in file)
    blocked = int(status["SigBlk"], 16)
    names = "SIGINT SIGTERM SIGALRM SIGUSR1 SIGCHLD".split()
    assert all(blocked >> (getattr(signal, s) - 1) & 1 for s in names)
    names = "SIGSEGV SIGBUS SIGFPE SIGILL".split()
    assert not any(blocked >> (getattr(signal, s) - 1) & 1 for s in names)
"""
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_and_its_child_make_their_own() -> None:
    python(
        ALONE
        + """
import warnings
import numpy as np, gridbuf as gb
from gridbuf import gufunc
warnings.simplefilter("ignore")
gb.set_num_threads(3)
sin = gufunc.from_ufunc(np.sin)
x = np.linspace(0, 1, 2_000_000)
expected = np.sin(x)
def work():
    w, z = np.ones((1500, 1500)), np.asfortranarray(np.ones((1500, 1500)))
    for _ in range(5): gb.copyto(w, z)
    assert (sin(x) == expected).all()
    assert "gridbuf" in threads().values()
def descend(depth):
    work()
    if depth == 0: return
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            assert len(threads()) == 1, threads()
            descend(depth - 1)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
descend(3)
""",
        timeout=120,
    )


def test_many_calls_at_once_share_the_helpers() -> None:
    before, wrong = gb.get_num_threads(), []
    gb.set_num_threads(4)
    x = np.linspace(0.0, 1.0, 1_500_000)
    sin, expected = gufunc.from_ufunc(np.sin), np.sin(x)

    def work() -> None:
        for _ in range(5):
            target = np.empty_like(x)
            gb.copyto(target, x)
            if not (target == x).all() or not (sin(x) == expected).all():
                wrong.append(threading.get_ident())

    try:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert not wrong and not any(thread.is_alive() for thread in threads)
        named = []
        for task in os.listdir("/proc/self/task"):
            with suppress(FileNotFoundError, ProcessLookupError):  # a thread has just ended
                named.append(Path(f"/proc/self/task/{task}/comm").read_text().strip())
        assert named.count("gridbuf") < 20, "helpers are shared, not made for every call"
    finally:
        gb.set_num_threads(before)


def test_helpers_compute_in_the_environment_of_the_caller() -> None:
    """Helpers round conversions as the thread that lends them work does."""
    python(
        """
import ctypes
import numpy as np, gridbuf as gb
libm = ctypes.CDLL("libm.so.6")
gb.set_num_threads(3)
x = np.full((1400, 1400), 1 / 3)
w = np.zeros((1400, 1400), "f4")
libm.fesetround(0x800)   # FE_UPWARD of x86
try:
    for _ in range(10): gb.copyto(w, x.T)
finally:
    libm.fesetround(0)
assert len(set(w.ravel().tolist())) == 1, set(w.ravel().tolist())
"""
        if os.uname().machine == "x86_64"
        else "pass"
    )


@pytest.mark.parametrize("signum", [signal.SIGALRM])
def test_signals_are_answered_on_the_calling_thread_while_helpers_work(signum: int) -> None:
    seen = []
    before = signal.signal(
        signum, lambda *_: seen.append(threading.current_thread() is threading.main_thread())
    )
    threads = gb.get_num_threads()
    gb.set_num_threads(3)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        w, z = np.ones((3000, 3000)), np.asfortranarray(np.ones((3000, 3000)))
        for _ in range(10):
            gb.copyto(w, z)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signum, before)
        gb.set_num_threads(threads)
    assert seen and all(seen)
