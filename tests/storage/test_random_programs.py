"""Random programs on storages give what NumPy gives on arrays whose indices were brought into one
order by hand.

The model of a storage is an array with the indices I, J, K, of size 1 where the storage has no such
axis: then NumPy's own broadcasting is that of names. Every step is done on both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gridbuf.storage as gs

SIZES = {"I": 4, "J": 4, "K": 4}  # equal: an index in the wrong place cannot be seen by its size
ORDERS = ("IJK", "KJI", "JIK", "IJ", "JI", "KI", "IK", "K", "I", "JK")
UFUNCS = (np.add, np.subtract, np.multiply, np.maximum, np.minimum)
REDUCTIONS = (np.sum, np.mean, np.max, np.min, np.std, np.prod, np.median, np.argmax)


@dataclass
class Pair:
    """A storage and its model."""

    storage: Any
    model: np.ndarray

    def check(self) -> None:
        axes = self.storage.axes
        inner = tuple(i for i, name in enumerate("IJK") if name not in axes)
        array = np.asarray(self.storage)
        expected = np.squeeze(self.model, inner)
        assert array.shape == self.storage.shape and len(axes) == array.ndim == len(
            self.storage.halo
        )
        names = [name for name in "IJK" if name in axes]
        assert np.allclose(
            array.transpose([axes.index(name) for name in names]),
            expected,
            rtol=1e-10,
            equal_nan=True,
        ), self
        for (low, high), size in zip(self.storage.halo, array.shape, strict=True):
            assert low >= 0 and high >= 0 and low + high <= size


def made(rng: np.random.Generator, axes: str) -> Pair:
    model = rng.integers(-4, 5, [SIZES[name] if name in axes else 1 for name in "IJK"]).astype(
        float
    )
    halo = {name: tuple(int(n) for n in rng.integers(0, 2, 2)) for name in axes}
    defaults = str(rng.choice(["C", "F", "gtx86", "gtmc"]))
    s = gs.empty(
        [SIZES[name] for name in axes],
        axes=axes,
        halo=[halo[name] for name in axes],
        defaults=defaults,
    )
    whole = np.squeeze(model, tuple(i for i, name in enumerate("IJK") if name not in axes))
    names = [name for name in "IJK" if name in axes]
    s[...] = whole.transpose([names.index(name) for name in axes])
    return Pair(s, model)


def numbers(axes: str) -> tuple[int, ...]:
    return tuple("IJK".index(name) for name in axes)


def subset(rng: np.random.Generator, axes: str) -> str:
    chosen = [name for name in axes if rng.random() < 0.5] or [axes[0]]
    rng.shuffle(chosen)
    return "".join(chosen)


def step(rng: np.random.Generator, known: list[Pair]) -> Pair | None:
    """One operation on some of what there is; None where it does not apply."""
    a, b, c = (known[int(i)] for i in rng.integers(0, len(known), 3))
    kind = int(rng.integers(0, 15))
    s, t, axes = a.storage, b.storage, a.storage.axes
    if kind <= 2:
        ufunc = UFUNCS[int(rng.integers(len(UFUNCS)))]
        return Pair(ufunc(s, t), ufunc(a.model, b.model))
    if not axes:
        return None
    over = subset(rng, axes)
    if kind == 3:
        function = REDUCTIONS[int(rng.integers(len(REDUCTIONS)))]
        over = over[0] if function is np.argmax else over
        expected = function(
            a.model, axis=numbers(over) if len(over) > 1 else numbers(over)[0], keepdims=True
        )
        return Pair(function(s, axis=over).astype(float), expected.astype(float))
    if kind == 4:
        return Pair(np.where(s > t, t, c.storage), np.where(a.model > b.model, b.model, c.model))
    if kind == 5:
        return Pair(np.clip(s, -1.0, abs(t)), np.clip(a.model, -1.0, abs(b.model)))
    if kind == 6:
        return Pair(np.transpose(s, "".join(rng.permutation(list(axes)))), a.model)
    if kind == 7:
        return Pair(np.flip(s, over), np.flip(a.model, numbers(over)))
    if kind == 8:
        shift = int(rng.integers(-3, 4))
        low, high = s.halo[axes.index(over[0])]
        at, rolled = numbers(over[0])[0], a.model.copy()
        inner = tuple(
            slice(low, n - high) if i == at else slice(None) for i, n in enumerate(rolled.shape)
        )
        rolled[inner] = np.roll(rolled[inner], shift, at)  # the domain goes round, the halo stays
        return Pair(np.roll(s, shift, axis=over[0]), rolled)
    if kind == 9:
        return Pair(np.cumsum(s, axis=over[0]), np.cumsum(a.model, numbers(over[0])[0]))
    if kind == 10:
        missing = [name for name in "IJK" if name not in axes]
        if not missing:
            return None
        other = Pair(s.copy(), a.model)
        np.negative(other.storage, out=other.storage)
        name = str(rng.choice(missing))
        both = np.concatenate((a.model, -a.model, a.model, -a.model), numbers(name)[0])
        return Pair(
            np.stack((s, other.storage, np.transpose(s, axes[::-1]), other.storage), axis=name),
            both,
        )
    if kind == 11 and set(t.axes) <= set(axes):
        s[...] = t
        a.model[...] = b.model
        return a
    if kind == 12 and set(t.axes) <= set(axes):
        mask = a.model > b.model
        np.copyto(s, t, where=s > t)
        np.copyto(a.model, np.broadcast_to(b.model, a.model.shape), where=mask)
        return a
    if kind == 13 and set(t.axes) <= set(axes):
        name, picked = over[0], rng.permutation(4)
        value = t - 1.0
        s[tuple(picked.tolist() if each == name else slice(None) for each in axes)] = value
        whole = np.broadcast_to(b.model - 1.0, a.model.shape)
        turned = np.moveaxis(a.model, numbers(name)[0], 0)
        turned[picked] = np.moveaxis(whole, numbers(name)[0], 0)
        return a
    if kind == 14:
        half = np.concatenate((s[tuple(slice(2) if n == over[0] else slice(None) for n in axes)],
                               np.transpose(s,
                               axes[::-1])[tuple(slice(2,
                               None) if n == over[0] else slice(None) for n in axes[::-1])]),
                              axis=over[0])  # fmt: skip
        return Pair(half, a.model.copy())
    return None


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = [made(rng, str(axes)) for axes in rng.choice(ORDERS, 4)]
    for _ in range(12):
        found = step(rng, known)
        if found is None:
            continue
        for pair in (found, *known):  # nothing else has changed
            pair.check()
        known[int(rng.integers(len(known)))] = found
        # Views share memory, models do not: what is written to later must be nobody's view.
        known = [Pair(pair.storage.copy(), pair.model.copy()) for pair in known]
        if np.max(abs(found.model)) > 1e6:
            return
