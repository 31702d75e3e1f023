"""What a request came to, remembered by what it was: programs ask for the same storages in every
step.

Only what cannot change is a key (pyext/storage/request.c): exact ints, strs, None, tuples of those,
NumPy's types and dtypes, and Metas. Lists count as tuples and NumPy's integers as ints. 1.0 and
True equal 1 and are no sizes, so they must not be found by it. How many backends were registered is
part of a key: a name may mean another backend since.
"""

from typing import Any

from gridbuf import _core
from gridbuf.common import BoundedCache
from gridbuf.storage import memory
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.meta import Meta

# A plan of host memory and the Meta, for what is a host storage.
ANSWERS: BoundedCache[tuple[_core.Plan, Meta]] = BoundedCache(1024)
# The Meta of a storage around memory of such a shape and strides.
AROUND: BoundedCache[Meta] = BoundedCache(1024)


def remember(key: tuple[Any, ...] | None, made: Any) -> None:
    """Note what a request came to."""
    if key is not None and type(made) is CPUStorage:
        ANSWERS[key] = memory.host_plan(made.shape, made.dtype, made._meta), made._meta


def remember_around(key: tuple[Any, ...] | None, meta: Meta) -> None:
    """The same of a storage around memory; its address must not have been looked at, which is where
    no alignment is asked for.
    """
    if key is not None:
        AROUND[key] = meta
