"""Arrays of another process: attaching and letting go, and what is left after kills.

`python bench/bench_share.py` prints the figures; needs Go. A client's attach is a message each way
and a mapping, and a connection where none waits; "let go" is the end of all that.
"""

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gridbuf as gb

CASES: list[Any] = []
Fact = tuple[str, float, float, str]
ROOT = Path(__file__).parents[1]
MANY = 10_000


def forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return child


def attach(address: str, times: int) -> None:
    for _ in range(times):
        gb.attach(address, "T")


def seconds_of_attaches(address: str, processes: int) -> float:
    """MANY attaches and releases, shared by processes that begin together."""
    begin = os.pipe()

    def work() -> None:
        os.close(begin[1])
        os.read(begin[0], 1)
        attach(address, MANY // processes)

    children = [forked(work) for _ in range(processes)]
    started = time.perf_counter()
    os.close(begin[1])
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    os.close(begin[0])
    return time.perf_counter() - started


def seconds_of_attaches_in_go() -> list[float]:
    """The same by clients in Go, in the process of the server: one after the other, and on all
    cores.
    """
    words = ["go", "test", "-buildvcs=false", "-run", "^$", "-bench", "Attach", "./share"]
    printed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [float(ns) * MANY / 1e9 for ns in re.findall(r"([\d.]+) ns/op", printed)]


def milliseconds_of_an_attach(address: str) -> tuple[float, int]:
    """The median of attaches of 1 GB, and the KiB of it that are in memory afterwards."""
    times = []
    for _ in range(200):
        begun = time.perf_counter()
        field = gb.attach(address, "T")
        times.append(time.perf_counter() - begun)
    lines = Path("/proc/self/smaps").read_text().partition("memfd:gridbuf")[2].splitlines()
    resident = next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))
    del field
    return statistics.median(times) * 1e3, resident


def left_after_kills(server: subprocess.Popen[str], address: str) -> int:
    """Descriptors that the server has more than before, after 100 clients were killed."""
    folder = Path(f"/proc/{server.pid}/fd")
    before = len(list(folder.iterdir()))

    def work() -> None:
        field = gb.attach(address, "T")
        os.write(said[1], b"x")
        signal.pause()
        del field

    said = os.pipe()
    children = [forked(work) for _ in range(100)]
    for _ in children:
        os.read(said[0], 1)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    until = time.monotonic() + 5
    while len(list(folder.iterdir())) > before and time.monotonic() < until:
        time.sleep(0.01)
    return len(list(folder.iterdir())) - before


def facts() -> list[Fact]:
    found: list[Fact] = []
    with tempfile.TemporaryDirectory() as folder:
        command, address = f"{folder}/gridbuf", f"unix:{folder}/s"
        words = ["go", "build", "-buildvcs=false", "-o", command, "./cmd/gridbuf"]
        subprocess.run(words, cwd=ROOT, check=True)
        words = [command, "share", address, "T", "512", "512", "512"]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        server.stdout.readline()
        median, resident = milliseconds_of_an_attach(address)
        found.append(("attach of 1 GB, median", median, 1, "ms"))
        found.append(("of that 1 GB in memory after it", resident, 0, "KiB"))
        for n in (1, 4):
            clients = "one client" if n == 1 else f"{n} clients"
            name = f"{MANY} attaches and releases by {clients} in Python"
            found.append((name, seconds_of_attaches(address, n), 1, "s"))
        left = left_after_kills(server, address)
        found.append(("descriptors of 100 killed clients that the server keeps", left, 0, ""))
        server.terminate()
        server.wait()
        left = int(os.path.exists(address.removeprefix("unix:")))
        found.append(("sockets of a server that was told to end", left, 0, ""))
    clients = ("one client", "clients on all cores")
    for n, seconds in zip(clients, seconds_of_attaches_in_go(), strict=True):
        found.append((f"{MANY} attaches and releases by {n} in Go", seconds, 1, "s"))
    return found


if __name__ == "__main__":
    for name, value, most, unit in facts():
        print(f"{name}: {value:.3g} {unit} (target <= {most} {unit})", file=sys.stdout)
