"""Functions of Fields carried out block by block: which operands are of one grid, what is refused,
and what the results make.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.names import joined

NAMED: Any = (_core.Field, _core.StorageBase)  # arrays whose dims have names
SCALARS = int, float, complex, str, bytes, np.generic
# By the names of NumPy's functions: the calls of a grid that give the number of a whole field.
WHOLE = {
    "sum": "sum", "mean": "mean", "min": "min", "amin": "min", "max": "max", "amax": "max",
    "any": "any", "all": "all", "argmin": "argmin", "argmax": "argmax", "dot": "dot",
    "norm": "norm", "add.reduce": "sum", "minimum.reduce": "min", "maximum.reduce": "max",
    "logical_or.reduce": "any", "logical_and.reduce": "all", "vdot": "dot", "vecdot": "dot",
}  # fmt: skip
# Functions whose values depend on all points along an axis.
ALONG = {
    "sum", "prod", "mean", "std", "var", "min", "max", "amin", "amax", "any", "all", "argmin",
    "argmax", "median", "percentile", "quantile", "average", "ptp", "count_nonzero", "cumsum",
    "cumprod", "nansum", "nanprod", "nanmean", "nanstd", "nanvar", "nanmin", "nanmax", "nanmedian",
    "nanpercentile", "nanquantile", "nanargmin", "nanargmax", "nancumsum", "nancumprod", "sort",
    "argsort", "partition", "argpartition", "flip", "roll", "trapezoid", "unwrap", "norm",
    "cumulative_sum", "cumulative_prod", "flipud", "fliplr", "concatenate", "repeat", "take",
    "fill_diagonal",
}  # fmt: skip
AXES = {"flipud": 0, "fliplr": 1, "concatenate": 0}  # of functions that need not be given one
# Functions whose arguments are all operands, as those of a ufunc; but for arguments of these names.
OPERANDS = {"where", "clip", "copyto", "isclose", "full_like"}
NO_OPERANDS = {"axis", "axes", "dtype", "shape", "signature"}
# The arguments of functions that tell no signature with some versions of NumPy.
ARGUMENTS = {
    "concatenate": ("arrays", "axis", "out"),
    "copyto": ("dst", "src"),
    "where": ("condition", "x", "y"),
}
signature = lru_cache(256)(inspect.signature)
# Functions that return nothing, and write into their first argument.
WRITERS = {"copyto", "put", "place", "putmask", "put_along_axis"}
# Functions that ask about dims and dtypes, which all blocks have alike.
QUESTIONS = {"ndim", "result_type", "can_cast", "iscomplexobj", "isrealobj", "min_scalar_type"}
# Functions that multiply and add up over whole dims.
CONTRACTIONS = {"dot", "vdot", "inner", "outer", "tensordot", "einsum", "kron", "multi_dot"}
FILES = {"save", "savez", "savez_compressed", "savetxt"}


class Partition(NamedTuple):
    """How a grid is cut, and which of its blocks a rank has: Blocks of two grids fit each other
    where these are equal.
    """

    dims: tuple[str, ...]
    tiles: tuple[Index, ...]
    cuts: tuple[tuple[Index, ...], ...]  # of each tile's axes where blocks begin
    places: tuple[tuple[int, Index], ...]  # tile and index of each of the rank's blocks

    def __str__(self) -> str:
        shapes = ", ".join(" x ".join(map(str, tile)) for tile in self.tiles[:3])
        more = ", ..." if len(self.tiles) > 3 else ""
        counts = " x ".join(str(len(axis)) for axis in self.cuts[0])
        return f"a grid of {shapes}{more} points along {joined(self.dims)} cut {counts}"

    def name_of(self, i: int) -> str:
        """A block of the rank as `repr` shows it."""
        tile, index = self.places[i]
        return f"block {index}" if len(self.tiles) == 1 else f"tile {tile}, block {index}"


def partition_of(
    dims: tuple[str, ...],
    tiles: tuple[Index, ...],
    decomposition: Decomposition,
    blocks: Iterable[Block],
) -> Partition:
    """The partition of some blocks of a decomposition."""
    cuts = tuple(
        tuple(tuple(axis.start(k) for k in range(axis.count)) for axis in tile)
        for tile in decomposition.cuts
    )
    return Partition(dims, tiles, cuts, tuple((b.tile, tuple(b.index)) for b in blocks))


def whole_tiles(dims: tuple[str, ...], tiles: tuple[Index, ...]) -> Partition:
    """The partition of a field that is gathered: each tile is a block."""
    start = (0,) * len(dims)
    cuts = tuple(((0,),) * len(dims) for _ in tiles)
    return Partition(dims, tiles, cuts, tuple((t, start) for t in range(len(tiles))))


def cut_dims(partition: Partition | None) -> tuple[str, ...]:
    """The dims along which blocks end within the grid; of an unknown grid those that grids cut
    unless told otherwise.
    """
    return ("I", "J") if partition is None else partition.dims


# ---- operands ----


def check_operand(given: Any, what: str, partition: Partition | None) -> None:
    """Refuse an operand beside Blocks that is neither a number nor a Field without the grid's
    dims.
    """
    if isinstance(given, SCALARS) or given is None:
        return
    if isinstance(given, NAMED):
        for dim in given.dims:
            if dim in cut_dims(partition):
                raise ValueError(
                    f"{what}: a Field of the dims {given.dims}, and the grid cuts {dim}; allowed"
                    " with Blocks are Blocks, numbers, and Fields without the grid's dims"
                )
    elif isinstance(given, list | tuple):
        raise TypeError(
            f"{what}: a {type(given).__name__} cannot be combined with Blocks; gbd.Blocks(list)"
            " makes Blocks of a list of Fields"
        )
    elif getattr(given, "ndim", 0):
        raise TypeError(
            f"{what}: an array of {given.ndim} dims, {type(given).__name__}, cannot be combined"
            " with Blocks; allowed are Blocks, numbers, and Fields without the grid's dims"
        )


def found_in(values: Iterable[Any], kind: type) -> Iterator[Any]:
    """The Blocks among some arguments, in lists and tuples too."""
    for value in values:
        if isinstance(value, kind):
            yield value
        elif isinstance(value, list | tuple):
            yield from (each for each in value if isinstance(each, kind))


def picked(value: Any, kind: type, i: int, like: Any = None) -> Any:
    """An argument as one block gets it; of Blocks([]), without a Field that stands for them, that
    of the others.
    """
    if isinstance(value, kind):
        return (value._parts or like._parts)[i]  # type: ignore[attr-defined]
    if isinstance(value, list | tuple) and any([isinstance(each, kind) for each in value]):
        return type(value)([picked(each, kind, i, like) for each in value])
    return value


def common(all_blocks: Sequence[Any], what: str) -> Any:
    """The Blocks whose partition a result has; ValueError where two are of different grids."""
    best = all_blocks[0]
    for other in all_blocks[1:]:
        ours, theirs = best._partition, other._partition
        if len(best._blocks) != len(other._blocks) or (
            ours is not theirs and None not in (ours, theirs) and ours != theirs
        ):
            raise ValueError(
                f"{what}: {described(best)} and {described(other)}; operands must be of one grid"
            )
        if ours is None or not best._parts:
            best = other
    return best


def described(blocks: Any) -> str:
    of = "no known grid" if blocks._partition is None else str(blocks._partition)
    return f"Blocks of {len(blocks._blocks)} on {of}"


# ---- functions of NumPy ----


def arguments_of(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name; those of a function without a signature by place."""
    try:
        bound = signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        names = ARGUMENTS.get(function.__name__, ())
        names = (*names, *(f"args[{i}]" for i in range(len(names), len(args))))
        return {**dict(zip(names, args, strict=False)), **kwargs}
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found |= value
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            found |= {f"{name}[{i}]": each for i, each in enumerate(value)}
        else:
            found[name] = value
    return found


