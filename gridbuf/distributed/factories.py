"""The functions that make grids: a topology, its cuts, and an engine. With a communicator all ranks
make the same grid, or all of them raise.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from gridbuf.distributed import arguments as read
from gridbuf.distributed.arguments import read_timeout
from gridbuf.distributed.geometry.blocks import cut
from gridbuf.distributed.geometry.boxes import Pairs
from gridbuf.distributed.geometry.given_links import Given, GivenLinks
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.geometry.reading_links import read_links
from gridbuf.distributed.geometry.tiles import Topology, cube, folded, read_seams, rings
from gridbuf.distributed.grid import Grid
from gridbuf.distributed.plans.engines import Engine, LocalEngine
from gridbuf.docstrings import as_in
from gridbuf.validation import boolean_or_none, integer

P = ParamSpec("P")
MAKING = "a grid"


def on_all_ranks(make: Callable[P, Grid]) -> Callable[P, Grid]:
    """Let a function that makes grids compare them where there is a communicator; an error of one
    rank reaches the others.
    """

    @wraps(make)
    def made(*args: P.args, **keywords: P.kwargs) -> Grid:
        comm: Any = keywords.get("comm")
        if comm is None:
            return make(*args, **keywords)
        communicator, ranks = calls_of_all(comm, keywords.get("timeout"))
        from gridbuf.distributed.ranks.duplicates import channel_for

        def together(ranks: Any) -> Grid:
            grid = make(*args, **keywords)
            grid._connect(channel_for(communicator, grid.arguments(), MAKING, ranks))
            return grid

        found: Grid = ranks.run(MAKING, together)
        return found

    return made


def calls_of_all(comm: Any, timeout: Any) -> tuple[Any, Any]:
    """The duplicates of a communicator, and the calls of its ranks that belong to no grid."""
    from mpi4py import MPI

    if isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL:
        raise ValueError("comm: it is MPI.COMM_NULL: this rank is not in it")
    if not isinstance(comm, MPI.Intracomm):
        raise TypeError(f"comm: expected a communicator of mpi4py, got {type(comm).__name__}")
    from gridbuf.distributed.ranks.collectives import Collectives
    from gridbuf.distributed.ranks.duplicates import communicator_of

    try:
        seconds = read_timeout(timeout) or None
    except (TypeError, ValueError):
        seconds = None  # raised when the grid is made, where it reaches the other ranks
    communicator = communicator_of(comm, seconds)
    return communicator, Collectives(communicator.lobby, seconds)


ENGINES = ("local", "mpi", "ghex")


@on_all_ranks
def grid(
    shape: Any,
    dims: Any = "IJ",
    *,
    blocks: Any = None,
    cuts: Any = None,
    owners: Any = None,
    periodic: Any = "",
    halo: Any = 0,
    comm: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
    aware: bool | None = None,
) -> Grid:
    """A Cartesian grid, cut into blocks.

    Parameters
    ----------
    shape : sequence of int
        The number of cells along each of dims.
    dims : str or sequence, optional
        The indices that are cut; fields may have others.
    blocks : sequence of int, optional
        The number of blocks along each of dims. None: one block a rank, cut so that the fewest
        points are exchanged.
    cuts : sequence of sequences of int, optional
        In place of blocks: their sizes along each of dims.
    owners : sequence of int or None, optional
        The rank of each block in C order; None for land. By default each rank has
        equally many consecutive blocks.
    periodic : str or sequence, optional
        The dims without ends.
    halo : int or sequence, optional
        The halo that fields get: an int, or an int or a (low, high) pair for each of dims.
    comm : mpi4py.MPI.Comm, optional
        The communicator of the ranks that have the blocks. None: all blocks are in this process.
    engine : {"local", "mpi", "ghex"}, optional
        The engine that moves the bytes: "local" by default without a communicator, "mpi" with one.
    timeout : float, optional
        The seconds after which an exchange that has not ended raises TimeoutError.
    aware : bool, optional
        Whether MPI is given pointers of GPUs. None: by the environment variable
        GRIDBUF_GPU_AWARE_MPI (0 or 1), else by the library's own answer.

    Returns
    -------
    Grid
        The grid.

    Raises
    ------
    TypeError, ValueError
        When an argument is wrong; the message names it.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.grid((6, 4), blocks=(2, 2), periodic="I", halo=1)
    >>> T = grid.zeros("IJK", sizes={"K": 3})
    >>> for block, f in zip(grid.blocks, T):
    ...     f[...] = block.number
    >>> grid.exchange(T)
    >>> T[0].numpy()[:, 2, 0]  # from block 2 on both sides: the axis is periodic
    array([2., 0., 0., 0., 2.])
    """
    extents = read.read_shape(shape)
    names = read.read_dims(dims, len(extents), "shape")
    cyclic = read.read_periodic(periodic, names)
    pairs = read.read_halo(halo, names)
    whole = Topology((extents,), rings(0, extents, cyclic, names), names)
    return build(whole, cyclic, pairs, blocks, cuts, owners, comm, engine, timeout, aware)


@on_all_ranks
@as_in(grid)
def tripolar(
    shape: Any,
    dims: Any = "IJ",
    *,
    pivot: str = "T",
    blocks: Any = None,
    cuts: Any = None,
    owners: Any = None,
    halo: Any = 0,
    comm: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
    aware: bool | None = None,
) -> Grid:
    """A tripolar grid: the first dim is periodic, and the high end of the second is folded.

    Parameters
    ----------
    shape : sequence of int
        How many cells it has along each of the two dims; the first is even.
    dims : str or sequence, optional
        Their names.
    pivot : {"T", "F"}, optional
        The centre of the fold. "F": corners of cells; row NJ - 1 + k at i is row NJ - k at NI - 1 -
        i. "T": centres; row NJ - 1 + k at i is row NJ - 1 - k at NI - i, and the points of the last
        row exist twice.

    Notes
    -----
    Blocks may be cut anywhere, the fold included.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.tripolar((4, 2), pivot="F", halo=(0, (0, 1)))
    >>> T = grid.zeros()
    >>> T[:, 1] = [1, 2, 3, 4]
    >>> grid.exchange(T)
    >>> T.numpy()[:, 2]
    array([4., 3., 2., 1.])
    """
    extents = read.read_shape(shape)
    if len(extents) != 2:
        raise ValueError(f"shape: {extents} has {len(extents)} dims; a tripolar grid has 2")
    names = read.read_dims(dims, 2, "shape")
    if extents[0] % 2 or min(extents) < 1:
        raise ValueError(
            f"shape: {extents}; a folded grid has an even number of points along {names[0]}, and at"
            " least one row"
        )
    if not isinstance(pivot, str):
        raise TypeError(f"pivot: expected 'T' or 'F', got {type(pivot).__name__}")
    if pivot not in ("T", "F"):
        raise ValueError(f"pivot: {pivot!r} is neither 'T' nor 'F'")
    whole, cyclic = Topology((extents,), folded(extents, pivot, names), names), (True, False)
    pairs = read.read_halo(halo, names)
    return build(whole, cyclic, pairs, blocks, cuts, owners, comm, engine, timeout, aware)


@on_all_ranks
@as_in(grid)
def cubed_sphere(
    n: int,
    dims: Any = "IJ",
    *,
    blocks: Any = (1, 1),
    cuts: Any = None,
    owners: Any = None,
    halo: Any = 0,
    comm: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
    aware: bool | None = None,
) -> Grid:
    """Six tiles of n x n cells that meet as the sides of a cube do, numbered and turned as FV3 has
    them.

    Parameters
    ----------
    n : int
        The cells along an edge.
    dims : str or sequence, optional
        The names of the two dims.
    blocks, cuts : sequence, optional
        The cut of each tile, as for `grid`. One block a tile where neither is given.
    owners : sequence of int or None, optional
        The rank of each block, tile by tile, within each in C order; None for land.

    Notes
    -----
    East of an even tile t lies the west of t + 1, north of it the west of t + 2; north of an odd
    one the south of t + 1, east of it the south of t + 2. At a corner of the cube three tiles meet,
    and halo points of the missing fourth are left alone.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.cubed_sphere(8, halo=2)
    >>> T = grid.zeros()
    >>> for block, f in zip(grid.blocks, T):
    ...     f[...] = block.tile
    >>> grid.exchange(T)
    >>> west, east, south, north = T[0][0, 5], T[0][11, 5], T[0][5, 0], T[0][5, 11]
    >>> print(west, east, south, north)
    4.0 1.0 5.0 2.0
    """
    extent = integer(n, "n", 1)
    names = read.read_dims(dims, 2, "a cubed sphere")
    whole, cyclic = Topology(((extent, extent),) * 6, cube(extent), names), (False, False)
    pairs = read.read_halo(halo, names)
    given = None if cuts is not None and isinstance(blocks, tuple) and blocks == (1, 1) else blocks
    return build(whole, cyclic, pairs, given, cuts, owners, comm, engine, timeout, aware)


@on_all_ranks
@as_in(grid)
def topology(
    tiles: Any,
    seams: Any,
    dims: Any = "IJ",
    *,
    blocks: Any = None,
    cuts: Any = None,
    owners: Any = None,
    halo: Any = 0,
    comm: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
    aware: bool | None = None,
) -> Grid:
    """A grid of tiles that meet as given.

    Parameters
    ----------
    tiles : sequence of sequences of int
        The shape of each tile.
    seams : sequence of tuple
        (tile, side, other tile, other side) or, with a fifth entry True, reversed: a side is "I+",
        "J-", ... Points beyond the one side are points inside the other. Along the side lower
        indices meet lower indices, or higher ones where reversed. One entry serves both directions.
        A side that meets itself reversed is a fold.
    dims : str or sequence, optional
        The names of the one or two dims.
    blocks, cuts : sequence, optional
        The cut of each tile, as for `grid`.
    owners : sequence of int or None, optional
        The rank of each block, tile by tile, within each in C order; None for land.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> grid = gbd.topology([(2, 3), (4, 3)], [(0, "I+", 1, "I-")], halo=1)
    >>> T = grid.zeros()
    >>> T[1][...] = 5
    >>> grid.exchange(T)
    >>> float(T[0][3, 1])
    5.0
    """
    extents = tuple(read.read_shape(tile, "tiles") for tile in read.entries(tiles, "tiles"))
    if not extents:
        raise ValueError("tiles: none were given; a grid has at least one")
    if len({len(tile) for tile in extents}) > 1 or len(extents[0]) > 2:
        raise ValueError(f"tiles: {extents}; all have one dim, or all have two")
    names = read.read_dims(dims, len(extents[0]), "each tile")
    whole, cyclic = (
        Topology(extents, read_seams(seams, extents, names), names),
        (False,) * len(names),
    )
    pairs = read.read_halo(halo, names)
    return build(whole, cyclic, pairs, blocks, cuts, owners, comm, engine, timeout, aware)


@as_in(grid)
def links(
    shapes: Any,
    links: Any,
    dims: Any = "IJ",
    *,
    owners: Any = None,
    halo: Any = 0,
    comm: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
    aware: bool | None = None,
) -> Grid:
    """Blocks whose halos are filled by a list of links.

    Parameters
    ----------
    shapes : sequence of sequences of int
        The shape of each block.
    links : sequence of tuple
        (destination, slices, source, slices): the numbers of two blocks, and a slice for each of
        dims, counted from the block's first own point; negative numbers, and those beyond its end,
        are halo. Where axes turn a fifth entry names, for each axis of the destination, that of the
        source: ("J", "-I"). Index arrays may replace the slices at both ends, of any shapes that
        agree: one for each of dims, or an array alone for one dim. A dict may come last: {"sign":
        -1} changes the sign of all values, {"from": 1, "to": 0, "sign": -1} fills component 0 of
        vectors from component 1.
    dims : str or sequence, optional
        The names of the dims.

    Returns
    -------
    Grid
        The grid. Its fields have all its dims, and lie at centres. A field that is no part of a
        vector is filled by the links without components, and by those to component 0, without
        their sign.

    Raises
    ------
    TypeError, ValueError
        When an argument is wrong, or two links fill one point; the message names it.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> given = [
    ...     (0, slice(3, 4), 1, slice(0, 1)),
    ...     (1, slice(-2, 0), 0, slice(1, 3), ["-I"]),
    ... ]
    >>> grid = gbd.links([(3,), (2,)], given, "I", halo=2)
    >>> a, b = T = grid.zeros()
    >>> a[2:5], b[2:4] = [1, 2, 3], [7, 8]
    >>> grid.exchange(T)
    >>> a.numpy(), b.numpy()
    (array([0., 0., 1., 2., 3., 7., 0.]), array([3., 2., 7., 8., 0., 0.]))

    An unstructured halo: points 3 and 4 of block 0 are points 2 and 0 of block 1.

    >>> grid = gbd.links([(3,), (3,)], [(0, [3, 4], 1, [2, 0])], "I", halo=((0, 2),))
    >>> a, b = T = grid.zeros()
    >>> b[:3] = [7, 8, 9]
    >>> grid.exchange(T)
    >>> a.numpy()
    array([0., 0., 0., 9., 7.])
    """
    options: dict[str, Any] = {"engine": engine, "timeout": timeout, "aware": aware}
    return linked(shapes, links, dims, owners, halo, comm=comm, **options)


@on_all_ranks
def linked(
    shapes: Any,
    links: Any,
    dims: Any,
    owners: Any = None,
    halo: Any = 0,
    *,
    inside: bool = False,
    **options: Any,
) -> Grid:
    """The grid of `links`; `inside`: halo points may stand among a block's own. Options are those
    of `build`.
    """
    extents = tuple(read.read_shape(shape, "shapes") for shape in read.entries(shapes, "shapes"))
    if not extents:
        raise ValueError("shapes: none were given; a grid has at least one block")
    if len({len(shape) for shape in extents}) > 1:
        raise ValueError(f"shapes: {extents}; all have as many dims")
    names = read.read_dims(dims, len(extents[0]), "each block")
    given = read_links(links, extents, names, inside)
    whole = Topology(extents, {}, names)
    pairs, one, cyclic = read.read_halo(halo, names), (1,) * len(names), (False,) * len(names)
    return build(whole, cyclic, pairs, one, None, owners, links=given, **options)


def build(
    topology: Topology,
    cyclic: Sequence[bool],
    halo: Pairs,
    blocks: Any,
    cuts: Any,
    owners: Any,
    comm: Any = None,
    engine: Any = None,
    timeout: Any = None,
    aware: Any = None,
    links: Sequence[Given] | None = None,
    kind: type[Grid] = Grid,
) -> Grid:
    """The grid of a topology: what all kinds of grids have in common."""
    seconds = read.read_timeout(timeout)
    chosen = engine_of(comm, engine, seconds, boolean_or_none(aware, "aware"))
    decomposition = cut(topology, cyclic, halo, blocks, cuts, owners, chosen.size)
    periodic = tuple(name for name, yes in zip(topology.names, cyclic, strict=True) if yes)
    builder = (
        LinkBuilder(topology, decomposition)
        if links is None
        else GivenLinks(topology, decomposition, links)
    )
    chosen.serve(builder)
    return kind(builder, periodic, halo, chosen, comm, seconds)


def engine_of(comm: Any, engine: Any, timeout: float | None, aware: bool | None) -> Engine:
    if engine is not None and not isinstance(engine, str):
        raise TypeError(f"engine: expected a name, got {type(engine).__name__}")
    if engine is not None and engine not in ENGINES:
        raise ValueError(
            f"engine: {engine!r} is unknown; allowed are {', '.join(map(repr, ENGINES))}"
        )
    if comm is None and engine in (None, "local"):
        return LocalEngine()
    if comm is None:
        raise ValueError(f"engine: {engine!r} needs a communicator; give comm=")
    if engine == "local":
        raise ValueError("engine: 'local' has no ranks, and comm was given; leave one of them out")
    if engine == "ghex":
        from gridbuf.distributed.ranks.ghex import GHEXEngine

        return GHEXEngine(comm, timeout, aware)
    from gridbuf.distributed.ranks.mpi import MPIEngine

    return MPIEngine(comm, timeout, aware)
