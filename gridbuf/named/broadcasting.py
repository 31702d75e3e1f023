"""Frames: which names, sizes, halo and origin operands have together, and what is left of them.

A frame is what a result will be, without its memory. It depends on names, shapes and halos alone.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from gridbuf.names import canonical
from gridbuf.validation import integer

Names = Sequence[str]
Pair = tuple[int, int]

# How to bring an array into a common frame: a permutation of its indices and then an index that
# adds the missing ones. None where nothing is to do.
Adapt = tuple[tuple[int, ...] | None, tuple[Any, ...] | None] | None

SCALARS = (bool, int, float, complex)
_WEAK = SCALARS[1:]  # NumPy asks their value; a bool is of its own dtype
WEAK_SCALARS = int(np.__version__.split(".")[0]) >= 2  # NumPy 1 looks at a scalar's value


class Operand(NamedTuple):
    """An operand as broadcasting sees it. Numbers are None instead."""

    names: tuple[str, ...] | None  # None: the indices go by position
    shape: tuple[int, ...]
    halo: tuple[Pair, ...] | None = None
    origin: tuple[int, ...] | None = None  # of a storage its aligned index
    parameters: Any = None  # of a storage its layout and alignment


class Frame(NamedTuple):
    """The indices of a result."""

    shape: tuple[int, ...]
    names: tuple[str, ...] | None = None
    halo: tuple[Pair, ...] | None = None
    origin: tuple[int, ...] | None = None
    parameters: Any = None  # of a storage its layout and alignment
    defaults: tuple[str, ...] | None = None  # default names of indices without names

    def picked(self, indices: Sequence[int]) -> "Frame":
        """These indices only, in this order."""

        def pick(values: Any) -> Any:
            return None if values is None else tuple(values[i] for i in indices)

        return self._replace(
            shape=pick(self.shape),
            names=pick(self.names),
            halo=pick(self.halo),
            origin=pick(self.origin),
            defaults=pick(self.defaults),
        )

    def changed(self, at: int, size: int, pair: Pair = (0, 0), origin: int = 0) -> "Frame":
        """Another size along one index, with this halo and origin."""

        def change(values: Any, value: Any) -> Any:
            if values is None:
                return None
            return tuple(value if i == at else old for i, old in enumerate(values))

        return self._replace(
            shape=change(self.shape, size),
            halo=change(self.halo, pair),
            origin=change(self.origin, origin),
        )

    def without(self, over: tuple[int, ...], keepdims: bool) -> "Frame":
        """The frame of a reduction's result: indices that stay keep their halo and origin."""
        frame = self
        for at in over if keepdims else ():
            frame = frame.changed(at, 1)
        return frame.picked([i for i in range(len(self.shape)) if keepdims or i not in over])

    def with_index(self, name: str, size: int) -> tuple["Frame", int]:
        """The frame with a further index, in its canonical place and without a halo; and
        that place.
        """
        assert self.names is not None
        before = [i for i, own in enumerate(self.names) if canonical((own, name))[0] == own]
        at = max(before, default=-1) + 1

        def insert(values: Any, value: Any) -> Any:
            return None if values is None else (*values[:at], value, *values[at:])

        return (
            self._replace(
                shape=insert(self.shape, size),
                names=insert(self.names, name),
                halo=insert(self.halo, (0, 0)),
                origin=insert(self.origin, 0),
                defaults=None,
            ),
            at,
        )


class Rules(Protocol):
    """The part of broadcasting that depends on the class of the operands."""

    word: str

    def name_array(
        self, shape: tuple[int, ...], base: "Named | None", out: "Named | None"
    ) -> Names:
        """The names that an array without any has beside operands with names."""

    def origin(self, points: list[tuple[int, int]], size: int) -> int:
        """The origin along an index: `points` has each operand's own origin and size there."""

    def parameters(self, several: list[Any]) -> Any:
        """The parameters of a result."""

    def show(self, names: Names) -> str:
        """Names as errors quote them."""

    def listed(self, names: Names) -> str:
        """Names that are missing, as errors list them."""


