"""The grid: blocks of tiles and their ranks, the fields on them, their exchange, and the calls of
all ranks about whole fields and files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Never, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from gridbuf import _core
from gridbuf.common import BoundedCache
from gridbuf.distributed import arguments as read
from gridbuf.distributed.blocks import Blocks, make, on_grid
from gridbuf.distributed.blockwise import Partition, partition_of
from gridbuf.distributed.drawing import Drawing, draw
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.boxes import Pairs
from gridbuf.distributed.geometry.edges import read_edges
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.beyond_edges import NO_EDGES
from gridbuf.distributed.plans.engines import Engine
from gridbuf.distributed.plans.plan import Plan, on_blocks
from gridbuf.distributed.plans.planning import KeptPlans, Planner
from gridbuf.distributed.plans.vectors import items_of
from gridbuf.distributed.whole_fields import field_info
from gridbuf.distributed.whole_fields.collective_context import Context
from gridbuf.distributed.whole_fields.field_info import FieldInfo
from gridbuf.distributed.whole_fields.moving import Elsewhere, gathering, redistributing, scattering
from gridbuf.distributed.whole_fields.reductions import (
    checking,
    extreme,
    multiplying,
    summing,
    truths,
)
from gridbuf.docstrings import as_in
from gridbuf.exact.sums import Total
from gridbuf.names import joined, read_names
from gridbuf.validation import boolean

if TYPE_CHECKING:
    from gridbuf.distributed.files.loading import Checkpoint

T = TypeVar("T")
Fields = Any  # a Field where the rank has one block, else Blocks
FEW = 64  # points along a dim that are enough to stand for a block


class Called:
    """A method; TypeError that says so where it is used as a sequence, without the call."""

    def __init__(self, method: Callable[..., Any], text: str) -> None:
        self._method, self._text, self.__doc__ = method, text, method.__doc__

    def __call__(self) -> Any:
        return self._method()

    def _refuse(self, *args: Any) -> Any:
        raise TypeError(f"{self._text.removesuffix('()')}: it is a method; write {self._text}")

    __iter__ = __getitem__ = __len__ = __contains__ = _refuse


class Grid:
    """Blocks of a grid and their ranks, and the exchange of halos: the result of `gbd.grid` and its
    like.

    Attributes
    ----------
    shape : tuple of int
        The points along each of dims; of the first tile where there are several.
    tiles : tuple
        The shape of each tile.
    dims : tuple of str
        The indices that are cut.
    periodic : tuple of str
        The indices without ends.
    halo : tuple
        The halo of fields by default: (low, high) for each of dims.
    blocks : tuple of Block
        This rank's blocks.
    comm
        The communicator that it was made with.
    rank, size : int
        The number of this rank, and of all ranks.
    engine : str
        The name of the engine.
    timeout : float or None
        The seconds after which a rank that waits for another raises TimeoutError.
    """

    def __init__(
        self,
        builder: LinkBuilder,
        periodic: tuple[str, ...],
        halo: Pairs,
        engine: Engine,
        comm: Any,
        timeout: float | None,
    ) -> None:
        topology, decomposition = builder.whole, builder.decomposition
        self.tiles = topology.tiles
        self.dims = topology.names
        self.periodic = periodic
        self.halo = halo
        self.shape = self.tiles[0]
        self.comm = comm
        self.rank = engine.rank
        self.size = engine.size
        self.engine = engine.name
        self.timeout = timeout
        self.blocks = tuple(decomposition.blocks_of(engine.rank))
        self._engine, self._decomposition = engine, decomposition
        self._planner = Planner(builder, self.blocks, engine)
        self._kept = KeptPlans(self._planner)
        vars(self)["all_blocks"] = Called(self.all_blocks, "grid.all_blocks()")

    def __repr__(self) -> str:
        tiles = "" if len(self.tiles) == 1 else f"{len(self.tiles)} tiles of "
        shape = " x ".join(map(str, self.shape))
        return (
            f"<Grid {joined(self.dims)}: {tiles}{shape} in {self._decomposition.number_of_blocks}"
            f" blocks, rank {self.rank} of {self.size} ({self.engine})>"
        )

    def arguments(self) -> dict[str, str]:
        """The arguments of the grid as text, the same on all ranks.

        Returns
        -------
        dict of str
            By the argument's name.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((8, 6), halo=1).arguments()["halo"]
        '((1, 1), (1, 1))'
        """
        seams = sorted(
            (key, tuple(seam)) for key, seam in self._planner.builder.whole.seams.items()
        )
        return {
            "dims": str(self.dims),
            "shape": str(self.tiles),
            "seams": str(seams),
            "cuts": str(
                [[axis.given or axis.count for axis in tile] for tile in self._decomposition.cuts]
            ),
            "owners": str(self._decomposition.owners),
            "halo": str(self.halo),
            "engine": self.engine,
        }

    def all_blocks(self) -> Iterator[Block]:
        """Every block of the grid, one after the other; land has rank None.

        Yields
        ------
        Block
            In the order of tiles, within each in C order.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> [block.start for block in gbd.grid((5, 4), blocks=(2, 1)).all_blocks()]
        [(0, 0), (3, 0)]
        """
        return self._decomposition.blocks()

    def draw(self) -> Drawing:
        """A picture of the blocks, the ranks that have them and their halos.

        Returns
        -------
        Drawing
            A notebook shows it; `str` of it is text, `svg` the source of the picture.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> print(gbd.grid((6, 4), blocks=(2, 2), owners=(0, 0, None, 0)).draw())
        IJ: 6 x 4 in 4 blocks on 1 rank, halo 0 0; this is rank 0
          I 0:3    [0]  [0]
          I 3:6     .   [0]
        """
        return draw(self)

    # ---- Fields ----

    def empty(
        self,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, with the grid's halo, uninitialized.

        Parameters
        ----------
        dims : str or sequence, optional
            Their indices: any of the grid's and others. None: the grid's.
        dtype : dtype_like, optional
            Of the elements.
        sizes : dict, optional
            How many points they have along the indices that the grid does not cut, without halo.
        halo : int or sequence, optional
            An int for the grid's dims, or an int or a (low, high) pair for each of dims. None: the
            grid's.
        faces : str or sequence, optional
            Along which of the grid's dims the points lie on faces: one more than there are cells.
        **keywords
            The keywords of `gridbuf.Field.empty`: backend, padding, device, ...

        Returns
        -------
        Field or Blocks
            A Field where the rank has one block, else Blocks in the order of `blocks`.

        Raises
        ------
        TypeError, ValueError
            When a parameter is wrong; the message names it.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), blocks=(2, 1), halo=1)
        >>> [f.shape for f in grid.empty("IJK", sizes={"K": 5}, faces="I")]
        [(7, 8, 5), (7, 8, 5)]
        """
        return self._make(_core.Field.empty, (), dims, dtype, sizes, halo, faces, keywords)

    @as_in(empty)
    def zeros(
        self,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, filled with zeros.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((8, 6), halo=2).zeros().shape
        (12, 10)
        """
        return self._make(_core.Field.zeros, (), dims, dtype, sizes, halo, faces, keywords)

    @as_in(empty)
    def ones(
        self,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, filled with ones.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((8, 6)).ones("I").dims
        ('I',)
        """
        return self._make(_core.Field.ones, (), dims, dtype, sizes, halo, faces, keywords)

    @as_in(empty)
    def full(
        self,
        fill_value: Any,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, filled with a value.

        Parameters
        ----------
        fill_value : scalar
            The value of all elements.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> float(gbd.grid((8, 6)).full(2.5)[0, 0])
        2.5
        """
        return self._make(
            _core.Field.full, (fill_value,), dims, dtype, sizes, halo, faces, keywords
        )

    def _make(
        self,
        make: Callable[..., _core.Field],
        value: tuple[Any, ...],
        dims: Any,
        dtype: Any,
        sizes: Any,
        halo: Any,
        faces: Any,
        keywords: Any,
    ) -> Fields:
        names = self.dims if dims is None else read_names(dims, "dims:", own_names=True)
        staggered = read.read_faces(faces, names, self.dims)
        given = read.read_sizes(sizes, names, self.dims)
        if halo is None or not hasattr(halo, "__iter__"):
            own = self.halo if halo is None else read.read_halo(halo, self.dims)
            pairs = tuple(
                own[self.dims.index(name)] if name in self.dims else (0, 0) for name in names
            )
        else:
            pairs = read.read_halo(halo, names)

        def made(cells: Sequence[int]) -> _core.Field:
            shape = []
            for name, (low, high) in zip(names, pairs, strict=True):
                axis = self.dims.index(name) if name in self.dims else None
                n = given[name] if axis is None else cells[axis] + (name in staggered)
                shape.append(n + low + high)
            return make(tuple(shape), *value, dtype=dtype, dims=names, halo=pairs, **keywords)

        if len(self.blocks) == 1:
            return made(self.blocks[0].shape)
        cells = [block.shape for block in self.blocks] or [self._stand_in]
        return on_grid([made(each) for each in cells], bool(self.blocks), self._partition)

    @cached_property
    def _stand_in(self) -> tuple[int, ...]:
        """The points of the Field that stands for the blocks of a rank that has none: those of the
        largest block, for functions that need neighbours, but few.
        """
        sizes = [
            max(stop - start for axis in axes for start, stop in map(axis.ends, range(axis.count)))
            for axes in zip(*self._decomposition.cuts, strict=True)
        ]
        return tuple(min(n, FEW) for n in sizes)

    @cached_property
    def _partition(self) -> Partition:
        return partition_of(self.dims, self.tiles, self._decomposition, self.blocks)

    # ---- Points ----

    def each(self, *fields: Fields) -> list[Any]:
        """Each block of this rank with its fields: a loop over them is the same for one block and
        for many.

        Parameters
        ----------
        *fields : Field, Blocks or list of Field
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
        field : Field, Blocks or list of Field
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
        return self._each(field, lambda one, block: field_info.coordinates(one, block, self.dims))

    def core(self, field: Fields) -> Fields:
        """The own points that no halo reaches: what can be computed while an exchange is under way.

        Parameters
        ----------
        field : Field, Blocks or list of Field
            On this rank's blocks. Its halo is as wide as the stencil reaches, also where the
            grid ends.

        Returns
        -------
        Field, Blocks or list of Field
            Views.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), halo=1)
        >>> grid.core(grid.zeros()).shape
        (6, 4)
        """

        def core_of(one: _core.Field, block: Any = None) -> _core.Field:
            return field_info.cut_out(one, field_info.spans(one, self.dims)[1])

        found = self._each(field, core_of)
        if not isinstance(field, Blocks):
            return found
        return make(tuple(found or [core_of(part) for part in field._parts]), field)

    def rims(self, field: Fields) -> Any:
        """The own points that are not in the core, each in one of several views.

        Parameters
        ----------
        field : Field, Blocks or list of Field
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
        return self._each(field, lambda one, block: [*field_info.around(one, self.dims)])

    def _each(self, given: Fields, what: Callable[[_core.Field, Block], Any]) -> Any:
        fields = on_blocks(given, len(self.blocks), "field")
        if self.blocks:
            self._planner.bound(fields, "field")
        found = [what(field, block) for field, block in zip(fields, self.blocks, strict=True)]
        return found if isinstance(given, Blocks | list | tuple) else found[0]

    # ---- Exchange ----

    def plan(
        self,
        *items: Any,
        corners: bool = True,
        names: Sequence[str] | None = None,
        edges: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Plan an exchange that is made many times.

        Parameters
        ----------
        *items : Field, Blocks, list of Field or Item
            The fields that are exchanged together, or items of `vector`, `pair` and `scalar`.
        corners : bool, optional
            False: points that lie outside along more than one of the grid's dims are left alone.
        names : sequence of str, optional
            The names of the fields in errors, one for each. None: their places.
        edges : dict, optional
            Values of halo points beyond the closed edges of the grid, in the same pass: by the name
            of a dim a rule, or a pair of rules for its low and its high end. "edge" repeats the
            outermost point; "zero" and ("constant", x) are values; "reflect" mirrors at the wall
            (point -1 - k takes point k; on faces, of which one lies on the wall, -k takes k), "odd"
            does so with the sign changed; "linear" goes on with the last difference; "wrap" takes
            the points of the other end, as `numpy.pad`; None leaves them alone, as do dims that are
            not named. In corners the rule of the grid's first dim comes first, the next works on
            what that gave. Land is no edge. Components of vectors get no sign but that of "odd".

        Returns
        -------
        Plan
            For any fields of these layouts.

        Raises
        ------
        TypeError, ValueError
            When a field does not fit this rank's blocks, or a seam of the grid.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", periodic="I", halo=1)
        >>> f = grid.ones()
        >>> plan = grid.plan(f)
        >>> plan(f)
        >>> f.numpy()
        array([1., 1., 1., 1., 1., 1.])
        """
        try:
            purpose = "halos" if boolean(corners, "corners") else "sides"
            rules = NO_EDGES if edges is None else read_edges(edges, self._planner.builder)
            return self._planner.plan(items_of(items), purpose, names, edges=rules)
        except BaseException as error:
            self._engine.failed(error)
            raise

    def exchange(self, *items: Any, edges: Mapping[str, Any] | None = None) -> None:
        """Fill the halos of fields, corners included, from the points that they are images of.

        Parameters
        ----------
        *items : Field, Blocks, list of Field or Item
            As for `plan`. The plan is kept, and found again by the fields' layouts.
        edges : dict, optional
            The values of halo points beyond the closed edges of the grid, as for `plan`.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 3), blocks=(2, 1), periodic="IJ", halo=1)
        >>> T = grid.full(7.0)
        >>> grid.exchange(T)
        >>> row = gbd.grid((3,), "I", halo=2)
        >>> f = row.zeros()
        >>> f.domain[...] = [1.0, 2.0, 4.0]
        >>> row.exchange(f, edges={"I": ("reflect", "linear")})
        >>> f.numpy()
        array([2., 1., 1., 2., 4., 6., 8.])
        """
        kept = self._kept
        if edges is not None:
            kept.run("halos", items, edges)
            return
        plan = kept.plans.get(("halos", *map(kept.numbers.get, map(id, items))))
        if plan is not None:
            plan(*items)
        else:  # new layouts, lists of Fields, or items: none of these has a number
            kept.run("halos", items)

    def sync(self, *items: Any) -> None:
        """Give points that exist more than once, on shared faces and folds, the value that their
        owner has.

        Parameters
        ----------
        *items : Field, Blocks, list of Field or Item
            As for `plan`.

        Notes
        -----
        Of the copies of a point the one on the lowest tile owns, there the one of lowest indices,
        and of blocks that share a face the lower. Components of vectors at a corner of a cube are
        left as they are.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4,), "I", blocks=(2,))
        >>> u = grid.full(1.0, faces="I")
        >>> u[1][0] = 5.0  # the face that block 0 has as well, and owns
        >>> grid.sync(u)
        >>> float(u[1][0])
        1.0
        """
        self._kept.run("sync", items)

    # ---- Whole fields ----

    def gather(self, field: Any, root: int = 0, *, fill_value: Any = 0, **keywords: Any) -> Any:
        """Bring a whole field to one rank. All ranks call this.

        Parameters
        ----------
        field : Field, Blocks, list of Field or Item
            On this rank's blocks. Of points that exist more than once the owner's value counts; of
            `vector`, `pair` and `scalar` it is turned and signed as in an exchange.
        root : int, optional
            The rank that gets it.
        fill_value : scalar, optional
            The value of points on land.
        **keywords
            The keywords of `gridbuf.Field.empty` for the result: backend, padding, ...

        Returns
        -------
        Field, Blocks or None
            On the root the field without halo, in the dims that the root's has; Blocks, one a tile,
            where there are several tiles. A tuple of two for an item of two. On the other ranks
            None.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong on this rank; the message names it.
        RevokedError
            When another rank has raised; its subclass DisagreementError when ranks make
            different calls. Make the grid again then.
        TimeoutError
            When a rank does not make the call in time.

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
            lambda ranks: gathering(ranks, self._context, field, root, fill_value, keywords),
        )

    def scatter(self, array: Any, field: Fields, root: int = 0) -> None:
        """Give every block its part of a whole field that one rank has. All ranks call this.

        Parameters
        ----------
        array : array_like or list
            On the root the values of the whole field, of its dtype, with axes in the order of its
            dims, or a Field, whose dims have names; a list, one a tile, where there are several
            tiles. Ignored on the other ranks.
        field : Field, Blocks or list of Field
            On this rank's blocks. Its domain is filled, its halo is not.
        root : int, optional
            The rank that has it.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong on this rank: another shape, dtype or dims, a field that is
            read-only; the message names it.
        RevokedError
            When another rank has raised; its subclass DisagreementError when ranks make
            different calls. Make the grid again then.
        TimeoutError
            When a rank does not make the call in time.

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
        self._call("scatter", lambda ranks: scattering(ranks, self._context, array, field, root))

    @as_in(gather)
    def redistribute(
        self, field: Fields, other: Any, out: Fields = None, **keywords: Any
    ) -> Fields:
        """Move a field to a grid of the same tiles that is cut otherwise, or on other ranks. All
        ranks of this grid call this.

        Parameters
        ----------
        field : Field, Blocks or list of Field
            On this rank's blocks of this grid.
        other : Grid or None
            The other grid, on the same ranks or on some of them; None on ranks that are not in its
            communicator.
        out : Field, Blocks or list of Field, optional
            The fields to fill, on this rank's blocks of the other grid. None: new fields.
        **keywords
            The keywords of `empty` for new fields: halo, backend, padding, ...

        Returns
        -------
        Field, Blocks or None
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
                ranks, self._context, field, lambda: self._elsewhere(other, keywords), out
            ),
        )

    def _elsewhere(self, other: Any, keywords: Mapping[str, Any]) -> Elsewhere | None:
        if other is None:
            return None
        if not isinstance(other, Grid):
            raise TypeError(f"other: expected a grid, got {type(other).__name__}")
        read.refuse_those_of_the_result(keywords, "the field's")

        def make(one: FieldInfo) -> Fields:
            faces = [
                self.dims[a]
                for a, p in zip(one.geometry.axes, one.geometry.positions, strict=True)
                if not p
            ]
            return other.zeros(one.dims, one.dtype, sizes=one.sizes, faces=faces, **keywords)

        return Elsewhere(other._context, self._ranks_of(other), make)

    def _ranks_of(self, other: "Grid") -> list[int] | None:
        """Which of this grid's ranks the other's are; None: the same."""
        if self.size == other.size == 1:
            return None
        if self.comm is None or other.comm is None:
            lacking = "this grid" if self.comm is None else "it"
            raise ValueError(
                f"other: {lacking} has no communicator, and the two must have ranks in common"
            )
        from mpi4py import MPI

        engines: list[Any] = [self._engine, other._engine]  # whose duplicates outlive the user's
        ours, theirs = [each.channel.comm.Get_group() for each in engines]
        found = [int(rank) for rank in MPI.Group.Translate_ranks(theirs, None, ours)]
        ours.Free(), theirs.Free()
        if MPI.UNDEFINED in found:
            raise ValueError(
                f"other: its rank {found.index(MPI.UNDEFINED)} is none of this grid's ranks"
            )
        return None if found == [*range(self.size)] else found

    # ---- Numbers of a whole field: exact sums, rounded once; every point counts once ----

    def sum(self, *fields: Fields) -> Any:
        """The sum of all points, rounded once. All ranks call this.

        Parameters
        ----------
        *fields : Field, Blocks or list of Field
            On this rank's blocks. Halos do not count, and of points that exist more than once the
            owner's does.

        Returns
        -------
        int, float, complex or tuple
            The bits of `math.fsum` of the whole field, on every rank, for any cut, layout and
            number of threads; of bools and integers the Python int. A tuple for several fields.

        Raises
        ------
        TypeError, ValueError
            When a field is not such a Field, has elements that are not summed, or does not fit this
            rank's blocks.
        RevokedError
            When another rank has raised; its subclass DisagreementError when ranks make
            different calls. Make the grid again then.
        TimeoutError
            When a rank does not make the call in time.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 5), blocks=(2, 2), halo=1)
        >>> grid.sum(grid.full(0.1)), grid.sum(grid.ones(dtype="int32"), grid.full(0.5))
        (2.0, (20, 10.0))
        """
        found = self._call(
            "sum", lambda ranks: summing(ranks, self._context, "sum", fields, Total.sum)
        )
        return found[0] if len(fields) == 1 else tuple(found)

    @as_in(sum)
    def mean(self, field: Fields) -> Any:
        """The exact sum divided by the number of points, rounded once. All ranks call this.

        Parameters
        ----------
        field : Field, Blocks or list of Field
            As for `sum`.

        Returns
        -------
        float or complex
            NaN where there are no points.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((3, 1), blocks=(3, 1))
        >>> grid.mean(grid.full(0.1))
        0.1
        """
        return self._call(
            "mean", lambda ranks: summing(ranks, self._context, "mean", [field], Total.mean)
        )[0]

    @as_in(sum)
    def dot(self, a: Fields, b: Fields) -> Any:
        """The sum of the products of two fields at the same points, rounded once; nothing is
        conjugated. All ranks call this.

        Parameters
        ----------
        a, b : Field, Blocks or list of Field
            As for `sum`, of the same dims, in any order, and positions.

        Returns
        -------
        int, float or complex
            As `gb.exact.dot` of the whole fields.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 5), blocks=(2, 2))
        >>> grid.dot(grid.full(0.5), grid.full(3.0))
        30.0
        """
        total = self._call(
            "dot", lambda ranks: multiplying(ranks, self._context, "dot", [a, b], False)
        )
        return total.sum()

    @as_in(sum)
    def norm(self, field: Fields) -> float:
        """The square root of the sum of all squares, rounded once. All ranks call this.

        Parameters
        ----------
        field : Field, Blocks or list of Field
            As for `sum`; of complex numbers the magnitudes count.

        Returns
        -------
        float
            As `gb.exact.norm` of the whole field.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.norm(grid.full(3.0))
        12.0
        """
        total = self._call(
            "norm", lambda ranks: multiplying(ranks, self._context, "norm", [field], True)
        )
        return float(total.root())

    @as_in(sum)
    def min(self, field: Fields) -> Any:
        """The smallest value: NaN where there is one, and -0.0 is below 0.0. All ranks call this.

        Parameters
        ----------
        field : Field, Blocks or list of Field
            As for `sum`; of bools, integers or reals.

        Returns
        -------
        bool, int or float
            The same on every rank.

        Raises
        ------
        TypeError, ValueError
            When the field has no points, or elements without an order; and as for `sum`.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.min(grid.full(3.0))
        3.0
        """
        return self._call(
            "min", lambda ranks: extreme(ranks, self._context, "min", field, True, False)
        )

    @as_in(min)
    def max(self, field: Fields) -> Any:
        """The largest value: NaN where there is one, and 0.0 is above -0.0. All ranks call this.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.max(grid.full(3, dtype="uint8"))
        3
        """
        return self._call(
            "max", lambda ranks: extreme(ranks, self._context, "max", field, False, False)
        )

    @as_in(min)
    def argmin(self, field: Fields) -> tuple[int, ...]:
        """Where the smallest value lies on the grid: of equal ones the lowest index. All ranks call
        this.

        Returns
        -------
        tuple of int
            An index for each of the field's dims, the tile first where there are several.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> T = grid.zeros()
        >>> T[2][1, 0] = -1.0
        >>> grid.argmin(T)
        (3, 0)
        """
        found: tuple[int, ...] = self._call(
            "argmin", lambda ranks: extreme(ranks, self._context, "argmin", field, True, True)
        )
        return found

    @as_in(argmin)
    def argmax(self, field: Fields) -> tuple[int, ...]:
        """Where the largest value lies on the grid: of equal ones the lowest index. All ranks call
        this.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.argmax(grid.ones())
        (0, 0)
        """
        found: tuple[int, ...] = self._call(
            "argmax", lambda ranks: extreme(ranks, self._context, "argmax", field, False, True)
        )
        return found

    @as_in(sum)
    def any(self, field: Fields) -> bool:
        """Whether some point is not zero. All ranks call this.

        Parameters
        ----------
        field : Field, Blocks or list of Field
            As for `sum`, of any elements that NumPy counts.

        Returns
        -------
        bool
            The same on every rank; of no points False.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.any(grid.zeros(dtype=bool))
        False
        """
        true, _ = self._call("any", lambda ranks: truths(ranks, self._context, "any", field))
        return bool(true)

    @as_in(any)
    def all(self, field: Fields) -> bool:
        """Whether no point is zero. All ranks call this.

        Returns
        -------
        bool
            The same on every rank; of no points True.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.all(grid.ones(dtype=bool))
        True
        """
        true, points = self._call("all", lambda ranks: truths(ranks, self._context, "all", field))
        return bool(true == points)

    def checksum(self, field: Fields) -> int:
        """A number of a field's dims, dtype and values that does not depend on blocks, ranks,
        layouts and the order of dims.

        Parameters
        ----------
        field : Field, Blocks or list of Field
            On this rank's blocks. Halos do not count, and of points that exist more than once the
            owner's does.

        Returns
        -------
        int
            Of 64 bits, the same on every rank.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> one, four = gbd.grid((6, 6), halo=2), gbd.grid((6, 6), blocks=(2, 2))
        >>> one.checksum(one.ones(faces="I")) == four.checksum(four.ones(faces="I", backend="F"))
        True
        """
        found: int = self._call("checksum", lambda ranks: checking(ranks, self._context, field))
        return found

    # ---- Files ----

    def save(
        self,
        path: Any,
        /,
        *unnamed: Never,
        attributes: Mapping[str, Any] = {},
        format: str | None = None,
        chunks: Mapping[str, int] | None = None,
        shards: bool = False,
        compressors: Any = "auto",
        progress: Callable[[float], Any] | bool | None = None,
        **fields: Any,
    ) -> None:
        """Save fields so that they can be loaded on any number of ranks, however the grid is cut.
        All ranks call this.

        Parameters
        ----------
        path : path_like
            The path, the same on all ranks, in a file system that all of them see. An existing
            checkpoint is replaced once the new one is complete; anything else at this path is left
            alone, and is an error.
        *unnamed : never
            A field without a name is refused.
        attributes : dict, optional
            The attributes of the store; under the name of a field a dict of that field's
            attributes: units, long_name, ...
        format : {"zarr", "npy", "netcdf"}, optional
            A Zarr group, which xarray opens, a folder of global `.npy` arrays, or one netCDF file,
            which rank 0 writes slab by slab with the package netCDF4, or h5netcdf. None: netCDF
            where the path ends in ".nc", else Zarr where the package zarr is installed.
        chunks : dict, optional
            Of Zarr: how many points a chunk has along some dims; along those that the grid cuts
            they divide a block. Otherwise a block is a chunk.
        shards : bool, optional
            Of Zarr: whether the chunks of a block are kept in one file.
        compressors : optional
            Of Zarr: as `zarr.create_array` takes them; None: values are kept as they are.
        progress : callable or True, optional
            Called on this rank with the part that is written, up to 1.0. No call of all ranks of
            this grid may be made in it. True: rank 0 draws a bar (package tqdm).
        **fields : Field, Blocks or list of Field
            On this rank's blocks, each as a keyword: its name. Halos are not saved.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong on this rank, or there is a file in the way, or Zarr lacks a
            dtype; the message names it.
        OSError
            When this rank cannot write. The others raise RevokedError, and nothing is left of the
            new checkpoint.
        RevokedError
            When another rank has raised; its subclass DisagreementError when ranks make
            different calls. Make the grid again then.
        TimeoutError
            When a rank does not make the call in time.

        Notes
        -----
        A file has one value for each place of a tile: that of the lowest block that has it, and
        along a periodic dim the last face is the first. Along a fold, and at edges where axes turn,
        each side keeps its own values, so vectors come back as they were.

        Examples
        --------
        >>> import tempfile, gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), blocks=(2, 1), halo=1)
        >>> other = gbd.grid((8, 6), blocks=(1, 3), halo=2)
        >>> attributes = {"step": 7, "T": {"units": "K"}}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     grid.save(f"{folder}/step7", T=grid.full(280.5), attributes=attributes)
        ...     T = other.load(f"{folder}/step7")["T"]
        >>> len(T), T[0].shape, other.mean(T)
        (3, (10, 4), 280.5)
        """
        if unnamed:
            raise TypeError("fields: each needs a name; write grid.save(path, T=field)")
        options: dict[str, Any] = {} if chunks is None else {"chunks": chunks}
        if shards is not False and shards is not None:
            options["shards"] = shards
        if not (isinstance(compressors, str) and compressors == "auto"):
            options["compressors"] = compressors

        def save(ranks: Any) -> None:
            from gridbuf.distributed.files.saving import saving  # most programs save nothing

            saving(
                ranks,
                self._context,
                path,
                fields,
                attributes,
                format,
                options,
                self.periodic,
                self.halo,
                progress,
            )

        self._call("save", save)

    def load(
        self,
        path: Any,
        /,
        *names: str,
        verify: bool = True,
        progress: Callable[[float], Any] | bool | None = None,
        **keywords: Any,
    ) -> "Checkpoint":
        """Load fields that a grid of the same tiles has saved, whatever its ranks and blocks. All
        ranks call this.

        Parameters
        ----------
        path : path_like
            The checkpoint's path.
        *names : str
            The fields to load; all where no name is given.
        verify : bool, optional
            Whether to compare the checksums of the values with those that were saved.
        progress : callable or True, optional
            As in `save`, of the part that is read.
        **keywords
            The keywords of `empty` for the new fields: halo, backend, padding, ... A halo that is
            not given is the saved one; where no layout is given either (`backend`, `layout`,
            `padding`, `byte_alignment`, `device`), strides are in the saved order.

        Returns
        -------
        Checkpoint
            A dict: of each name a Field where the rank has one block, else Blocks. Halos
            are 0. Its `attributes` are the store's, its `attributes_of(name)` those of a field.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong, or the store: it was never finished, has other tiles, an
            array is missing or has another shape or dtype, or other values than were saved.
        RevokedError
            When another rank has raised; its subclass DisagreementError when ranks make
            different calls. Make the grid again then.
        TimeoutError
            When a rank does not make the call in time.

        Examples
        --------
        >>> import tempfile, gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), blocks=(2, 1), halo=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     q = grid.zeros("IJK", sizes={"K": 3})
        ...     grid.save(f"{folder}/step7", T=grid.ones(), q=q, format="npy")
        ...     loaded = gbd.grid((8, 6)).load(f"{folder}/step7", "q", halo=1)
        >>> {name: field.shape for name, field in loaded.items()}
        {'q': (10, 8, 3)}
        """

        def load(ranks: Any) -> "Checkpoint":
            from gridbuf.distributed.files.loading import loading
            from gridbuf.distributed.files.manifests import keywords_of

            def make(layout: Any, dims: Any, dtype: Any, **given: Any) -> Any:
                read.refuse_those_of_the_result(keywords, "that of the store")
                return self.zeros(dims, dtype, **given, **keywords_of(layout, dims, keywords))

            return loading(ranks, self._context, path, names, verify, make, progress)

        found: Checkpoint = self._call("load", load)
        return found

    # ---- Calls of all ranks ----

    def _connect(self, channel: Any) -> None:
        """All ranks have made this grid: it gets a duplicate of the communicator for its
        messages.
        """
        self._engine.connect(channel)

    @cached_property
    def _context(self) -> Context:
        # Geometries and what they are gathered for: a program has a handful
        known: BoundedCache[Any] = BoundedCache(64)
        return Context(
            self.tiles,
            self.dims,
            self._planner.builder,
            self._decomposition,
            self.blocks,
            self.rank,
            self.size,
            known,
        )

    def _call(self, name: str, make: Callable[[Any], T]) -> T:
        """Make a call that all ranks make."""
        return self._engine.run(name, make)