def check_arguments(
    kind: type, name: str, arguments: Mapping[str, Any], like: Any, operands: bool = False
) -> None:
    """Refuse arguments that all blocks would share though they have a block's points, and an
    `out` that all would write.
    """
    for what, value in arguments.items():
        if what == "out":
            for each in value if isinstance(value, tuple) else (value,):
                if each is not None and not isinstance(each, kind):
                    raise TypeError(
                        f"out: expected Blocks, as {name} of Blocks gives, got"
                        f" {type(each).__name__}"
                    )
        elif isinstance(value, kind):
            continue
        elif operands and what not in NO_OPERANDS:
            check_operand(value, what, like._partition)
        else:
            for each in value if isinstance(value, list | tuple) else (value,):
                if isinstance(each, NAMED):
                    check_operand(each, what, like._partition)


def axis_of(function: Any, arguments: Mapping[str, Any]) -> Any:
    """The axis that a function of NumPy is given, or takes unless told."""
    if "axis" in arguments:
        return arguments["axis"]
    if function.__name__ in AXES:
        return AXES[function.__name__]
    try:
        parameter = signature(function).parameters.get("axis")
    except (TypeError, ValueError):
        return None
    return None if parameter is None else parameter.default


def dims_along(axis: Any, dims: tuple[str, ...]) -> list[str]:
    """The dims that an axis argument names: a name, letters, a number, or several; None: all."""
    if axis is None:
        return list(dims)
    if isinstance(axis, str):
        return [axis] if axis in dims else list(axis)
    if isinstance(axis, int | np.integer):
        return [dims[axis]] if -len(dims) <= axis < len(dims) else []
    return [dim for each in axis for dim in dims_along(each, dims)]


