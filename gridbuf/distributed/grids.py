"""The grid: blocks of tiles and the ranks that have them, the fields on them, and their exchange."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gridbuf import _core
from gridbuf.distributed import arguments as read
from gridbuf.distributed.binding import Sources
from gridbuf.distributed.blocks import Block, Decomposition
from gridbuf.distributed.engine import Engine
from gridbuf.distributed.items import Item, items_of
from gridbuf.distributed.layouts import Bound, Pairs, bind
from gridbuf.distributed.linking import LinkBuilder
from gridbuf.distributed.plan import Plan, on_blocks
from gridbuf.distributed.rules import check
from gridbuf.distributed.schedule import Scheduler
from gridbuf.distributed.tiles import Topology
from gridbuf.names import read_names

Fields = Any  # a Field where the rank has one block, else a list of them
MOST_PLANS = 64  # that exchange() keeps


class Grid:
    """Blocks of a grid, the ranks that have them, and what happens at their edges: what `gbd.grid` and its like return.

    Attributes
    ----------
    shape : tuple of int
        The points along each of dims; of the first tile where there are several.
    tiles : tuple
        The shape of each tile.
    dims : tuple of str
        The indices that are cut.
    periodic : tuple of str
        Those that have no ends.
    halo : tuple
        What fields get unless they say otherwise: (low, high) for each of dims.
    blocks : tuple of Block
        This rank's blocks.
    comm
        The communicator that it was made with.
    rank, size : int
        Which rank this is, and how many there are.
    engine : str
        What moves the bytes.
    """

    def __init__(
        self,
        topology: Topology,
        decomposition: Decomposition,
        periodic: tuple[str, ...],
        halo: Pairs,
        engine: Engine,
        comm: Any = None,
        timeout: float | None = None,
    ) -> None:
        self.tiles, self.dims, self.periodic, self.halo = topology.tiles, topology.names, periodic, halo
        self.shape = self.tiles[0]
        self.comm, self.rank, self.size, self.engine, self.timeout = comm, engine.rank, engine.size, engine.name, timeout
        self.blocks = tuple(decomposition.block(number) for number in decomposition.numbers_of(engine.rank))
        self._engine, self._decomposition = engine, decomposition
        self._builder = LinkBuilder(topology, decomposition)
        self._scheduler = Scheduler(self._builder, list(self.blocks), engine.rank)
        self._plans: dict[Any, Plan] = {}
        self._made = 0

    def __repr__(self) -> str:
        tiles = "" if len(self.tiles) == 1 else f"{len(self.tiles)} tiles of "
        shape = " x ".join(map(str, self.shape))
        return f"<Grid {''.join(self.dims)}: {tiles}{shape} in {self._decomposition.number_of_blocks} blocks, rank {self.rank} of {self.size} ({self.engine})>"

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
        return (self._decomposition.block(number) for number in range(self._decomposition.number_of_blocks))

    # ---- fields ----

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
            An int for the grid's dims, or an int or a (low, high) pair for each of dims. None: the grid's.
        faces : str or sequence, optional
            Along which of the grid's dims the points lie on faces: one more than there are cells.
        **keywords
            Those of `gridbuf.Field.empty`: backend, padding, device, ...

        Returns
        -------
        Field or list of Field
            A Field where the rank has one block, else a list in the order of `blocks`.

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

        Parameters
        ----------
        dims, dtype, sizes, halo, faces, **keywords
            As for `empty`.

        Returns
        -------
        Field or list of Field
            As from `empty`.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((8, 6), halo=2).zeros().shape
        (12, 10)
        """
        return self._make(_core.Field.zeros, (), dims, dtype, sizes, halo, faces, keywords)

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

        Parameters
        ----------
        dims, dtype, sizes, halo, faces, **keywords
            As for `empty`.

        Returns
        -------
        Field or list of Field
            As from `empty`.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((8, 6)).ones("I").dims
        ('I',)
        """
        return self._make(_core.Field.ones, (), dims, dtype, sizes, halo, faces, keywords)

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
            What every element is.
        dims, dtype, sizes, halo, faces, **keywords
            As for `empty`.

        Returns
        -------
        Field or list of Field
            As from `empty`.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> float(gbd.grid((8, 6)).full(2.5)[0, 0])
        2.5
        """
        return self._make(_core.Field.full, (fill_value,), dims, dtype, sizes, halo, faces, keywords)

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
        names = self.dims if dims is None else read_names(dims, "dims:")
        staggered = read.read_faces(faces, names, self.dims)
        given = read.read_sizes(sizes, names, self.dims)
        if halo is None or not hasattr(halo, "__iter__"):
            own = self.halo if halo is None else read.read_halo(halo, self.dims)
            pairs = tuple(own[self.dims.index(name)] if name in self.dims else (0, 0) for name in names)
        else:
            pairs = read.read_halo(halo, names)
        fields = []
        for block in self.blocks:
            shape = []
            for name, (low, high) in zip(names, pairs, strict=True):
                axis = self.dims.index(name) if name in self.dims else None
                n = given[name] if axis is None else block.stop[axis] - block.start[axis] + (name in staggered)
                shape.append(n + low + high)
            fields.append(make(tuple(shape), *value, dtype=dtype, dims=names, halo=pairs, **keywords))
        return fields[0] if len(self.blocks) == 1 else fields

    # ---- exchange ----

    def plan(self, *items: Any, corners: bool = True, names: Sequence[str] | None = None) -> Plan:
        """Work out an exchange, to be made many times.

        Parameters
        ----------
        *items : Field, list of Field or Item
            What is exchanged together: a field, or what `vector`, `pair` and `scalar` make.
        corners : bool, optional
            False: points that lie outside along more than one of the grid's dims are left alone.
        names : sequence of str, optional
            What errors call the fields, one for each. None: their places.

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
        if not isinstance(corners, bool):
            raise TypeError(f"corners: expected True or False, got {type(corners).__name__}")
        given = items_of(items)
        return self._plan(given, self._flat(given), corners, names)

    def _plan(self, items: list[Item], fields: list[list[_core.Field]], corners: bool, names: Sequence[str] | None) -> Plan:
        bounds, sources = self._bind(items, fields, names)
        schedules = [self._scheduler.halos(bound.geometry, corners) for bound in bounds]
        return self._new(bounds, sources, schedules)

    def _new(self, bounds: Any, sources: Any, schedules: Any) -> Plan:
        self._made += 1
        return Plan(self._made, bounds, sources, self.blocks, self.dims, schedules, self._engine)

    def _flat(self, items: list[Item]) -> list[list[_core.Field]]:
        flat = [field for item in items for field in item.fields]
        return [on_blocks(field, len(self.blocks), f"fields[{i}]") for i, field in enumerate(flat)]

    def _bind(
        self, items: list[Item], fields: list[list[_core.Field]], names: Sequence[str] | None
    ) -> tuple[list[Bound], list[Sources]]:
        if names is not None and len(names) != len(fields):
            raise ValueError(f"names: {len(names)} for {len(fields)} fields")
        called = [f"fields[{i}]" for i in range(len(fields))] if names is None else [str(name) for name in names]
        bounds = (
            [bind(field, self.blocks, self.dims, name) for field, name in zip(fields, called, strict=True)] if self.blocks else []
        )
        sources, place = [], 0
        for item in items if self.blocks else []:
            its = tuple(range(place, place + len(item.fields)))
            sources += [Sources(item, its, component) for component in range(len(its))]
            place += len(its)
        check(self._builder, bounds, sources)
        return bounds, sources

    def exchange(self, *items: Any) -> None:
        """Fill the halos of fields, corners included, from the points that they are images of.

        Parameters
        ----------
        *items : Field, list of Field or Item
            As for `plan`. The plan is kept, and found again by the fields' layouts.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 3), blocks=(2, 1), periodic="IJ", halo=1)
        >>> T = grid.full(7.0)
        >>> grid.exchange(T)
        """
        given = items_of(items)
        fields = self._flat(given)
        key = (
            tuple((item.kind, item.sign) for item in given),
            tuple((f.dtype, f.shape, f.strides, f.dims, f.halo) for each in fields for f in each),
        )
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(given, fields, True, None)
            if len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = plan
        plan(*fields)
