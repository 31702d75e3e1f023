"""Grids of points that are known by global index: each rank gives the indices of its own points
and of its halo, and every halo point is filled from the block that owns its index.

A whole field has the own points of all blocks in the order of their indices. All calls about whole
fields move the points to an ordinary grid of one dim, the line, or back from there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Never

import numpy as np

from gridbuf import _core
from gridbuf.distributed import arguments as read
from gridbuf.distributed.blocks import Blocks
from gridbuf.distributed.factories import calls_of_all, linked
from gridbuf.distributed.factories import grid as cartesian
from gridbuf.distributed.geometry.given_links import Ints
from gridbuf.distributed.geometry.reading_links import (
    NO_POINTS,
    Points,
    links_of,
    read_index_arrays,
    read_indices,
)
from gridbuf.distributed.grid import Fields, Grid
from gridbuf.distributed.plans.plan import on_blocks
from gridbuf.wrapping import check_masks

if TYPE_CHECKING:
    from gridbuf.distributed.files.loading import Checkpoint

GATHERING = "the global indices of a grid"
OPTIONS_OF_SAVE = {"attributes", "format", "chunks", "shards", "compressors", "progress"}


class Known(NamedTuple):
    """The points of some blocks: global indices of each in the order of its fields, which of them
    are its own, and whether halo points may stand among these.
    """

    indices: list[Ints]
    masks: list[Any]
    interspersed: bool

    def sizes(self) -> list[int]:
        """How many points the domain of each block has."""
        return [len(mask) if self.interspersed else int(mask.sum()) for mask in self.masks]

    def own(self) -> list[Points]:
        return [
            Points(indices[mask], np.flatnonzero(mask))
            for indices, mask in zip(self.indices, self.masks, strict=True)
        ]

    def halo(self) -> list[Points]:
        return [
            Points(indices[~mask], np.flatnonzero(~mask))
            for indices, mask in zip(self.indices, self.masks, strict=True)
        ]


class Line(NamedTuple):
    """The grid of whole fields, and those that move points.

    Attributes
    ----------
    whole : Grid
        One tile of all points, in the order of their indices.
    to, back : Grid
        The blocks of the unstructured grid and those of `whole`: `to` fills the latter, `back` the
        own points of the former.
    """

    whole: Grid
    to: Grid
    back: Grid


def on_line(name: str, anywhere: bool = False) -> Any:
    """A method of Grid, called on the line with the fields moved there; `anywhere`: its result does
    not depend on the order of points, so that points which are own by their place stay.
    """
    method = getattr(Grid, name)

    @wraps(method)
    def called(self: "UnstructuredGrid", *fields: Any, **keywords: Any) -> Any:
        if anywhere and not self._known.interspersed:
            return method(self, *fields, **keywords)
        return getattr(self._line.whole, name)(*map(self._to_line, fields), **keywords)

    return called


class UnstructuredGrid(Grid):
    """The grid of `unstructured`."""

    _known: Known  # the points of this rank's blocks

    sum: Any = on_line("sum", anywhere=True)
    mean: Any = on_line("mean", anywhere=True)
    dot: Any = on_line("dot", anywhere=True)
    norm: Any = on_line("norm", anywhere=True)
    min: Any = on_line("min", anywhere=True)
    max: Any = on_line("max", anywhere=True)
    any: Any = on_line("any", anywhere=True)
    all: Any = on_line("all", anywhere=True)
    argmin: Any = on_line("argmin")
    argmax: Any = on_line("argmax")
    checksum: Any = on_line("checksum")

    def gather(self, field: Any, root: int = 0, *, fill_value: Any = 0, **keywords: Any) -> Any:
        line = self._line.whole
        return line.gather(self._to_line(field), root, fill_value=fill_value, **keywords)

    def scatter(self, array: Any, field: Fields, root: int = 0) -> None:
        line = self._line.whole
        with self._revoking():
            moved = self._like(field)
        line.scatter(array, moved, root)
        self._from_line(moved, field)

    def redistribute(
        self, field: Fields, other: Any, out: Fields = None, **keywords: Any
    ) -> Fields:
        line, there = self._line.whole, getattr(other, "_line", None)
        if there is None:
            return line.redistribute(self._to_line(field), other, out, **keywords)
        moved = line.redistribute(self._to_line(field), there.whole)
        with other._revoking():
            found = other._made(moved, keywords, "the field's") if out is None else out
        other._from_line(moved, found)
        return found

    def save(self, path: Any, /, *unnamed: Never, **keywords: Any) -> None:
        fields = {
            name: given if name in OPTIONS_OF_SAVE else self._to_line(given)
            for name, given in keywords.items()
        }
        self._line.whole.save(path, *unnamed, **fields)

    def load(
        self, path: Any, /, *names: str, verify: bool = True, progress: Any = None, **keywords: Any
    ) -> "Checkpoint":
        found = self._line.whole.load(path, *names, verify=verify, progress=progress)
        for name, moved in found.items():
            with self._revoking():
                found[name] = self._made(moved, keywords, "that of the store")
            self._from_line(moved, found[name])
        return found

    @cached_property
    def _line(self) -> Line:
        """Made by the first call about whole fields, which all ranks make."""
        ranks = calls_of_all(self.comm, self.timeout)[1] if self.comm is not None else None
        every, owners = gathered(self._known, ranks)
        keywords = {"comm": self.comm, "timeout": self.timeout}
        own, none = every.own(), [NO_POINTS] * len(owners)
        order = np.sort(np.concatenate([each.indices for each in own]))
        whole = cartesian((len(order),), self.dims, **keywords)
        slabs = [
            Points(order[block.start[0] : block.stop[0]], np.arange(block.shape[0]))
            for block in whole.all_blocks()
        ]
        empty, lengths = [NO_POINTS] * len(slabs), [len(each.indices) for each in slabs]
        all_owners = [*owners, *(block.rank for block in whole.all_blocks())]
        to = linked(
            [(n,) for n in [*every.sizes(), *([0] * len(slabs))]],
            links_of([*own, *empty], [*none, *slabs]),
            self.dims,
            owners=all_owners,
            **keywords,
        )
        back = linked(
            [(n,) for n in [*([0] * len(own)), *lengths]],
            links_of([*none, *slabs], [*own, *empty]),
            self.dims,
            owners=all_owners,
            **keywords,
        )
        return Line(whole, to, back)

    def _to_line(self, given: Any) -> Any:
        """The own points of a field on the line's blocks."""
        line = self._line
        with self._revoking():
            moved = self._like(given)
            fields = on_blocks(given, len(self.blocks), "field")
        line.to.exchange([*(each.domain for each in fields), as_halo(moved, None, self.dims[0])])
        return moved

    def _from_line(self, moved: Any, field: Any) -> None:
        """Fill the own points of a field from the line's blocks."""
        with self._revoking():
            fields = [
                as_halo(each, int(np.max(points.places, initial=-1)) + 1, self.dims[0])
                for each, points in zip(
                    on_blocks(field, len(self.blocks), "field"), self._known.own(), strict=True
                )
            ]
        self._line.back.exchange([*fields, moved.domain])

    def _like(self, given: Any) -> Any:
        """A field for the line, in the layout of a field on this rank's blocks."""
        fields = on_blocks(given, len(self.blocks), "field")
        if fields:
            self._planner.bound(fields, "field")
        elif isinstance(given, Blocks):
            fields = list(given._parts)
        if not fields:
            raise TypeError("field: this rank has no blocks; give the Blocks that the grid made")
        return made_like(self._line.whole, fields[0], self.dims[0], (0, 0), {})

    def _made(self, moved: Any, keywords: Mapping[str, Any], source: str) -> Any:
        """Fields on this rank's blocks, in the layout of a field on the line."""
        read.refuse_those_of_the_result(keywords, source)
        return made_like(self, moved, self.dims[0], self.halo[0], keywords)

    @contextmanager
    def _revoking(self) -> Iterator[None]:
        """Have the other ranks hear of an error of this one."""
        try:
            yield
        except BaseException as error:
            self._engine.failed(error)
            raise


