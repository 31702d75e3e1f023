"""What a grid does with whole fields: gather and scatter them, and move them to another grid."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from gridbuf.common import BoundedCache
from gridbuf.distributed.constructors import Constructors, Fields
from gridbuf.distributed.geometry.blocks import Decomposition, Index
from gridbuf.distributed.plans.engine import Engine
from gridbuf.distributed.plans.planning import Planner
from gridbuf.distributed.whole_fields.gathering import gathering, scattering
from gridbuf.distributed.whole_fields.ground import Ground
from gridbuf.distributed.whole_fields.redistributing import Elsewhere, redistributing
from gridbuf.distributed.whole_fields.subjects import Subject
from gridbuf.docstrings import as_in

T = TypeVar("T")


class Moving(Constructors):
    """What moves fields."""

    tiles: tuple[Index, ...]
    rank: int
    size: int
    comm: Any
    _engine: Engine
    _decomposition: Decomposition
    _planner: Planner

    @cached_property
    def _ground(self) -> Ground:
        known: BoundedCache[Any] = BoundedCache(
            64
        )  # geometries and what they are gathered for: a program has a handful
        return Ground(
            self.tiles,
            self.dims,
            self._planner.builder,
            self._decomposition,
            self.blocks,
            self.rank,
            self.size,
            known,
        )

    def gather(self, field: Any, root: int = 0, *, fill_value: Any = 0, **keywords: Any) -> Any:
        """Bring a whole field to one rank. All ranks call this.

        Parameters
        ----------
        field : Field, list of Field or Item
            On this rank's blocks. Of points that exist more than once the owner's value counts; of
            `vector`, `pair` and `scalar` it is turned and signed as in an exchange.
        root : int, optional
            The rank that gets it.
        fill_value : scalar, optional
            What points get that nobody has, because they are on land.
        **keywords
            Those of `gridbuf.Field.empty` for what the root gets: backend, padding, ...

        Returns
        -------
        Field, list of Field or None
            On the root the field without halo, in the dims that the root's has; a list, one a tile,
            where there are several tiles. A tuple of two for an item of two. On the other ranks
            None.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong on this rank; the message names it.
        RevokedError
            When another rank has raised; DisagreementError, which is one, when ranks do not call
            the same. The grid is made again then.
        TimeoutError
            When a rank does not come.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 3), blocks=(2, 1), halo=1)
        >>> T = grid.zeros()
        >>> for block, f in zip(grid.blocks, T):
        ...     f.domain[...] = block.number
        >>> grid.gather(T).numpy()[:, 0]
        array([0., 0., 1., 1.])
        """
        return self._call(
            "gather",
            lambda ranks: gathering(ranks, self._ground, field, root, fill_value, keywords),
        )

    def scatter(self, array: Any, field: Fields, root: int = 0) -> None:
        """Give every block its part of a whole field that one rank has. All ranks call this.

        Parameters
        ----------
        array : array_like or list
            On the root the values of the whole field, of its dtype, with axes in the order of its
            dims, or a Field, whose dims have names; a list, one a tile, where there are several
            tiles. On the other ranks nothing is made of it.
        field : Field or list of Field
            On this rank's blocks. Its domain is filled, its halo is not.
        root : int, optional
            The rank that has it.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong on this rank: another shape, dtype or dims, a field that is
            read-only; the message names it.
        RevokedError
            When another rank has raised; DisagreementError, which is one, when ranks do not call
            the same. The grid is made again then.
        TimeoutError
            When a rank does not come.

        Examples
        --------
        >>> import numpy as np, gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 3), blocks=(2, 1), halo=1)
        >>> T = grid.zeros()
        >>> grid.scatter(np.arange(12.0).reshape(4, 3), T)
        >>> T[1].domain.numpy()
        array([[ 6.,  7.,  8.],
               [ 9., 10., 11.]])
        """
        self._call("scatter", lambda ranks: scattering(ranks, self._ground, array, field, root))

    @as_in(gather)
    def redistribute(
        self, field: Fields, other: Any, out: Fields = None, **keywords: Any
    ) -> Fields:
        """Move a field to a grid of the same tiles that is cut otherwise, or on other ranks. All
        ranks of this grid call this.

        Parameters
        ----------
        field : Field or list of Field
            On this rank's blocks of this grid.
        other : Grid or None
            The other grid, on the same ranks or on some of them; None on ranks that are not in its
            communicator.
        out : Field or list of Field, optional
            What is filled, on this rank's blocks of the other grid. None: new fields.
        **keywords
            Those of `empty` for new fields: halo, backend, padding, ...

        Returns
        -------
        Field, list of Field or None
            On this rank's blocks of the other grid; None where it is not in that grid. The halo is
            not filled: 0 in new fields.

        Notes
        -----
        Each place of a tile keeps its value. Of a place that several blocks have, on the faces
        between them, the lowest block's counts.

        Examples
        --------
        >>> import numpy as np, gridbuf.distributed as gbd
        >>> rows, columns = gbd.grid((4, 6), blocks=(2, 1)), gbd.grid((4, 6), blocks=(1, 3), halo=1)
        >>> T = rows.zeros()
        >>> rows.scatter(np.arange(24.0).reshape(4, 6), T)
        >>> [f.domain.numpy()[3].tolist() for f in rows.redistribute(T, columns)]
        [[18.0, 19.0], [20.0, 21.0], [22.0, 23.0]]
        """
        return self._call(
            "redistribute",
            lambda ranks: redistributing(
                ranks, self._ground, field, lambda: self._elsewhere(other, keywords), out
            ),
        )

    def _elsewhere(self, other: Any, keywords: Mapping[str, Any]) -> Elsewhere | None:
        if other is None:
            return None
        if not isinstance(other, Moving):
            raise TypeError(f"other: expected a grid, got {type(other).__name__}")
        for name in ("dims", "dtype", "sizes", "faces"):
            if name in keywords:
                raise TypeError(f"{name}: what is moved has the field's")

        def make(one: Subject) -> Fields:
            faces = [
                self.dims[a]
                for a, p in zip(one.geometry.axes, one.geometry.positions, strict=True)
                if not p
            ]
            return other.zeros(one.dims, one.dtype, sizes=one.sizes, faces=faces, **keywords)

        return Elsewhere(other._ground, self._ranks_of(other), make)

    def _ranks_of(self, other: "Moving") -> list[int] | None:
        """Which of this grid's ranks the other's are; None: the same."""
        if self.size == other.size == 1:
            return None
        if self.comm is None or other.comm is None:
            lacking = "this grid" if self.comm is None else "it"
            raise ValueError(
                f"other: {lacking} has no communicator, and the two must have ranks in common"
            )
        from mpi4py import MPI

        ours, theirs = self.comm.Get_group(), other.comm.Get_group()
        found = [int(rank) for rank in MPI.Group.Translate_ranks(theirs, None, ours)]
        ours.Free(), theirs.Free()
        if MPI.UNDEFINED in found:
            raise ValueError(
                f"other: its rank {found.index(MPI.UNDEFINED)} is none of this grid's ranks"
            )
        return None if found == [*range(self.size)] else found

    def _call(self, name: str, make: Callable[[Any], T]) -> T:
        """Make a call that all ranks make."""
        return self._engine.run(name, make)
