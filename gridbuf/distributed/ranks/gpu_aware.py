"""Whether MPI takes pointers of GPUs."""

import ctypes
from functools import cache

from mpi4py import MPI

from gridbuf.distributed.arguments import read_switch

VARIABLE = "GRIDBUF_GPU_AWARE_MPI"


def takes_gpus(said: bool | None) -> bool:
    """What the user says, by argument or environment, else what the library says of itself.

    Parameters
    ----------
    said : bool or None
        The argument.

    Returns
    -------
    bool
        Whether messages lie on the GPU.

    Raises
    ------
    ValueError
        When the environment variable is neither 0 nor 1.
    """
    if said is not None:
        return said
    found = read_switch(VARIABLE)
    return library_takes_gpus() if found is None else found


@cache
def library_takes_gpus() -> bool:
    """Libraries that do not say count as those that do not."""
    try:
        symbols = ctypes.CDLL(MPI.__file__)
    except OSError:
        return False
    if hasattr(symbols, "MPIX_Query_cuda_support"):
        return bool(symbols.MPIX_Query_cuda_support())
    if hasattr(symbols, "MPIX_GPU_query_support"):
        found = ctypes.c_int(0)
        return symbols.MPIX_GPU_query_support(0, ctypes.byref(found)) == 0 and bool(found.value)
    return False