Named = tuple[Names, tuple[int, ...]]


class Resolution(NamedTuple):
    """The result of broadcasting a combination of operands."""

    adapts: tuple[Adapt, ...]  # one per input
    out_adapts: tuple[Adapt, ...]  # one per output
    frame: Frame  # of a new output


_NUMBERS = (*SCALARS, np.generic)


def is_scalar(obj: Any) -> bool:
    return isinstance(obj, _NUMBERS) or (type(obj) is np.ndarray and obj.ndim == 0)


# ---- names


def union(several: Iterable[Names]) -> Names:
    """The first that contains all the others, else all names in the order I, J, K, 0, 1, ..."""
    several = tuple(several)
    every: set[str] = set().union(*several)
    for names in several:
        if every == set(names):
            return names
    return canonical(every)


def lacking(names: Names, target: Names) -> list[str]:
    """The names that the target does not have."""
    return [name for name in names if name not in target]


def positions(axis: Any, names: Names | None, ndim: int) -> tuple[int, ...]:
    """The indices that an `axis` argument means: numbers, names ("KI" is both), or a tuple of them.
    `names`: None where there are none.
    """
    entries: list[int] = []
    for part in axis if isinstance(axis, (tuple, list)) else (axis,):
        if isinstance(part, str):
            asked = (part,) if names is not None and part in names else tuple(part)
            if names is None or not asked or lacking(asked, names):
                raise ValueError(
                    f"axis: {part!r} names an index that is not there; there are"
                    f" {names or 'no names'}"
                )
            entries.extend(names.index(name) for name in asked)
            continue
        index = integer(part, "axis", allowed="names or numbers of indices")
        if not -ndim <= index < ndim:
            raise np.exceptions.AxisError(index, ndim, "axis")
        entries.append(index % ndim)
    if len(set(entries)) != len(entries):
        raise ValueError(f"axis: {axis!r} names an index twice")
    return tuple(entries)


# ---- arrays in a frame


def into(names: Names, frame: Names) -> Adapt:
    """From indices `names` to indices `frame`, of which `names` are a part."""
    if names == frame:
        return None
    order = tuple(names.index(name) for name in frame if name in names)
    index = tuple(slice(None) if name in names else None for name in frame)
    return None if order == tuple(range(len(names))) else order, (
        None if len(names) == len(frame) else index
    )


def without_ones(names: Names, shape: tuple[int, ...], target: Names) -> Named:
    """The names and sizes that an array without names has to fit with: indices of size 1 that the
    target lacks were never meant.
    """
    kept = [i for i, name in enumerate(names) if name in target or shape[i] != 1]
    return tuple(names[i] for i in kept), tuple(shape[i] for i in kept)


def fitted(names: Names, shape: tuple[int, ...], target: Names) -> Adapt:
    """`into` for an array without names: indices of size 1 that the target lacks are dropped."""
    kept = without_ones(names, shape, target)[0]
    if len(kept) == len(names):
        return into(names, target)
    order, index = into(kept, target) or (None, None)
    dropped = tuple(i for i, name in enumerate(names) if name not in kept)
    rest = tuple(i for i, name in enumerate(names) if name in kept)
    whole = (*dropped, *(rest if order is None else (rest[i] for i in order)))
    return whole, (*(0,) * len(dropped), *((slice(None),) * len(rest) if index is None else index))


def adapted(array: Any, adapt: Adapt) -> Any:
    """The array's view in the common frame."""
    if adapt is None:
        return array
    order, index = adapt
    if order is not None:
        array = array.transpose(order)
    return array if index is None else array[index]


def sources(adapt: Adapt, ndim: int) -> tuple[int, ...] | None:
    """An `Adapt` as C takes it: for each index of the frame that of the array, or -1."""
    if adapt is None:
        return None
    order, index = adapt
    left = iter(range(ndim) if order is None else order)
    if index is None:
        return tuple(left)
    found = [(part, -1 if part is None else next(left)) for part in index]
    return tuple(at for part, at in found if part is None or isinstance(part, slice))