def as_halo(field: Any, count: int | None, dim: str) -> Any:
    """The first points of a field's domain along a dim as a halo, which an exchange fills."""
    inside = field.domain
    key = tuple(slice(count if d == dim else None) for d in inside.dims)
    inside = inside[key]
    halo = [(0, n * (d == dim)) for d, n in zip(inside.dims, inside.shape, strict=True)]
    return _core.Field(inside, dims=inside.dims, halo=halo)


def made_like(
    grid: Grid, field: Any, dim: str, halo: tuple[int, int], keywords: Mapping[str, Any]
) -> Any:
    """New fields of a grid in the layout of a field, with another halo along a dim."""
    from gridbuf.distributed.files.manifests import keywords_of, layout_of_field  # seldom needed

    layout = layout_of_field(field)
    layout["halo"] = [
        halo if d == dim else pair for d, pair in zip(field.dims, layout["halo"], strict=True)
    ]
    sizes = {d: n for d, n in zip(field.dims, field.domain.shape, strict=True) if d != dim}
    given = keywords_of(layout, field.dims, keywords)
    if field.device != "cpu":
        given.setdefault("device", field.device)
    return grid.zeros(field.dims, field.dtype, sizes=sizes, **given)


def unstructured(
    own: Any,
    halo: Any = None,
    dims: Any = "I",
    *,
    mask: Any = None,
    comm: Any = None,
    engine: str | None = None,
    timeout: float | None = None,
    aware: bool | None = None,
) -> Grid:
    """A grid of points that are known by global index, as those of GHEX and ICON are.

    Parameters
    ----------
    own : array of int, or sequence of arrays of int
        The global indices of this rank's own points, in the order that they have in fields; with
        `mask` those of all its points. A sequence of arrays is several blocks, or none. Each index
        is owned once.
    halo : array of int, or sequence of arrays of int, optional
        Those of its halo points, which come after its own; an index may stand there twice.
    dims : str or sequence, optional
        The name of the dim: "I", or ("Cell",).
    mask : array of bool, or sequence of arrays of bool, optional
        In place of halo: which of the points are own. The others are halo points, wherever they
        stand: fields have no halo then, and their domain has all points.
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
        long as their block's own are exchanged too. A whole field, of `gather`, `save` and the
        like, has all own points in the order of their indices, so that another number of ranks and
        another partition load what one has saved.

    Raises
    ------
    TypeError, ValueError
        When the indices are no integers, two blocks own one, or none does; the message names it.

    Notes
    -----
    While the grid is made, and in the first call about whole fields, each rank holds all indices
    of all ranks, 8 bytes each; so it is made once. Whole fields travel to the ranks in even parts
    first; with `mask` those of `sum` and the like do, too.

    Examples
    --------
    >>> import gridbuf.distributed as gbd
    >>> own, halo = [[4, 7, 1], [0, 2]], [[2, 0], [4]]
    >>> grid = gbd.unstructured(own, halo, ("Cell",))
    >>> T = grid.zeros()
    >>> for f, indices in zip(T, own):
    ...     f.domain[...] = indices
    >>> grid.exchange(T)
    >>> T[0].numpy(), T[1].numpy(), grid.gather(T).numpy()
    (array([4., 7., 1., 2., 0.]), array([0., 2., 4., 0.]), array([0., 1., 2., 4., 7.]))

    Under mpirun each rank gives its own, of icon4py's decomposition for instance:

    >>> def of_rank(info, dim, comm):  # doctest: +SKIP
    ...     index, owned = info.global_index(dim), info.owner_mask(dim)
    ...     return gbd.unstructured(index, mask=owned, dims=(dim.value,), comm=comm)
    """
    ranks = None if comm is None else calls_of_all(comm, timeout)[1]
    mine: list[Known] = []

    def known() -> Known:
        mine.append(read_points(own, halo, mask))
        return mine[0]

    if ranks is None:
        every, owners = gathered(known(), None)
    else:
        every, owners = ranks.run(GATHERING, lambda ranks: gathered(known(), ranks))
    if not every.indices:
        raise ValueError("own: no rank has a block; a grid has at least one")
    points, others = every.own(), every.halo()
    longest = 0 if every.interspersed else max(len(each.indices) for each in others)
    grid = linked(
        [(n,) for n in every.sizes()],
        links_of(points, others),
        dims,
        owners=owners,
        halo=((0, longest),),
        comm=comm,
        engine=engine,
        timeout=timeout,
        aware=aware,
        kind=UnstructuredGrid,
        inside=every.interspersed,
    )
    assert isinstance(grid, UnstructuredGrid)
    grid._known = mine[0]
    return grid


