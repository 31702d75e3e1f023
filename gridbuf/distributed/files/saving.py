"""Saving fields of a grid, and loading them on any number of ranks and any cut.

All is written beside the path and renamed at the end, when every rank has said that its part is on
the disk; until then what was there stays. A file has one value for each place of a tile: along a
fold and along edges where axes turn each side keeps its own, so that vectors come back as they
were, without a rule.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.alone import Topic
from gridbuf.distributed.dtype_names import dtype_of
from gridbuf.distributed.files import checkpoint_folders as folders
from gridbuf.distributed.files import manifests
from gridbuf.distributed.files.chunking import blockwise, in_slabs
from gridbuf.distributed.files.stores import STORES, Store, zarr_is_there
from gridbuf.distributed.geometry.between_decompositions import Copies, End
from gridbuf.distributed.geometry.blocks import Block, Index
from gridbuf.distributed.plans.plan import on_blocks
from gridbuf.distributed.plans.planning import plain
from gridbuf.distributed.whole_fields.checksums import header, of_block
from gridbuf.distributed.whole_fields.ground import (
    Ground,
    agreed_subjects,
    subjects_of,
    summed,
    way_of,
)
from gridbuf.distributed.whole_fields.subjects import Subject, array_of, bring_back, subject
from gridbuf.distributed.whole_fields.transfers import Transfer
from gridbuf.validation import boolean, integer

AT_ONCE = (
    2**18
)  # points whose checksum is worked out at a time: it takes several times their memory


def read_format(given: Any) -> str:
    if given is None:
        return "zarr" if zarr_is_there() else "npy"
    if not isinstance(given, str):
        raise TypeError(f"format: expected 'zarr' or 'npy', got {type(given).__name__}")
    if given not in STORES:
        raise ValueError(f"format: {given!r} is neither 'zarr' nor 'npy'")
    if given == "zarr" and not zarr_is_there():
        raise ValueError(
            "format: 'zarr' needs the package zarr (pip install zarr), which is not installed"
        )
    return given


def check_progress(progress: Any) -> None:
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a callable, got {type(progress).__name__}")


def read_options(options: Mapping[str, Any], dims: set[str]) -> dict[str, Any]:
    """What a store is made with, of Python's own numbers."""
    chunks, shards = options.get("chunks", {}), options.get("shards", False)
    if not isinstance(chunks, Mapping):
        raise TypeError(f"chunks: expected a dict of dims and sizes, got {type(chunks).__name__}")
    for dim in chunks:
        if not isinstance(dim, str):
            raise TypeError(f"chunks: expected names of dims, got {type(dim).__name__}")
        if dims and dim not in dims:
            raise ValueError(f"chunks: {dim!r} is not among the dims of the fields, {sorted(dims)}")
    boolean(shards, "shards")
    its = {str(dim): integer(n, f"chunks[{dim!r}]", 1) for dim, n in chunks.items()}
    return {**options, **({"chunks": its} if "chunks" in options else {})}


def saving(
    ranks: Any, ground: Ground, path: Any, fields: Mapping[str, Any], attributes: Any, format: Any,
    options: Mapping[str, Any], periodic: Sequence[str], halo: Any,
    progress: Callable[[float], Any] | None,
) -> None:  # fmt: skip
    """The steps of `Grid.save`."""
    names = list(fields)

    def prepare() -> tuple[Path, str, Store, list[Subject], Any, dict[str, Any]]:
        if not names:
            raise ValueError("fields: none were given to be saved")
        for name in names:
            if not name.isidentifier():
                raise ValueError(f"fields: {name!r} is no name; letters, digits and _ are allowed")
        where, kind = manifests.read_path(path), read_format(format)
        check_progress(progress)
        if kind == "npy" and options:
            raise ValueError(f"{next(iter(options))}: only Zarr has it, and the format is 'npy'")
        mine = subjects_of(ground, fields.values(), names)
        its = read_options(options, {dim for one in mine for dim in one.dims})
        store = STORES[kind](**its)
        for one in mine:
            store.check(one.dtype, one.name)
        said = manifests.read_attributes(attributes, names)
        words = {
            "path": str(where),
            "format": kind,
            "attributes": said,
            "names": names,
            "options": [its.get("chunks"), its.get("shards")],
        }
        return where, kind, store, mine, said, words

    where, kind, store, mine, said, words = prepare()
    layouts = [
        manifests.layout_of_field(on_blocks(given, len(ground.blocks), name)[0])
        for name, given in fields.items()
        if mine
    ]
    tell = {"beside": folders.name_for(where), "layouts": layouts}
    subjects, tale, _ = agreed_subjects(
        ranks, ground, "save", words, ground.first, mine, names, tell
    )
    manifest = manifests.describe(ground, subjects, tale["dims"], kind, periodic, halo, *said)
    for one, layout in zip(subjects, tale["layouts"], strict=True):
        manifest["fields"][one.name]["layout"] = layout
    cuts = [
        ground.memo(
            ("cut", kind, one.geometry, tuple(dims), str(one.sizes)),
            lambda: pieces_of(ground, one, dims, kind),  # noqa: B023
        )
        for one, dims in zip(subjects, tale["dims"], strict=True)
    ]
    beside = where.with_name(tale["beside"])
    try:
        if ground.rank == 0:
            chunks = {one.name: sizes for one, (_, sizes) in zip(subjects, cuts, strict=True)}
            folders.begin(where, beside, store, manifest, chunks)
        ranks.agree("save", words)
        sums = np.zeros(len(subjects), np.uint64)
        for i, (one, dims, (end, _)) in enumerate(zip(subjects, tale["dims"], cuts, strict=True)):
            pieces = moved(ranks, ground, one, dims, end, kind)
            put(store, beside, manifest["fields"][one.name], ground, one, dims, pieces, sums, i)
            if progress is not None:
                progress((i + 1) / len(subjects))
        agreed = ranks.agree("save", words, values=sums[: ranks.room])
        total = summed(ranks, sums, agreed)
        for field, number in zip(manifest["fields"].values(), total, strict=True):
            field["checksum"] = f"{int(number):016x}"
        if ground.rank == 0:
            folders.end_with(where, beside, store, manifest)
        ranks.agree("save", words)
    except BaseException as error:
        try:
            ranks.fail(error)  # first: other ranks still write there
        finally:
            if ground.rank == 0:
                folders.give_up(beside)
        raise


