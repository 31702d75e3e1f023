"""The grid: blocks of tiles and the ranks that have them, the fields on them, and their
exchange.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gridbuf.distributed.drawing import Drawing, draw
from gridbuf.distributed.filing import Filing
from gridbuf.distributed.geometry.blocks import Block, Pairs
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.plans.engine import Engine
from gridbuf.distributed.plans.items import items_of
from gridbuf.distributed.plans.kept_plans import KeptPlans
from gridbuf.distributed.plans.plan import Plan
from gridbuf.distributed.plans.planning import Planner
from gridbuf.distributed.points import Points
from gridbuf.validation import boolean


class Grid(Filing, Points):
    """Blocks of a grid, the ranks that have them, and what happens at their edges: what `gbd.grid`
    and its like return.

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
    timeout : float or None
        After how many seconds whoever waits for another rank raises.
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

    def __repr__(self) -> str:
        tiles = "" if len(self.tiles) == 1 else f"{len(self.tiles)} tiles of "
        shape = " x ".join(map(str, self.shape))
        return (
            f"<Grid {''.join(self.dims)}: {tiles}{shape} in {self._decomposition.number_of_blocks}"
            f" blocks, rank {self.rank} of {self.size} ({self.engine})>"
        )

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

    def _connect(self, channel: Any) -> None:
        """All ranks have made this grid: it gets a duplicate of the communicator for its
        messages.
        """
        self._engine.connect(channel)

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
        try:
            return self._planner.exchange(items_of(items), boolean(corners, "corners"), names)
        except BaseException as error:
            self._engine.failed(error)
            raise

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
        ids = (*map(id, items),)
        plan = self._kept.recent.get(ids) or self._kept.known(ids)
        if plan is not None:
            plan(*items)
        else:
            self._kept.run("exchange", items)

    def sync(self, *items: Any) -> None:
        """Give points that exist more than once, on shared faces and folds, the value that their
        owner has.

        Parameters
        ----------
        *items : Field, list of Field or Item
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