def refuse_along(name: str, axis: Any, blocks: Any) -> None:
    """TypeError for a function over all points along a dim that the grid cuts."""
    if not blocks._parts:
        return
    along = dims_along(axis, blocks._parts[0].dims)
    if not {*along} & {*cut_dims(blocks._partition)}:
        return
    call = WHOLE.get(name)
    instead = (
        f"grid.{call}(T) is that of the whole field" if call else "grid.gather(T) is a whole field"
    )
    raise TypeError(
        f"{name}: along {', '.join(along)} it would be computed for each block alone; {instead},"
        " and axis= may name dims that the grid does not cut"
    )


def call(
    kind: type,
    make: Callable[..., Any],
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    arguments: Mapping[str, Any] | None = None,
    operands: bool = False,
) -> Any:
    """Call a function once for each block of the Blocks among its arguments.

    Parameters
    ----------
    kind
        Blocks; `make` makes one of parts and of Blocks that it is like.
    name
        The function's, for errors.
    arguments
        `args` and `kwargs` by name, for errors; by default `args` by place.
    operands
        Whether all arguments are operands, as those of a ufunc.

    Returns
    -------
    Blocks, tuple or list of them, or None
        `out` where it is given, else as the function returns Fields; TypeError where it returns
        something else.
    """
    if arguments is None:
        arguments = {**{f"args[{i}]": value for i, value in enumerate(args)}, **kwargs}
    like = common([*found_in([*args, *kwargs.values()], kind)], name)
    check_arguments(kind, name, arguments, like, operands)
    found, out = each_block(kind, make, name, function, args, kwargs, like), arguments.get("out")
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) == 1:
        return found if outs[0] is None else outs[0]
    if isinstance(found, tuple | list) and outs:
        return tuple(
            new if given is None else given for given, new in zip(outs, found, strict=True)
        )
    return out or found


