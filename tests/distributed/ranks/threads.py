"""Run by some processes with MPI_THREAD_MULTIPLE: grids of one communicator, each used by a thread
of its own, mix nothing.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import me, raises
from mpi4py import MPI

import gridbuf.distributed as gbd

world = MPI.COMM_WORLD
n = world.size
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
folder = world.bcast(tempfile.mkdtemp() if me == 0 else None)
COUNT = 3


def at_once(use: Callable[[int, gbd.Grid], None], **more: Any) -> None:
    """Use equal grids, made in one order, each on a thread that begins at another time on each
    rank.
    """
    more = {
        "blocks": (n, 1),
        "periodic": "I",
        "halo": ((1, 1), (0, 0)),
        "comm": world,
        "timeout": 200,
    } | more
    grids = [gbd.grid((4 * n, 6), **more) for _ in range(COUNT)]
    wrong: list[str] = []

    def run(k: int) -> None:
        time.sleep(0.01 * ((k + me) % COUNT))
        try:
            use(k, grids[k])
        except Exception as error:
            wrong.append(f"grid {k}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(k,)) for k in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, (me, wrong)
    world.Barrier()


def exchanges(k: int, grid: gbd.Grid) -> None:
    f = grid.zeros()
    plan = grid.plan(f)
    for i in range(30):
        f[...] = 1000.0 * k + 10 * i + me
        (plan if i % 3 else grid.exchange)(f)
        found = f[0, 0], f[-1, 0]
        assert found == (1000.0 * k + 10 * i + (me - 1) % n, 1000.0 * k + 10 * i + (me + 1) % n), (
            k,
            i,
            found,
        )
        f[...] = 1.0
        if i % 10 == 0:
            plan.accumulate(f)
            assert f[1, 0] == f[-2, 0] == 2.0 and f[0, 0] == 0.0


def one_way(k: int, grid: gbd.Grid) -> None:
    f = grid.zeros()
    for i in range(30):
        f[...] = 1000.0 * k + 10 * i + me
        grid.exchange(f)
        assert me == n - 1 or f[-1, 0] == 1000.0 * k + 10 * i + me + 1, (k, i)


def whole_fields(k: int, grid: gbd.Grid) -> None:
    for i in range(10):
        value = 100.0 * k + i
        f = grid.full(value + me)
        assert grid.sum(f) == 24 * sum(value + rank for rank in range(n))
        assert grid.argmax(f) == (4 * (n - 1), 0) and grid.min(f) == value
        whole = grid.gather(f, i % n)
        assert (whole is None) == (me != i % n)
        assert whole is None or whole.numpy()[:, 3].tolist() == [
            value + rank for rank in range(n) for _ in range(4)
        ]
        grid.scatter(None if whole is None else whole.numpy() * 2, f, i % n)
        assert (f.domain.numpy() == 2 * (value + me)).all()
        grid.exchange(f)
        assert f[0, 0] == 2 * (value + (me - 1) % n)


def files(k: int, grid: gbd.Grid) -> None:
    for i in range(3):
        f = grid.full(100.0 * k + i + me)
        path = f"{folder}/{k}"
        grid.save(path, T=f, q=grid.full(k, dtype="i4"), format="npy")
        found = grid.load(path)
        assert (found["T"].domain.numpy() == f.domain.numpy()).all() and (
            found["q"].domain.numpy() == k
        ).all()


def one_path(k: int, grid: gbd.Grid) -> None:
    """The checkpoint that is there at the end is of one thread's save, and whole."""
    for i in range(3):
        value = 100.0 * (k + 1) + i
        grid.save(f"{folder}/shared", T=grid.full(value), q=grid.full(value), format="npy")


def beyond_edges(k: int, grid: gbd.Grid) -> None:
    """Halos beyond the grid's edges, by rules that differ between threads."""
    low, high = (("edge", "zero"), ("zero", "edge"), ("odd", "reflect"))[k % 3]
    f = grid.zeros()
    for i in range(20):
        value = 1000.0 * (k + 1) + 10 * i
        f.domain[...] = value + me
        grid.exchange(f, edges={"I": (low, high)})
        first, last = value, value + n - 1
        found = f[0, 0], f[-1, 0]
        wanted = (
            {"edge": first, "zero": 0.0, "odd": -first}[low] if me == 0 else value + me - 1,
            {"edge": last, "zero": 0.0, "reflect": last}[high] if me == n - 1 else value + me + 1,
        )
        assert found == wanted, (k, i, found, wanted)


def errors_of_one_thread() -> None:
    """They end the waits of the other threads as well; then all is made again."""
    grids = [
        gbd.grid((4 * n, 6), blocks=(n, 1), periodic="I", halo=1, comm=world, timeout=200)
        for _ in range(2)
    ]
    raised: list[str] = []

    def use(k: int) -> None:
        f = grids[k].zeros()
        try:
            while True:
                grids[k].exchange(f)
                if me == k == 0:
                    grids[k].exchange(3)
                time.sleep(0.001)
        except (TypeError, gbd.RevokedError) as error:
            raised.append(str(error))

    threads = [threading.Thread(target=use, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(raised) == 2 and all("expected a Field" in text for text in raised), raised


def two_threads_in_calls_of_one_grid() -> None:
    """Where an order is needed an error says so."""
    grid = gbd.grid((4 * n, 6), blocks=(n, 1), comm=world, timeout=200)
    f, inside = grid.full(1.0), threading.Event()
    again = threading.Event()

    def wait(part: float) -> None:
        inside.set()
        again.wait(60)

    thread = threading.Thread(
        target=lambda: grid.save(f"{folder}/one", T=f, format="npy", progress=wait)
    )
    thread.start()
    inside.wait(60)
    with raises(
        RuntimeError, "sum: save of the same grid is under way on this rank", "a grid each"
    ):
        grid.sum(f)
    again.set()
    thread.join()
    assert grid.sum(grid.load(f"{folder}/one")["T"]) == 24.0 * n


for _ in range(3):
    at_once(exchanges)
    at_once(one_way, periodic="", halo=((0, 1), (0, 0)))
at_once(whole_fields)
at_once(files)
at_once(one_path)
grid = gbd.grid((4 * n, 6), blocks=(n, 1), comm=world, timeout=200)
saved = grid.load(f"{folder}/shared")
value = float(saved["T"].domain[0, 0])
assert value in {100.0 * (k + 1) + 2 for k in range(COUNT)}, value
assert grid.min(saved["T"]) == grid.max(saved["T"]) == value == grid.max(saved["q"])
assert [each.name for each in Path(folder).iterdir() if "unfinished" in each.name] == []
for _ in range(3):
    at_once(beyond_edges, periodic="")
if n > 1:
    errors_of_one_thread()
two_threads_in_calls_of_one_grid()
at_once(exchanges)
if me == 0:
    print("threads", n, flush=True)
