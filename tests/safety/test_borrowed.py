"""Invariant 12: Python code that runs in the middle of a call (a value's own, a tracer's, a
destructor's) finds nothing half done.
"""

import ctypes
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dlpack_structs import api
from in_child import python

import gridbuf as gb

PRELUDE = """
import gc, os, signal, sys, threading
import numpy as np
import gridbuf as gb
from numpy.lib.stride_tricks import as_strided
junk = []
# Freed lists of dims are used again, for arrays whose strides lead far outside of any memory.
def reuse(n=1000):
    for _ in range(20):
        junk.append(as_strided(np.zeros(1), (n,), (1 << 24,)))
"""


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
    assert python(PRELUDE + code) == "(1000, 1) 1.0 1.0"


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
    assert python(PRELUDE + code) == "dst: its dtype changed while the value was converted"


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
    assert python(PRELUDE + code) == "1.0 1.0"


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
    assert python(PRELUDE + code) == "True"


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


# ---- chains of owners ----


@pytest.mark.parametrize("own", ["np.ones(3)", "gb.empty((3,))", "gb.Field.zeros((3,)).numpy()"])
@pytest.mark.parametrize("step", ["x", "x[:]"])
def test_wrapping_again_and_again_keeps_one_layer(own: str, step: str) -> None:
    code = f"""
x = {own}
for _ in range(1000):
    x = gb.Field({step}).numpy()
gc.collect()
few = sum(isinstance(o, gb.Field) for o in gc.get_objects()) < 10
print(few, x.tolist() == ({own}).tolist() or x.size)
"""
    assert python(PRELUDE + code).split()[0] == "True"


@pytest.mark.parametrize(
    "again",
    [
        "gb.from_dlpack(np.from_dlpack(x))",
        "gb.Field(memoryview(x))",
        "gb.from_dlpack(x.__dlpack__(max_version=(1, 0)))",
    ],
)
def test_long_chains_are_released(again: str) -> None:
    code = f"""
x = gb.Field(np.ones(3))
for _ in range(100000):
    x = {again}
del x
print("released")
"""
    assert python(PRELUDE + code) == "released"


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
    api.PyType_GetSlot.restype = ctypes.c_void_p
    api.PyType_GetSlot.argtypes = [ctypes.py_object, ctypes.c_int]
    tp_clear = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(api.PyType_GetSlot(gb.Field, 51))
    assert clear is not None and tp_clear(f) == 0
    assert (f.shape, f.size, f.nbytes) == ((0, 0), 0, 0)
    assert f.numpy().size == 0 and gb.from_dlpack(f.__dlpack__(max_version=(1, 0))).size == 0


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


EMPTIED = """
import gc
import sys
import numpy as np
import gridbuf.gufunc as gufunc
import gridbuf.storage as gs

class Number:
    def __index__(self):  # empties the dict of keywords of whoever asks
        found, frame = gc.get_referrers(self), sys._getframe(1)
        while frame:
            found += frame.f_locals.values()
            frame = frame.f_back
        for each in found:
            if type(each) is dict and ("out" in each or "halo" in each):
                each.clear()
        return 1

class One(np.int64):
    __index__ = Number.__index__

add = gufunc.from_ufunc(np.add)
# the dict alone holds them
print(add(np.ones(2), np.ones(2), **{"out": np.zeros(2), "workers": Number()}))
print(gs.zeros((3, 4), axes="IJ", halo=((One(1), 1), (1, 1)), backend="C").shape)
"""


def test_keywords_whose_dict_is_emptied() -> None:
    assert python(EMPTIED, PYTHONMALLOC="debug") == "[2. 2.]\n(3, 4)"