def pieces_of(
    ground: Ground, one: Subject, dims: Sequence[str], kind: str
) -> tuple[End, list[list[int]]]:
    """Who writes which places, and how large the pieces are on each tile, along the array's
    dims.
    """
    if kind == "npy":
        return in_slabs(ground, one, dims), []
    end, sizes = blockwise(ground, one)
    return end, [
        [max(n, 1) for n in one.shape(dims, dict(zip(ground.dims, size, strict=True)))]
        for size in sizes
    ]


def box_of(block: Block, names: Sequence[str], dims: Sequence[str], shape: Index) -> list[slice]:
    """Where on its tile an array with a block's points lies, whose axes are these dims."""
    starts = dict(zip(names, block.start, strict=True))
    return [
        slice(start := starts.get(dim, 0), start + n) for dim, n in zip(dims, shape, strict=True)
    ]


Pieces = list[tuple[Block, NDArray[Any]]]


def moved(
    ranks: Any, ground: Ground, one: Subject, dims: Sequence[str], end: End, kind: str
) -> Pieces:
    """The pieces of a field that this rank writes."""
    blocks = [block for block in end.decomposition.blocks_of(ground.rank) if all(block.shape)]

    def begin() -> tuple[Pieces, Transfer]:
        made = [
            np.asarray(
                _core.zeros(
                    one.shape(dims, dict(zip(ground.dims, block.shape, strict=True))), one.dtype
                )
            )
            for block in blocks
        ]
        way = way_of(
            ground,
            ("save", kind, one.geometry, tuple(dims)),
            one,
            plain(0),
            dims,
            ground.copies(one, straight=True),
            (ground.end(one), end),
            (ground.blocks, blocks),
            (ground.decomposition.rank_of, end.decomposition.rank_of),
        )
        arrays = {block.number: array for block, array in zip(blocks, made, strict=True)}
        return (
            list(zip(blocks, made, strict=True)),
            Transfer([way], [ground.arrays(one, dims)], [arrays]).pack(),
        )

    pieces, transfer = begin()
    transfer.run(ranks)
    return pieces


def put(
    store: Store, folder: Path, field: Mapping[str, Any], ground: Ground, one: Subject,
    dims: Sequence[str], pieces: Pieces,
    sums: NDArray[np.uint64], i: int,
) -> None:  # fmt: skip
    """Write what is this rank's, and add its checksum."""
    head = header(one.dims, one.dtype)
    for block, array in pieces:
        store.write(
            folder,
            field["arrays"][block.tile],
            box_of(block, ground.dims, dims, array.shape),
            array,
        )
        whole = tuple((0, block.shape[a]) for a in one.geometry.axes)
        sums[i : i + 1] += checksum(
            _core.Field(array, dims=tuple(dims)), one, block, head, [whole], ground.dims
        )


