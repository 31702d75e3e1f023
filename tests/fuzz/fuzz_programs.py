"""Model steps over Fields, storages, arrays and blocks while the process runs out of threads,
memory, files or time, forks, and takes signals in whose handler it computes. Each program runs in a
child; the same steps in plain NumPy say what it must hold. A step may fail by a clean exception of
its limit; its target is then unknown, and so is all that follows from it.
"""

import _thread
import errno
import json
import os
import pickle
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from cases import Case

SLOTS = ["field", "storage", "array", "field"]
SHAPES = {"small": (12, 8, 6), "big": (160, 96, 64)}
BACKENDS = ["C", "gt:cpu_ifirst", "gt:cpu_kfirst", "dace:cpu"]
STEPS = [
    "fill",
    "copy",
    "copy",
    "add",
    "add",
    "gufunc",
    "sum",
    "reduce",
    "exchange",
    "save",
    "pickle",
    "dlpack",
    "where",
    "moments",
    "first",
    "thread",
    "fork",
]
FIRST = [np.add, np.multiply, np.subtract, np.power]  # gufuncs that a program has not used before
LIMITS = {
    "threads": resource.RLIMIT_NPROC,
    "memory": resource.RLIMIT_AS,
    "files": resource.RLIMIT_NOFILE,
    "size": resource.RLIMIT_FSIZE,
}
SPARE = {
    "threads": [0, 1, 2, 20],
    "memory": [0, 1 << 20, 8 << 20, 30 << 20, 100 << 20],
    "files": [0, 1, 3, 10],
    "size": [0, 100, 5000],
}
NUMBERS = {
    "files": (errno.EMFILE,),
    "size": (errno.EFBIG,),
    "memory": (errno.ENOMEM,),
    "threads": (errno.EAGAIN,),
}
WRITING = ("fill", "copy", "add", "gufunc", "exchange", "where", "thread")
PATIENCE = 120
tempfile.gettempdir()  # looked for with a file, which a limit of sizes would refuse


class Alarm(Exception):
    """Raised by the signal handler of a program whose time is up."""


def draw(rng: random.Random) -> Case:
    limit = rng.choice([None, "time", "alarm", *LIMITS, *LIMITS])
    if limit == "threads" and os.getuid() != 0:
        limit = None  # RLIMIT_NPROC counts a user's threads: root becomes a user of its own
    return {
        "limit": limit,
        "spare": rng.choice(SPARE.get(str(limit), [rng.randrange(300, 30_000)])),
        "at": rng.randrange(3),
        "size": rng.choice(["small", "small", "big"]),
        "backend": rng.choice(BACKENDS),
        "halo": rng.randrange(3),
        "workers": rng.choice([1, 2, 6]),
        "ticks": rng.choice([0, 0, 200, 3000]),  # microseconds between two signals
        "steps": [
            [rng.choice(STEPS), *rng.sample(range(len(SLOTS)), 3), rng.randrange(17)]
            for _ in range(rng.randrange(3, 12))
        ],
    }


def start(case: Case) -> list[np.ndarray]:
    shape = SHAPES[case["size"]]
    return [
        ((np.arange(np.prod(shape)) * (n + 3)) % 17).astype("f8").reshape(shape)
        for n in range(len(SLOTS))
    ]


def laplacian(around: np.ndarray) -> np.ndarray:
    inner = around[1:-1, 1:-1]
    return (
        around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2] - 4 * inner
    ) % 17


def digest(values: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(values, "f8") + 0.0)


# ---- the program with gridbuf ----


