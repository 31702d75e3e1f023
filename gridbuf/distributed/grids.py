"""The grid: blocks of tiles and the ranks that have them, the fields on them, and their exchange."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gridbuf import _core
from gridbuf.distributed import regions
from gridbuf.distributed.binding import Memo, Sources
from gridbuf.distributed.blocks import Block, Decomposition
from gridbuf.distributed.checksums import header, of_block
from gridbuf.distributed.constructors import Constructors, Fields
from gridbuf.distributed.drawing import Drawing, draw
from gridbuf.distributed.engine import Engine
from gridbuf.distributed.items import Item, items_of
from gridbuf.distributed.layouts import Bound, Layout, Pairs, as_field, bind, layout_of
from gridbuf.distributed.linking import LinkBuilder
from gridbuf.distributed.plan import Plan, on_blocks
from gridbuf.distributed.rules import check
from gridbuf.distributed.schedule import Scheduler
from gridbuf.distributed.tiles import Topology
from gridbuf.distributed.twice import check_same, check_shared

MOST_PLANS = 64  # that exchange() keeps
MOST_TOKENS = 1024  # fields whose layouts it knows


class Grid(Constructors):
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
        builder: LinkBuilder | None = None,
    ) -> None:
        self.tiles, self.dims, self.periodic, self.halo = topology.tiles, topology.names, periodic, halo
        self.shape = self.tiles[0]
        self.comm, self.rank, self.size, self.engine, self.timeout = comm, engine.rank, engine.size, engine.name, timeout
        self.blocks = tuple(decomposition.block(number) for number in decomposition.numbers_of(engine.rank))
        self._engine, self._decomposition = engine, decomposition
        self._builder = LinkBuilder(topology, decomposition) if builder is None else builder
        self._scheduler = Scheduler(self._builder, list(self.blocks), engine.rank)
        self._plans: dict[Any, Plan] = {}
        self._tokens: dict[int, int] = {}
        self._references: dict[int, Any] = {}  # weak ones
        self._layouts: dict[Layout, int] = {}
        crossings = [how for _, how in self._builder.crossings(tuple(range(topology.ndim)))]
        self._crosses, self._turns = bool(crossings), any(how.turns for how in crossings)
        self._made = 0
        self._bounds: dict[tuple[Layout, ...], Bound] = {}
        self._memo = Memo()
        self._keys = 0
        tokens, references = self._tokens, self._references

        def forget(gone: Any) -> None:  # nothing of the grid: a Field may outlive it
            found: Any = references.get(gone.key)
            if found is gone:
                del references[gone.key], tokens[gone.key]

        self._forget = forget

    def __repr__(self) -> str:
        tiles = "" if len(self.tiles) == 1 else f"{len(self.tiles)} tiles of "
        shape = " x ".join(map(str, self.shape))
        return f"<Grid {''.join(self.dims)}: {tiles}{shape} in {self._decomposition.number_of_blocks} blocks, rank {self.rank} of {self.size} ({self.engine})>"

    def arguments(self) -> dict[str, str]:
        """What a grid was made with, in words: on all ranks the same.

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
        seams = sorted((key, tuple(seam)) for key, seam in self._builder.whole.seams.items())
        return {
            "dims": str(self.dims),
            "shape": str(self.tiles),
            "seams": str(seams),
            "cuts": str([[axis.given or axis.count for axis in tile] for tile in self._decomposition.cuts]),
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
        return (self._decomposition.block(number) for number in range(self._decomposition.number_of_blocks))

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
        try:
            bounds, sources = self._bind(items, fields, names)
        except (TypeError, ValueError) as error:
            self._engine.failed(error)
            raise
        schedules = [self._scheduler.halos(bound.geometry, corners) for bound in bounds]
        return self._new(bounds, sources, schedules, fields)

    def _new(self, bounds: Any, sources: Any, schedules: Any, fields: list[list[_core.Field]]) -> Plan:
        self._made += 1
        plan = Plan(self._made, bounds, sources, self.blocks, self.dims, schedules, self._engine, self._memo)
        plan.binding.plain = not self._crosses
        flat = [each for field in fields for each in field]
        check_same(plan.binding, flat)
        check_shared(plan.binding, flat)
        return plan

    def _flat(self, items: list[Item]) -> list[list[_core.Field]]:
        flat = [field for item in items for field in item.fields]
        return [on_blocks(field, len(self.blocks), f"fields[{i}]") for i, field in enumerate(flat)]

    def _bind(
        self, items: list[Item], fields: list[list[_core.Field]], names: Sequence[str] | None
    ) -> tuple[list[Bound], list[Sources]]:
        if names is not None and len(names) != len(fields):
            raise ValueError(f"names: {len(names)} for {len(fields)} fields")
        called = [f"fields[{i}]" for i in range(len(fields))] if names is None else [str(name) for name in names]
        bounds = [self._bound(field, name) for field, name in zip(fields, called, strict=True)] if self.blocks else []
        sources, place = [], 0
        for item in items if self.blocks else []:
            its = tuple(range(place, place + len(item.fields)))
            rule = item._replace(fields=())  # plans hold no memory
            sources += [Sources(rule, its, component) for component in range(len(its))]
            place += len(its)
        check(self._builder, bounds, sources)
        return bounds, sources

    def _bound(self, fields: list[_core.Field], name: str) -> Bound:
        layouts = tuple(map(layout_of, fields))
        known = self._bounds.get(layouts)
        if known is None:
            if len(self._bounds) >= MOST_TOKENS:
                self._bounds.clear()
                self._memo.clear()
            self._keys += 1  # never the same again: older plans still have theirs
            known = bind(layouts, self.blocks, self.dims, name)._replace(key=self._keys)
            self._bounds[layouts] = known
        return known._replace(name=name)

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
        plan = self._plans.get(("exchange", *map(self._tokens.get, map(id, items))))
        if plan is not None:  # all are known Fields: anything else has no number, and is not found
            plan(*items)
        else:
            self._kept("exchange", items)

    def sync(self, *items: Any) -> None:
        """Give points that exist more than once, on shared faces and folds, the value that their owner has.

        Parameters
        ----------
        *items : Field, list of Field or Item
            As for `plan`.

        Notes
        -----
        Of the copies of a point the one on the lowest tile owns, there the one of lowest indices, and of blocks that share a face the
        lower. Components of vectors at a corner of a cube are left as they are.

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
        self._kept("sync", items)

    def _kept(self, what: str, items: tuple[Any, ...]) -> None:
        """Run the plan of these items, found by the fields' layouts."""
        key: list[Any] = [what]
        for item in items:
            if isinstance(item, Item):
                key += [item.kind, item.sign]
                for field in item.fields:
                    self._token(field, key)
            else:
                self._token(item, key)
        known = tuple(key)
        plan = self._plans.get(known)
        if plan is None:
            plan = self._first(what, items_of(items))
            if len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[known] = plan
        plan(*(field for item in items for field in (item.fields if isinstance(item, Item) else (item,))))

    def _first(self, what: str, given: list[Item]) -> Plan:
        fields = self._flat(given)
        if what == "exchange":
            return self._plan(given, fields, True, None)
        bounds, sources = self._bind(given, fields, None)
        schedules = [
            self._scheduler.synchronising(bound.geometry, source.item.kind == "scalar" or not self._turns)
            for bound, source in zip(bounds, sources, strict=True)
        ]
        return self._new(bounds, sources, schedules, fields)

    def _token(self, given: Any, key: list[Any]) -> None:
        """Add a number for the layout of a field. Of a Field it is kept until that is gone, so that nothing need be asked again."""
        known = self._tokens.get(id(given))
        if known is not None:
            key.append(known)
        elif isinstance(given, list | tuple):
            key.append(len(given))
            for each in given:
                self._token(each, key)
        else:
            field = as_field(given, "fields")
            if len(self._references) >= MOST_TOKENS or len(self._layouts) >= MOST_TOKENS:
                for each in (self._tokens, self._references, self._layouts, self._plans):
                    each.clear()  # the keys of plans have numbers of layouts
            token = -1 - self._layouts.setdefault(layout_of(field), len(self._layouts))
            key.append(token)
            if field is given:
                reference = weakref.KeyedRef(field, self._forget, id(field))
                self._references[id(field)], self._tokens[id(field)] = reference, token

    # ---- points ----

    def coordinates(self, field: Fields) -> Any:
        """The indices on the grid of a field's points along each axis, halo included.

        Parameters
        ----------
        field : Field or list of Field
            On this rank's blocks.

        Returns
        -------
        dict or list of dict
            An array of indices for each dim: of centres or faces, whichever the field has; of other dims than the grid's from 0 on. Where a
            halo lies beyond the tile they go on: below 0, and beyond the end. A list, one a block, where `field` is one.

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
            On this rank's blocks. Its halo is as wide as what is computed reaches, also where the grid ends.

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
        return self._each(field, lambda one, block: regions.cut_out(one, regions.spans(one, self.dims)[1]))

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
            self._bound(fields, "field")
        found = [what(field, block) for field, block in zip(fields, self.blocks, strict=True)]
        return found if isinstance(given, list | tuple) else found[0]

    def checksum(self, field: Fields) -> int:
        """A number of a field's dims, dtype and values that does not depend on blocks, ranks, layouts and the order of dims.

        Parameters
        ----------
        field : Field or list of Field
            On this rank's blocks. Halos do not count, and of points that exist more than once the owner's does.

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
        fields = on_blocks(field, len(self.blocks), "field")
        total = 0
        if self.blocks:
            bound = self._bound(fields, "field")
            head = header(bound)
            for one, block in zip(fields, self.blocks, strict=True):
                total += of_block(one, bound, block, head, self._builder.owned(bound.geometry, block), self.dims)
        return self._engine.total(total % 2**64)

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
