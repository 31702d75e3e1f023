"""Whether the runtime of Go finds the address space that it reserves; else it ends the process."""

import resource

NEEDED = 850 << 20  # bytes; most of them are never written


def check() -> None:
    """ImportError where a limit (ulimit -v) leaves too little."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    from mmap import MAP_ANONYMOUS, MAP_PRIVATE, PROT_READ, mmap

    try:
        mmap(-1, NEEDED, flags=MAP_PRIVATE | MAP_ANONYMOUS, prot=PROT_READ).close()
    except OSError:
        raise ImportError(
            f"gridbuf: the address space is limited to {limit >> 20} MiB (ulimit -v), and Go's runtime needs {NEEDED >> 20} MiB that are free"
        ) from None
