"""What a request came to, remembered by what it was: programs ask for the same storages in every step.

Only what cannot change is a key: exact ints, strs, None, tuples of those, NumPy's types and dtypes, and Metas. Lists count as tuples
and NumPy's integers as ints. 1.0 and True equal 1 and are no sizes, so they must not be found by it.
"""

from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.storage import memory
from gridbuf.storage.broadcasting import BoundedCache
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.meta import Meta

# A plan of host memory and the Meta; None where the answer is not one of host memory alone.
Answer = tuple[_core.Plan, Meta] | None

_ANSWERS: BoundedCache[Answer] = BoundedCache(1024)
_WRAPPED: BoundedCache[Meta] = BoundedCache(1024)


def key_of(dtype: Any, spec: Any, *more: Any) -> tuple[Any, ...] | None:
    """The request as a key, or None; `more` are constants."""
    if type(dtype) is list:  # the one parameter that tells a list from a tuple
        return None
    key = _core.constant((dtype, *spec.items()) if spec else (dtype,))
    return None if key is None else (*more, *key)


def shape_key(shape: Any, dtype: Any, spec: Any) -> tuple[Any, ...] | None:
    """`key_of` for a shape that the caller gave."""
    if type(dtype) is list:
        return None
    key: tuple[Any, ...] | None = _core.constant((shape, dtype, *spec.items()) if spec else (shape, dtype))
    return key


# NumPy's own dtypes, each of which there is once.
_OWN = {id(np.dtype(char)): char for char in "?bBhHiIlLefdgFDG"}


def data_key(data: Any) -> tuple[Any, ...] | None:
    """What data say of a storage like them, as far as it does not depend on values; None for what has to be looked at."""
    cls = type(data)
    if cls is CPUStorage:
        key: tuple[Any, ...] = data._meta, data._host.shape
        dtype = data._host.dtype
    elif cls is np.ndarray:
        key, dtype = (None, data.shape, data.strides), data.dtype
    elif cls is _core.HostField:
        key, dtype = (getattr(data, "__gt_dims__", None), data.halo, data.shape, data.strides), data.dtype
    else:
        return None
    own = _OWN.get(id(dtype))
    return None if own is None else (*key, own)  # one that has metadata may equal one without


def known(key: tuple[Any, ...] | None, zero: bool) -> Any:
    """A new host storage as a request like this gave one before, or None."""
    answer = None if key is None else _ANSWERS.get(key)
    return None if answer is None else _core.storage_of_plan(CPUStorage, answer[0], answer[1], zero)


def remember(key: tuple[Any, ...] | None, made: Any) -> None:
    """Note what a request came to."""
    if key is not None and type(made) is CPUStorage:
        _ANSWERS[key] = memory.host_plan(made.shape, made.dtype, made._meta), made._meta


def known_around(key: tuple[Any, ...] | None) -> Meta | None:
    """The Meta of a storage around memory of that shape and strides, or None."""
    return None if key is None else _WRAPPED.get(key)


def remember_around(key: tuple[Any, ...] | None, meta: Meta) -> None:
    """Note it; only where no address was looked at, which is where no alignment is asked for."""
    if key is not None and meta.alignment == 1:
        _WRAPPED[key] = meta
