"""The layout string: all of I, J, K, the axis with the largest stride first.

Always three letters, so that the place of an axis that a storage does not have is known
when it is combined with one that does.
"""

from typing import Any

from gridbuf.storage.axes import LETTERS, sequence
from gridbuf.strides import falling, slowest_first
from gridbuf.validation import integer

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
    return completed("".join(axes[ranks.index(rank)] for rank in range(len(axes))))


def of_order(order: str, axes: str) -> str:
    """The layout of NumPy's C or F order, which go by index and not by name."""
    rows = completed(axes)
    return rows if order == "C" else rows[::-1]


def completed(letters: str) -> str:
    """Letters from the largest stride down, with the missing ones placed."""
    if len(letters) == len(LETTERS):
        return letters
    return LETTERS[::-1] if letters != "".join(sorted(letters)) else LETTERS


def of_strides(strides: tuple[int, ...], axes: str) -> str:
    """The layout that a buffer has."""
    return completed("".join(axes[index] for index in slowest_first(strides)))


def ranks(layout: str, axes: str) -> tuple[int, ...]:
    """The rank of each index's stride, 0 = largest."""
    present = [name for name in layout if name in axes]
    return tuple(present.index(name) for name in axes)


def fits(layout: str, axes: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a buffer's strides fall in the layout's order."""
    return falling(shape, strides, [axes.index(name) for name in layout if name in axes])


def relabelled(layout: str, old: str, new: str) -> str:
    """The layout when the axes `old` are called `new`; letters in neither keep the order I,
    J, K.
    """
    names = dict(zip(old, new, strict=True))
    names |= zip(
        (n for n in LETTERS if n not in old), (n for n in LETTERS if n not in new), strict=True
    )
    return "".join(names[name] for name in layout)
