"""What halo points beyond closed edges get, by numpy.pad: one axis and one side after the other."""

from typing import Any

import numpy as np

ALONE = -77


def padded(array: Any, axis: int, width: int, side: int, rule: Any, position: int) -> Any:
    """An array with points beyond one end of an axis."""
    before = [(0, 0)] * array.ndim
    before[axis] = (width, 0) if side < 0 else (0, width)
    if rule is None:
        return np.pad(array, before, constant_values=ALONE)
    if rule == "zero" or isinstance(rule, tuple):
        return np.pad(array, before, constant_values=0 if rule == "zero" else rule[1])
    if rule in ("edge", "wrap"):
        return np.pad(array, before, mode=rule)
    if rule in ("reflect", "odd"):
        found = np.pad(array, before, mode="symmetric" if position else "reflect")
        halo = [slice(None)] * array.ndim
        halo[axis] = slice(0, width) if side < 0 else slice(array.shape[axis], None)
        if rule == "odd":
            found[tuple(halo)] *= -1
        return found
    assert rule == "linear"
    ends = np.take(array, [0, 1] if side < 0 else [-1, -2], axis)
    first, second = np.split(ends, 2, axis)
    steps = range(width, 0, -1) if side < 0 else range(1, width + 1)
    more = [first + k * (first - second) for k in steps]
    return np.concatenate([*more, array] if side < 0 else [array, *more], axis) if more else array


def whole(
    array: Any, halo: Any, edges: dict[str, Any], positions: Any, periodic: str, dims: str
) -> tuple[Any, Any]:
    """A field of one block with its halo, and which of its points are left alone."""
    alone = np.zeros(array.shape, bool)
    for axis, dim in enumerate(dims):
        (low, high), rules = halo[axis], edges.get(dim)
        if dim in periodic:
            rules = "wrap"
        pair = rules if isinstance(rules, tuple) and rules[0] != "constant" else (rules, rules)
        # of one array both sides, so that neither sees what the other gave
        n = array.shape[axis]
        below = padded(array, axis, low, -1, pair[0], positions[axis])
        above = padded(array, axis, high, 1, pair[1], positions[axis])
        array = np.concatenate(
            [np.take(below, range(low), axis), np.take(above, range(n + high), axis)], axis
        )
        lone = np.zeros(low + n + high, bool)
        lone[:low] |= pair[0] is None
        lone[low + n :] |= pair[1] is None
        around = [(0, 0)] * array.ndim
        around[axis] = (low, high)
        alone = np.pad(alone, around, mode="edge")
        alone |= lone.reshape([-1 if a == axis else 1 for a in range(array.ndim)])
    return np.where(alone, ALONE, array), alone


RULES = ["edge", "zero", ("constant", 5), "reflect", "odd", "linear", "wrap", None]


def random_case(seed: int) -> dict[str, Any]:
    """A grid, a field on it and rules."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(4, 8, 2).tolist())
    blocks = tuple(random.integers(1, 4, 2).tolist())
    if random.random() < 0.3:
        blocks = (shape[0], 2)  # blocks narrower than halos
    periodic = "J" if random.random() < 0.3 else ""
    halo = tuple(tuple(random.integers(0, 4, 2).tolist()) for _ in range(2))
    faces = [dim for dim in "IJ" if dim not in periodic and random.random() < 0.4]
    edges = {}
    for axis, dim in enumerate("IJ"):
        if dim not in periodic:
            narrow = blocks[axis] * 2 > shape[axis]
            rules = [RULES[i] for i in random.integers(0, len(RULES), 2)]
            rules = ["edge" if narrow and rule == "linear" else rule for rule in rules]
            edges[dim] = rules[0] if random.random() < 0.3 else tuple(rules)
            if edges[dim] == ("constant", 5) or edges[dim] is None:
                edges[dim] = ("reflect", None)
    signed = any(word in str(edges) for word in ("odd", "linear"))  # integers have no sign bit
    dtype = ["f8", "f4" if signed else "i4", "f4", "c16"][random.integers(0, 4)]
    dims = ["IJK", "KJI", "JIK"][random.integers(0, 3)]
    return {
        "shape": shape, "blocks": blocks, "periodic": periodic, "halo": halo,
        "faces": faces, "edges": edges, "dtype": dtype, "dims": dims,
    }  # fmt: skip
