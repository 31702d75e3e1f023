"""What a storage knows of its indices besides shape and strides: axes, halo, layout, the aligned
index and the alignment; how each is read, and `Meta`, which holds them.
"""

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gridbuf.strides import falling, slowest_first
from gridbuf.validation import integer

# ---- axes: "I", "J" and "K", each at most once, in any order

LETTERS = "IJK"
_NO_SEQUENCES = (str, bytes, dict, set, frozenset)
_LEFT = "; a storage has at most the axes I, J and K"


def check_axes(axes: Any) -> str:
    """The axes as a str; TypeError or ValueError naming `axes`."""
    if not isinstance(axes, str):
        if not isinstance(axes, Sequence) or not all(isinstance(name, str) for name in axes):
            raise TypeError(f"axes: expected a str such as 'IJK', got {axes!r}")
        axes = "".join(axes)
    if len(set(axes)) != len(axes) or not set(axes) <= set(LETTERS):
        capitals = " (capitals)" if axes != axes.upper() else ""
        raise ValueError(
            f"axes: {axes!r} is not a permutation of some of the letters I, J, K{capitals}"
        )
    return str(axes)


def default_axes(ndim: int, argument: str) -> str:
    """The default axes of `ndim` indices."""
    if ndim > len(LETTERS):
        raise ValueError(f"{argument}: {ndim} indices" + _LEFT)
    return LETTERS[:ndim]


def sequence(values: Any, expected: str) -> tuple[Any, ...]:
    """The entries of what has some in an order."""
    if (
        isinstance(values, _NO_SEQUENCES)
        or not hasattr(values, "__iter__")
        or getattr(values, "shape", None) == ()
    ):
        raise TypeError(f"{expected}, got {values!r}")
    return tuple(values)


def per_axis(values: Any, axes: str, argument: str) -> tuple[Any, ...]:
    """An entry per axis, in index order. Three entries for fewer axes are read as I, J, K and
    those without an axis ignored.

    Three entries for fewer axes are read as I, J, K and those without an axis ignored.
    """
    entries = sequence(
        values, f"{argument}: expected a sequence with one entry per axis of {axes!r}"
    )
    if len(entries) == len(axes):
        return entries
    if len(entries) == len(LETTERS):
        return tuple(entries[LETTERS.index(name)] for name in axes)
    allowed = "3" if len(axes) == 3 else f"{len(axes)} or 3"
    raise ValueError(
        f"{argument}: {values!r} has {len(entries)} entries, axes {axes!r} need {allowed}"
    )


def non_negative(values: Any, axes: str, argument: str) -> tuple[int, ...]:
    """`per_axis` for sizes and indices: none may be negative."""
    found = tuple(integer(value, argument) for value in per_axis(values, axes, argument))
    if any(value < 0 for value in found):
        raise ValueError(f"{argument}: {values!r} has a negative entry; 0 or more is allowed")
    return found


# ---- the halo: per axis, the points at the low and at the high end outside the domain

Halo = tuple[tuple[int, int], ...]


def check_halo(halo: Any, shape: tuple[int, ...], axes: str) -> Halo:
    """Pairs in index order from ints and pairs; TypeError or ValueError naming `halo`."""
    if isinstance(halo, int | np.integer) and not isinstance(halo, bool):
        halo = (halo,) * len(axes)
    pairs = tuple(_pair(entry) for entry in per_axis(halo, axes, "halo"))
    for name, size, (low, high) in zip(axes, shape, pairs, strict=True):
        if low < 0 or high < 0:
            raise ValueError(
                f"halo: {(low, high)} for axis {name} is negative; 0 or more is allowed"
            )
        if low + high > size:
            raise ValueError(
                f"halo: {low} + {high} points for axis {name} are more than its size {size}"
            )
    return pairs


def _pair(entry: Any) -> tuple[int, int]:
    if isinstance(entry, (tuple, list)) or np.ndim(entry) == 1:
        if len(entry) != 2:
            raise ValueError(f"halo: {entry!r} is not a (low, high) pair")
        return integer(entry[0], "halo"), integer(entry[1], "halo")
    width = integer(entry, "halo")
    return width, width


def lower(halo: Halo) -> tuple[int, ...]:
    return tuple(low for low, _ in halo)


# ---- the layout: all of I, J, K, the axis with the largest stride first
#
# Always three letters, so that the place of an axis that a storage does not have is known when it
# is combined with one that does.

ORDERS = ("C", "F")


def check_layout(layout: Any, axes: str) -> str:
    """A layout string from one, or from ranks of strides as in gridbuf.empty."""
    if (
        isinstance(layout, (tuple, list))
        and layout
        and all(isinstance(letter, str) and len(letter) == 1 for letter in layout)
    ):
        layout = "".join(layout)
    if isinstance(layout, str):
        if sorted(layout) != sorted(LETTERS):
            raise ValueError(
                f"layout: {layout!r} is not a permutation of 'IJK'; all three letters are needed"
            )
        return layout
    ranks = tuple(
        integer(rank, "layout")
        for rank in sequence(layout, "layout: expected a str such as 'KJI' or a sequence of ints")
    )
    if sorted(ranks) != list(range(len(axes))):
        raise ValueError(
            f"layout: {ranks} is not a permutation of 0 to {len(axes) - 1} for the axes {axes!r}"
        )
    return _completed("".join(axes[ranks.index(rank)] for rank in range(len(axes))))


