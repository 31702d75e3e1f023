"""The fake driver as the tests steer it, and looking at device memory."""

import ctypes
import os

import numpy as np

MODE = os.environ.get("GRIDBUF_DEVICE_TESTS")  # "fake", "gpu", or None: these tests are not run


class Fake:
    """The fake driver's own controls (cuda/fake/control.c)."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        for name in ("fake_count", "fake_misuses", "fake_pump", "fake_queued", "fake_blocks", "fake_open_events", "fake_bytes"):
            getattr(self._library, name).restype = ctypes.c_int64
        self._library.fake_pump.argtypes = [ctypes.c_uint64, ctypes.c_int64]
        self._library.fake_fail.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int]
        self._library.fake_last_misuse.restype = ctypes.c_char_p

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
