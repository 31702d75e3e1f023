"""What a manifest must say to be used: whatever else it says, it is damaged, and nothing is opened
that it names.
"""

from collections.abc import Callable
from typing import Any

from gridbuf.distributed.dtype_names import dtype_of
from gridbuf.distributed.plans.layouts import POSITIONS

Said = dict[str, Any]


class Wrong(Exception):
    """What a manifest says is not what `describe` writes."""


def check_all(found: Said) -> None:
    """Hold all that is used of a manifest to be of the kind that `describe` writes, and of sizes
    that fit each other.
    """
    dims = held(found, "dims", "", "list of names", are(is_name))
    tiles = held(
        found,
        "tiles",
        "",
        "list of shapes along the dims",
        are(lambda tile: is_shape(tile, len(dims))),
    )
    held(found, "store", "", "name", is_name)
    held(found, "attributes", "", "dict", lambda given: isinstance(given, dict))
    for name, its in held(
        found, "fields", "", "dict of fields", lambda given: isinstance(given, dict)
    ).items():
        if not isinstance(its, dict):
            raise Wrong(f"the field {name!r} is {its!r}, which is no dict")
        check_field(f" of {name!r}", its, dims, tiles)


def check_field(of: str, its: Said, dims: list[str], tiles: list[list[int]]) -> None:
    order = held(
        its,
        "dims",
        of,
        "list of different names",
        lambda given: are(is_name)(given) and len({*given}) == len(given),
    )
    held(its, "dtype", of, "dtype of NumPy", is_dtype)
    held(
        its,
        "checksum",
        of,
        "number of 16 digits",
        lambda given: isinstance(given, str) and len(given) == 16,
    )
    cut, count = {*order} & {*dims}, len(tiles)
    by = held(
        its,
        "positions",
        of,
        "dict of positions along the dims that the grid cuts",
        lambda given: (
            isinstance(given, dict)
            and {*given} == cut
            and are(POSITIONS.__contains__)([*given.values()])
        ),
    )
    held(
        its,
        "arrays",
        of,
        "list of names, one a tile",
        lambda given: are(is_name)(given) and len(given) == count,
    )
    shapes = held(
        its,
        "shapes",
        of,
        "list of shapes, one a tile",
        lambda given: are(lambda shape: is_shape(shape, len(order)))(given) and len(given) == count,
    )
    held(its, "attributes", of, "dict", lambda given: isinstance(given, dict))
    layout = its.get("layout", {"order": order, "halo": [[0, 0]] * len(order), "alignment": 1})
    if not isinstance(layout, dict) or not is_layout(layout, order):
        raise Wrong(f"'layout'{of} is {layout!r}, which is no layout of the dims {order!r}")
    for shape, tile in zip(shapes, tiles, strict=True):
        for dim, n, first in zip(order, shape, shapes[0], strict=True):
            if n != (tile[dims.index(dim)] + (by[dim] == "face") if dim in by else first):
                raise Wrong(f"'shapes'{of} is {shapes!r}, which does not fit the tiles {tiles!r}")


def held(said: Said, key: str, of: str, what: str, fits: Callable[[Any], bool]) -> Any:
    """What is said under a key; Wrong where it is not what belongs there."""
    if key not in said:
        raise Wrong(f"it lacks {key!r}{of}")
    if not fits(said[key]):
        raise Wrong(f"{key!r}{of} is {said[key]!r}, which is no {what}")
    return said[key]


def are(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, list) and all(map(kind, given))


def is_name(given: Any) -> bool:
    """A name that leads nowhere else: of digits, letters and _."""
    return isinstance(given, str) and f"_{given}".isidentifier()


def is_shape(given: Any, ndim: int) -> bool:
    return (
        isinstance(given, list)
        and len(given) == ndim
        and all(type(n) is int and 0 <= n < 2**63 for n in given)
    )


def is_layout(given: Said, dims: list[str]) -> bool:
    """The order of dims in memory, a halo for each, and an alignment in bytes."""
    order, halo, alignment = (given.get(key) for key in ("order", "halo", "alignment"))
    return bool(
        are(is_name)(order)
        and sorted(order or []) == sorted(dims)
        and are(lambda pair: is_shape(pair, 2) and max(pair) < 2**31)(halo)
        and len(halo or []) == len(dims)
        and type(alignment) is int
        and alignment in (1, 2, 4, 8, 16, 32, 64)
    )


def is_dtype(given: Any) -> bool:
    """One whose elements are in the array itself. ImportError where only ml_dtypes knows it, and is
    not there.
    """
    if not isinstance(given, str):
        return False
    try:
        return not dtype_of(given).hasobject
    except ImportError:
        raise
    except Exception:  # of a text that nobody wrote so
        return False
