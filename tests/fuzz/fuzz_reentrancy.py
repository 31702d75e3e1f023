"""Python that runs in the middle of a call: what __index__, __float__, __str__, __del__, progress,
gc callbacks, weakrefs, trace functions and other threads may do to the objects at hand. Nothing
crashes, no wrong element is written, nothing is left over.
"""

import contextlib
import gc
import random
import sys
import threading
import weakref
from typing import Any

import numpy as np
from cases import HERE
from numpy.lib.stride_tricks import as_strided

import gridbuf as gb
from gridbuf import gufunc

sys.path.append(str(HERE.parent / "helpers"))
from dlpack_structs import Hostile

ONE = np.zeros(1)
add = gufunc.from_ufunc(np.add)
MISCHIEF = ["reshape", "dtype", "strides", "resize", "setitem", "drop", "gc", "again", "trim",
"backend", "raise", "interrupt",
            "threads", "export", "mutate list", "limit"]  # fmt: skip
WAYS = ["index in key", "index in assign", "float in fill", "float in full", "str in backend",
"del in backend", "progress", "gc callback",
        "weakref", "trace", "array method", "dlpack method", "interface property", "layout",
        "index in shape", "index in halo", "bool in padding",
        "output_dims", "where method", "generator", "dtype attribute", "dtype of a class",
        "register", "copy method", "capsule twice"]  # fmt: skip


def draw(rng: random.Random) -> dict[str, Any]:
    return {
        "way": rng.choice(WAYS),
        "what": [rng.choice(MISCHIEF) for _ in range(rng.choice([1, 1, 1, 2, 3]))],
        "shape": rng.choice([[1000], [10, 100], [1], [7, 11, 13], [4, 4]]),
        "dtype": rng.choice(["d", "f", "i", "D", "V7", "s"]),
        "field": rng.random() < 0.4, "threads": rng.random() < 0.1,
        "number": rng.randrange(1 << 30),
    }  # fmt: skip


