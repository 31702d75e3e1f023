"""The fake driver as the tests steer it, and looking at device memory."""

import ctypes
import os

import numpy as np

MODE = os.environ.get("GRIDBUF_DEVICE_TESTS")  # "fake", "gpu", or None: these tests are not run


class Fake:
    """The fake driver's own controls (cuda/fake/control.c)."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        for name in (
            "fake_count",
            "fake_misuses",
            "fake_pump",
            "fake_queued",
            "fake_blocks",
            "fake_open_events",
            "fake_bytes",
        ):
            getattr(self._library, name).restype = ctypes.c_int64
        self._library.fake_pump.argtypes = [ctypes.c_uint64, ctypes.c_int64]
        self._library.fake_fail.argtypes = [
            ctypes.c_char_p,
            ctypes.c_int64,
            ctypes.c_int,
            ctypes.c_int,
        ]
        self._library.fake_last_misuse.restype = ctypes.c_char_p
        self._library.fake_stream_on.restype = ctypes.c_uint64
        self._library.fake_look.restype = ctypes.c_void_p
        self._library.fake_look.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
        self._library.fake_foreign_set.argtypes = [
            ctypes.c_uint64,
            ctypes.c_int,
            ctypes.c_size_t,
            ctypes.c_uint64,
        ]
        self._library.fake_clear_misuses.restype = None

    def count(self, name: str = "") -> int:
        """Calls of an entry point so far; of all without a name."""
        return int(self._library.fake_count(name.encode()))

    def fail(self, name: str, nth: int = 1, code: int = 2, sticky: bool = False) -> None:
        """The nth call from now on fails with a code (2: out of memory)."""
        self._library.fake_fail(name.encode(), nth, code, int(sticky))

    def no_failures(self) -> None:
        self._library.fake_no_failures()

    def pending_failures(self) -> int:
        return int(self._library.fake_failures())

    def hold(self, on: bool) -> None:
        """While held, queued work waits until it is pumped or somebody synchronises."""
        self._library.fake_hold(int(on))

    def pump(self, stream: int = (1 << 64) - 1, most: int = 1 << 30) -> int:
        return int(self._library.fake_pump(stream, most))

    def run_every(self, microseconds: int) -> None:
        """Held work is done by a thread, one piece at a time; 0 stops it."""
        self._library.fake_run_every(microseconds)

    def stream(self, device: int = 0, blocking: bool = False) -> int:
        """A stream of another library's on a GPU."""
        return int(self._library.fake_stream_on(device, int(blocking)))

    def slow(self, device: int) -> None:
        """Held work of that GPU is done after all that the others can do; -1: none is slow."""
        self._library.fake_slow(device)

    def watch(self, on: bool) -> None:
        """Work that nothing puts in order with unfinished work on the same memory is misuse."""
        self._library.fake_watch(int(on))

    def late(self, on: bool) -> None:
        """Pageable memory is read when its copy is done, not when it is queued."""
        self._library.fake_late(int(on))

    def awaited(self, questions: int) -> None:
        """All held work is done at the nth question after an event that has not passed."""
        self._library.fake_awaited(questions)

    def set_bytes(self, address: int, value: int, count: int, stream: int) -> None:
        """Another library's kernel on its stream: count bytes of one value."""
        self._library.fake_foreign_set(address, value, count, stream)

    def order_again(
        self, event: ctypes.c_void_p | None, earlier: int, later: int
    ) -> ctypes.c_void_p:
        """`later` waits for what is on `earlier` now, by an event of the driver's, made or recorded
        again, on GPU 0.
        """
        context = ctypes.c_void_p()
        self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self._library.cuCtxPushCurrent_v2(context)
        if event is None:
            event = ctypes.c_void_p()
            assert self._library.cuEventCreate(ctypes.byref(event), 2) == 0
        assert self._library.cuEventRecord(event, ctypes.c_void_p(earlier)) == 0
        assert self._library.cuStreamWaitEvent(ctypes.c_void_p(later), event, 0) == 0
        self._library.cuCtxPopCurrent_v2(ctypes.byref(context))
        return event

    def look(self, address: int, dtype: str, count: int = 1) -> np.ndarray:
        """Device memory as it is now."""
        nbytes = np.dtype(dtype).itemsize * count
        return np.frombuffer(
            ctypes.string_at(self._library.fake_look(address, nbytes), nbytes), dtype
        )

    def backing(self, address: int, count: int) -> int:
        """Where the host finds device memory."""
        return int(self._library.fake_look(address, count))

    def expect_misuse(self) -> str | None:
        """What was used wrongly, which is forgotten."""
        found = self.misuses()
        self._library.fake_clear_misuses()
        return found

    def blocks(self) -> int:
        return int(self._library.fake_blocks())

    def misuses(self) -> str | None:
        return self._library.fake_last_misuse().decode() if self._library.fake_misuses() else None


def values_of(field: object) -> np.ndarray:
    """A Field's or array's values on the host."""
    import gridbuf as gb

    wrapped = gb.Field(field)
    target = np.empty(wrapped.shape, wrapped.dtype)
    gb.copyto(target, wrapped)
    return target
