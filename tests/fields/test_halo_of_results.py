"""The halo of a result: per index the largest of all operands', whatever they are and on whichever
side they stand.

Each call is made three times: the second and the third are answered by C from memory, with operands
of other halos between.
"""

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.gufunc as gufunc
import gridbuf.storage as gs

SIZES = {"I": 7, "J": 8, "K": 9}
Pairs = tuple[tuple[int, int], ...]
ADD = gufunc.from_ufunc(np.add)

CALLS: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq,
    operator.ne, operator.ge,
    np.add, np.maximum, np.arctan2, np.less,
    lambda a, b: np.add(a, b, dtype="f8"),
    lambda a, b: np.where(a > b, a, b),
    lambda a, b: np.where(True, a, b),
    np.isclose,
    lambda a, b: np.clip(a, b, 5.0),
    lambda a, b: np.divmod(a, b)[1],
]  # fmt: skip


def drawn_halo(rng: random.Random, shape: tuple[int, ...]) -> Pairs:
    return tuple((rng.randint(0, 2), rng.randint(0, 2)) if n > 4 else (0, 0) for n in shape)


def drawn_names(rng: random.Random) -> str:
    return "".join(rng.sample("IJK", rng.randint(1, 3)))


def drawn(rng: random.Random, kind: str, names: str) -> Any:
    shape = tuple(1 if rng.random() < 0.15 else SIZES[name] for name in names)
    values = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    if kind == "storage":
        return gs.storage(
            values, axes=names, halo=drawn_halo(rng, shape), defaults=rng.choice(["C", "F", "gtmc"])
        )
    halo = drawn_halo(rng, shape) if rng.random() < 0.8 else None
    field = gb.Field(values, dims=names, halo=halo)
    return field[...] if rng.random() < 0.5 else field.copy()


def names_of(obj: Any) -> str:
    return obj.axes if isinstance(obj, gs.Storage) else "".join(obj.dims)


def largest(result: Any, operands: tuple[Any, ...]) -> Pairs | None:
    """The rule, once more: what an operand with one element along an index says there does not
    count.
    """
    found = []
    for name, size in zip(names_of(result), result.shape, strict=True):
        pairs = [
            obj.halo[names_of(obj).index(name)]
            for obj in operands
            if obj.halo is not None
            and name in names_of(obj)
            and obj.shape[names_of(obj).index(name)] == size
        ]
        low = min(max((pair[0] for pair in pairs), default=0), size)
        found.append((low, min(max((pair[1] for pair in pairs), default=0), size - low)))
    if isinstance(result, gs.Storage) or any(obj.halo is not None for obj in operands):
        return tuple(found)
    return None


KINDS = [(a, b) for a in ("storage", "field") for b in ("storage", "field")]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_of_two_with_names(kinds: tuple[str, str]) -> None:
    rng = random.Random(21)
    for _ in range(150):
        names = [drawn_names(rng) for _ in kinds]
        call = rng.choice(CALLS)
        for _ in range(3):
            pair = tuple(drawn(rng, kind, own) for kind, own in zip(kinds, names, strict=True))
            for operands in (pair, pair):
                result = call(*operands)
                assert result.halo == largest(result, operands), (operands, result)
                if isinstance(result, gs.Storage):
                    continue
                assert result.origin is None or result.origin == tuple(
                    low for low, _ in result.halo
                )


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_gufuncs_join_the_same_way(kinds: tuple[str, str]) -> None:
    rng = random.Random(22)
    for _ in range(60):
        pair = tuple(drawn(rng, kind, drawn_names(rng)) for kind in kinds)
        if any(obj.halo is not None for obj in pair):
            assert ADD(*pair).halo == largest(ADD(*pair), pair)


