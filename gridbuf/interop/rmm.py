"""RMM takes its memory from gridbuf's pool.

Examples
--------
>>> import rmm, gridbuf.interop.rmm  # doctest: +SKIP
>>> rmm.mr.set_current_device_resource(gridbuf.interop.rmm.resource())  # doctest: +SKIP
"""

from typing import Any

from gridbuf.cuda import pool_allocate, pool_release

__all__ = ["resource"]


def resource(device: int = 0) -> Any:
    """An `rmm.mr.CallbackMemoryResource` over gridbuf's pool of one GPU.

    Parameters
    ----------
    device : int, optional
        The GPU's number. RMM has a resource for each.

    Returns
    -------
    rmm.mr.CallbackMemoryResource

    Raises
    ------
    ImportError
        When rmm is not installed.
    MemoryError
        From the resource: no memory, or a limit (`gridbuf.memory.set_limit`).

    Examples
    --------
    >>> from gridbuf.interop.rmm import resource
    >>> rmm.mr.set_per_device_resource(1, resource(1))  # doctest: +SKIP
    """
    import rmm

    def allocate(nbytes: int, stream: Any = None) -> int:
        return pool_allocate(nbytes, device, stream)

    def release(address: int, nbytes: int, stream: Any = None) -> None:
        pool_release(address, nbytes, device, stream)

    return rmm.mr.CallbackMemoryResource(allocate, release)
