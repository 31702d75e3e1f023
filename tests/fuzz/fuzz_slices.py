"""Chains of slices, transposes and domains of a Field, against an ndarray and lists that say what
every element is.

The model of halos and origins does not calculate: every point of an index carries the word "low",
"high" or "", and a slice of the words is what the slice of the halo must say.
"""

import random
from typing import Any

import numpy as np
from views import PLAIN, alone, array, draw_view, place, values

import gridbuf as gb

HUGE = [2**62, -(2**62), 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**70, -(2**70)]
NAMES = ["I", "J", "K", 0, 1, 2, 3]


def draw_bound(rng: random.Random, n: int) -> int | None:
    kind = rng.random()
    if kind < 0.3:
        return None
    return rng.choice(HUGE) if kind < 0.4 else rng.randrange(-n - 2, n + 3)


def draw_key(rng: random.Random, shape: list[int]) -> Any:
    """A key as JSON: an int, [start, stop, step], "..." or a list of them under "many"."""
    parts: list[Any] = []
    for n in shape[: rng.randrange(len(shape) + 1)] or shape[:1]:
        if rng.random() < 0.2:
            parts.append(
                rng.randrange(-n - (rng.random() < 0.1), n + (rng.random() < 0.1)) if n else 0
            )
        else:
            step = rng.choice([None, 1, 1, 2, 3, -1, -1, -2, 7, rng.choice(HUGE)])
            parts.append([draw_bound(rng, n), draw_bound(rng, n), step])
    if rng.random() < 0.25:
        parts.insert(rng.randrange(len(parts) + 1), "...")
    if rng.random() < 0.02:
        parts.append("...")
    return parts[0] if len(parts) == 1 and rng.random() < 0.5 else {"many": parts}


def key_of(said: Any) -> Any:
    if isinstance(said, dict):
        return tuple(key_of(part) for part in said["many"])
    return ... if said == "..." else slice(*said) if isinstance(said, list) else said


def draw(rng: random.Random) -> dict[str, Any]:
    ndim = rng.choice([0, 1, 1, 2, 2, 3, 3, 4])
    shape = [rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 9, 12]) for _ in range(ndim)]
    view = draw_view(rng, shape, rng.choice([*PLAIN, "V7", ">f"]), rng.random() < 0.7)
    view["nbytes"] = place(rng, [view], True)
    halo = (
        [sorted(rng.randrange(n + 1) for _ in range(2)) for n in shape]
        if rng.random() < 0.7
        else None
    )
    steps: list[Any] = []
    for _ in range(rng.randrange(1, 6)):
        kind = rng.random()
        if kind < 0.7:
            steps.append(["key", draw_key(rng, shape)])
        elif kind < 0.85:
            steps.append(["transpose", rng.random()])
        else:
            steps.append([rng.choice(["domain", "numpy", "copy", "memoryview"]), 0])
    return {
        "view": view, "dims": rng.sample(NAMES, ndim),
        "halo": halo and [[low, n - high] for (low, high), n in zip(halo, shape, strict=True)],
        "origin": [rng.randrange(n + 1) for n in shape] if rng.random() < 0.5 else None,
        "steps": steps, "assign": draw_key(rng, shape), "data": rng.randrange(1 << 30),
    }  # fmt: skip


class Model:
    """An ndarray, names, and for each index the words of its points."""

    def __init__(self, a: Any, dims: list[Any], words: Any, before: Any) -> None:
        self.array, self.dims, self.words, self.before = a, dims, words, before

    def cut(self, key: Any) -> "Model":
        parts = list(key) if isinstance(key, tuple) else [key]
        if ... not in parts:
            parts.append(...)
        at = parts.index(...)
        parts[at : at + 1] = [slice(None)] * (self.array.ndim - len(parts) + 1)
        kept = [d for d, part in enumerate(parts) if isinstance(part, slice)]
        backwards = [isinstance(p, slice) and p.step is not None and p.step < 0 for p in parts]
        words = None if self.words is None else [self.words[d][parts[d]] for d in kept]
        if words:  # of a reversed index the old upper halo is the new lower one
            words = [
                [{"low": "high", "high": "low", "": ""}[w] for w in row] if backwards[d] else row
                for d, row in zip(kept, words, strict=True)
            ]
        before: Any = None
        if self.before is not None:  # an origin is a number of points that lie before it
            before = []
            for d in kept:
                if backwards[d]:  # by definition: the selected points of the old upper halo
                    row = words[kept.index(d)] if words else []
                    before.append([w == "low" for w in row])
                else:
                    before.append(self.before[d][parts[d]])
        return Model(self.array[(*parts, ...)], [self.dims[d] for d in kept], words, before)

    def transposed(self, order: list[int]) -> "Model":
        pick = lambda row: None if row is None else [row[d] for d in order]  # noqa: E731
        return Model(
            self.array.transpose(order),
            [self.dims[d] for d in order],
            pick(self.words),
            pick(self.before),
        )

    @property
    def halo(self) -> Any:
        return (
            None
            if self.words is None
            else tuple((row.count("low"), row.count("high")) for row in self.words)
        )

    @property
    def origin(self) -> Any:
        return None if self.before is None else tuple(sum(row) for row in self.before)