@pytest.mark.parametrize("kind", ["storage", "field"])
@pytest.mark.parametrize("other", ["array", "unnamed", "number"])
def test_beside_what_has_no_names(kind: str, other: str) -> None:
    rng = random.Random(23)
    for _ in range(150):
        call = rng.choice(CALLS)
        one = drawn(rng, kind, drawn_names(rng))
        beside: Any = 2.0 if other == "number" else np.full(one.shape, 2.0)
        operands = (one,)
        if other == "unnamed":
            beside = gb.Field(beside, halo=drawn_halo(rng, one.shape))
            operands = one, gb.Field(beside, dims=names_of(one))
        for a, b in ((one, beside), (beside, one), (one, beside)):
            result = call(a, b)
            assert result.halo == largest(result, operands)


def test_of_fields_without_names() -> None:
    """By position: the last indices meet."""
    a, b = gb.Field(np.ones((7, 8)), halo=((1, 0), (0, 2))), gb.Field(np.ones(8), halo=((2, 1),))
    for _ in range(2):
        assert (a + b).halo == (b + a).halo == ((1, 0), (2, 2))


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_targets_keep_their_own(kinds: tuple[str, str]) -> None:
    rng = random.Random(24)
    for _ in range(40):
        names = drawn_names(rng)
        target, value = (drawn(rng, kind, names) for kind in kinds)
        if any(n == 1 for n in target.shape + value.shape):
            continue
        own = target.halo
        for _ in range(2):
            before = target
            target += value
            target **= 2
            assert (
                target is before
                and np.add(value, value, out=target) is target
                and target.halo == own
            )


def test_several_operands() -> None:
    s = gs.ones((7, 8), axes="IJ", halo=(1, 2))
    f = gb.Field(np.ones((8, 9)), dims="JK", halo=((0, 3), (1, 1)))
    wanted = ((1, 1), (2, 3), (1, 1))
    for _ in range(2):
        assert (
            np.where(s > 0, f, s).halo
            == np.where(f > 0, s, 1.0).halo
            == np.where(f > 0, s, s).halo
            == wanted
        )
        assert (
            np.select([s > 0, s > 1], [f, s]).halo
            == np.clip(s, 0.0, f).halo
            == np.add(s, 1.0, where=f > 0).halo
            == wanted
        )
    g = gb.Field(np.ones((9, 7)), dims="KI", halo=((4, 0), (0, 2)))
    assert (
        np.where(f > 0, g, 1.0).halo == np.add(f, 1.0, where=g > 0).halo == ((0, 2), (0, 3), (4, 1))
    )


def test_of_what_is_concatenated_a_field_ends_the_domain_too() -> None:
    """The domain begins where the first part's does and ends where the last one's does."""
    s = gs.ones((7, 8), axes="IJ", halo=(1, 2))
    f = gb.Field(np.ones((8, 7)), dims="JI", halo=((0, 3), (1, 4)))
    plain = gb.Field(np.ones((8, 7)), dims="JI")
    for _ in range(2):
        assert np.concatenate((s, f)).halo == ((1, 4), (2, 3)) and np.concatenate((f, s)).halo == (
            (1, 1),
            (2, 3),
        )
        assert np.concatenate((s, plain), axis="J").halo == ((1, 1), (2, 0))
        assert np.concatenate((s, gs.as_storage(plain)), axis="J").halo == ((1, 1), (2, 0))
        assert np.stack((s, f), axis="K").halo == ((1, 4), (2, 3), (0, 0))


def test_the_points_of_the_domain_are_those_of_all_operands() -> None:
    """What a stencil computes on `result.domain` reads no halo."""
    s = gs.storage(np.arange(56.0).reshape(7, 8), axes="IJ", halo=(1, 1))
    f = gb.Field(np.full((7, 8), np.nan), dims="IJ", halo=(2, 1))
    f.domain[...] = 1.0
    for _ in range(2):
        for result in (s + f, f + s, np.where(s >= 0, f, s)):
            assert result.domain.shape == (3, 6) and np.isfinite(np.asarray(result.domain)).all()


def test_fields_with_names_refuse_matmul_beside_storages_and_storages_go_by_position() -> None:
    f, s = gb.Field(np.eye(3), dims="IJ"), gs.storage(np.eye(3), axes="IJ")
    for _ in range(2):
        with pytest.raises(TypeError, match="core dimensions"):
            f @ f
        assert type(s @ s) is np.ndarray
