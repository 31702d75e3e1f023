"""Invariant 12 for tensors of others: capsules are consumed once, read as they were, and let go of
by any thread.
"""

import contextlib
import ctypes
import sys
import threading
from typing import Any

import numpy as np
import pytest
from dlpack_structs import FAIL, Hostile, HostileLegacy, Tensor, api, capsule, table_of
from in_child import python

import gridbuf as gb

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
    destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(
        lambda pointer: (calls.append(pointer), api.PyErr_Clear())[0]
    )
    h = Hostile(ndim=-1)

    class Producer:
        def __dlpack__(self, **keywords: Any) -> Any:
            return api.PyCapsule_New(
                ctypes.addressof(h.tensor),
                b"dltensor_versioned",
                ctypes.cast(destructor, ctypes.c_void_p),
            )

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
    # The memory is copied, whatever a subclass calls copy
    made = Sub(source).__dlpack__(copy=True, **keywords)
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
    """From then on PyGILState_Check says yes to every thread; the object still waits for one that
    has the GIL.
    """
    code = """
import ctypes, threading, weakref
import numpy as np
import gridbuf as gb
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
interpreters.create()
api, libc = ctypes.pythonapi, ctypes.PyDLL(None)  # calls keep the GIL
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
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
assert libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(deleter),
    ctypes.c_void_p(tensor)) == 0
assert libc.pthread_join(thread, None) == 0
gb.memory.stats()
print(alive() is None, released == [threading.main_thread().ident], thread.value not in released)
"""
    assert python(code) == "True True True"


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