def layout_of_order(order: str, axes: str) -> str:
    """The layout of NumPy's C or F order, which go by index and not by name."""
    rows = _completed(axes)
    return rows if order == "C" else rows[::-1]


def _completed(letters: str) -> str:
    """Letters from the largest stride down, with the missing ones placed."""
    if len(letters) == len(LETTERS):
        return letters
    return LETTERS[::-1] if letters != "".join(sorted(letters)) else LETTERS


def layout_of_strides(strides: tuple[int, ...], axes: str) -> str:
    """The layout that a buffer has."""
    return _completed("".join(axes[index] for index in slowest_first(strides)))


def ranks_of(layout: str, axes: str) -> tuple[int, ...]:
    """The rank of each index's stride, 0 = largest."""
    present = [name for name in layout if name in axes]
    return tuple(present.index(name) for name in axes)


def layout_fits(layout: str, axes: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a buffer's strides fall in the layout's order."""
    return falling(shape, strides, [axes.index(name) for name in layout if name in axes])


def relabelled_layout(layout: str, old: str, new: str) -> str:
    """The layout when the axes `old` are called `new`; letters in neither keep the order I,
    J, K.
    """
    names = dict(zip(old, new, strict=True))
    names |= zip(
        (n for n in LETTERS if n not in old), (n for n in LETTERS if n not in new), strict=True
    )
    return "".join(names[name] for name in layout)


# ---- all of it


class Meta:
    """Axes, layout, halo, aligned index and alignment (in elements); see `meta_of`."""

    __slots__ = ("__weakref__", "aligned_index", "alignment", "axes", "halo", "layout", "ranks")

    axes: str
    layout: str
    halo: Halo
    aligned_index: tuple[int, ...]
    alignment: int
    ranks: tuple[int, ...]

    def replaced(self, **changes: Any) -> "Meta":
        content = {
            name: getattr(self, name)
            for name in ("axes", "layout", "halo", "aligned_index", "alignment")
        }
        return meta_of(**{**content, **changes})

    def selected(self, indices: tuple[int, ...], **changes: Any) -> "Meta":
        """The metadata of these indices only, in this order."""
        kept = {
            "axes": "".join(self.axes[i] for i in indices),
            "halo": tuple(self.halo[i] for i in indices),
            "aligned_index": tuple(self.aligned_index[i] for i in indices),
        }
        return self.replaced(**{**kept, **changes})


_known: WeakValueDictionary[tuple[Any, ...], Meta] = WeakValueDictionary()


def meta_of(
    axes: str, layout: str, halo: Halo, aligned_index: tuple[int, ...], alignment: int
) -> Meta:
    """The Meta with this content."""
    key = (axes, layout, halo, aligned_index, alignment)
    found = _known.get(key)
    if found is not None:
        return found
    meta = Meta()
    meta.axes, meta.layout, meta.halo, meta.aligned_index, meta.alignment = key
    meta.ranks = ranks_of(layout, axes)
    return _known.setdefault(key, meta)


# ---- of views

Picks = tuple[tuple[int, Any], ...]


def meta_of_view(meta: Meta, picks: Picks) -> Meta:
    """The metadata of a view; C, which asks for it, remembers the answers.

    `picks` has for each index its size, and what is taken of it: (first, step, how many), or an int
    where the index goes.
    """
    kept = tuple(i for i, (_, taken) in enumerate(picks) if isinstance(taken, tuple))
    halo = tuple(_sliced(meta.halo[i], picks[i][0], _spread(*picks[i][1])) for i in kept)
    return meta.selected(
        kept, halo=halo, aligned_index=aligned_in_view(meta, [taken for _, taken in picks])
    )


def _spread(first: int, step: int, count: int) -> range:
    """`count` indices from `first` on."""
    return range(first, first + step * count, step)


def _sliced(pair: tuple[int, int], size: int, selected: range) -> tuple[int, int]:
    """How many of the selected points lay in the lower and in the upper halo; reversing swaps
    them.
    """
    backwards = selected.step < 0
    if backwards:
        selected = selected[::-1]
    low = len(range(selected.start, min(selected.stop, pair[0]), selected.step))
    high = len(selected) - len(
        range(selected.start, min(selected.stop, size - pair[1]), selected.step)
    )
    return (high, low) if backwards else (low, high)


def aligned_in_view(meta: Meta, picks: Sequence[Any]) -> tuple[int, ...]:
    """Which point of a view lies on the boundary, for the indices that it keeps.

    `picks` has for each index what is taken of it: (first, step, how many), or an int where the
    index goes. The aligned point itself where the view has it, else the first that lies on the
    boundary: along the fastest index every `alignment`-th point does, along the others every row.
    Where no point of the view is aligned, it says nothing.
    """
    fastest = max(meta.ranks, default=0)
    found = []
    for taken, point, rank in zip(picks, meta.aligned_index, meta.ranks, strict=True):
        if not isinstance(taken, tuple):
            continue
        first, step, _ = taken
        index, rest = divmod(point - first, step)
        if rest or index < 0:
            period = meta.alignment if rank == fastest else 1
            index = next((i for i in range(period) if (first + i * step - point) % period == 0), 0)
        found.append(index)
    return tuple(found)
