"""What a storage knows of its indices besides shape and strides.

One object per distinct content: metadata compares by identity, which keeps the key
under which a ufunc's broadcasting is remembered short.
"""

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

from gridbuf.storage.halo import Halo
from gridbuf.storage.layout import ranks


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
    meta.ranks = ranks(layout, axes)
    return _known.setdefault(key, meta)