class Program:
    """What a child holds, and its steps."""

    def __init__(self, case: Case) -> None:
        import gridbuf as gb
        import gridbuf.distributed as gbd
        import gridbuf.storage as gs

        self.gb, self.case, self.shape, halo = gb, case, SHAPES[case["size"]], case["halo"]
        gb.set_num_threads(case["workers"])
        self.grid = gbd.grid(self.shape[:2], blocks=(2, 2), periodic="IJ", halo=1)
        wide = tuple(n + 2 * halo for n in self.shape)
        make: dict[str, Callable[[], Any]] = {
            "field": lambda: gb.Field.zeros(
                wide, dims="IJK", halo=(halo,) * 3, backend=case["backend"]
            ),
            "storage": lambda: gs.zeros(self.shape),
            "array": lambda: gb.zeros(self.shape, backend=case["backend"]),
        }
        self.slots = [make[kind]() for kind in SLOTS]
        for slot, values in zip(self.slots, start(case), strict=True):
            self.inner(slot)[...] = values
        self.adding = gb.gufunc.from_ufunc(np.add)

    def inner(self, slot: Any) -> Any:
        return slot.domain if isinstance(slot, self.gb.Field) else slot

    def of(self, number: int) -> Any:
        return self.inner(self.slots[number])

    def values(self, number: int) -> np.ndarray:
        found = self.of(number)
        return (
            found.numpy()
            if isinstance(found, self.gb.Field)
            else found
            if isinstance(found, np.ndarray)
            else found.to_numpy()
        )

    def fill(self, d: int, a: int, b: int, v: int) -> None:
        self.gb.fill(self.of(d), float(v))

    def copy(self, d: int, a: int, b: int, v: int) -> None:
        self.gb.copyto(self.of(d), self.of(a))

    def add(self, d: int, a: int, b: int, v: int) -> None:
        self.of(d)[...] = (self.of(a) + self.of(b)) % 17.0

    def gufunc(self, d: int, a: int, b: int, v: int) -> None:
        ufunc = [np.maximum, np.minimum, np.fmax][v % 3]
        self.of(d)[...] = self.gb.gufunc.from_ufunc(ufunc)(self.values(a), self.values(b))

    def sum(self, d: int, a: int, b: int, v: int) -> float:
        return float(self.gb.exact.sum(self.values(a)))

    def reduce(self, d: int, a: int, b: int, v: int) -> float:
        return float(np.asarray(self.adding.reduce(self.values(a), axis=(0, 1, 2))))

    def blocks(self, a: int) -> Any:
        fields = self.grid.zeros("IJK", sizes={"K": self.shape[2]}, backend=self.case["backend"])
        self.grid.scatter(self.values(a), fields)
        return fields

    def exchange(self, d: int, a: int, b: int, v: int) -> None:
        fields = self.blocks(a)
        self.grid.exchange(fields)
        for field in fields:
            field.domain[...] = laplacian(field.numpy())
        self.of(d)[...] = self.grid.gather(fields).numpy()

    def save(self, d: int, a: int, b: int, v: int) -> int:
        folder = tempfile.mkdtemp()
        try:
            path = os.path.join(folder, "checkpoint")
            self.grid.save(path, T=self.blocks(a), format="npy")
            return digest(self.grid.gather(self.grid.load(path)["T"]).numpy())
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def pickle(self, d: int, a: int, b: int, v: int) -> None:
        self.slots[d] = pickle.loads(pickle.dumps(self.slots[d]))

    def dlpack(self, d: int, a: int, b: int, v: int) -> float:
        return float(np.from_dlpack(self.gb.Field(self.values(a), dims="IJK")).sum())

    def where(self, d: int, a: int, b: int, v: int) -> None:
        x, y = self.of(a), self.of(b)
        self.of(d)[...] = np.where(x > y, x, v)

    def moments(self, d: int, a: int, b: int, v: int) -> float:
        return float(np.asarray(np.max(self.of(a))) + np.asarray(np.min(self.of(a))))

    def first(self, d: int, a: int, b: int, v: int) -> float:
        """Compile: the first call of a gufunc of three dimensions, of a type that is new."""
        made = self.gb.gufunc.from_ufunc(FIRST[v % 4])
        values = np.ones((v % 3 + 1,) * (v % 4), "fdgi"[v % 3])
        return float(np.asarray(made(values, values)).sum())

    def thread(self, d: int, a: int, b: int, v: int) -> None:
        errors: list[BaseException] = []
        done = threading.Semaphore(0)

        def work() -> None:
            try:
                self.add(d, a, b, v)
            except BaseException as error:
                errors.append(error)
            done.release()

        # Thread.start() waits for good for a thread that got no memory to say that it runs.
        try:
            _thread.start_new_thread(work, ())
            self.gb.exact.sum(self.values(b))
            if not done.acquire(timeout=PATIENCE / 3):
                raise MemoryError("a thread that does not run")
        except Alarm:  # the thread goes on, and would write while later steps run
            done.acquire(timeout=5)
            raise
        if errors:
            raise errors[0]


