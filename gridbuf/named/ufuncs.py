"""ufuncs and operators by name, where C leaves them to Python: `__array_ufunc__` of Fields and of
storages, and operators with one of them on either side.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.like import of_class
from gridbuf.named import positional, reductions
from gridbuf.named.broadcasting import adapted, lacking, resolve, result_dtypes, sources
from gridbuf.named.kinds import FIELDS, DeviceField, Field, Kind, answers, foreign
from gridbuf.wrapping import CAPSULE, shaped


def of_fields(ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """`__array_ufunc__` of a Field."""
    return call(FIELDS, ufunc, method, inputs, kwargs)


def call(
    kind: Kind, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result, or NotImplemented where an array of another library has to answer."""
    out = kwargs.get("out")
    # numba's ufuncs hand on what they were given, NumPy's a tuple by keyword.
    out = () if out is None else out if isinstance(out, tuple) else (out,)
    if method == "__call__" and len(inputs) > ufunc.nin:
        inputs, out = inputs[: ufunc.nin], (*inputs[ufunc.nin :], *out)
    every = inputs
    if kwargs:
        every += tuple(obj for obj in (*out, kwargs.get("where")) if obj is not None)
    if any(map(answers, every)) if method == "at" else not all(map(kind.is_operand, every)):
        return _by_another(kind, ufunc, method, inputs, every, kwargs)
    if method == "__call__" and ufunc.signature is None:
        kwargs.pop("out", None)
        return elementwise(kind, ufunc, inputs, out, kwargs)
    if method in kind.by_position:
        called = None if method == "__call__" else method
        return positional.call(kind, ufunc, inputs, kwargs, method=called)
    if method == "__call__":
        return _generalized(ufunc, inputs, out, kwargs)
    if method == "outer":
        return _outer(ufunc, *inputs, **kwargs)
    with kind.held(every):
        return reductions.METHODS[method](kind, ufunc, *inputs, **kwargs)


def elementwise(
    kind: Kind,
    ufunc: Any,
    inputs: tuple[Any, ...],
    out: tuple[Any, ...] = (),
    options: dict[str, Any] | None = None,
) -> Any:
    """`ufunc(*inputs, out=out, **options)` with the indices of the same names together."""
    options = options or {}
    outputs = out or (None,) * ufunc.nout
    if options.get("where", True) is not True:
        inputs = (*inputs, options["where"])
    every = (*inputs, *outputs)
    with kind.held(every):
        lead = kind.lead(every)
        device = kind.on_device(lead, inputs, outputs)
        resolution = resolve(
            kind, tuple(map(kind.describe, inputs)), tuple(map(kind.describe, outputs))
        )
        views = [
            adapted(array, adapt)
            for array, adapt in zip(
                kind.arrays(inputs, device, lead), resolution.adapts, strict=True
            )
        ]
        targets = kind.arrays(outputs, device, lead, "out")
        if len(views) > ufunc.nin:
            options["where"] = views.pop()
        results = list(outputs)
        if any(target is None for target in targets):
            model = kind.lead(every, resolution.frame.names)
            dtypes = result_dtypes(ufunc, views, options)
            for i, target in enumerate(targets):
                if target is None:
                    results[i], targets[i] = kind.new(model, resolution.frame, dtypes[i], device)
        into = tuple(
            adapted(target, adapt)
            for target, adapt in zip(targets, resolution.out_adapts, strict=True)
        )
        if options or len(into) > 1 or not _core.elementwise(ufunc, tuple(views), into[0]):
            ufunc(*views, out=into, **options)
        for result in results:
            kind.wrote(result, device)
    return results[0] if ufunc.nout == 1 else tuple(results)