def checksum(
    field: _core.Field, one: Subject, block: Block, head: int, parts: Any, names: Sequence[str]
) -> np.uint64:
    """Of parts of a block, a few points at a time."""
    total = 0
    for part in parts:
        rest = one.sizes.values()
        step = max(AT_ONCE // max(int(np.prod([*rest, *(b - a for a, b in part[1:])])), 1), 1)
        starts = range(part[0][0], part[0][1], step) if part else [0]
        for start in starts:
            slab = ((start, min(start + step, part[0][1])), *part[1:]) if part else part
            total += of_block(field, one.geometry.axes, block, head, [slab], names)
    return np.uint64(total % 2**64)


# ---- loading ----


class Checkpoint(dict[str, Any]):
    """The fields that were loaded, by name.

    Attributes
    ----------
    attributes : dict
        Those of the store.
    """

    def __init__(self, attributes: Mapping[str, Any], of_fields: Mapping[str, Any]) -> None:
        super().__init__()
        self.attributes = dict(attributes)
        self._of_fields = of_fields

    def attributes_of(self, name: str) -> dict[str, Any]:
        """The attributes of a field.

        Parameters
        ----------
        name : str
            One of those that were loaded.

        Returns
        -------
        dict
            What `Grid.save` was given for it.

        Raises
        ------
        KeyError
            When there is no such field.

        Examples
        --------
        >>> import tempfile, gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     grid.save(f"{folder}/x", T=grid.ones(), attributes={"T": {"units": "K"}}, format="npy")
        ...     grid.load(f"{folder}/x").attributes_of("T")
        {'units': 'K'}
        """
        return dict(self._of_fields[name])


def loading(
    ranks: Any,
    ground: Ground,
    path: Any,
    names: Sequence[str],
    verify: Any,
    make: Callable[..., Any],
    progress: Callable[[float], Any] | None,
) -> "Checkpoint":
    """The steps of `Grid.load`."""

    def prepare() -> tuple[Path, manifests.Said | None, dict[str, Any]]:
        boolean(verify, "verify")
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"names: expected the names of fields, got {type(name).__name__}")
        check_progress(progress)
        where = manifests.read_path(path)
        found = manifests.read(where) if ground.rank == 0 else None
        if found is not None:
            check(found, ground, names, where)
        return where, found, {"path": str(where), "names": list(names), "verify": verify}

    where, found, words = prepare()
    topic = Topic(found, found is not None)
    agreed = ranks.agree("load", words, [topic], needed=True)
    manifest = agreed.topics[0][0]
    wanted = list(names) or list(manifest["fields"])
    sums = np.zeros(len(wanted), np.uint64)

    def get() -> Checkpoint:
        store = STORES[manifest["store"]]()
        made = Checkpoint(
            manifest["attributes"],
            {name: manifest["fields"][name]["attributes"] for name in wanted},
        )
        for i, name in enumerate(wanted):
            made[name] = get_field(
                store,
                where,
                manifest["fields"][name],
                ground,
                name,
                make,
                sums[i : i + 1] if verify else None,
            )
            if progress is not None:
                progress((i + 1) / len(wanted))
        return made

    made = get()
    agreed = ranks.agree("load", words, values=sums[: ranks.room])
    total = summed(ranks, sums, agreed)
    if verify and not ground.decomposition.has_land:  # what nobody has is not read
        for name, number in zip(wanted, total, strict=True):
            if f"{int(number):016x}" != manifest["fields"][name]["checksum"]:
                raise ValueError(
                    f"path: the values of {name!r} in {str(where)!r} are not those that were saved:"
                    " their checksum differs"
                )
    return made


def check(manifest: manifests.Said, ground: Ground, names: Sequence[str], where: Path) -> None:
    tiles = tuple(tuple(tile) for tile in manifest["tiles"])
    if (tiles, tuple(manifest["dims"])) != (ground.tiles, ground.dims):
        raise ValueError(
            f"path: {str(where)!r} has tiles {tiles} along {tuple(manifest['dims'])}, this grid"
            f" {ground.tiles} along {ground.dims}"
        )
    for name in names:
        if name not in manifest["fields"]:
            raise ValueError(
                f"names: {name!r} is not in {str(where)!r}, which has"
                f" {', '.join(manifest['fields'])}"
            )
    if manifest["store"] not in STORES:
        raise ValueError(f"path: {str(where)!r} is kept as {manifest['store']!r}, which is unknown")
    if manifest["store"] == "zarr" and not zarr_is_there():
        raise ValueError(
            f"path: {str(where)!r} is kept as Zarr; install the package zarr (pip install zarr)"
        )


def get_field(
    store: Store,
    where: Path,
    field: manifests.Said,
    ground: Ground,
    name: str,
    make: Callable[..., Any],
    sums: Any,
) -> Any:
    """A field on this rank's blocks, read from its own boxes alone."""
    dims, dtype = tuple(field["dims"]), dtype_of(field["dtype"])
    shape = field["shapes"][0]
    sizes = {dim: n for dim, n in zip(dims, shape, strict=True) if dim not in ground.dims}
    faces = [dim for dim, position in field["positions"].items() if position == "face"]
    for tile in sorted({block.tile for block in ground.blocks}):
        store.examine(where, field["arrays"][tile], field, field["shapes"][tile])
    made = make(field.get("layout", {}), dims, dtype, sizes=sizes, faces=faces)
    one = subject(made, ground.blocks, ground.dims, name)
    if one is None:
        return made
    end, head = ground.end(one), header(one.dims, one.dtype)
    owned = Copies(None, End(*end))
    for block, domain in zip(ground.blocks, one.domains, strict=True):
        array = array_of(domain, dims)
        box = box_of(block, ground.dims, dims, array.shape)
        store.read(
            where, field["arrays"][block.tile], field, field["shapes"][block.tile], box, array
        )
        if sums is not None:
            sums += checksum(domain, one, block, head, owned.owned(block), ground.dims)
    bring_back(one)
    return made