# ---- what operands have together


@lru_cache(maxsize=1024)
def resolve(
    rules: Rules, inputs: tuple[Operand | None, ...], outputs: tuple[Operand | None, ...]
) -> Resolution:
    """Work a combination out; ValueError where the operands do not broadcast."""
    named = [o for o in inputs if o is not None and o.names is not None]
    out = next(((o.names, o.shape) for o in outputs if o is not None and o.names is not None), None)
    if not named and out is None:
        return _by_position(rules, inputs, len(outputs))
    base: Named | None = None
    if named:
        own: list[Named] = [(o.names or (), o.shape) for o in named]
        letters = union(names for names, _ in own)
        base = letters, sizes(own, letters)
    names_of: list[Names | None] = [
        None
        if o is None
        else o.names
        if o.names is not None
        else rules.name_array(o.shape, base, out)
        for o in inputs
    ]
    there = out[0] if out is not None else base[0] if base is not None else ()
    together: list[Named] = [
        (names, o.shape) if o.names is not None else without_ones(names, o.shape, there)
        for names, o in zip(names_of, inputs, strict=True)
        if o is not None and names is not None
    ]
    frame = tuple(union(names for names, _ in together))
    shape = sizes(together, frame)
    if out is not None:
        if missing := lacking(frame, out[0]):
            raise ValueError(
                f"out: its {rules.word} {rules.show(out[0])} lack {rules.listed(missing)}; the"
                f" result has {rules.show(frame)}"
            )
        frame, shape = out  # a further output that has to be made is like the given one
    adapts = tuple(
        None
        if o is None or names is None
        else into(names, frame)
        if o.names is not None
        else fitted(names, o.shape, frame)
        for names, o in zip(names_of, inputs, strict=True)
    )
    having = [(o, names) for names, o in zip(names_of, inputs, strict=True) if o is not None]
    halo, origin = domain(rules, having, frame, shape)
    parameters = rules.parameters([o.parameters for o, _ in having])
    return Resolution(
        adapts,
        tuple(_into_out(rules, o, frame, shape) for o in outputs),
        Frame(shape, frame, halo, origin, parameters),
    )


def _by_position(rules: Rules, inputs: tuple[Operand | None, ...], outputs: int) -> Resolution:
    """Operands without names broadcast as arrays do."""
    shape = np.broadcast_shapes(*(o.shape for o in inputs if o is not None))
    frame = tuple(str(i) for i in range(len(shape)))
    having = [(o, frame[len(frame) - len(o.shape) :]) for o in inputs if o is not None]
    halo, origin = domain(rules, having, frame, shape)
    return Resolution((None,) * len(inputs), (None,) * outputs, Frame(shape, None, halo, origin))


def _into_out(rules: Rules, out: Operand | None, frame: Names, shape: tuple[int, ...]) -> Adapt:
    """`into` for an output; None where it was not given, or goes by position."""
    if out is None:
        return None
    if out.names is None:
        if out.shape != shape:
            raise ValueError(
                f"out: an array of shape {out.shape} was given, the result has {shape}"
            )
        return None
    if sorted(out.names) != sorted(frame):
        raise ValueError(
            f"out: the {rules.word} {rules.show(out.names)} and {rules.show(frame)} of several"
            " outputs differ"
        )
    return into(out.names, frame)


def sizes(named: Sequence[Named], names: Names) -> tuple[int, ...]:
    """The common size of each index; a size of 1 counts as missing."""
    found = []
    for name in names:
        own = {shape[letters.index(name)] for letters, shape in named if name in letters}
        larger = own - {1}
        if len(larger) > 1:
            raise ValueError(f"operands do not broadcast: sizes {sorted(larger)} along axis {name}")
        found.append(larger.pop() if larger else 1)
    return tuple(found)


