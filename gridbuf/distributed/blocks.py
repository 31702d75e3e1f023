"""Blocks: a field on another number of blocks than one, as one object, so that a program reads the
same for any number of blocks on a rank.

A rank without blocks keeps one Field, no larger than a block, that stands for them: results have
its dims, dtype and halo, and its values are never used.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gridbuf import _core
from gridbuf.distributed import blockwise
from gridbuf.distributed.arguments import entries
from gridbuf.distributed.blockwise import Partition, check_operand
from gridbuf.distributed.plans.layouts import as_field

Parts = tuple[_core.Field, ...]


class Blocks:
    """A field on several blocks of a grid, or on none: a sequence of Fields that is used as one
    Field is.

    Operators, ufuncs and NumPy's functions go block by block, and so do `T[1:, 2:]`, `T[...] = x`,
    `copy`, `astype`, ... An index that is an int is the number of a block: `T[0]` is the first.
    Other operands are Blocks of the same grid, numbers, and Fields without the grid's dims.

    Parameters
    ----------
    fields : sequence of Field
        One for each of a rank's blocks, in the order of `grid.blocks`.

    Attributes
    ----------
    blocks : tuple of Field
        The Fields.
    shape : tuple of tuple of int
        The shape of each block.
    strides : tuple of tuple of int
        The strides of each block, in bytes.
    dims, dtype, halo, ndim, itemsize, origin, device
        The values that all Fields share.
    nbytes : int
        Of all blocks of the rank.
    domain, real, imag, T : Blocks
        Those of each.

    Raises
    ------
    TypeError, ValueError
        When `fields` is no sequence of Fields, or their dims or dtypes differ.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.grid((8, 6), blocks=(2, 1), halo=1)
    >>> T = grid.ones()
    >>> T[...] = 2 * T + 1
    >>> T.shape, T.dims, float(T[1][0, 0])
    (((6, 8), (6, 8)), ('I', 'J'), 3.0)
    """

    __slots__ = "__weakref__", "_blocks", "_partition", "_parts"
    __hash__: ClassVar[None]  # type: ignore[assignment]
    _blocks: Parts
    _parts: Parts  # the blocks, or where there are none the Field that stands for them, or nothing
    _partition: Partition | None
    _knows_names: ClassVar = True  # a Field leaves a ufunc with Blocks to them

    def __init__(self, fields: Sequence[Any]) -> None:
        if isinstance(fields, _core.Field | np.ndarray):
            raise TypeError(
                f"fields: expected a sequence of Fields, got {type(fields).__name__}; for one"
                " block write [field]"
            )
        found = tuple(
            as_field(each, f"fields[{i}]") for i, each in enumerate(entries(fields, "fields"))
        )
        for i, each in enumerate(found):
            for what in ("dims", "dtype"):
                a, b = getattr(found[0], what), getattr(each, what)
                if a != b:
                    raise ValueError(
                        f"fields[{i}]: its {what} is {b}, that of fields[0] {a}; all must be equal"
                    )
        self._blocks = found
        self._parts = fields._parts if isinstance(fields, Blocks) else found
        self._partition = fields._partition if isinstance(fields, Blocks) else None

    # ---- a sequence of Fields ----

    @property
    def blocks(self) -> Parts:
        return self._blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[_core.Field]:
        return iter(self._blocks)

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, _core.Field):
            return any(value is each for each in self._blocks)
        raise TypeError(
            f"in: expected a Field, got {type(value).__name__}, of which this rank's blocks alone"
            " would be asked; grid.any(T == x) asks the whole field"
        )

    def __getitem__(self, key: Any) -> Any:
        if is_number(key):
            return self._block(key)
        if not self._parts:
            return self
        if isinstance(key, str):
            return make(tuple([field_of_record(part, key) for part in self._parts]), self)
        keys = key if isinstance(key, tuple) else (key,)
        self._check_key(keys)
        found = [part[one_key(keys, i, self)] for i, part in enumerate(self._parts)]
        if isinstance(found[0], _core.Field):
            return make(tuple(found), self)
        return found[: len(self._blocks)]

    def _check_key(self, keys: tuple[Any, ...], *values: Any) -> None:
        what = "assignment" if values else "index"
        blockwise.common([self, *blockwise.found_in([*keys, *values], Blocks)], what)
        blockwise.check_arguments(Blocks, what, {"index": keys}, self)

    def _block(self, number: Any) -> _core.Field:
        try:
            found: _core.Field = self._blocks[number]
            return found
        except IndexError:
            raise IndexError(
                f"index: {number}, and this rank has {len(self._blocks)} blocks; T[...] goes to"
                " every block, as T[1:, 2:] does"
            ) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_number(key):
            if value is not self._block(key):  # T[0] += 1 has changed the block in its place
                raise TypeError(
                    f"index: T[{key}] is a block, and stays the same Field; T[...] = x, or"
                    f" T.blocks[{key}][...] = x"
                )
            return
        keys = key if isinstance(key, tuple) else (key,)
        self._check_key(keys, value)
        if not isinstance(value, Blocks):
            check_operand(value, "value", self._partition)
        for i, part in enumerate(self._parts):
            part[one_key(keys, i, self)] = blockwise.picked(value, Blocks, i, self)

    def __bool__(self) -> bool:
        return bool(self._only("bool(T)"))

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:
        return np.asarray(self._only("np.asarray(T)"), dtype, copy=copy)

    def _only(self, call: str) -> _core.Field:
        if len(self._blocks) != 1:
            raise TypeError(
                f"{call}: T is a field on {len(self._blocks)} blocks; use grid.any(T), grid.all(T)"
                " or grid.gather(T) for the whole field, or T.blocks[n] for one block"
            )
        return self._blocks[0]

    def __repr__(self) -> str:
        lines = [f"  {self._name(i)}: {field!r}" for i, field in enumerate(self._blocks)]
        if lines:
            return "\n".join([f"Blocks({len(lines)}:", *lines]) + ")"
        return "Blocks(0)" if not self._parts else f"Blocks(0, as {self._parts[0]!r})"

    def _name(self, i: int) -> str:
        return f"[{i}]" if self._partition is None else f"[{i}] {self._partition.name_of(i)}"

    def __reduce__(self) -> Any:
        return rebuilt, (self._parts, bool(self._blocks), self._partition)

    def __copy__(self) -> "Blocks":
        return self.copy()

    # ---- attributes ----

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(_core.Field, name):
            raise AttributeError(
                f"Blocks have no {name!r}: T.blocks[n].{name} is that of one block, and"
                f" [f.{name} for f in T.blocks] that of each"
            )
        raise AttributeError(f"'Blocks' object has no attribute {name!r}")

    def _alike(self, name: str) -> Any:
        if not self._parts:
            raise ValueError(
                f"{name}: Blocks([]) has no Field; what a grid makes knows its {name} on ranks"
                " without blocks too"
            )
        first = getattr(self._parts[0], name)
        for i, part in enumerate(self._parts):
            if getattr(part, name) != first:
                raise ValueError(
                    f"{name}: block 0 has {first}, block {i} has {getattr(part, name)};"
                    f" T.blocks[{i}].{name} is that of one block"
                )
        return first

    @property
    def shape(self) -> tuple[tuple[int, ...], ...]:
        return tuple([field.shape for field in self._blocks])

    @property
    def strides(self) -> tuple[tuple[int, ...], ...]:
        return tuple([field.strides for field in self._blocks])

    @property
    def nbytes(self) -> int:
        return sum([field.nbytes for field in self._blocks])

    def _mapped(self, function: Callable[..., Any], name: str, **operands: Any) -> Any:
        """Blocks of what a function makes of each block, and of its operands."""
        given = (self, *operands.values())
        return blockwise.call(Blocks, make, name, function, given, {}, operands, True)

    # ---- NumPy ----

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return blockwise.call_ufunc(Blocks, make, ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return blockwise.call_function(Blocks, make, function, args, kwargs)

    def copy(self) -> "Blocks":
        """Copies of all blocks, with their layouts, dims and halos.

        Returns
        -------
        Blocks
            Over new memory.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> T = gbd.grid((4,), "I", blocks=(2,)).ones()
        >>> U = T.copy()
        >>> U[...] = 2
        >>> float(T[0][0])
        1.0
        """
        return make(tuple([part.copy() for part in self._parts]), self)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> "Blocks":
        """As `Field.astype`, for each block.

        Parameters
        ----------
        dtype : dtype_like
            Of the result.
        *args, **kwargs
            As for `Field.astype`.

        Returns
        -------
        Blocks

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((4,), "I", blocks=(2,)).ones().astype("i4").dtype
        dtype('int32')
        """
        return make(tuple([part.astype(dtype, *args, **kwargs) for part in self._parts]), self)

    def to(self, *args: Any, **kwargs: Any) -> "Blocks":
        """As `Field.to`, for each block: a copy in another layout, dtype or order of dims.

        Parameters
        ----------
        *args, **kwargs
            As for `Field.to`.

        Returns
        -------
        Blocks

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((4, 4), blocks=(2, 1)).ones().to(dims="JI").dims
        ('J', 'I')
        """
        return make(tuple([part.to(*args, **kwargs) for part in self._parts]), self)

    def fill(self, value: Any) -> None:
        """Give every element of every block one value.

        Parameters
        ----------
        value : scalar
            Converted as by assignment.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> T = gbd.grid((4,), "I", blocks=(2,)).ones()
        >>> T.fill(3)
        >>> float(T[1][0])
        3.0
        """
        for part in self._parts:
            part.fill(value)

    def transpose(self, *dims: Any) -> "Blocks":
        """The dims in another order, over the same memory.

        Parameters
        ----------
        *dims
            As for `Field.transpose`.

        Returns
        -------
        Blocks

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((4, 4), blocks=(2, 1)).ones().transpose("J", "I").dims
        ('J', 'I')
        """
        return make(tuple([part.transpose(*dims) for part in self._parts]), self)


def make(parts: Parts, like: Blocks) -> Blocks:
    """Blocks of these parts, on the blocks of others."""
    found = object.__new__(Blocks)
    found._parts = parts
    found._blocks = parts if like._blocks else ()
    found._partition = like._partition
    return found


def on_grid(parts: Sequence[_core.Field], some: bool, partition: Partition) -> Blocks:
    """The Blocks of a grid; `some`: whether the rank has blocks, or one Field stands for them."""
    return rebuilt(tuple(parts), some, partition)


def rebuilt(parts: Parts, some: bool, partition: Partition | None) -> Blocks:
    found = object.__new__(Blocks)
    found._parts = parts
    found._blocks = parts if some else ()
    found._partition = partition
    return found


def one_key(keys: tuple[Any, ...], i: int, blocks: Blocks) -> Any:
    """A key as one block gets it. The Field that stands for no block may be smaller than a block,
    and its values are unused: of it point 0 is taken in place of any other.
    """
    found = blockwise.picked(keys, Blocks, i, blocks)
    if not blocks._blocks:
        found = tuple([at_zero(key) for key in found])
    return found[0] if len(found) == 1 else found


def at_zero(key: Any) -> Any:
    """A key with 0 in place of all numbers of points."""
    if isinstance(key, list):
        key = np.asarray(key)
    if is_number(key):
        return 0
    return np.zeros_like(key) if getattr(key, "dtype", np.dtype(bool)).kind in "iu" else key


def field_of_record(part: _core.Field, name: str) -> _core.Field:
    """A field of a record as a Field over the same memory."""
    return _core.Field(part[name], dims=part.dims, halo=part.halo)


def is_number(key: Any) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def _operator(name: str, swapped: bool = False) -> Callable[..., Any]:
    operation: Any = getattr(operator, name, None) or divmod
    carried: Any = (lambda a, b: operation(b, a)) if swapped else operation
    quick, new = name != "divmod", object.__new__

    def method(self: Blocks, other: Any, *modulus: Any) -> Any:
        if modulus:
            raise TypeError("pow: a third argument does not go block by block; write T**n % m")
        if type(other) is Blocks:
            # Blocks of one grid: the call is what the blocks' own calls cost, and little more.
            partition = self._partition
            if quick and other._partition is partition is not None and self._blocks:
                found = new(Blocks)
                found._blocks = found._parts = tuple(map(carried, self._parts, other._parts))
                found._partition = partition
                return found
        elif not isinstance(other, Blocks):
            check_operand(other, "other", self._partition)
        like = blockwise.common([self, *blockwise.found_in([other], Blocks)], name)
        return blockwise.each_block(Blocks, make, name, carried, (self, other), {}, like)

    return method


def _in_place(name: str) -> Callable[..., Any]:
    operation = getattr(operator, name)

    def method(self: Blocks, other: Any) -> Blocks:
        if not isinstance(other, Blocks):
            check_operand(other, "other", self._partition)
        like = blockwise.common([self, *blockwise.found_in([other], Blocks)], name)
        blockwise.each_block(Blocks, make, name, operation, (self, other), {}, like)
        return self

    return method


def _unary(name: str) -> Callable[[Blocks], Blocks]:
    operation = getattr(operator, name)

    def method(self: Blocks) -> Blocks:
        return make(tuple(map(operation, self._parts)), self)

    return method


_ALONG = """{name} along dims that the grid does not cut, for each block.

