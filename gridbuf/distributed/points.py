"""What a grid says of the points of a field: their indices, and which of them no halo reaches."""

from collections.abc import Callable
from typing import Any

from gridbuf import _core
from gridbuf.distributed import regions
from gridbuf.distributed.constructors import Fields
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.plans.plan import on_blocks
from gridbuf.distributed.plans.planning import Planner


class Points:
    """What asks about points."""

    dims: tuple[str, ...]
    blocks: tuple[Block, ...]
    _planner: Planner

    def each(self, *fields: Fields) -> list[Any]:
        """Each block of this rank with its fields: a loop over them is the same for one block and
        for many.

        Parameters
        ----------
        *fields : Field or list of Field
            On this rank's blocks.

        Returns
        -------
        list of tuple
            A Block, and a Field of each of `fields`.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 6), blocks=(1, 2), halo=1)
        >>> for block, f, g in grid.each(grid.ones(), grid.zeros()):
        ...     g.domain[...] = f.domain + block.number
        """
        columns = [
            on_blocks(given, len(self.blocks), f"fields[{i}]") for i, given in enumerate(fields)
        ]
        return [*zip(self.blocks, *columns, strict=True)]

    def coordinates(self, field: Fields) -> Any:
        """The indices on the grid of a field's points along each axis, halo included.

        Parameters
        ----------
        field : Field or list of Field
            On this rank's blocks.

        Returns
        -------
        dict or list of dict
            An array of indices for each dim: of centres or faces, whichever the field has; of other
            dims than the grid's from 0 on. Where a halo lies beyond the tile they go on: below 0,
            and beyond the end. A list, one a block, where `field` is one.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 6), blocks=(1, 2), halo=1)
        >>> [each["J"].tolist() for each in grid.coordinates(grid.zeros())]
        [[-1, 0, 1, 2, 3], [2, 3, 4, 5, 6]]
        """
        return self._each(field, lambda one, block: regions.coordinates(one, block, self.dims))

    def core(self, field: Fields) -> Fields:
        """The own points that no halo reaches: what can be computed while an exchange is under way.

        Parameters
        ----------
        field : Field or list of Field
            On this rank's blocks. Its halo is as wide as what is computed reaches, also where the
            grid ends.

        Returns
        -------
        Field or list of Field
            Views.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), halo=1)
        >>> grid.core(grid.zeros()).shape
        (6, 4)
        """
        return self._each(
            field, lambda one, block: regions.cut_out(one, regions.spans(one, self.dims)[1])
        )

    def rims(self, field: Fields) -> Any:
        """The own points that are not in the core, each in one of several views.

        Parameters
        ----------
        field : Field or list of Field
            As for `core`.

        Returns
        -------
        list of Field or list of lists
            Views that do not overlap; a list of them for each block where `field` is a list.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), halo=1)
        >>> [rim.shape for rim in grid.rims(grid.zeros())]
        [(1, 6), (1, 6), (6, 1), (6, 1)]
        """
        return self._each(field, lambda one, block: [*regions.around(one, self.dims)])

    def _each(self, given: Fields, what: Callable[[_core.Field, Block], Any]) -> Any:
        fields = on_blocks(given, len(self.blocks), "field")
        if self.blocks:
            self._planner.bound(fields, "field")
        found = [what(field, block) for field, block in zip(fields, self.blocks, strict=True)]
        return found if isinstance(given, list | tuple) else found[0]
