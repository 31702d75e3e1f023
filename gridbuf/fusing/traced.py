"""Arguments of a function that is traced: they look like arrays, and record operations instead of
computing.
"""

import copy
import functools
import inspect
import math
import operator
from functools import partialmethod
from typing import Any

import numpy as np

from gridbuf.fusing import operations as op
from gridbuf.fusing.operations import Field, is_integer, is_memory, is_number, is_plain
from gridbuf.fusing.segments import Node
from gridbuf.fusing.traces import Trace, method, swapped

# Attributes that do not depend on sizes, and those that are another view.
_FIXED = {"ndim", "dtype", "itemsize", "dims", "axes", "device", "__gt_dims__"}
_SIZED = {"shape", "size", "nbytes", "strides", "halo", "origin", "plan", "__gt_origin__"}
_VIEWS = {"domain", "T", "mT"}
_VIEWING = {"transpose", "swapaxes", "squeeze"}
_WRITING = {
    "fill", "sort", "partition", "put", "itemset", "resize", "setfield", "setflags",
}  # fmt: skip
_WRITERS = {np.copyto, np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}
_FIRST = ("dst", "a", "arr")  # what the first parameter of those is called
_IMMUTABLE = (type(None), str, bytes, type, np.dtype, np.ufunc, slice, range)
_OUT_OF_C = {np.dot: 2, np.concatenate: 2}  # the place of out, which older NumPy does not show
_TURNING = {
    np.transpose,
    np.swapaxes,
    np.moveaxis,
    np.rollaxis,
    np.squeeze,
    np.flip,
    np.expand_dims,
}
# Descriptions of memory that do not keep the memory: NumPy is to call `__array__` instead.
_DESCRIBING = {
    "__array_interface__", "__array_struct__", "__cuda_array_interface__", "__gt_interface__",
}  # fmt: skip
_ABOUT = {np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast}


def _write(traced: "Traced", what: str) -> Any:
    """A value that the function writes into: all runs unfused from here on. Memory that it was
    given, or reads from, is refused.
    """
    trace = _live(traced._trace)
    value = trace.real(traced._node)
    if is_number(value) or trace.is_outside(value):
        raise TypeError(
            f"fused: {what} would write into memory that the function was given or reads from;"
            " return the result, and pass out="
        )
    trace.retreat()
    return value


def _write_all(trace: Trace, targets: Any, what: str) -> None:
    """The same for what a function writes into, if anything; some of it may be other arrays."""
    for target in targets:
        if isinstance(target, Traced):
            _write(target, what)
    if targets:
        trace.retreat()


class NotTraced(BaseException):
    """Raised into the function by what an argument has to be itself for; `Fused._traced` calls the
    function again, with the arguments of `Trace.plain` as they are.
    """


