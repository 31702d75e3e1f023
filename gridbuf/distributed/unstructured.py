"""Grids of points that are known by global index: each rank gives the indices of its own points
and of its halo, and every halo point is filled from the block that owns its index.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridbuf.distributed.factories import calls_of_all, links
from gridbuf.distributed.geometry.given_links import Ints
from gridbuf.distributed.geometry.reading_links import index_links, read_indices
from gridbuf.distributed.grid import Grid

GATHERING = "the global indices of a grid"


def unstructured(
    own: Any,
    halo: Any,
    dims: Any = "I",
    *,
    comm: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
    aware: bool | None = None,
) -> Grid:
    """A grid of points that are known by global index, as those of GHEX and ICON are.

    Parameters
    ----------
    own : array of int, or sequence of arrays of int
        The global indices of this rank's own points, in the order that they have in fields. A
        sequence of arrays is several blocks, or none. Each index is owned once.
    halo : array of int, or sequence of arrays of int
        Those of its halo points, which come after its own; an index may stand there twice.
    dims : str or sequence, optional
        The name of the dim: "I", or ("Cell",).
    comm : mpi4py.MPI.Comm, optional
        The communicator of the ranks; each gives its blocks. None: all blocks are in this process.
    engine : {"local", "mpi"}, optional
        As for `grid`.
    timeout : float, optional
        As for `grid`.
    aware : bool, optional
        As for `grid`.

    Returns
    -------
    Grid
        The grid. Its fields have room for the longest halo of all blocks; fields with a halo as
        long as their block's own are exchanged too.

    Raises
    ------
    TypeError, ValueError
        When the indices are no integers, two blocks own one, or none does; the message names it.

    Notes
    -----
    While the grid is made each rank holds all indices of all ranks, 8 bytes each; so it is made
    once. Files and gathered fields have a tile for each block, in the order of its points.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> own, halo = [[4, 7, 1], [0, 2]], [[2, 0], [4]]
    >>> grid = gbd.unstructured(own, halo, ("Cell",))
    >>> T = grid.zeros()
    >>> for f, indices in zip(T, own):
    ...     f.domain[...] = indices
    >>> grid.exchange(T)
    >>> T[0].numpy(), T[1].numpy()
    (array([4., 7., 1., 2., 0.]), array([0., 2., 4., 0.]))

    Under mpirun each rank gives its own, of icon4py's decomposition for instance:

    >>> def of_rank(info, dim, comm):  # doctest: +SKIP
    ...     index, owned = info.global_index(dim), info.owner_mask(dim)
    ...     return gbd.unstructured(index[owned], index[~owned], (dim.value,), comm=comm)
    """
    owners = None
    if comm is None:
        every_own, every_halo = _blocks(own, halo)
    else:
        _, calls = calls_of_all(comm, timeout)
        every_own, every_halo, owners = calls.run(
            GATHERING, lambda ranks: _gathered(_blocks(own, halo), ranks)
        )
    if not every_own:
        raise ValueError("own: no rank has a block; a grid has at least one")
    longest = max(map(len, every_halo))
    return links(
        [(len(each),) for each in every_own],
        index_links(every_own, every_halo),
        dims,
        owners=owners,
        halo=((0, longest),),
        comm=comm,
        engine=engine,
        timeout=timeout,
        aware=aware,
    )


def _blocks(own: Any, halo: Any) -> tuple[list[Ints], list[Ints]]:
    """The indices of this process's blocks."""
    return read_indices([own], [halo]) if _is_array(own) else read_indices(own, halo)


def _is_array(given: Any) -> bool:
    """Whether indices are of one block."""
    if isinstance(given, np.ndarray):
        return given.ndim == 1 and given.dtype != object
    return isinstance(given, Sequence) and len(given) > 0 and np.ndim(given[0]) == 0


def _gathered(
    mine: tuple[list[Ints], list[Ints]], ranks: Any
) -> tuple[list[Ints], list[Ints], list[int]]:
    """The indices of the blocks of all ranks, by rank, and the rank of each block."""
    ranks.agree(GATHERING, {"kind": "unstructured"})
    counts = np.zeros(ranks.size, np.int64)
    counts[ranks.rank] = len(mine[0])
    counts = ranks.reduce(counts, "sum")
    first = int(counts[: ranks.rank].sum())
    own, halo = (_of_all(part, first, int(counts.sum()), ranks) for part in mine)
    return own, halo, np.repeat(np.arange(ranks.size), counts).tolist()


def _of_all(mine: Sequence[Ints], first: int, count: int, ranks: Any) -> list[Ints]:
    """The arrays of all ranks' blocks; those of this rank begin at number `first`."""
    lengths = np.zeros(count, np.int64)
    lengths[first : first + len(mine)] = [len(each) for each in mine]
    ends = np.cumsum(ranks.reduce(lengths, "sum"))
    indices = np.zeros(ends[-1] if count else 0, np.int64)
    for number, each in enumerate(mine, first):
        indices[ends[number] - len(each) : ends[number]] = each
    found: list[Ints] = np.split(ranks.reduce(indices, "sum"), ends)[:-1]
    return found
