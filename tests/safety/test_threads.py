"""Eight threads, foreign threads without the GIL, and the end of the process."""

import ctypes
import gc
import threading
import weakref

import numpy as np
from eventually import eventually
from in_child import python

import gridbuf as gb

VERSIONED = b"dltensor_versioned"
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
set_name = ctypes.pythonapi.PyCapsule_SetName
set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]


def consume(capsule: object) -> tuple[int, int]:
    """Take a tensor over as a C consumer does: (its address, its deleter's address)."""
    tensor = pointer_of(capsule, VERSIONED)
    set_name(capsule, b"used_dltensor_versioned")
    return tensor, ctypes.cast(tensor + 16, ctypes.POINTER(ctypes.c_void_p)).contents.value


def delete_on_a_foreign_thread(tensor: int, deleter: int) -> None:
    """Run deleter(tensor) on a thread that Python has never seen and that holds no GIL."""
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    assert (
        libc.pthread_create(
            ctypes.byref(thread), None, ctypes.c_void_p(deleter), ctypes.c_void_p(tensor)
        )
        == 0
    )
    assert libc.pthread_join(thread, None) == 0


def test_eight_threads_allocate_slice_export_and_free() -> None:
    failures: list[BaseException] = []
    gc.collect()  # what other tests left is not to go meanwhile
    start = gb.memory.stats()["live_buffers"]

    def body(seed: int) -> None:
        try:
            held = []
            for i in range(4000):
                f = gb.Field.full(((i * 7 + seed) % 60 + 1, 3), seed, dims="IJ")
                held.append(np.from_dlpack(f[::2]))
                if len(held) > 40:
                    assert all((h == seed).all() for h in held)
                    held.clear()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    gc.collect()
    assert gb.memory.stats()["live_buffers"] == start


def test_the_heap_s_memory_is_freed_on_a_thread_without_the_gil() -> None:
    start = gb.memory.stats()["live_buffers"]
    f = gb.Field.zeros((5, 5))
    tensor, deleter = consume(f.__dlpack__(max_version=(1, 0)))
    del f
    assert gb.memory.stats()["live_buffers"] == start + 1
    delete_on_a_foreign_thread(tensor, deleter)
    assert gb.memory.stats()["live_buffers"] == start


def test_an_owner_dropped_on_a_thread_without_the_gil_goes_soon_after() -> None:
    owner = np.zeros(10).view(type("Owner", (np.ndarray,), {}))
    gone = weakref.ref(owner)
    tensor, deleter = consume(gb.Field(owner).__dlpack__(max_version=(1, 0)))
    del owner
    gc.collect()
    assert gone() is not None
    delete_on_a_foreign_thread(tensor, deleter)
    assert eventually(lambda: gone() is None)


def test_a_deleter_with_the_gil_releases_the_owner_at_once() -> None:
    owner = np.zeros(10).view(type("Owner", (np.ndarray,), {}))
    gone = weakref.ref(owner)
    taken = np.from_dlpack(gb.Field(owner))
    del owner
    assert gone() is not None
    del taken
    assert gone() is None


EXIT = """
import threading, gridbuf as gb, numpy as np
busy = threading.Barrier(5)
def forever(n):
    while True:
        f = gb.Field.zeros((n % 100 + 1, 5)); np.from_dlpack(f[1:]); gb.plan((n, 2)); n += 1
        if n % 1000 == 20: busy.wait()
for s in range(4):
    threading.Thread(target=forever, args=(s * 1000,), daemon=True).start()
busy.wait()
kept = gb.Field.zeros((10, 10)).__dlpack__(max_version=(1, 0))
"""


def test_the_process_ends_while_threads_allocate() -> None:
    for _ in range(10):
        python(EXIT)
