"""Saving fields of a grid, so that any number of ranks and any cut can load them.

A field is cut for a file so that every piece has one rank that writes it, and none is written
twice. Pieces are cut by places, of which a file has as many as an array has elements: along a
staggered axis one more than there are cells.

Everything is written beside the path and renamed at the end, when every rank's part is on the disk;
until then the old checkpoint stays. A file has one value for each place of a tile: along a fold and
along edges where axes turn each side keeps its own, so that vectors come back as they were, without
a rule.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.files import checkpoint_folders, manifests, netcdf
from gridbuf.distributed.files.netcdf_packages import MISSING, check_path, find_package
from gridbuf.distributed.files.pieces import box_of, cut_into, places
from gridbuf.distributed.files.stores import STORES, Store, zarr_is_there
from gridbuf.distributed.geometry.between_decompositions import End
from gridbuf.distributed.geometry.blocks import Block, Cuts, Decomposition
from gridbuf.distributed.geometry.boxes import Index
from gridbuf.distributed.plans.plan import on_blocks
from gridbuf.distributed.plans.vectors import plain
from gridbuf.distributed.whole_fields.collective_context import (
    Context,
    agreed_infos,
    infos_of,
    summed,
    way_of,
)
from gridbuf.distributed.whole_fields.field_info import FieldInfo
from gridbuf.distributed.whole_fields.reductions import header, of_block
from gridbuf.distributed.whole_fields.transfers import Transfer
from gridbuf.validation import boolean, integer


def blockwise(context: Context, one: FieldInfo) -> tuple[End, list[Index]]:
    """Pieces as large as the blocks of a regular cut, each written by the rank of the block that it
    is; how large they are on each tile.
    """
    there = context.decomposition
    extents = [places(context, one, t) for t in range(len(context.tiles))]
    pieces = []
    for cuts in there.cuts:
        pieces.append(
            tuple(largest(axis) if a in one.geometry.axes else 1 for a, axis in enumerate(cuts))
        )
    cut = cut_into(extents, pieces)
    owners: list[int | None] = []
    for block in Decomposition(cut, context.size).blocks():
        index = tuple(
            min(i, count - 1)
            for i, count in zip(block.index, there.counts[block.tile], strict=True)
        )
        rank = there.rank_of(there.number_at(block.tile, index))
        # Land has faces, beside blocks
        owners.append(block.number % context.size if rank is None else rank)
    end = context.by_places(one, cut, owners)
    return end, pieces


def largest(axis: Cuts) -> int:
    """The size of a regular cut's blocks; of another the least with which as many are enough."""
    first = axis.start(1)
    if first and all(axis.start(k) == min(k * first, axis.n) for k in range(axis.count + 1)):
        return first
    return max(-(-axis.n // axis.count), 1)


def in_slabs(context: Context, one: FieldInfo, dims: Sequence[str]) -> End:
    """As many slabs along the slowest dim that the grid cuts as there are ranks, so that each
    writes long runs.
    """
    along = next((context.dims.index(dim) for dim in dims if dim in context.dims), None)
    extents = [places(context, one, t) for t in range(len(context.tiles))]
    pieces = [
        tuple(
            max(-(-n // context.size), 1) if a == along else max(n, 1) for a, n in enumerate(extent)
        )
        for extent in extents
    ]
    cut = cut_into(extents, pieces)
    tiles = pairwise(Decomposition(cut, context.size).first)
    # Tile t begins with rank t, so that all ranks have work
    owners = [
        (i + t) % context.size for t, (first, end) in enumerate(tiles) for i in range(end - first)
    ]
    return context.by_places(one, cut, owners)


ALL_STORES: dict[str, Callable[..., Any]] = {**STORES, "netcdf": netcdf.NetCDFFile}


def read_format(given: Any, where: Path) -> str:
    if given is None:
        given = "netcdf" if where.suffix == ".nc" else "zarr" if zarr_is_there() else "npy"
    if not isinstance(given, str):
        raise TypeError(f"format: expected 'zarr', 'npy' or 'netcdf', got {type(given).__name__}")
    if given not in ALL_STORES:
        raise ValueError(f"format: {given!r} is unknown; allowed are 'zarr', 'npy' and 'netcdf'")
    if given == "netcdf" and find_package() is None:
        raise ValueError(f"format: 'netcdf' needs {MISSING}; neither is installed")
    if given == "zarr" and not zarr_is_there():
        raise ValueError(
            "format: 'zarr' needs the package zarr (pip install zarr), which is not installed"
        )
    return given


def read_progress(given: Any, verb: str, rank: int) -> Callable[[float], Any] | None:
    """The callable; of True a bar by the package tqdm on rank 0, and None on the other ranks."""
    if given is None or given is False:
        return None
    if given is True:
        return bar(verb) if rank == 0 else None
    if not callable(given):
        raise TypeError(f"progress: expected a callable, True or None, got {type(given).__name__}")
    found: Callable[[float], Any] = given
    return found


def bar(verb: str) -> Callable[[float], None]:
    """A bar that is drawn while it is called with the part that is done, up to 1.0."""
    try:
        from tqdm import tqdm
    except ImportError:
        raise TypeError(
            "progress: True draws a bar with the package tqdm (pip install tqdm), which is not"
            " installed; a callable gets the part that is done"
        ) from None
    drawn = tqdm(total=1.0, desc=verb, bar_format="{desc}: {percentage:3.0f} % |{bar}| {elapsed}")

    def advance(done: float) -> None:
        drawn.update(done - drawn.n)
        if done >= 1.0:
            drawn.close()

    return advance


def read_options(options: Mapping[str, Any], dims: set[str]) -> dict[str, Any]:
    """The options of a store, as Python's own numbers."""
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


def read_names_of(fields: Mapping[str, Any]) -> list[str]:
    if not fields:
        raise ValueError("fields: none were given to be saved")
    for name in fields:
        # Of a file, or of a variable in netCDF, which has names in the form NFC only
        if not name.isidentifier() or len(name.encode()) > 240 or name != normalize("NFC", name):
            raise ValueError(
                f"fields: {name!r} is no name; letters, digits and _ are allowed, up to 240 bytes"
                " of UTF-8 in the form NFC"
            )
    return list(fields)


def saving(
    ranks: Any, context: Context, path: Any, fields: Mapping[str, Any], attributes: Any,
    format: Any, options: Mapping[str, Any], periodic: Sequence[str], halo: Any,
    progress: Any,
) -> None:  # fmt: skip
    """The steps of `Grid.save`."""
    names = read_names_of(fields)
    where = manifests.read_path(path)
    kind = read_format(format, where)
    progress = read_progress(progress, f"save {where}", context.rank)
    if kind != "zarr" and options:
        raise ValueError(f"{next(iter(options))}: only Zarr has it, and the format is {kind!r}")
    mine = infos_of(context, fields.values(), names)
    options = read_options(options, {dim for info in mine for dim in info.dims})
    store = ALL_STORES[kind](**options)
    for info in mine:
        store.check(info.dtype, info.name)
    if kind == "netcdf":
        check_path(where)
    both_attributes = manifests.read_attributes(attributes, names)
    if kind == "netcdf":
        netcdf.check_attributes(both_attributes[0], "", None)
        for info in mine:
            netcdf.check_attributes(both_attributes[1][info.name], f" of {info.name!r}", info.dtype)
    args = {
        "path": str(where),
        "names": names,  # before attributes, which have these names
        "format": kind,
        "attributes": repr(both_attributes),  # as text, in which NaN is equal to NaN
        "options": [options.get("chunks"), options.get("shards")],
    }
    layouts = [
        manifests.layout_of_field(on_blocks(given, len(context.blocks), name)[0])
        for name, given in fields.items()
        if mine
    ]
    extras = {"beside": checkpoint_folders.name_for(where), "layouts": layouts}
    infos, extra, _ = agreed_infos(ranks, context, "save", args, context.first, mine, names, extras)
    orders = extra["dims"]
    manifest = manifests.describe(context, infos, orders, kind, periodic, halo, *both_attributes)
    if kind == "netcdf":
        for info, layout in zip(infos, extra["layouts"], strict=True):
            manifest["fields"][info.name]["layout"] = layout
        beside = where.with_name(extra["beside"])
        netcdf.write_file(ranks, context, where, beside, infos, manifest, args, progress)
        return
    cuts = []
    for info, dims, layout in zip(infos, orders, extra["layouts"], strict=True):
        manifest["fields"][info.name]["layout"] = layout
        key = "cut", kind, info.geometry, tuple(dims), str(info.sizes)
        cuts.append(context.memo(key, partial(pieces_of, context, info, dims, kind)))
    beside = where.with_name(extra["beside"])
    try:
        if context.rank == 0:
            chunks = {info.name: sizes for info, (_, sizes) in zip(infos, cuts, strict=True)}
            checkpoint_folders.begin(where, beside, store, manifest, chunks)
        ranks.agree("save", args)
        sums = np.zeros(len(infos), np.uint64)
        for i, (info, dims, (end, _)) in enumerate(zip(infos, orders, cuts, strict=True)):
            pieces = moved(ranks, context, info, dims, end, kind)
            entry = manifest["fields"][info.name]
            sums[i] = put(store, beside, entry, context, info, dims, pieces)
            if progress is not None:
                progress((i + 1) / len(infos))
        agreed = ranks.agree("save", args, values=sums[: ranks.room])
        total = summed(ranks, sums, agreed)
        for field, number in zip(manifest["fields"].values(), total, strict=True):
            field["checksum"] = f"{int(number):016x}"
        if context.rank == 0:
            checkpoint_folders.end_with(where, beside, store, manifest)
        ranks.agree("save", args)
    except BaseException as error:
        if context.rank != 0 and isinstance(error, FileNotFoundError):
            ranks.expect_note()  # rank 0, which made the files, has given up
        try:
            ranks.fail(error)  # first: other ranks still write there
        finally:
            if context.rank == 0:
                checkpoint_folders.give_up(beside)
        raise


def pieces_of(
    context: Context, one: FieldInfo, dims: Sequence[str], kind: str
) -> tuple[End, list[list[int]]]:
    """The ranks that write each place, and the sizes of pieces on each tile, along the array's
    dims.
    """
    if kind == "npy":
        return in_slabs(context, one, dims), []
    end, sizes = blockwise(context, one)
    return end, [
        [max(n, 1) for n in one.shape(dims, dict(zip(context.dims, size, strict=True)))]
        for size in sizes
    ]


Pieces = list[tuple[Block, NDArray[Any]]]


def moved(
    ranks: Any, context: Context, info: FieldInfo, dims: Sequence[str], end: End, kind: str
) -> Pieces:
    """The pieces of a field that this rank writes."""
    blocks = [block for block in end.decomposition.blocks_of(context.rank) if all(block.shape)]
    arrays = {}
    for block in blocks:
        shape = info.shape(dims, dict(zip(context.dims, block.shape, strict=True)))
        arrays[block.number] = np.asarray(_core.zeros(shape, info.dtype))
    way = way_of(
        context,
        ("save", kind, info.geometry, tuple(dims)),
        info,
        plain(0),
        dims,
        context.copies(info, straight=True),
        (context.end(info), end),
        (context.blocks, blocks),
        (context.decomposition.rank_of, end.decomposition.rank_of),
    )
    Transfer([way], [context.arrays(info, dims)], [arrays]).pack().run(ranks)
    return [(block, arrays[block.number]) for block in blocks]


def put(
    store: Store, folder: Path, entry: Mapping[str, Any], context: Context, info: FieldInfo,
    dims: Sequence[str], pieces: Pieces,
) -> np.uint64:  # fmt: skip
    """Write the pieces of this rank; the sum of their checksums."""
    head, total = header(info.dims, info.dtype), 0
    for block, array in pieces:
        box = box_of(block, context.dims, dims, array.shape)
        store.write(folder, entry["arrays"][block.tile], box, array)
        whole = tuple((0, block.shape[a]) for a in info.geometry.axes)
        field = _core.Field(array, dims=tuple(dims))
        total += of_block(field, info.geometry.axes, block, head, [whole], context.dims)
    return np.uint64(total % 2**64)
