"""Whether the runtime of Go finds the address space that it reserves as it is loaded; else it ends the process, with a page of its own."""

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
            f"gridbuf: the address space is limited to {limit >> 20} MiB (ulimit -v), and of it less than {NEEDED >> 20} MiB are left, "
            "which the runtime of Go reserves; raise the limit, or set OPENBLAS_NUM_THREADS=1"
        ) from None
