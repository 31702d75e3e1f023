"""A process's memory, and memory in small pages whatever huge ones a machine gives unasked: else
what is counted in pages is its settings.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SET, GET = 41, 42  # PR_SET_THP_DISABLE, PR_GET_THP_DISABLE of Linux


def _prctl(option: int, value: int = 0) -> int:
    words = [ctypes.c_ulong(each) for each in (value, 0, 0, 0)]
    return int(ctypes.CDLL(None).prctl(option, *words))


@contextmanager
def small_pages() -> Iterator[None]:
    """What is touched for the first time meanwhile; a page fault of 2 MiB would count as one, and
    as much memory as 512.
    """
    unasked = sys.platform == "linux" and _prctl(GET) == 0
    if unasked:
        assert _prctl(SET, 1) == 0
    try:
        yield
    finally:
        if unasked:
            _prctl(SET, 0)


def resident() -> int:
    """This process's memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