def _by_another(
    kind: Kind,
    ufunc: Any,
    method: str,
    inputs: tuple[Any, ...],
    every: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """A call with another library's array: beside Fields its class answers, first for Fields as
    they are, then for their plain arrays. Storages leave it alone.

    dask leaves a call to any class with `__array_ufunc__`, xarray refuses the classes that it does
    not know: both take an ndarray.
    """
    if kind is not FIELDS or any(isinstance(obj, _core.StorageBase) for obj in every):
        return NotImplemented
    if any(getattr(type(obj), "_knows_names", False) for obj in every):
        return NotImplemented  # Blocks: they match names themselves
    refuse_names(ufunc, every)
    others = [obj for obj in inputs if foreign(obj)]
    if (
        not others
        or kwargs.keys() & {"out", "where"}
        or any(isinstance(obj, DeviceField) for obj in inputs)
    ):
        return NotImplemented
    for obj in others:
        found = type(obj).__array_ufunc__(obj, ufunc, method, *inputs, **kwargs)
        if found is not NotImplemented:
            return found
    return getattr(ufunc, method)(
        *(obj.numpy() if isinstance(obj, Field) else obj for obj in inputs), **kwargs
    )


def refuse_names(ufunc: Any, operands: Iterable[Any]) -> None:
    """Another library's array goes by position: right only where the names are the same."""
    operands = tuple(operands)
    if any(isinstance(obj, _core.StorageBase) for obj in operands):
        return  # storages know names
    several = {FIELDS.names_of(obj) for obj in operands} - {None}
    if len(several) > 1:
        first, second = sorted(map(str, several))[:2]
        raise ValueError(
            f"{ufunc.__name__}: the operands' names {first} and {second} differ, and one of them"
            " goes by position; gridbuf.Field(array) takes its memory with its names,"
            " field.transpose(...) changes their order"
        )


def _generalized(
    ufunc: Any, inputs: tuple[Any, ...], out: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Core dimensions go by position, so names would be guessed at; Fields without names are
    arrays.
    """
    fields = [obj for obj in (*inputs, *out) if isinstance(obj, Field)]
    if any(FIELDS.names_of(obj) is not None for obj in (*inputs, *out)):
        raise TypeError(
            f"{ufunc.__name__}: its core dimensions have no names, and a Field's indices have;"
            f" field.numpy() goes by position, gridbuf.gufunc.from_ufunc(numpy.{ufunc.__name__})"
            " takes stacks by name"
        )
    device = FIELDS.on_device(None, fields)
    if out:
        kwargs["out"] = tuple(FIELDS.arrays(out, device, None, "out"))
    results = ufunc(*FIELDS.arrays(inputs, device, None), **kwargs)
    if out:
        return out[0] if ufunc.nout == 1 else out
    wrapped = [
        of_class(fields[0], Field(r)) if getattr(r, "ndim", 0) else r
        for r in (results if ufunc.nout > 1 else (results,))
    ]
    return wrapped[0] if ufunc.nout == 1 else tuple(wrapped)


def _outer(ufunc: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    """Names that differ already make an outer product of an ordinary call; Fields without names
    are arrays.
    """
    names = FIELDS.names_of(a), FIELDS.names_of(b)
    if names == (None, None):
        return positional.call(FIELDS, ufunc, (a, b), kwargs, method="outer")
    if names[0] is None or names[1] is None or len(lacking(names[1], names[0])) < len(names[1]):
        raise TypeError(
            f"{ufunc.__name__}.outer: by name it needs two Fields without a name in common, not"
            f" {names[0]} and {names[1]}; field.numpy() goes by position"
        )
    joined = call(FIELDS, ufunc, "__call__", (a, b), kwargs)
    return joined if "out" in kwargs else joined.transpose((*names[0], *names[1]))


# ---- what C remembers (pyext/named)


def prepared_fields(ufunc: Any, inputs: tuple[Any, ...], out: Any) -> tuple[Any, ...] | None:
    """The plan and frame of a call with host Fields, arrays and numbers: see `prepared`."""
    return prepared(FIELDS, ufunc, inputs, out)


def prepared(kind: Kind, ufunc: Any, inputs: tuple[Any, ...], out: Any) -> tuple[Any, ...] | None:
    """What a call with operands on the host comes to.

    The plan and `Kind.plan`'s description of the result (both None where `out` is given), for each
    input None or, for each index of the result, which index of the input that is, -1 where it has
    none, and whether `out` has to go by its name. None: such calls are not remembered in C.
    """
    resolution = resolve(kind, tuple(map(kind.describe, inputs)), (kind.describe(out),))
    if resolution.out_adapts[0] is not None:
        return None
    found = tuple(
        sources(adapt, 0 if adapt is None else obj.ndim)
        for adapt, obj in zip(resolution.adapts, inputs, strict=True)
    )
    by_name = ufunc is np.maximum or ufunc is np.minimum  # NumPy warns of a third argument
    if out is not None:
        return None, None, found, by_name
    frame = resolution.frame
    dtype = result_dtypes(ufunc, kind.arrays(inputs, False, kind.lead(inputs)), {})[0]
    if dtype.kind not in "biufc":
        return None
    return (*kind.plan(kind.lead(inputs, frame.names), frame, dtype), found, by_name)


# ---- operators: what is not left to the other operand is the ufunc's ----


def operator_of_fields(ufunc: Any, a: Any, b: Any) -> Any:
    return binary(FIELDS, ufunc, a, b)


def operator_into_fields(ufunc: Any, a: Any, *other: Any) -> Any:
    return in_place(FIELDS, ufunc, a, *other)


def binary(kind: Kind, ufunc: Any, a: Any, b: Any) -> Any:
    """An operator that C does not know the answer of."""
    other = b if kind.owns(a) else a
    if _computes(kind, ufunc, other):
        return ufunc(a, b)
    has_operators = _has_operators(kind, other)
    if has_operators and kind is FIELDS and foreign(other):
        refuse_names(ufunc, (a, b))
    if ufunc in (np.equal, np.not_equal):
        return _compared(kind, ufunc, a if other is b else b, other, has_operators)
    if not has_operators:
        _refuse_sequence(kind, ufunc, other)
    return NotImplemented


def in_place(kind: Kind, ufunc: Any, a: Any, *other: Any) -> Any:
    """Into the memory of a; `other` is empty for what has one operand. Nothing else may take the
    place of a.
    """
    for each in other:
        # Python would go on with `a = a + other`: a new object, and a keeps its old values.
        if kind is not FIELDS and not _computes(kind, ufunc, each):
            raise TypeError(
                f"{ufunc.__name__}: a storage does not take a {type(each).__name__} into its"
                " memory; gridbuf.storage.storage(other) or numpy.asarray(other) gives its values"
            )
        if each is None or not (kind.is_operand(each) or _has_operators(kind, each)):
            return NotImplemented
    return ufunc(a, *other, out=(a,))


def _computes(kind: Kind, ufunc: Any, other: Any) -> bool:
    """Whether the ufunc is to answer."""
    if other is None:
        return False
    if type(other) is CAPSULE and kind is not FIELDS:
        shaped(other)  # says what to do
    if kind.is_operand(other) or answers(other):
        return True
    return kind is FIELDS and foreign(other) and _says(other, ufunc)


def _has_operators(kind: Kind, other: Any) -> bool:
    """Whether an object is an array of another kind, whose own operator comes first."""
    if kind is FIELDS and isinstance(other, np.ndarray):
        return True
    return hasattr(type(other), "__array_ufunc__")


def _says(other: Any, ufunc: Any) -> bool:
    """Whether a class has an operator: without its own `==` only identities would be compared, and
    those are not meant.
    """
    own: Any = type(other).__eq__
    return ufunc not in (np.equal, np.not_equal) or own is not object.__eq__


_OF_SEQUENCES = {np.multiply: ("multiplied by", "by"), np.add: ("added to", "to")}


def _refuse_sequence(kind: Kind, ufunc: Any, other: Any) -> None:
    """Python goes on to repeat a sequence, as often as the one integer of an array without indices
    says, or to append its memory to bytes.
    """
    if ufunc in _OF_SEQUENCES and isinstance(other, Sequence):
        does, word = _OF_SEQUENCES[ufunc]
        raise TypeError(
            f"{ufunc.__name__}: {kind.one} is {does} numbers and arrays, not {word}"
            f" {type(other).__name__}"
        )


def _compared(kind: Kind, ufunc: Any, ours: Any, other: Any, asked: bool) -> Any:
    """The answer of the other operand's own `==` or `!=`; without one Python would compare
    identities, and answer False.
    """
    name = "__eq__" if ufunc is np.equal else "__ne__"
    found = getattr(type(other), name)(other, ours) if asked else NotImplemented
    if found is NotImplemented:
        raise TypeError(
            f"{ufunc.__name__}: {kind.one} is compared with numbers and arrays, element by element,"
            f" not with {type(other).__name__}; `is` compares identities"
        )
    return found