class Scene:
    """The objects of one case, and what happens to them when Python gets its turn."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case, self.turns, self.junk, self.number = case, 0, [], case["number"]
        dtype = (
            np.dtype([("a", "<i4"), ("b", "<f8")])
            if case["dtype"] == "s"
            else np.dtype(case["dtype"])
        )
        if case["dtype"] == "s":
            dtype = np.dtype([(f"a{self.number}", "<i4"), ("b", "<f8")])  # never seen before
        self.array = gb.zeros(tuple(case["shape"]), dtype)
        self.foreign = np.zeros(tuple(case["shape"]), dtype)
        self.field: Any = gb.Field(self.array)
        self.filled = self.foreign.view(np.ndarray)  # keeps its shape and dtype
        self.numbers: list[Any] = []

    def turn(self) -> None:
        self.turns += 1
        if self.turns > 3:
            return
        for what in self.case["what"]:
            self.do(what)

    def do(self, what: str) -> None:
        targets = [self.foreign, self.array]
        with contextlib.suppress(ValueError, TypeError, AttributeError, BufferError):
            if what == "reshape":
                for a in targets:
                    ndim = a.ndim
                    a.shape = (a.size,) if ndim > 1 else (a.size, 1)
                    # whoever still looks at the old shape looks at that of one of these
                    self.junk += [
                        as_strided(ONE, (1000,) * ndim, (1 << 24,) * ndim) for _ in range(20)
                    ]
            elif what == "dtype":
                for a in targets:
                    a.dtype = np.dtype("i1")
            elif what == "strides":
                for a in targets:
                    a.strides = tuple(0 for _ in a.strides)
            elif what == "resize":
                self.foreign.resize(3)  # NumPy looks for others who hold it
            elif what == "setitem":
                self.field[...] = 0
            elif what == "drop":
                self.field = None
                self.junk += [gb.empty(tuple(self.case["shape"]), "d") for _ in range(3)]
        if what == "gc":
            gc.collect()
        elif what == "again":
            gb.copyto(np.zeros(5), np.ones(5))
            gb.Field.zeros((3, self.number % 50 + 1), dims="IJ")[1:]
        elif what == "trim":
            gb.memory.trim()
        elif what == "backend":
            for i in range(40):
                gb.empty((3,), backend="".join(["fuzz", str(i % 3)]))
        elif what == "raise":
            raise ZeroDivisionError("mischief")
        elif what == "interrupt":
            raise KeyboardInterrupt
        elif what == "threads":
            threads = [
                threading.Thread(target=lambda: [gb.Field.zeros((n + 1, 2))[1:] for n in range(5)])
                for _ in range(2)
            ]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        elif what == "export" and self.field is not None:
            with contextlib.suppress(BufferError):
                self.junk.append(self.field.__dlpack__(max_version=(1, 0)))
                self.junk.append(memoryview(self.field))
        elif what == "mutate list":
            self.numbers.clear()
        elif what == "limit":
            gb.memory.stats()
            gb.memory.report(3)


def number(scene: Scene, value: Any) -> Any:
    class Number:
        def __index__(self) -> int:
            scene.turn()
            return int(value)

        def __float__(self) -> float:
            scene.turn()
            return float(value)

        def __complex__(self) -> complex:
            scene.turn()
            return complex(value)

        def __bool__(self) -> bool:
            scene.turn()
            return bool(value)

    return Number()


def run(scene: Scene, way: str) -> None:
    case, source = scene.case, scene.foreign
    dst = gb.Field(scene.foreign) if case["field"] else scene.foreign
    if way == "index in key":
        assert scene.field[number(scene, 0) :] is not None
    elif way == "index in assign":
        scene.field[number(scene, 0) :] = source
    elif way == "float in fill":
        gb.fill(dst, number(scene, 1))
    elif way == "float in full":
        gb.full(tuple(case["shape"]), number(scene, 1), "d")
    elif way in ("str in backend", "del in backend"):

        class Name(str):
            def __hash__(self) -> int:
                scene.turn() if way.startswith("str") else None
                return str.__hash__(self)

            def __eq__(self, other: object) -> bool:
                scene.turn() if way.startswith("str") else None
                return str.__eq__(self, other)

            def __del__(self) -> None:
                with contextlib.suppress(BaseException):
                    scene.turn()

        for i in range(3):
            gb.empty((3,), backend=Name(f"fuzz{i}"))
        for i in range(20):
            gb.empty((3,), backend="".join(["fu", f"zz{i % 3}"]))
    elif way == "progress":
        gb.copyto(dst, source, progress=lambda done: scene.turn())
        gb.fill(np.zeros(5), 1, progress=lambda done: scene.turn())
    elif way in ("gc callback", "weakref", "trace"):
        observed(scene, way, dst)
    elif way in ("array method", "dlpack method", "interface property"):
        gb.copyto(dst, asked(scene, way))
        gb.Field(asked(scene, way))
    elif way == "layout":
        name = f"fuzz layout {scene.number % 5}"
        gb.register_backend(name, layout=lambda dims: (scene.turn(), tuple(range(len(dims))))[1])
        gb.empty((3, scene.number % 100 + 1), backend=name)
    elif way == "index in shape":
        scene.numbers = [number(scene, 3), number(scene, 4)]
        gb.empty(scene.numbers, "d")
    elif way == "index in halo":
        scene.numbers = [number(scene, 1), number(scene, 1)]
        gb.Field.zeros((8, 8), halo=scene.numbers)
    elif way == "bool in padding":
        gb.empty((5, 5), padding=number(scene, 3))
        gb.empty((5, 5), byte_alignment=number(scene, 64))
    elif way == "output_dims":
        g = gufunc.GUFunc(
            "(n)->(m)",
            [gufunc.numpy_loop(1, "d->d")],
            output_dims=lambda sizes: (scene.turn(), {"m": 10**30})[1],
        )
        g(np.ones(3))
    elif way == "where method":
        add(np.ones(3), asked(scene, "array method"), where=number(scene, 1))
    elif way == "generator":
        g = gufunc.GUFunc("()->()", generator=lambda types, layouts: scene.turn())
        g(np.ones(3))
    elif way == "dtype attribute":

        class Typed:
            @property
            def dtype(self) -> Any:
                scene.turn()
                return np.dtype("f4")

        assert gb.empty((3,), Typed()).dtype == "f4"

    elif way == "dtype of a class":

        class Kind:
            dtype = np.dtype("f8")

        gb.empty((3,), Kind)
        scene.turn()
        Kind.dtype = np.dtype("f4")
        assert gb.empty((3,), Kind).dtype == np.empty(3, Kind).dtype, (
            "a class is asked for its dtype each time"
        )
    elif way == "register":
        registering(scene)
    elif way == "copy method":

        class Sub(gb.Field):
            def copy(self) -> Any:
                scene.turn()
                return 42

        Sub(np.ones(3)).__dlpack__(copy=True)
    elif way == "capsule twice":
        twice(scene)


def registering(scene: Scene) -> None:
    """Names that are let go of while a backend is registered, and allocate with it."""
    wrong: list[BaseException] = []
    name = f"fuzz late {scene.number % 7}"

    class Name(str):
        deaths = 0

        def __del__(self) -> None:
            self.deaths += 1
            try:
                assert self.deaths == 1, "an object died twice"
                gb.empty((3, 3, 3), backend=name)
            except (SystemError, AssertionError) as error:
                wrong.append(error)
            except Exception:
                scene.junk.append(1)

    for known in ("C", "F", "numpy"):
        gb.empty((3,), backend=Name(known))
    gb.register_backend(name, layout=lambda dims: (scene.turn(), tuple(range(len(dims))))[1])
    for i in range(40):
        gb.empty((3,), backend="".join(["fu", f"zz{i % 3}"]))
    if wrong:
        raise wrong[0]


def twice(scene: Scene) -> None:
    """A capsule that is taken again while it is being taken."""
    made = Hostile(code=4, bits=16, shape=(2, 3), strides=(3, 1))
    capsule = made.__dlpack__()
    taken: list[Any] = []

    def again(frame: Any, event: str, arg: Any) -> None:
        if scene.turns < 3:
            scene.turns += 1
            with contextlib.suppress(Exception):
                taken.append(gb.from_dlpack(capsule))

    sys.settrace(again)
    try:
        taken.append(gb.from_dlpack(capsule))
    except (BufferError, ValueError, TypeError):
        pass  # it was taken in between, or ml_dtypes is not here
    finally:
        sys.settrace(None)
    assert len(taken) <= 1, "two Fields of one capsule"
    fields = len(taken)
    taken.clear()
    assert made.deleted == fields, f"released {made.deleted} times for {fields} Fields"
    Hostile.alive.clear()


def asked(scene: Scene, way: str) -> Any:
    class Asked:
        def __getattr__(self, name: str) -> Any:
            raise AttributeError(name)

    if way == "array method":
        Asked.__array__ = lambda self, dtype=None, copy=None: (scene.turn(), scene.foreign)[1]  # type: ignore[attr-defined]
    elif way == "dlpack method":
        Asked.__dlpack__ = lambda self, **k: (scene.turn(), np.ones(4).__dlpack__(**k))[1]  # type: ignore[attr-defined]
        Asked.__dlpack_device__ = lambda self: (scene.turn(), (1, 0))[1]  # type: ignore[attr-defined]
    else:
        Asked.__array_interface__ = property(
            lambda self: (scene.turn(), scene.foreign.__array_interface__)[1]
        )  # type: ignore[attr-defined]
    return Asked()


def observed(scene: Scene, way: str, dst: Any) -> None:
    """A few calls while the collector, a dying object or every line of Python has something
    to do.
    """

    def calls() -> None:
        field = gb.Field(scene.foreign)
        field[...] = scene.array
        gb.copyto(dst, scene.array)
        gb.Field(np.zeros(3, np.dtype([(f"t{scene.number}", "<i4")])))
        add(np.ones(7), 1.0, workers=1)
        with contextlib.suppress(BufferError):
            gb.from_dlpack(np.ones(3))

    if way == "trace":
        sys.settrace(lambda frame, event, arg: scene.turn())
        try:
            calls()
        finally:
            sys.settrace(None)
        return
    if way == "weakref":

        class Held(np.ndarray):
            pass

        held: Any = np.zeros(5).view(Held)
        held.loop = held
        weakref.finalize(held, scene.turn).atexit = False
        gb.Field(held)
        del held
        gc.collect()
        calls()
        return
    old = gc.get_threshold()
    callback = lambda phase, info: scene.turn()  # noqa: E731
    gc.callbacks.append(callback)
    gc.set_threshold(1)
    try:
        calls()
    finally:
        gc.set_threshold(*old)
        gc.callbacks.remove(callback)


for n in range(3):
    gb.register_backend(f"fuzz{n}", layout="IJK")


def live() -> tuple[int, int]:
    stats = gb.memory.stats()
    return stats["live_buffers"], stats["live_bytes"]


def check(case: dict[str, Any]) -> None:
    before = live()
    sys.unraisablehook = lambda unraisable: None  # what callbacks raise is theirs
    scene = Scene(case)
    watch, done = scene.filled, False
    stop = threading.Event()
    other = threading.Thread(target=churn, args=(stop,))
    if case["threads"]:
        old = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        other.start()
    try:
        run(scene, case["way"])
        done = True
    except (ZeroDivisionError, KeyboardInterrupt) as error:
        assert {ZeroDivisionError: "raise", KeyboardInterrupt: "interrupt"}[type(error)] in case[
            "what"
        ]
    except (
        TypeError,
        ValueError,
        RuntimeError,
        AttributeError,
        IndexError,
        OverflowError,
        MemoryError,
        BufferError,
    ) as error:
        assert not isinstance(error, SystemError), repr(error)
    finally:
        if case["threads"]:
            stop.set()
            other.join()
            sys.setswitchinterval(old)
    if (
        done
        and case["way"] == "float in fill"
        and not {"dtype", "strides", "resize"} & set(case["what"])
    ):
        one = np.zeros((), watch.dtype)
        one[()] = 1
        assert (watch == one).all(), "not all was filled"
    del watch
    scene.junk.clear()
    scene.array = scene.foreign = scene.field = scene.filled = (
        None  # a layout and a memo of names may keep the scene itself
    )
    scene.turns = 3
    if live() != before:
        gc.collect()
    assert live() == before, f"{live()} after {before}: something was kept"


def churn(stop: threading.Event) -> None:
    while not stop.is_set():
        gb.Field.zeros((5, 7))[1:, ::2].numpy().sum()