# ---- the points of all ranks ----


def read_points(own: Any, halo: Any, mask: Any) -> Known:
    """The points of this process's blocks."""
    one = _is_array(own)
    if mask is None:
        ours, theirs = read_indices([own], [halo]) if one else read_indices(own, halo)
        return Known(
            [np.concatenate(both) for both in zip(ours, theirs, strict=True)],
            [np.arange(len(a) + len(b)) < len(a) for a, b in zip(ours, theirs, strict=True)],
            False,
        )
    if halo is not None:
        raise TypeError("halo: mask was given as well, which says where halo points are in own")
    indices = read_index_arrays([own] if one else own, "own")
    given = read.entries([mask] if one else mask, "mask")
    check_masks((f"mask[{i}]", each) for i, each in enumerate(given))
    masks = [np.asarray(each) for each in given]
    if len(masks) != len(indices):
        raise ValueError(f"mask: {len(masks)} blocks, own has {len(indices)}")
    for i, (each, its) in enumerate(zip(masks, indices, strict=True)):
        if each.dtype != bool and each.size:
            raise TypeError(f"mask[{i}]: expected an array of bool, got elements of {each.dtype}")
        if each.shape != its.shape:
            raise ValueError(f"mask[{i}]: its shape is {each.shape}, own has {its.shape}")
    return Known(indices, [each.astype(bool) for each in masks], True)


def _is_array(given: Any) -> bool:
    """Whether indices are of one block."""
    if isinstance(given, np.ndarray):
        return given.ndim == 1 and given.dtype != object
    return isinstance(given, Sequence) and len(given) > 0 and np.ndim(given[0]) == 0


def gathered(mine: Known, ranks: Any) -> tuple[Known, list[int]]:
    """The points of the blocks of all ranks, by rank, and the rank of each block."""
    if ranks is None:
        return mine, [0] * len(mine.indices)
    ranks.agree(GATHERING, {"kind": "unstructured", "mask": mine.interspersed})
    counts = np.zeros(ranks.size, np.int64)
    counts[ranks.rank] = len(mine.indices)
    counts = ranks.reduce(counts, "sum")
    first = int(counts[: ranks.rank].sum())
    indices, masks = (_of_all(part, first, int(counts.sum()), ranks) for part in mine[:2])
    every = Known(indices, [each.astype(bool) for each in masks], mine.interspersed)
    return every, np.repeat(np.arange(ranks.size), counts).tolist()


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