def each_block(
    kind: type,
    make: Callable[..., Any],
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    like: Any,
) -> Any:
    """The same, of arguments that were checked."""
    columns = [
        (
            [picked(a, kind, i, like) for a in args],
            {k: picked(v, kind, i, like) for k, v in kwargs.items()},
        )
        for i in range(len(like._parts))
    ]
    if like._blocks:
        results = [function(*a, **k) for a, k in columns]
    else:  # the part that stands for no block: its values are unused
        with np.errstate(all="ignore"):
            results = [function(*a, **k) for a, k in columns]
    return collected(results, like, make, name)


def collected(results: list[Any], like: Any, make: Callable[..., Any], name: str) -> Any:
    """The results of all blocks as one: Blocks, a tuple or list of Blocks, or None."""
    if not results:
        return make((), like)
    first = results[0]
    if isinstance(first, _core.Field):
        return make(tuple(results), like)
    if isinstance(first, tuple | list) and first and isinstance(first[0], _core.Field):
        columns = [make(column, like) for column in zip(*results, strict=True)]
        return tuple(columns) if isinstance(first, tuple) else columns
    if first is None:
        return None
    raise TypeError(
        f"{name}: for one block it returns {type(first).__name__}, not a Field;"
        + (f" grid.{WHOLE[name]}(T) is that of the whole field" if name in WHOLE else "")
        + " [f(block) for block in T.blocks] is a list of them"
    )


def call_function(kind: type, make: Callable[..., Any], function: Any, args: Any, kw: Any) -> Any:
    """A function of NumPy's namespace."""
    name = function.__name__
    blocks = [*found_in([*args, *kw.values()], kind)]
    if name in FILES:
        raise TypeError(
            f"{name}: it would write a file for each block; grid.save(path, T=T) writes one field"
        )
    if name in ("array_equal", "allclose", "array_equiv"):
        each = "isclose" if name == "allclose" else "equal"
        raise TypeError(
            f"{name}: it would compare this rank's blocks alone; grid.all(np.{each}(a, b)) compares"
            " the whole fields"
        )
    if name in CONTRACTIONS:
        raise TypeError(
            f"{name}: it does not go block by block; grid.dot(T, U) is of the whole fields"
        )
    if not blocks:
        raise TypeError(
            f"{name}: it got Blocks as like=, or in lists of lists; allowed are Blocks as"
            " arguments, and in lists and tuples"
        )
    like, arguments = common(blocks, name), arguments_of(function, args, kw)
    if name == "shape" and any(value is like for value in arguments.values()):
        return like.shape
    if name in ALONG:
        refuse_along(name, axis_of(function, arguments), like)
    written = next(iter(arguments.values()))
    if name in WRITERS and not isinstance(written, kind):
        raise TypeError(
            f"{name}: Blocks cannot be written into {type(written).__name__}; write into Blocks, or"
            " into one block"
        )
    if name in QUESTIONS and like._parts:
        plain = [picked(value, kind, 0, like) for value in args]
        return function(*plain, **{key: picked(value, kind, 0, like) for key, value in kw.items()})
    return call(kind, make, name, function, args, kw, arguments, name in OPERANDS)


def call_ufunc(
    kind: type, make: Callable[..., Any], ufunc: np.ufunc, method: str, inputs: Any, kw: Any
) -> Any:
    """A ufunc, or its `reduce` and `accumulate` along dims that the grid does not cut."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    like = common([*found_in([*inputs, *kw.values()], kind)], name)
    if method in ("reduce", "accumulate"):
        refuse_along(name, kw.get("axis", 0), like)
    elif method != "__call__" or ufunc.signature is not None:
        raise TypeError(
            f"{name}: it does not go block by block"
            + ("; grid.dot(T, U) is of the whole fields" if ufunc.signature is not None else "")
        )
    one = len(inputs) == 2 and any(isinstance(value, kind) for value in inputs)
    if one:
        arguments = {"other": inputs[0] if isinstance(inputs[1], kind) else inputs[1]}
    else:
        arguments = {f"inputs[{i}]": value for i, value in enumerate(inputs)}
    return call(kind, make, name, getattr(ufunc, method), inputs, kw, {**arguments, **kw}, True)
