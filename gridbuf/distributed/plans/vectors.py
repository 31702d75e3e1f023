"""Items of an exchange: plain fields, vectors that turn with the axes, pairs that swap, scalars
that change sign.
"""

from typing import Any, NamedTuple

from gridbuf import _core
from gridbuf.distributed.arguments import some_fields
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.geometry.linking import Link, LinkBuilder
from gridbuf.docstrings import as_in
from gridbuf.validation import integer

Fields = list[_core.Field]


class Item(NamedTuple):
    """One or two fields and the rule for them. Made by `vector`, `pair` and `scalar`."""

    kind: str  # "scalar", "vector" or "pair"
    fields: tuple[Any, ...]
    sign: int


def refuse_item(given: Any, name: str) -> None:
    """TypeError for an Item in the place of a field."""
    if isinstance(given, Item):
        raise TypeError(
            f"{name}: expected a Field, Blocks or a list of Fields, got what gbd.{given.kind} makes"
        )


def vector(u: Any, v: Any) -> Item:
    """Components of a vector along the grid's first two dims: they turn with the axes, and change
    sign where those do.

    Parameters
    ----------
    u, v : Field, Blocks or list of Field
        The component along the grid's first dim, and that along its second.

    Returns
    -------
    Item
        For `Grid.exchange`, `Grid.plan` and `Grid.sync`.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.tripolar((4, 2), pivot="F", halo=1)
    >>> u, v = grid.ones(), grid.ones()
    >>> grid.exchange(gbd.vector(u, v))
    >>> float(u[1, 3])  # beyond the fold
    -1.0
    """
    return Item("vector", (u, v), 1)


@as_in(vector)
def pair(dx: Any, dy: Any) -> Item:
    """Two fields that swap where axes do, without a sign: lengths of cells, for example.

    Parameters
    ----------
    dx, dy : Field, Blocks or list of Field
        The field of the grid's first dim, and the field of its second.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.cubed_sphere(4, halo=1)
    >>> dx, dy = ([grid_field for grid_field in grid.full(value)] for value in (1.0, 2.0))
    >>> grid.exchange(gbd.pair(dx, dy))
    >>> float(dx[0][0, 1]), float(dx[0][5, 1])  # the axes turn at the west edge alone
    (2.0, 1.0)
    """
    return Item("pair", (dx, dy), 1)


@as_in(vector)
def scalar(field: Any, *, sign: int = 1) -> Item:
    """A field on its own that changes its sign at folds.

    Parameters
    ----------
    field : Field, Blocks or list of Field
        The field.
    sign : {1, -1}, optional
        The factor of values beyond a fold.

    Raises
    ------
    TypeError, ValueError
        When sign is neither 1 nor -1.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.tripolar((4, 2), pivot="F", halo=1)
    >>> f = grid.ones()
    >>> grid.exchange(gbd.scalar(f, sign=-1))
    >>> float(f[1, 3])
    -1.0
    """
    one = integer(sign, "sign")
    if one not in (1, -1):
        raise ValueError(f"sign: {one} is neither 1 nor -1")
    return Item("scalar", (field,), one)


def items_of(given: tuple[Any, ...]) -> list[Item]:
    """Items as they were given: a field alone is a scalar."""
    some_fields(given, "an exchange")
    return [each if isinstance(each, Item) else Item("scalar", (each,), 1) for each in given]


PLAIN = Item("scalar", (), 1)


class Sources(NamedTuple):
    """For a field of a plan: the fields that stand for it where axes turn, and the sign."""

    item: Item
    fields: tuple[int, ...]
    component: int

    def takes(self, link: Link) -> bool:
        """Whether a link fills the field."""
        return link.rule is None or self.component in link.rule.components

    def of(self, link: Link, axes: Index) -> tuple[int, int]:
        """The field that has the points of a link's source, and their sign."""
        if link.edge is not None:
            signs = [a * b for a, b in zip(link.signs, link.edge.mirror, strict=True)]
            field, sign = self._turned(link._replace(signs=tuple(signs)), axes)
            return field, sign * link.edge.sign
        if link.rule is None:
            return self._turned(link, axes)
        if link.rule.source is None:
            field, sign = self._turned(link, axes)
            return field, sign * link.rule.sign
        if self.item.kind == "scalar":
            return self.fields[0], 1
        return self.fields[link.rule.source], link.rule.sign if self.item.kind == "vector" else 1

    def _turned(self, link: Link, axes: Index) -> tuple[int, int]:
        """The field and the sign by the axes of a link."""
        if self.item.kind == "scalar":
            straight = self.item.sign < 0 and link.axes == tuple(range(len(axes)))
            folded = straight and [s for a, s in zip(axes, link.signs, strict=True) if a < 2] == [
                -1,
                -1,
            ]
            return self.fields[0], -1 if folded else 1
        along = (
            link.axes.index(axes.index(self.component))
            if self.component in axes
            else self.component
        )
        sign = link.signs[along] if self.item.kind == "vector" and self.component in axes else 1
        return self.fields[axes[along] if self.component in axes else along], sign


def plain(number: int) -> Sources:
    """The sources of a field that stands for itself."""
    return Sources(PLAIN, (number,), 0)


def sources_of(items: list[Item], builder: LinkBuilder) -> list[Sources]:
    """For each field of the items the fields that stand for it where axes turn. A scalar has no
    sign where the grid has no fold.
    """
    found: list[Sources] = []
    for item in items:
        if item.kind == "scalar" and (item.sign == 1 or not builder.folds):
            found.append(plain(len(found)))
            continue
        numbers = tuple(range(len(found), len(found) + len(item.fields)))
        rule = item._replace(fields=())  # plans hold no memory
        found += [Sources(rule, numbers, component) for component in range(len(numbers))]
    return found