def domain(
    rules: Rules,
    having: Sequence[tuple[Operand | Frame, Names | None]],
    frame: Names,
    shape: tuple[int, ...],
) -> tuple[tuple[Pair, ...] | None, tuple[int, ...] | None]:
    """Halo and origin of the points where all domains meet. An operand that is broadcast along an
    index says nothing of the domain there.
    """
    halo, origin = [], []
    for name, size in zip(frame, shape, strict=True):
        at = [(o, names.index(name)) for o, names in having if names is not None and name in names]
        pairs = [o.halo[i] for o, i in at if o.halo is not None and o.shape[i] == size]
        halo.append(intersected(pairs, size))
        points = [(o.origin[i], o.shape[i]) for o, i in at if o.origin is not None]
        origin.append(rules.origin(points, size))
    return (
        tuple(halo) if any(o.halo is not None for o, _ in having) else None,
        tuple(origin) if any(o.origin is not None for o, _ in having) else None,
    )


def intersected(pairs: Sequence[Pair], size: int) -> Pair:
    """The halo around the points that lie in every domain; where there is none, a domain of
    size 0.
    """
    low = max((pair[0] for pair in pairs), default=0)
    high = max((pair[1] for pair in pairs), default=0)
    low = min(low, size)
    return low, min(high, size - low)


def concatenated(rules: Rules, parts: Sequence[Frame], at: int) -> Frame:
    """Parts one after the other along an index: the domain begins where the first part's does and
    ends where the last one's does. Their indices are in one order.
    """
    first, last = parts[0], parts[-1]
    names = first.names or tuple(map(str, range(len(first.shape))))
    whole = first.changed(at, sum(part.shape[at] for part in parts))
    halo, origin = domain(rules, [(part, names) for part in parts], names, first.shape)
    size = whole.shape[at]
    low = first.halo[at][0] if first.halo is not None else 0
    high = last.halo[at][1] if last.halo is not None else 0
    whole = whole._replace(
        halo=halo, origin=origin, parameters=rules.parameters([part.parameters for part in parts])
    )
    begins = first.origin[at] if first.origin is not None else 0
    return whole.changed(at, size, intersected([(low, 0), (0, high)], size), begins)


# ---- dtypes of results


def result_dtypes(
    ufunc: Any, views: Sequence[Any], options: dict[str, Any]
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of a call's results: those that NumPy gives for no elements at all.

    With casting="unsafe" NumPy is asked for them without a call, which would warn of what the
    conversion drops; the call itself does.
    """
    samples = [*map(_sample, views)]
    if options.get("casting") == "unsafe" and isinstance(ufunc, np.ufunc):  # numba's is none
        return _resolved(
            ufunc, [type(x) if type(x) in _WEAK else np.asarray(x).dtype for x in samples], options
        )
    made = ufunc(*samples, **{name: value for name, value in options.items() if name != "where"})
    return tuple(result.dtype for result in (made if ufunc.nout > 1 else (made,)))


def _resolved(
    ufunc: np.ufunc, inputs: list[Any], options: dict[str, Any]
) -> tuple[np.dtype[Any], ...]:
    signature = options.get("signature", options.get("sig"))
    if (dtype := options.get("dtype")) is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    asked = {} if signature is None else {"signature": signature}
    return ufunc.resolve_dtypes((*inputs, *[None] * ufunc.nout), casting="unsafe", **asked)[
        ufunc.nin :
    ]


def _sample(view: Any) -> Any:
    # np.float64 is a float, and has a dtype
    if isinstance(view, SCALARS) and not isinstance(view, np.generic):
        # The type alone counts, and of the value NumPy would say that float32 does not hold it.
        return type(view)() if WEAK_SCALARS and type(view) in SCALARS else view
    if view.ndim == 0 and isinstance(view, (np.ndarray, np.generic)) and not WEAK_SCALARS:
        return view
    return np.empty(0, view.dtype)


def accumulated_dtype(
    accumulate: Any, own: np.dtype[Any], dtype: Any, *extra: Any
) -> np.dtype[Any]:
    """The dtype that NumPy gives where one element is accumulated; it is of the dtype asked for, so
    that nothing is said of a conversion.
    """
    found: np.dtype[Any] = accumulate(
        np.ones(1, own if dtype is None else dtype), *extra, dtype=dtype
    ).dtype
    return found