class Traced:
    """A value of a trace."""

    __slots__ = ("_node", "_trace")
    __array_priority__ = 1e6

    def __init__(self, trace: Trace, node: Node) -> None:
        self._trace, self._node = trace, node

    # --- what it is

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance reads this after the type
        return type(self._value)

    @property
    def _value(self) -> Any:
        return _live(self._trace).run.get(self._node)

    @property
    def _is_number(self) -> bool:
        return is_number(self._value)

    def _leak(self) -> Any:
        return _live(self._trace).leak(self._node)

    def __getattr__(self, name: str) -> Any:
        value = self._value
        if name in _FIXED:
            return getattr(value, name)
        if name in _SIZED and not self._is_number:
            self._trace.sized = True
            return getattr(value, name)
        if name in _DESCRIBING:
            raise AttributeError(f"{type(value).__name__} of a fused function has no {name}")
        if name.startswith("__"):
            getattr(type(value), name)
            return getattr(self._leak(), name)
        if name in _VIEWS and not self._is_number:
            return self._view(operator.attrgetter(name))
        found = getattr(value, name)
        if not callable(found):
            return _wrapped(self._trace, self._trace.eager(operator.attrgetter(name), self._node))
        return _Method(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in Traced.__slots__:
            setattr(_write(self, f"setting {name}"), name, _seen(value))
        else:
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        if self._is_number:  # a dict or cache would keep the traced value
            trace = _live(self._trace)
            trace.plain.update(trace.places_behind(self._node))
            raise NotTraced
        return hash(self._leak())

    def __len__(self) -> int:
        self._trace.sized = True
        return len(self._value)

    def __iter__(self) -> Any:
        if self._is_number or not self.ndim:
            return iter(self._leak())
        return (self[i] for i in range(len(self)))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("copy", None)
        return np.array(self._leak(), *args, **kwargs)

    def __copy__(self) -> Any:
        return _eager(self._trace, copy.copy, (self,), {})

    def __deepcopy__(self, memo: Any) -> Any:
        return _eager(self._trace, copy.deepcopy, (self,), {})

    # --- parts

    def __getitem__(self, key: Any) -> Any:
        key = _fixed(self._trace, key, views=False)
        parts = key if type(key) is tuple else (key,)
        if all(type(p) in (int, slice, type(Ellipsis), type(None)) for p in parts):
            return self._view(operator.itemgetter(key))
        return _wrapped(
            self._trace, self._trace.eager(operator.getitem, self._node, _nodes(self._trace, key))
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        _write(self, "assigning to a part of an array")
        _eager(self._trace, operator.setitem, (self, key, value), {})

    def _view(self, function: Any) -> Any:
        return _wrapped(self._trace, self._trace.view(self._node, function))

    # --- NumPy

    def __array_ufunc__(self, ufunc: Any, name: str, *inputs: Any, **kwargs: Any) -> Any:
        trace = _live(self._trace)
        targets = inputs[:1] if name == "at" else _outputs(kwargs.get("out"))
        _write_all(trace, targets, f"{ufunc.__name__} with out=" if name != "at" else "at()")
        if name == "__call__" and not kwargs:
            made = _operation(trace, ufunc, inputs)
            if made is not None:
                return made
        how = ufunc if name == "__call__" else getattr(ufunc, name)
        return _eager(trace, how, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        trace = _live(self._trace)
        if func is np.where and len(args) == 3 and not kwargs:
            made = _where(trace, args)
            if made is not None:
                return made
        if func is np.clip:
            return _clip(trace, func, args, kwargs)
        if func in _TURNING and args and isinstance(args[0], Traced) and args[0]._trace is trace:
            more, options = _fixed(trace, args[1:]), _fixed(trace, kwargs)
            return args[0]._view(lambda v: func(v, *more, **options))
        if func in _ABOUT:
            trace.sized = True
            return func(*swapped(args, _shown), **swapped(kwargs, _shown))
        _write_all(trace, _targets(func, args, kwargs), f"{func.__name__}()")
        return _eager(trace, func, args, kwargs)

    def _astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        if dtype is Traced:
            raise TypeError(
                "fused: astype(type(k)) of a number k; write astype(k.dtype) or a dtype"
            )
        wanted = np.dtype(dtype) if not args and not kwargs else None
        own = self._value.dtype
        if wanted is None or not is_plain(wanted) or not is_plain(own) or _lossy(own, wanted):
            return _eager(self._trace, method("astype"), (self, dtype, *args), kwargs)
        return self._converted("astype", "cast", wanted, op.converting(wanted))

    def _copy(self, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or not is_plain(self.dtype):
            return _eager(self._trace, method("copy"), (self, *args), kwargs)
        return self._converted("copy", "copy", self.dtype, op.copying())

    def _converted(self, name: str, told: str, dtype: Any, how: Any) -> Any:
        loop = op.Loop(op.CAST, 0, 0, 0, (self._value.dtype, dtype))
        made = self._trace.record(
            told, loop, (self._node,), (dtype,), how, isinstance(self._value, Field)
        )
        if made is None:
            return _eager(
                self._trace, method(name), (self, dtype)[: 2 if name == "astype" else 1], {}
            )
        return Traced(self._trace, made[0])


class _Method:
    """A method of a traced value."""

    def __init__(self, owner: Traced, name: str) -> None:
        self._owner, self._name = owner, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner, name = self._owner, self._name
        if name in ("astype", "copy") and not owner._is_number:
            return getattr(owner, f"_{name}")(*args, **kwargs)
        trace = _live(owner._trace)
        if name == "clip":
            return _clip(trace, method(name), (owner, *args), kwargs)
        if name in _VIEWING and not owner._is_number:
            more, options = _fixed(trace, args), _fixed(trace, kwargs)
            return owner._view(lambda v: getattr(v, name)(*more, **options))
        targets = _targets(getattr(np, name, None), (owner, *args), kwargs)
        if name in _WRITING or (name == "byteswap" and any((*args, *kwargs.values()))):
            targets = (owner,)
        _write_all(trace, targets, f"{name}()")
        return _eager(trace, method(name), (owner, *args), kwargs)


def _live(trace: Trace) -> Trace:
    if trace.closed:
        raise RuntimeError("fused: a value of a function that was traced is used after its call")
    return trace


def _outputs(out: Any) -> tuple[Any, ...]:
    outs = out if isinstance(out, tuple) else (out,)
    return tuple(one for one in outs if one is not None)


@functools.cache
def _parameters(function: Any) -> tuple[str, ...]:
    """The names of a function's positional parameters; none where it does not show them."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def _targets(function: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, ...]:
    """The arrays that a function of NumPy writes into."""
    names = _parameters(function) if callable(function) else ()
    bound = {**dict(zip(names, args, strict=False)), **kwargs}
    place = _OUT_OF_C.get(function, len(args))
    out = bound.get("out", args[place] if place < len(args) else None)
    overwrites = bound.get("overwrite_input") or (
        function is np.nan_to_num and not bound.get("copy", True)
    )
    if function in _WRITERS or overwrites:
        return (*args, *(bound[name] for name in (*names, *_FIRST) if name in bound))[:1]
    return _outputs(out)


def _seen(found: Any) -> Any:
    """An argument with the values in the place of traced ones."""
    return swapped(found, lambda part: part._leak() if isinstance(part, Traced) else part)


def _fixed(trace: Trace, key: Any, views: bool = True) -> Any:
    """An index, or arguments of a function that makes views, with numbers as they are in this call.
    Such a function keeps its arguments: arrays among them are good for one call.
    """

    def plain(part: Any) -> Any:
        if isinstance(part, Traced) and part._is_number:
            part = part._leak()
            return operator.index(part) if is_integer(part) else part
        trace.lost |= views and isinstance(part, np.ndarray)
        return _number(trace, part) if isinstance(part, np.generic) else part

    return swapped(key, plain)


def _number(trace: Trace, part: Any) -> Any:
    """A number of NumPy that is no argument: another one at the next call, if it was made."""
    trace.numbers[id(part)] = part
    trace.lost |= isinstance(part, np.bool_)  # of which there are two, whatever made them
    return part.copy()


def _lossy(own: Any, wanted: Any) -> bool:
    """Whether a conversion warns in NumPy of more than floating-point exceptions, or differs
    between machines.
    """
    return (own.kind == "c" and wanted.kind != "c") or (own.kind in "fc" and wanted.kind in "iu")


def _shown(part: Any) -> Any:
    return part._value if isinstance(part, Traced) else part


def _node(trace: Trace, part: Any) -> Any:
    """The operand of a step: a node for a traced value or memory, anything else as it is."""
    if type(part) is Traced:
        return part._node if part._trace is trace else part._leak()
    if trace.unfused:
        return part
    if isinstance(part, np.generic):
        return _number(trace, part)
    if is_memory(part):
        return trace.hold(part)
    # Anything else may hold arrays that the function has made
    trace.lost |= not (is_number(part) or part is Ellipsis or isinstance(part, _IMMUTABLE))
    return part


def _nodes(trace: Trace, args: Any) -> Any:
    return swapped(args, lambda part: _node(trace, part))


def _wrapped(trace: Trace, made: Any) -> Any:
    return swapped(made, lambda n: Traced(trace, n) if isinstance(n, Node) else n)


def _eager(trace: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    return _wrapped(
        trace, trace.eager(function, *_nodes(trace, tuple(args)), **_nodes(trace, kwargs))
    )


def _operands(trace: Trace, inputs: Any) -> list[Any] | None:
    """Nodes and numbers; None where something else is among them, or no memory of any index."""
    found = [_node(trace, part) for part in inputs]
    if not all(isinstance(given, Node) or is_number(given) for given in found):
        return None
    return found if any(is_memory(v) and v.ndim for v in _values(trace, found)) else None


def _values(trace: Trace, operands: list[Any]) -> list[Any]:
    return [trace.run.get(n) if isinstance(n, Node) else n for n in operands]


def _kinds(trace: Trace, operands: list[Any]) -> tuple[Any, ...]:
    return tuple(map(op.kind_of, _values(trace, operands)))


def _operation(trace: Trace, ufunc: Any, inputs: Any) -> Any:
    """A call of a ufunc, put off; None: it has to run unfused."""
    operands = None if trace.unfused else _operands(trace, inputs)
    compiled = getattr(ufunc, "ufunc", ufunc)  # of numba's DUFunc
    if operands is None or not isinstance(compiled, np.ufunc):
        return None
    loop = op.find_loop(compiled, _kinds(trace, operands))
    if loop is None:
        return None
    made = trace.record(
        compiled.__name__, loop, operands, loop.types[compiled.nin :], op.of_ufunc(compiled, loop)
    )
    if made is None:
        return None
    wrapped = tuple(Traced(trace, node) for node in made)
    return wrapped if len(wrapped) > 1 else wrapped[0]


def _where(trace: Trace, args: Any) -> Any:
    operands = _operands(trace, args)
    if operands is None or trace.unfused:
        return None
    values = _values(trace, operands)
    if not is_memory(values[0]) or not all(is_plain(np.dtype(k)) for k in _kinds(trace, operands)):
        return None
    dtype = np.result_type(*(v.dtype if is_memory(v) else v for v in values[1:]))
    if not is_plain(dtype):
        return None
    loop = op.Loop(op.SELECT, 0, 0, 0, (np.dtype(bool), dtype, dtype, dtype))
    made = trace.record("where", loop, operands, (dtype,), op.selecting(dtype))
    return None if made is None else Traced(trace, made[0])


def _clip(trace: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    """np.clip and the method: one operation where both bounds are given."""
    names = kwargs.keys()
    bounds = args[1:] if len(args) == 3 and not kwargs else ()
    if len(args) == 1 and (
        names == {"min", "max"} or (names == {"a_min", "a_max"} and function is np.clip)
    ):
        bounds = tuple(kwargs[name] for name in ("min", "max", "a_min", "a_max") if name in names)
    a = args[0] if args else None
    given = bounds and all(_shown(bound) is not None for bound in bounds)
    if given and type(a) is Traced and is_memory(a._value):
        whole = a.dtype.kind in "iub" and int in map(type, map(_shown, bounds))
        made = None if whole else _operation(trace, op.CLIP, (a, *bounds))
        if made is not None:
            return made
    _write_all(trace, _targets(np.clip, args, kwargs), "clip() with out=")
    return _eager(trace, function, args, kwargs)


def _binary(function: Any, ufunc: Any) -> tuple[Any, Any]:
    def forward(self: Traced, other: Any, *modulus: Any) -> Any:
        if modulus:  # pow(k, 2, 7)
            return pow(self._leak(), *_seen((other, *modulus)))
        return _operated(self._trace, function, ufunc, self, other)

    return forward, lambda self, other: _operated(self._trace, function, ufunc, other, self)


def _operated(trace: Trace, function: Any, ufunc: Any, *operands: Any) -> Any:
    _live(trace)
    put_off = _power(*operands) if function is operator.pow else (ufunc, operands)
    made = None if put_off[0] is None else _operation(trace, *put_off)
    return _eager(trace, function, operands, {}) if made is None else made


def _power(base: Any, exponent: Any) -> Any:
    """For some exponents `**` is another ufunc, of one operand."""
    if type(exponent) is Traced and exponent._is_number:
        exponent = exponent._leak()
    own = getattr(_shown(base), "dtype", None)
    if is_memory(_shown(base)) and own is not None:
        inexact = own.kind in "fc"
        if type(exponent) is int and exponent == 2:
            return np.square, (base,)
        if type(exponent) is int and exponent == -1 and inexact:
            return np.reciprocal, (base,)
        if type(exponent) is float and exponent == 0.5 and inexact:
            return np.sqrt, (base,)
    return np.power, (base, exponent)


def _in_place(function: Any, ufunc: Any) -> Any:
    def call(target: Any, other: Any) -> Any:
        own = op.empty_like(target, target.dtype)
        own[...] = target
        return function(own, other)

    def write(target: Any, other: Any) -> Any:
        return function(target, other)

    call.__name__ = write.__name__ = ufunc.__name__

    def assign(self: Traced, other: Any) -> Any:
        trace = _live(self._trace)
        if self._is_number:
            return _operated(trace, function, ufunc, self, other)
        if self._node.seen or trace.unfused:
            _write(self, f"{ufunc.__name__} in place")
            _eager(trace, write, (self, other), {})
            return self
        made = _added_to(trace, ufunc, self, other)
        self._node = trace.eager(call, self._node, _node(trace, other)) if made is None else made
        return self

    return assign


def _added_to(trace: Trace, ufunc: Any, target: Traced, other: Any) -> Any:
    """The node of a call into its first input, put off; None: it has to run unfused."""
    operands, dtype = _operands(trace, (target, other)), target._value.dtype
    if dtype.kind == "c" and ufunc in (np.multiply, np.power):
        return None  # NumPy rounds the product of one element otherwise where it replaces a factor
    loop = None if operands is None else op.find_loop(ufunc, _kinds(trace, operands))
    if operands is None or loop is None or not np.can_cast(loop.types[-1], dtype, "same_kind"):
        return None
    made = trace.record(ufunc.__name__, loop, operands, (dtype,), op.in_place(ufunc, loop))
    return None if made is None else made[0]


def _complete(cls: Any) -> None:
    """The operators, and what shows a value to the function."""
    binary = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
        "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power,
        "lshift": np.left_shift, "rshift": np.right_shift, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor, "matmul": None, "divmod": np.divmod,
        "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
        "gt": np.greater, "ge": np.greater_equal,
    }  # fmt: skip
    for name, ufunc in binary.items():
        function = divmod if name == "divmod" else getattr(operator, f"__{name}__")
        forward, backward = _binary(function, ufunc)
        setattr(cls, f"__{name}__", forward)
        if len(name) > 2 or name == "or":
            setattr(cls, f"__r{name}__", backward)
            if name not in ("matmul", "divmod"):
                into = getattr(operator, f"__i{name}__")
                setattr(cls, f"__i{name}__", _in_place(into, ufunc))
    unary = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
    for name, of_one in unary.items():
        setattr(cls, f"__{name}__", partialmethod(_unary, getattr(operator, name), of_one))
    shown = (bool, float, int, complex, repr, str, format, round)
    whole = (math.trunc, math.floor, math.ceil)
    for seen in (*shown, *whole, operator.index, operator.contains):
        setattr(cls, f"__{seen.__name__}__", partialmethod(_show, seen))


def _unary(self: Traced, function: Any, ufunc: Any) -> Any:
    return _operated(self._trace, function, ufunc, self)


def _show(self: Traced, function: Any, *args: Any) -> Any:
    return function(self._leak(), *args)


_complete(Traced)