Parameters
----------
axis : str, int or tuple of them
    Which dims.
*args, **kwargs
    As for `numpy.{name}`.

Returns
-------
Blocks
    As `Field.{name}` gives them.

Raises
------
TypeError
    When the grid cuts one of the dims: `grid.sum(T)` and its like are of the whole field.

Examples
--------
>>> import gridbuf.distributed as gbd
>>> T = gbd.grid((4,), "I", blocks=(2,)).ones("IK", sizes={{"K": 3}})
>>> T.{name}("K").shape
{shape}
"""
_EACH = """As `Field.{name}`, for each block.

Parameters
----------
*args, **kwargs
    As for `Field.{name}`.

Returns
-------
Blocks

Examples
--------
>>> import gridbuf.distributed as gbd
>>> gbd.grid((4,), "I", blocks=(2,)).ones().{name}({given}).shape
((2,), (2,))
"""


def _along(name: str) -> Callable[..., Any]:
    of, model = getattr(_core.Field, name), getattr(np, name)

    def method(self: Blocks, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        blockwise.refuse_along(name, axis, self)
        given = (self, axis, *args)
        arguments = blockwise.arguments_of(model, given, kwargs) if args or kwargs else {}
        return blockwise.call(Blocks, make, name, of, given, kwargs, arguments)

    shape = "((2, 3), (2, 3))" if name.startswith("cum") else "((2,), (2,))"
    method.__doc__ = _ALONG.format(name=name, shape=shape)
    return named(method, name)


def _each(name: str) -> Callable[..., Any]:
    of = getattr(_core.Field, name)

    def method(self: Blocks, *args: Any, **kwargs: Any) -> Any:
        arguments = blockwise.arguments_of(of, (self, *args), kwargs)
        return blockwise.call(Blocks, make, name, of, (self, *args), kwargs, arguments, True)

    method.__doc__ = _EACH.format(name=name, given="0, 1" if name == "clip" else "")
    return named(method, name)


def named(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    method.__name__, method.__qualname__ = name, f"Blocks.{name}"
    return method


def _install() -> None:
    """Give Blocks the operators, and the properties and methods that are alike."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "and", "or",
                 "xor", "lshift", "rshift"):  # fmt: skip
        function = f"{name}_" if name in ("and", "or") else name
        methods = {f"__{name}__": _operator(function), f"__r{name}__": _operator(function, True)}
        if name != "divmod":
            methods[f"__i{name}__"] = _in_place(f"i{name}")
        for method, made in methods.items():
            setattr(Blocks, method, made)
    for name in ("lt", "le", "eq", "ne", "gt", "ge"):
        setattr(Blocks, f"__{name}__", _operator(name))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(Blocks, f"__{name}__", _unary(name))
    for name in ("sum", "prod", "mean", "std", "var", "min", "max", "any", "all", "argmin",
                 "argmax", "cumsum", "cumprod"):  # fmt: skip
        setattr(Blocks, name, _along(name))
    for name in ("dims", "dtype", "halo", "ndim", "itemsize", "origin", "device"):
        doc = f"`Field.{name}`, the same for all blocks."
        setattr(Blocks, name, property(partial(_get_alike, name), doc=doc))
    for name in ("domain", "real", "imag", "T"):
        doc = f"`Field.{name}` of each block, as Blocks."
        setattr(Blocks, name, property(partial(_get_each, name), doc=doc))
    for name in ("round", "clip", "conj", "conjugate"):
        setattr(Blocks, name, _each(name))


def _get_alike(name: str, self: Blocks) -> Any:
    return self._alike(name)


def _get_each(name: str, self: Blocks) -> Blocks:
    return make(tuple([getattr(part, name) for part in self._parts]), self)


_install()
Blocks.__hash__ = None  # == gives Blocks
