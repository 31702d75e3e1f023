"""What a request came to, remembered by what it was: programs ask for the same storages in every step.

Only what cannot change is a key: exact ints, strs, None, tuples of those, NumPy's types and dtypes, and Metas. 1.0 and True equal 1 and
are no sizes, so they must not be found by it.
"""

from typing import Any

from gridbuf import _core
from gridbuf.storage import memory
from gridbuf.storage.broadcasting import BoundedCache
from gridbuf.storage.cpu import CPUStorage
from gridbuf.storage.meta import Meta

# A plan of host memory and the Meta; None where the answer is not one of host memory alone.
Answer = tuple[_core.Plan, Meta] | None

_ANSWERS: BoundedCache[Answer] = BoundedCache(1024)
_WRAPPED: BoundedCache[Meta] = BoundedCache(1024)


def key_of(dtype: Any, spec: dict[str, Any], *more: Any) -> tuple[Any, ...] | None:
    """The request as a key, or None; `more` are constants."""
    key: tuple[Any, ...] = (dtype, *spec.items()) if spec else (dtype,)
    return (*more, *key) if _core.is_constant(key) else None


def shape_key(shape: Any, dtype: Any, spec: dict[str, Any]) -> tuple[Any, ...] | None:
    """`key_of` for a shape that the caller gave."""
    key: tuple[Any, ...] = (shape, dtype, *spec.items()) if spec else (shape, dtype)
    return key if _core.is_constant(key) else None


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