def same(a: Any, b: Any) -> bool:
    """Bit by bit, but for the bytes of a long double that mean nothing."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if b.dtype.char in "gG":  # elements that lie on one another are no numbers, and equal nothing
        a, b = (
            np.ascontiguousarray(c).reshape(-1).view(np.uint8).reshape(-1, 16)[:, :10]
            for c in (a, b)
        )
    return a.tobytes() == b.tobytes()


def compare(field: Any, model: Model) -> None:
    a = model.array
    assert isinstance(field, gb.Field), type(field)
    assert (
        field.shape == a.shape
        and field.dtype == a.dtype
        and field.size == a.size
        and field.nbytes == a.nbytes
    )
    assert field.dims == tuple(str(d) for d in model.dims) or field.dims == tuple(model.dims), (
        field.dims,
        model.dims,
    )
    assert field.halo == model.halo, (field.halo, model.halo)
    assert field.origin == model.origin, (field.origin, model.origin)
    if a.size:
        assert field.__array_interface__["data"] == a.__array_interface__["data"]
        for n, got, wanted in zip(a.shape, field.strides, a.strides, strict=True):
            assert n == 1 or got == wanted, (field.strides, a.strides)
    assert same(np.asarray(field), a)


def check(case: dict[str, Any]) -> None:
    rng = np.random.default_rng(case["data"])
    memory = rng.integers(0, 2, case["view"]["nbytes"], np.uint8)
    a = array(memory, case["view"])
    a[...] = values(rng, a.dtype, a.shape)
    halo, origin = case["halo"], case["origin"]
    field = gb.Field(a, dims=case["dims"], halo=halo and [tuple(h) for h in halo], origin=origin)
    words = (
        None
        if halo is None
        else [
            ["low"] * low + [""] * (n - low - high) + ["high"] * high
            for (low, high), n in zip(halo, a.shape, strict=True)
        ]
    )
    if origin is None and halo is not None:
        origin = [low for low, _ in halo]
    before = (
        None
        if origin is None
        else [[i < o for i in range(n)] for o, n in zip(origin, a.shape, strict=True)]
    )
    model = Model(a, case["dims"], words, before)
    compare(field, model)
    for what, how in case["steps"]:
        if what == "key":
            key = key_of(how)
            try:
                wanted = model.array[key]
            except IndexError:
                with_error(field, key)
                continue
            got = field[key]
            if not isinstance(wanted, np.ndarray):
                assert not isinstance(got, gb.Field) and same(np.asarray(got), wanted)
                continue
            if wanted.ndim == 0:  # `...` with every index given: NumPy's view of one element
                assert same(np.asarray(got), wanted) and np.shape(got) == ()
                if not isinstance(got, gb.Field) or model.array.ndim:
                    continue
            field, model = got, model.cut(key)
        elif what == "transpose":
            order = list(range(field.ndim))
            random.Random(how).shuffle(order)
            model = model.transposed(order)
            field = field.transpose([str(model.dims[d]) for d in range(field.ndim)])
        elif what == "domain":
            inner = tuple(
                slice(low, n - high)
                for (low, high), n in zip(
                    model.halo or [(0, 0)] * field.ndim, field.shape, strict=True
                )
            )
            model = model.cut(inner)
            field = field.domain
            model.before = [[] for _ in field.shape]  # the domain begins at its first point
        elif (
            what == "memoryview"
            and field.dtype.char not in "gG"
            and field.dtype.kind != "V"
            and field.dtype.byteorder != ">"
        ):
            assert memoryview(field).tobytes() == model.array.tobytes()
        elif what == "copy":
            assert same(field.copy().numpy(), model.array)
        elif what == "numpy":
            assert same(field.numpy(), model.array)
        compare(field, model)
    assign(field, model.array, key_of(case["assign"]), memory, case)


def with_error(field: Any, key: Any) -> None:
    try:
        field[key]
    except (IndexError, ValueError, TypeError):
        return
    raise AssertionError(f"NumPy refuses {key}")


def assign(field: Any, a: Any, key: Any, memory: Any, case: dict[str, Any]) -> None:
    """The same assignment into a second block of bytes, by NumPy."""
    other = memory.copy()
    b = np.ndarray(
        a.shape,
        a.dtype,
        other,
        a.__array_interface__["data"][0] - memory.__array_interface__["data"][0],
        a.strides,
    )
    try:
        target = b[key]
    except IndexError:
        return
    value = values(np.random.default_rng(case["data"] + 1), a.dtype, target.shape)
    if not alone(case["view"], target):
        return
    b[key] = value
    field[key] = value
    assert same(a, b)
    if a.dtype.char not in "gG":
        assert memory.tobytes() == other.tobytes()