class Child:
    """Limits, signals, forks, and the report on a pipe."""

    def __init__(self, case: Case, pipe: int) -> None:
        self.case, self.pipe, self.inside, self.name = case, pipe, False, "parent"
        self.failed: dict[int, list[Any]] = {}
        self.numbers: dict[int, float] = {}
        self.ticking: Any = None

    def tick(self, *_: object) -> None:
        """Compute in a signal handler, in the middle of any step."""
        a = self.ticking.Field.ones((5, 4), dims="IJ", halo=(1, 1))
        assert (a + a).halo == ((1, 1), (1, 1))

    def handler(self, *_: object) -> None:
        if self.inside and self.case["limit"] == "alarm":
            self.inside = False
            raise Alarm("time is up")

    def limit(self) -> None:
        limit, spare = self.case["limit"], self.case["spare"]
        if limit in ("time", "alarm"):
            signal.signal(signal.SIGALRM, self.handler)
            signal.setitimer(signal.ITIMER_REAL, spare / 1e6, spare / 1e6)
        elif limit:
            if limit == "threads":
                import ctypes

                user = 2_000_000 + os.getpid()
                os.setresuid(user, user, 0)
                ctypes.CDLL(None).setfsuid(0)  # files may be root's
            with open("/proc/self/statm") as file:
                mapped = int(file.read().split()[0]) * resource.getpagesize()
            files = 1 + max(map(int, os.listdir("/proc/self/fd")))
            now = {
                "threads": len(os.listdir("/proc/self/task")),
                "memory": mapped,
                "files": files,
                "size": 0,
            }
            resource.setrlimit(
                LIMITS[limit], (now[limit] + spare, resource.getrlimit(LIMITS[limit])[1])
            )

    def ticks(self) -> None:
        if self.case.get("ticks") and self.case["limit"] != "memory":
            import gridbuf

            self.ticking = gridbuf
            self.tick()  # imports what it needs
            signal.signal(signal.SIGVTALRM, self.tick)
            every = self.case["ticks"] / 1e6
            signal.setitimer(signal.ITIMER_VIRTUAL, every, every)

    def lift(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if self.case["limit"] in LIMITS:
            which = LIMITS[self.case["limit"]]
            resource.setrlimit(which, (resource.getrlimit(which)[1],) * 2)

    def attempt(self, number: int, work: Callable[[], Any]) -> None:
        try:
            try:
                self.inside = True
                result = work()
            finally:
                self.inside = False
            if result is not None:
                self.numbers[number] = result
        except Exception as error:
            text = str(error)[:300]
            if isinstance(error, SystemError):
                *_, (frame, _) = traceback.walk_tb(error.__traceback__)
                text += f" in {frame.f_code.co_filename}"
            self.failed[number] = [
                type(error).__name__,
                text,
                getattr(error, "errno", None),
            ]

    def fork(self) -> None:
        pid = os.fork()
        self.inside = False  # an alarm while a child is waited for would lose its status
        if pid == 0:
            self.name = "child"
            return
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status == 0, f"a forked child died of {status}"

    def run(self) -> None:
        case, forked = self.case, False
        if case["at"] == 0 and case["limit"] == "memory":
            self.limit()  # before the import
        made: list[Program] = []
        self.attempt(-1, lambda: made.append(Program(case)))
        self.ticks()
        if case["at"] or case["limit"] != "memory":
            self.limit()
        for number, (name, *args) in enumerate(case["steps"]) if made else ():
            if name != "fork":
                self.attempt(number, partial(getattr(made[0], name), *args))
            elif self.name == "parent" and not forked:
                forked = True
                self.attempt(number, self.fork)
                if self.name == "child":
                    self.failed.pop(number, None)
        self.lift()
        hashes = [digest(made[0].values(n)) for n in range(len(SLOTS))] if made else None
        report = {
            "name": self.name,
            "failed": self.failed,
            "numbers": self.numbers,
            "hashes": hashes,
        }
        os.write(self.pipe, (json.dumps(report) + "\n").encode())


# ---- the same in NumPy, and the comparison ----


def expected(
    case: Case, failed: dict[int, Any]
) -> tuple[list[np.ndarray | None], Iterator[tuple[int, float]]]:
    """The slots, None where unknown, and the numbers of the steps that did not fail."""
    slots: list[np.ndarray | None] = [*start(case)]
    numbers: dict[int, float] = {}
    for number, (name, d, a, b, v) in enumerate(case["steps"]):
        x, y = slots[a], slots[b]
        if number in failed:
            if name in WRITING:
                slots[d] = None
        elif name == "fill":
            slots[d] = np.full(SHAPES[case["size"]], float(v))
        elif name == "copy":
            slots[d] = None if x is None else x.copy()
        elif name in ("add", "thread"):
            slots[d] = None if x is None or y is None else (x + y) % 17
        elif name == "gufunc":
            slots[d] = (
                None if x is None or y is None else [np.maximum, np.minimum, np.fmax][v % 3](x, y)
            )
        elif name == "exchange":
            slots[d] = None if x is None else laplacian(np.pad(x, ((1, 1), (1, 1), (0, 0)), "wrap"))
        elif name == "where":
            slots[d] = None if x is None or y is None else np.where(x > y, x, v)
        elif name == "moments" and x is not None:
            numbers[number] = float(x.max() + x.min())
        elif name == "first":
            values = np.ones((v % 3 + 1,) * (v % 4))
            numbers[number] = float(FIRST[v % 4](values, values).astype("fdgi"[v % 3]).sum())
        elif name in ("sum", "reduce", "dlpack") and x is not None:
            numbers[number] = float(x.sum())
        elif name == "save" and x is not None:
            numbers[number] = digest(x)
    return slots, iter(numbers.items())


def clean(limit: str | None, kind: str, text: str, number: int | None) -> bool:
    """Whether an exception is of the family of what the program lacks."""
    if limit == "alarm":
        return kind == "Alarm"
    if limit in NUMBERS and number in NUMBERS[limit]:
        return True
    if limit == "memory" and kind in ("MemoryError", "ImportError", "OSError"):
        return True
    if limit == "memory" and kind == "ValueError" and "is required for" in text:
        return True  # CPython's compiler without memory, of a module that is imported
    if limit == "memory" and kind == "SystemError" and "/collections/__init__.py" in text:
        return True  # CPython 3.12 makes the class of a NamedTuple without memory
    if limit == "files" and kind in ("ImportError", "OSError", "ModuleNotFoundError"):
        return True
    return (
        limit in ("memory", "threads")
        and kind in ("RuntimeError", "ImportError")
        and "thread" in text
    )


def check(case: Case) -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 3
        os.setpgid(0, 0)  # with its children, which end with it
        try:
            Child(case, write).run()
            code = 0
        except MemoryError:
            code = 0 if case["limit"] == "memory" else 4  # of the harness itself
        finally:
            os._exit(code)
    os.close(write)
    said, end = b"", time.monotonic() + PATIENCE
    try:
        while select.select([read], [], [], max(end - time.monotonic(), 0))[0]:
            if not (part := os.read(read, 1 << 16)):
                break
            said += part
        else:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGABRT)  # faulthandler says where it is
            raise AssertionError("the program hangs")
    finally:
        os.close(read)
        if sys.exc_info()[0]:
            time.sleep(1)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"the program ended with {status}"
    for line in said.decode().splitlines():
        report = json.loads(line)
        failed = {int(number): error for number, error in report["failed"].items()}
        for number, error in failed.items():
            if report["name"] == "child" and "a forked child does not have" in error[1]:
                continue  # what would have to be compiled
            assert clean(case["limit"], *error), f"{report['name']}, step {number}: {error}"
        if report["hashes"] is None:
            continue
        slots, numbers = expected(case, failed)
        for number, value in numbers:
            got = report["numbers"][str(number)]
            assert got == value, f"{report['name']}: step {number} gives {got}, not {value}"
        for number, (slot, found) in enumerate(zip(slots, report["hashes"], strict=True)):
            assert slot is None or digest(slot) == found, f"{report['name']}: slot {number} differs"
