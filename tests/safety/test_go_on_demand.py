"""Go's library is loaded by the first call that needs it, and refused where its runtime would end
the process.
"""

import subprocess
import sys
from pathlib import Path

import pytest

START = """
import os, resource, sys, warnings
import numpy as np
import gridbuf as gb
warnings.simplefilter("error")

def threads():
    return len(os.listdir("/proc/self/task"))

def has_go():
    with open("/proc/self/maps") as file:
        return "/_go.so" in file.read()

def adopt():
    from gridbuf import gufunc
    return gufunc.sqrt(np.arange(4.0))
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads /proc")


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    return done.stdout.strip()


CALLS = {
    "allocate": "a = gb.zeros((8, 8)); b = gb.empty((4, 4))",
    "slice": "a = gb.zeros((8, 8))[1:-1, ::2]",
    "export": "a = np.from_dlpack(gb.zeros((8, 8)))",
    "copy": "a = gb.zeros((9, 9)); gb.copyto(a, np.ones((9, 9)))",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_program_without_gufuncs_has_no_go(call: str) -> None:
    """No thread of Go's, none of its addresses, and no warning of os.fork()."""
    said = run(f"""
before = threads()
{call}
assert not has_go() and threads() == before, (has_go(), threads(), before)
if os.fork() == 0:
    os._exit(0)
assert os.wait()[1] == 0
print("ok")
""")
    assert said == "ok"


def test_a_gufunc_loads_it_and_keeps_the_limit_of_files() -> None:
    assert run("""
soft = resource.getrlimit(resource.RLIMIT_NOFILE)
assert adopt().tolist() == [0.0, 1.0, 2.0**0.5, 3.0**0.5] and has_go()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == soft
print("ok")
""") == "ok"  # fmt: skip


def test_a_child_loads_its_own_where_its_parent_has_none() -> None:
    assert run("""
if os.fork() == 0:
    os._exit(0 if adopt()[3] == 3.0**0.5 and has_go() else 1)
assert os.wait()[1] == 0 and not has_go()
print("ok")
""") == "ok"  # fmt: skip


@pytest.mark.parametrize("megabytes", [50, 200, 500, 900, 1500, 1800])
def test_without_addresses_the_call_is_refused(megabytes: int) -> None:
    """RLIMIT_AS so many MB above what the process has: an error or an answer, never an abort."""
    said = run(f"""
from gridbuf import gufunc
with open("/proc/self/statm") as file:
    has = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (has + {megabytes} * 1000000,) * 2)
try:
    print(adopt().shape)
except RuntimeError as error:
    print(type(error).__name__, "threads" in str(error))
assert gb.zeros((3, 3)).sum() == 0
""")
    assert said in {"(4,)", "RuntimeError True"}


@pytest.mark.parametrize("spare", [0, 1 << 16, 1 << 18, 1 << 20, 4 << 20, 8 << 20, 40 << 20])
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_without_addresses_calls_of_go_that_is_there_are_refused(limit: str, spare: int) -> None:
    """Calls of ever new structures, until Go's runtime wants more memory and gets none."""
    said = run(f"""
from gridbuf import gufunc
adopt()
ufuncs = [np.add, np.multiply, np.hypot, np.maximum]
random = np.random.default_rng({spare})
field = {{"RLIMIT_AS": 0, "RLIMIT_DATA": 5}}["{limit}"]
with open("/proc/self/statm") as file:
    has = int(file.read().split()[field]) * resource.getpagesize()
resource.setrlimit(resource.{limit}, (has + {spare}, -1))
made = refused = 0
for again in range(1500):
    try:
        call = gufunc.from_ufunc(ufuncs[random.integers(4)])
        values = np.ones(tuple(map(int, random.integers(1, 4, random.integers(1, 6)))))
        call(values, values) if again % 2 else call.reduce(values, axis=tuple(range(values.ndim)))
        made += 1
    except (MemoryError, RuntimeError, ImportError) as error:
        refused += 1
resource.setrlimit(resource.{limit}, (-1, -1))
assert adopt().shape == (4,)
print(made + refused)
""")
    assert said == "1500"


def test_it_is_imported_with_few_addresses() -> None:
    """500 MB more than NumPy has: enough for all but Go."""
    done = subprocess.run(
        [sys.executable, "-c", """
import numpy as np, resource
with open("/proc/self/statm") as file:
    has = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (has + (500 << 20), resource.RLIM_INFINITY))
import gridbuf as gb
print(gb.Field.zeros((3, 3), dims="IJ").sum())
try:
    gb.gufunc.sqrt(np.arange(4.0))
except RuntimeError as error:
    print(error)
"""], capture_output=True, text=True, timeout=120)  # fmt: skip
    said = done.stdout.splitlines()
    assert done.returncode == 0 and said[0] == "0.0" and "ulimit -v" in said[1], done.stderr


@pytest.mark.parametrize("spare", [0, 1, 2, 3, 4, 5, 6, 8, 12, 20])
def test_without_threads_the_call_is_refused(spare: int) -> None:
    """RLIMIT_NPROC counts a user's threads: a user of the test's own, who has nothing else."""
    import os

    if os.geteuid() != 0:
        pytest.skip("needs another user")
    said = run(f"""
from gridbuf import gufunc
import ctypes
# CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
libc, user, may_read = ctypes.CDLL(None), {61000 + spare}, 1 << 1 | 1 << 2
libc.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
os.setresuid(user, user, user)
assert libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0),
    (ctypes.c_uint32 * 6)(may_read, may_read)) == 0
resource.setrlimit(resource.RLIMIT_NPROC, (threads() + {spare},) * 2)
a = gb.zeros((3, 3))
gb.copyto(a, np.ones((3, 3)))
try:
    print(adopt().shape)
except RuntimeError as error:
    print(type(error).__name__, "threads" in str(error))
""")
    assert said in {"(4,)", "RuntimeError True"}
    assert spare > 1 or said == "RuntimeError True"
