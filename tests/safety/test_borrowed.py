"""Invariant 12: Python code that runs in the middle of a call (a value's own, a tracer's, a destructor's) finds nothing half done."""

import contextlib
import ctypes
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dlpack_structs import FAIL, Hostile, HostileLegacy, Tensor, api, capsule, table_of

import gridbuf as gb

PRELUDE = """
import gc, os, signal, sys, threading
import numpy as np
import gridbuf as gb
from numpy.lib.stride_tricks import as_strided
junk = []
def reuse(n=1000):  # what was freed comes back as the dims of somebody else's array, far outside of any memory
    for _ in range(20):
        junk.append(as_strided(np.zeros(1), (n,), (1 << 24,)))
"""


def alone(code: str) -> str:
    """What the code prints, in a process of its own, which must not die."""
    done = subprocess.run([sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.strip()


# ---- arrays that change their shape or dtype while a value or an index is asked for ----


def test_a_value_that_gives_the_array_another_shape() -> None:
    code = """
a = gb.empty((1000,))
class E:
    def __float__(self):
        a.shape = (1000, 1)
        reuse()
        return 1.0
gb.fill(a, E())
print(a.shape, a.min(), a.max())
"""
    assert alone(code) == "(1000, 1) 1.0 1.0"


def test_a_value_that_gives_the_array_another_dtype() -> None:
    code = """
a = gb.empty((1000,))
class E:
    def __float__(self):
        a.dtype = "i1"
        return 1.0
try:
    gb.fill(a, E())
except RuntimeError as error:
    print(error)
"""
    assert alone(code) == "dst: its dtype changed while the value was converted"


def test_a_value_that_locks_the_array() -> None:
    a = np.zeros(3)

    class Locking:
        def __float__(self) -> float:
            a.flags.writeable = False
            return 1.0

    with pytest.raises(ValueError, match="dst: it is read-only"):
        gb.fill(a, Locking())
    assert a.tolist() == [0.0, 0.0, 0.0]


def test_an_index_that_gives_the_source_another_shape() -> None:
    code = """
src, f = np.ones(1000), gb.Field.zeros((1000,))
class I:
    def __index__(self):
        src.shape = (1, 1000)
        reuse()
        return 0
f[I():] = src
print(f.numpy().min(), f.numpy().max())
"""
    assert alone(code) == "1.0 1.0"


def test_titles_that_change_the_arrays_while_they_are_compared() -> None:
    code = """
class Title(str):
    def __eq__(self, other):
        for a in (dst, src):
            a.shape = (1000, 1)
        reuse()
        return str.__eq__(self, other)
    __hash__ = str.__hash__
def dtype():
    return np.dtype([((Title("title"), "a"), "f8"), ("b", "f8")])
dst, src = np.zeros(1000, dtype()), np.ones(1000, dtype())
gb.copyto(dst, src)
print(dst.tobytes() == src.tobytes())
"""
    assert alone(code) == "True"


def test_an_array_that_changes_while_its_dtype_is_looked_up_is_wrapped_as_it_was() -> None:
    a = np.zeros(6, [(f"x{np.random.default_rng().integers(1 << 60)}", "f8")])

    def trace(frame: Any, event: str, arg: Any) -> None:
        if frame.f_code.co_name == "_array_descr":
            a.shape = (2, 3)

    sys.settrace(trace)
    try:
        f = gb.Field(a)
    finally:
        sys.settrace(None)
    assert (a.shape, f.shape, f.strides) == ((2, 3), (6,), (8,))


# ---- capsules ----


@pytest.mark.parametrize("kind", [Hostile, HostileLegacy])
def test_a_capsule_is_consumed_once(kind: type[Hostile]) -> None:
    """bfloat16's dtype is looked up by Python code, which may find the capsule."""
    h = kind(code=4, bits=16, strides=(3, 1))
    address = ctypes.addressof(h.legacy if h.flavour == b"dltensor" else h.tensor)
    made, refused = [], []
    held = capsule(address, h.flavour)

    def trace(frame: Any, event: str, arg: Any) -> None:
        if frame.f_code.co_name == "extended_dtype":
            sys.settrace(None)
            try:
                made.append(gb.from_dlpack(held))
            except BufferError as error:
                refused.append(str(error))

    sys.settrace(trace)
    try:
        made.append(gb.from_dlpack(held))
    except BufferError:  # without ml_dtypes there is no such dtype
        assert api.PyCapsule_GetPointer(held, h.flavour) == address  # as it was
    finally:
        sys.settrace(None)
    assert len(refused) == 1 and "fresh" in refused[0]
    expected = len(made)
    made.clear()
    assert h.deleted == expected <= 1


def test_a_tensor_is_read_as_it_was() -> None:
    h = Hostile(code=4, bits=16)
    held = capsule(ctypes.addressof(h.tensor), h.flavour)

    def trace(frame: Any, event: str, arg: Any) -> None:
        if frame.f_code.co_name == "extended_dtype":
            h.tensor.tensor.shape[0] = 1 << 40

    sys.settrace(trace)
    try:
        shape = gb.from_dlpack(held).shape
    except BufferError:
        pytest.skip("ml_dtypes is not installed")
    finally:
        sys.settrace(None)
    assert shape == (2, 3)


def test_a_destructor_that_clears_the_exception() -> None:
    """A capsule's destructor in Python clears what is pending; the error arrives all the same."""
    calls = []
    destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(lambda pointer: (calls.append(pointer), api.PyErr_Clear())[0])
    h = Hostile(ndim=-1)

    class Producer:
        def __dlpack__(self, **keywords: Any) -> Any:
            return api.PyCapsule_New(ctypes.addressof(h.tensor), b"dltensor_versioned", ctypes.cast(destructor, ctypes.c_void_p))

    for call in (gb.from_dlpack, gb.Field, gb.as_numpy):
        for obj in (Producer, lambda: Producer().__dlpack__()):
            with pytest.raises(BufferError, match="ndim"):
                call(obj())
    gb.memory.stats()  # the capsules themselves were kept until the exception was raised
    assert len(calls) == 6


@pytest.mark.parametrize("keywords", [{}, {"max_version": (1, 0)}])
def test_a_copy_that_is_no_field(keywords: dict[str, Any]) -> None:
    class Sub(gb.Field):
        def copy(self) -> Any:
            return 42

    source = np.arange(3.0)
    made = Sub(source).__dlpack__(copy=True, **keywords)  # the memory is copied, whatever a subclass calls copy
    back = gb.from_dlpack(made)
    source[:] = 0
    assert back.numpy().tolist() == [0.0, 1.0, 2.0]
    assert gb.from_dlpack(Sub(np.ones(3)), copy=True).numpy().tolist() == [1.0, 1.0, 1.0]


# ---- sizes ----


@pytest.mark.parametrize("n", [(1 << 63) - 1, (1 << 63) - 193, (1 << 63) - 4096, 1 << 62, 1 << 61])
def test_sizes_that_no_memory_has_are_refused_by_the_exchange_api(n: int) -> None:
    table, out, said = table_of(gb.Field), ctypes.c_void_p(), []
    fail = FAIL(lambda ctx, kind, text: said.append((kind, text)))
    shape = (ctypes.c_int64 * 1)(n)
    wanted = Tensor(ndim=1, shape=shape, code=0, bits=8, lanes=1, device_type=1)
    before = gb.memory.stats()["live_bytes"]
    assert table.allocate(ctypes.byref(wanted), ctypes.byref(out), None, fail) == -1
    assert said[0][0] == b"MemoryError" and gb.memory.stats()["live_bytes"] == before


# ---- deleters without the GIL ----


def test_a_deleter_without_the_gil_after_a_subinterpreter() -> None:
    """From then on PyGILState_Check says yes to every thread; the object still waits for one that has the GIL."""
    code = """
import ctypes, threading, weakref
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
interpreters.create()
api, libc = ctypes.pythonapi, ctypes.PyDLL(None)  # calls keep the GIL
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
owner = np.ones(10)
released = []
alive = weakref.ref(owner, lambda _: released.append(threading.get_ident()))
capsule = gb.Field(owner).__dlpack__(max_version=(1, 0))
del owner
name = b"dltensor_versioned"
tensor = api.PyCapsule_GetPointer(capsule, name)
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
used = b"used_dltensor_versioned"
api.PyCapsule_SetName(capsule, used)
deleter = ctypes.cast(tensor + 16, ctypes.POINTER(ctypes.c_void_p))[0]
thread = ctypes.c_ulong()
assert libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(deleter), ctypes.c_void_p(tensor)) == 0
assert libc.pthread_join(thread, None) == 0
gb.memory.stats()
print(alive() is None, released == [threading.main_thread().ident], thread.value not in released)
"""
    assert alone(code) == "True True True"


# ---- backends ----


def test_a_destructor_that_asks_for_the_backend_being_registered() -> None:
    code = """
class S(str):
    def __del__(self):
        gb.empty((3, 3, 3), backend="late")
gb.empty((3,), backend=S("C"))
gb.register_backend("late", layout=lambda dims: tuple(range(len(dims)))[::-1])
print(gb.empty((2, 3), backend="late").strides)
"""
    assert alone(code) == "(8, 16)"


def test_a_name_is_destroyed_once() -> None:
    deleted = []

    class Name(str):
        def __del__(self) -> None:
            deleted.append(id(self))
            for name in pool:
                gb.empty((3,), backend=name)

    gb.register_backend("hx", layout="IJK")
    pool: list[str] = []
    gb.empty((3,), backend=Name("hx"))
    pool += ["".join(["h", "x"]) for _ in range(400)]
    for _ in range(2):
        for name in ["".join(["h", "x"]) for _ in range(400)]:
            gb.empty((3,), backend=name)
    assert len(deleted) == 1


def test_a_long_list_of_backends() -> None:
    code = """
names = [f"backend {'x' * 180} {i}" for i in range(2000)]
for name in names:
    gb.register_backend(name, layout="IJK")
print(set(names) <= set(gb.backends()))
try:
    gb.empty((3,), backend="nowhere")
except ValueError as error:
    print(str(error)[:32], "more (gridbuf.backends())" in str(error))
"""
    assert alone(code) == 'True\nbackend: "nowhere" is not known; True'


@pytest.mark.parametrize("name", ["", "y" * 17000, "a\nb", "a\x00b", "a\x1cb", "a\u2028b", "a\x85b", "\ud800"])
def test_names_that_a_list_cannot_show(name: str) -> None:
    with pytest.raises(ValueError, match=r"name|surrogates"):
        gb.register_backend(name, layout="IJK")
    assert name not in gb.backends()


# ---- chains of owners ----


@pytest.mark.parametrize("own", ["np.ones(3)", "gb.empty((3,))", "gb.Field.zeros((3,)).numpy()"])
@pytest.mark.parametrize("step", ["x", "x[:]"])
def test_wrapping_again_and_again_keeps_one_layer(own: str, step: str) -> None:
    code = f"""
x = {own}
for _ in range(1000):
    x = gb.Field({step}).numpy()
gc.collect()
print(sum(isinstance(o, gb.Field) for o in gc.get_objects()) < 10, x.tolist() == ({own}).tolist() or x.size)
"""
    assert alone(code).split()[0] == "True"


@pytest.mark.parametrize(
    "again", ["gb.from_dlpack(np.from_dlpack(x))", "gb.Field(memoryview(x))", "gb.from_dlpack(x.__dlpack__(max_version=(1, 0)))"]
)
def test_long_chains_are_released(again: str) -> None:
    code = f"""
x = gb.Field(np.ones(3))
for _ in range(100000):
    x = {again}
del x
print("released")
"""
    assert alone(code) == "released"


# ---- the kind of memory is not to be changed ----


def test_a_field_stays_in_its_kind_of_memory() -> None:
    class Sub(gb.Field):
        pass

    for field in (gb.Field.zeros((3, 4)), Sub(np.zeros((3, 4)))):
        for kind in (gb.DeviceField, gb.ManagedField):
            with pytest.raises(TypeError):
                field.__class__ = kind  # type: ignore[assignment]
        assert not hasattr(field, "__cuda_array_interface__")


def test_a_field_that_a_collection_has_cleared() -> None:
    """tp_clear takes the owner away; what is left has no elements."""
    f = gb.Field(np.ones((2, 3)))
    clear = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object)
    api.PyType_GetSlot.restype, api.PyType_GetSlot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    tp_clear = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(api.PyType_GetSlot(gb.Field, 51))
    assert clear is not None and tp_clear(f) == 0
    assert (f.shape, f.size, f.nbytes) == ((0, 0), 0, 0)
    assert f.numpy().size == 0 and gb.from_dlpack(f.__dlpack__(max_version=(1, 0))).size == 0


# ---- threads ----


def test_two_threads_and_one_capsule() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(300):
            h = Hostile(code=4, bits=16)
            held = capsule(ctypes.addressof(h.tensor), h.flavour)
            made: list[Any] = []

            def take(held: Any = held, made: list[Any] = made) -> None:
                with contextlib.suppress(BufferError):
                    made.append(gb.from_dlpack(held))

            threads = [threading.Thread(target=take) for _ in range(2)]
            [t.start() for t in threads]
            [t.join() for t in threads]
            n = len(made)
            made.clear()
            assert n <= 1 and h.deleted == n
    finally:
        sys.setswitchinterval(before)


CALLS: list[Callable[[Any], Any]] = [gb.Field, gb.as_numpy]


@pytest.mark.parametrize("call", CALLS)
def test_an_owner_outlives_the_description(call: Callable[[Any], Any]) -> None:
    class Described:
        def __init__(self) -> None:
            self.memory = np.arange(3.0)
            self.__array_struct__ = self.memory.__array_struct__

    obj = Described()
    alive, made = weakref.ref(obj), call(obj)
    del obj
    assert alive() is not None and np.asarray(made).tolist() == [0.0, 1.0, 2.0]
    del made
    assert alive() is None
