"""glibc's malloc set to keep large blocks: for XLA, torch and other C libraries that allocate
beside NumPy.

glibc maps blocks above a threshold and gives the end of its heap back to the system, so that pages
of a block which is freed and allocated again are faulted in each time.
"""

import ctypes
import os

VARIABLES = "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"
TUNABLES = "glibc.malloc.mmap_threshold", "glibc.malloc.trim_threshold"
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
LARGEST_TRIM = 2**31 - 1
LARGEST_MAPPED = 1 << 30, 32 << 20  # glibc before 2.35 refuses the first


def keep_blocks() -> bool:
    """Have glibc keep freed memory, for the rest of the process.

    Returns
    -------
    bool
        False where the C library is another one, or the environment has glibc's thresholds.
    """
    if not is_glibc() or is_configured():
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    mapped = any(mallopt(M_MMAP_THRESHOLD, size) for size in LARGEST_MAPPED)
    return bool(mallopt(M_TRIM_THRESHOLD, LARGEST_TRIM)) and mapped


def is_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, OSError, ValueError):  # Windows; musl; macOS
        return False


def is_configured() -> bool:
    """Whether the environment sets a threshold."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return any(name in os.environ for name in VARIABLES) or any(t in tunables for t in TUNABLES)
