"""One netCDF file of the global domain: the root writes slab after slab, each gathered from all
ranks, so that memory is bounded; every rank reads its own boxes.

Each variable keeps what restores its layout in one attribute, `gridbuf`. The file is written in a
folder beside the path and takes its place by one rename.
"""

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.distributed.files import checkpoint_folders, manifests
from gridbuf.distributed.files.manifests import Json
from gridbuf.distributed.files.netcdf_packages import (
    LOCK,
    MISSING,
    NewFile,
    attribute,
    check_path,
    default_fill,
    find_package,
    new_variable,
    open_file,
    opened,
    reading,
    take_as_they_are,
)
from gridbuf.distributed.files.pieces import box_of, cut_into, places
from gridbuf.distributed.files.stores import check_array, damage
from gridbuf.distributed.geometry.between_decompositions import End
from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.plans.layouts import dtype_of
from gridbuf.distributed.plans.vectors import plain
from gridbuf.distributed.whole_fields.collective_context import Context, way_of
from gridbuf.distributed.whole_fields.field_info import FieldInfo
from gridbuf.distributed.whole_fields.reductions import header, of_block
from gridbuf.distributed.whole_fields.transfers import Transfer

OURS = "gridbuf"  # the attribute of a variable
SLAB = 2**26  # bytes that the root has of a field at a time
# The versions of the files that this process wrote last: none of them is opened to be replaced
_written: dict[Path, list[int] | None] = {}
MOST_WRITTEN = 16
# Attributes of HDF5's and netCDF's own
RESERVED = {
    "CLASS", "DIMENSION_LIST", "NAME", "REFERENCE_LIST", "_ARRAY_DIMENSIONS", "_Codecs", "_Format",
    "_IsNetcdf4", "_NCProperties", "_Netcdf4Coordinates", "_Netcdf4Dimid", "_SuperblockVersion",
    "_nc3_strict",
}  # fmt: skip
NAMES = re.compile(r"[A-Za-z0-9_\x80-\ud7ff\ue000-\U0010ffff][^\x00-\x1f/\x7f\ud800-\udfff]*(?<! )")
LONGEST = 255  # bytes of a name
NO_TEXT = re.compile(r"[\x00\ud800-\udfff]")
KINDS = {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}


class NetCDFFile:
    """The store of such files, for loading; `write_file` writes them."""

    def check(self, dtype: np.dtype[Any], name: str) -> None:
        if f"{dtype.kind}{dtype.itemsize}" not in KINDS:
            raise ValueError(
                f"{name}: netCDF has no elements of dtype {dtype}; save with format='zarr' or 'npy'"
            )

    def __init__(self) -> None:
        self._file: Any = None  # open from the first use on

    def _open(self, path: Path) -> Any:
        if self._file is None:
            self._file = open_file(path)
        return self._file

    def close(self) -> None:
        with LOCK:
            if self._file is not None:
                self._file.close()
            self._file = None

    def examine(self, path: Path, name: str, entry: Json, shape: Sequence[int]) -> None:
        """ValueError where a variable differs from its description."""
        with reading(path):
            examine(self._open(path), path, name, entry, shape)

    def read(
        self, path: Path, name: str, entry: Json, shape: Sequence[int], box: Sequence[slice],
        target: NDArray[Any],
    ) -> None:  # fmt: skip
        with reading(path):
            variable = examine(self._open(path), path, name, entry, shape)
            if target.size:
                try:
                    target[...] = variable[tuple(box)] if box else variable[...]
                except Exception as error:
                    raise damage(error, path, name) from error


def examine(file: Any, path: Path, name: str, entry: Json, shape: Sequence[int]) -> Any:
    variable = file.variables.get(name)
    if variable is None:
        raise ValueError(f"path: its array {name!r} is missing in {str(path)!r}")
    take_as_they_are(variable)
    dtype = dtype_of(entry["dtype"]).newbyteorder("=")
    found = tuple(variable.shape), np.dtype(variable.dtype).newbyteorder("=")
    check_array(path, name, found, (tuple(shape), dtype))
    return variable


# ---- manifests ----


def read_manifest(path: Path) -> Json:
    """The manifest of a file that `Grid.save` has written; ValueError where there is none."""
    if find_package() is None:
        raise ValueError(f"path: {str(path)!r} is a file; to load netCDF install {MISSING}")
    check_path(path)
    found: Json = {}
    with opened(path) as file:
        for name, variable in file.variables.items():
            if OURS not in variable.ncattrs():
                continue
            try:
                entry = json.loads(variable.getncattr(OURS))
                manifests.check_digest(entry)
                found = found or {**entry["store"], "fields": {}}
                field = entry["field"]
                if entry["tile"] == 0:
                    field["attributes"] = merged(field["attributes"], variable)
                    found["fields"][entry["name"]] = field
                found["attributes"] = merged(entry["store"]["attributes"], file)
            except (ValueError, KeyError, TypeError, AttributeError, manifests.Wrong) as error:
                raise damage(f"its attribute {OURS!r}: {error!r}", path, name) from error
    if not found:
        raise ValueError(
            f"path: no variable of {str(path)!r} has an attribute {OURS!r}: Grid.save did not"
            " write it"
        )
    manifests.check_format(path, found, (manifests.VERSION,))
    try:
        manifests.check_all(found)
    except manifests.Wrong as error:
        raise ValueError(f"path: {str(path)!r} is damaged: {error}") from error
    return found


def merged(known: Json, holder: Any) -> Json:
    """Attributes as they were given, where the file has these values, else as the file has them."""
    found = {}
    for name in holder.ncattrs():
        if name == OURS or (name == "_FillValue" and name not in known):
            continue
        value = attribute(holder, name)
        kept = name in known and same(
            np.atleast_1d(known[name]).tolist(), np.atleast_1d(value).tolist()
        )
        found[name] = known[name] if kept else np.asarray(value).tolist()
    return {name: found[name] for name in (*known, *found) if name in found}


def check_attributes(attributes: Json, of: str, dtype: np.dtype[Any] | None) -> None:
    """ValueError for attributes that netCDF does not have, or would change; the dtype is that of
    the field, None for attributes of the file.
    """
    for name, value in attributes.items():
        wrong = wrong_name(name, dtype) or wrong_value(value)
        if name == "_FillValue" and dtype is not None and not holds(dtype, value):
            wrong = f"is {value!r}; it is one number that {dtype} holds, as np.{dtype}(...)"
        if wrong:
            raise ValueError(f"attributes: {name!r}{of} {wrong}")


def wrong_name(name: str, dtype: np.dtype[Any] | None) -> str | None:
    """The end of an error."""
    if name == OURS:
        return "is gridbuf's own in netCDF"
    if name in RESERVED or name.startswith("_nczarr_"):
        return "is netCDF's own"
    if name == "_FillValue" and dtype is None:
        return "belongs to a field in netCDF; give it under the field's name"
    if (
        not NAMES.fullmatch(name)
        or len(name.encode()) > LONGEST
        or name != normalize("NFC", name)  # netCDF has names in this form only
    ):
        return (
            f"is no name in netCDF: up to {LONGEST} bytes of UTF-8 in the form NFC, without '/' and"
            " control characters, a letter, digit or _ first, no space last"
        )
    return None


def wrong_value(value: Any) -> str | None:
    """The end of an error."""
    entries = value if isinstance(value, list) else [value]
    kinds = {type(each) for each in entries}
    if not entries or not (kinds <= {int, float, bool} or kinds == {str}):
        return f"is {value!r}; netCDF has numbers, text, and lists of one of them"
    if kinds == {str}:
        if NO_TEXT.search("".join(entries)):
            return f"is {value!r}; netCDF has text of UTF-8 without zero bytes"
    elif not all(-(2**63) <= n < 2**64 for n in entries if type(n) is int) or not same(
        np.array(entries).tolist(), entries
    ):
        return f"is {value!r}; netCDF has numbers of 64 bits, and those of a list have one dtype"
    return None


def holds(dtype: np.dtype[Any], value: Any) -> bool:
    """Whether a value is a number that elements can have; the usual 1e20 is rounded to float32."""
    if type(value) not in (int, float):
        return False
    with suppress(OverflowError, ValueError), np.errstate(over="ignore"):
        number = dtype.type(value).item()
        rounded = dtype.kind == "f" and math.isfinite(number) and math.isfinite(value)
        return rounded or same([number], [value])
    return False


def same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether lists are equal, a NaN to a NaN."""
    return len(a) == len(b) and all(
        x == y or (x != x and y != y) for x, y in zip(a, b, strict=True)
    )


def set_attributes(holder: Any, attributes: Json) -> None:
    for name, value in attributes.items():
        if name != "_FillValue":
            array = np.array(value)
            holder.setncattr(name, array.astype("i1") if array.dtype == bool else value)


# ---- writing ----


def check_place(where: Path) -> None:
    """ValueError where the path is anything but a file of ours, or free."""
    if where.is_symlink():
        raise ValueError(f"path: {str(where)!r} is a link; give what it leads to")
    if not os.path.lexists(where):
        return
    version = manifests.version_of(where)
    if version is not None and version == _written.get(where):
        return
    try:
        if where.is_file():
            read_manifest(where)
            return
    except ValueError as error:
        raise ValueError(
            f"path: {str(where)!r} is there and is no netCDF file of Grid.save; it is left as it is"
        ) from error
    raise ValueError(f"path: {str(where)!r} is there and is no file; it is left as it is")


def write_file(
    ranks: Any,
    context: Context,
    where: Path,
    beside: Path,
    infos: Sequence[FieldInfo],
    manifest: Json,
    args: Mapping[str, Any],
    progress: Callable[[float], Any] | None,
) -> None:
    """Write all fields; rank 0 has the file, and the others send their parts of each slab."""
    file: NewFile | None = None
    try:
        if context.rank == 0:
            check_place(where)
            checkpoint_folders.make(where, beside)
            file = NewFile(beside / "data.nc")
            with file.writing("the header") as dataset:
                describe_all(dataset, manifest, context.decomposition.has_land)
        ranks.agree("save", args)
        for i, info in enumerate(infos):
            total = 0
            for tile, box, array, part in slabs_of(ranks, context, info, manifest):
                name = manifest["fields"][info.name]["arrays"][tile]
                assert file is not None  # of rank 0, which alone has slabs
                with file.writing(f"{array.nbytes} bytes") as dataset:
                    dataset.variables[name][tuple(box) if box else ...] = array
                total += part
            if file is not None:
                with file.writing("attributes") as dataset:
                    describe(dataset, manifest, info.name, total % 2**64)
            if progress is not None:
                progress((i + 1) / len(infos))
        if file is not None:
            file.close()
            manifests.sync(beside / "data.nc")
            os.replace(beside / "data.nc", where)
            if len(_written) >= MOST_WRITTEN:
                _written.clear()
            _written[where] = manifests.version_of(where)
            manifests.sync(where.parent)
            checkpoint_folders.clear(where, complete=True)
        ranks.agree("save", args)
    except BaseException as error:
        ranks.fail(error)
        raise
    finally:
        if context.rank == 0:
            if file is not None:
                with suppress(OSError):
                    file.close()
            checkpoint_folders.give_up(beside)


def describe_all(file: Any, manifest: Json, land: bool) -> None:
    """Make all variables, without values."""
    set_attributes(file, manifest["attributes"])
    for field in manifest["fields"].values():
        dtype = dtype_of(field["dtype"])
        for name, shape, dims in zip(field["arrays"], field["shapes"], field["names"], strict=True):
            for dim, n in zip(dims, shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, n)
            fill = fill_value(field, dtype, land)
            variable = new_variable(file, name, dtype, tuple(dims), fill)
            set_attributes(variable, field["attributes"])


def fill_value(field: Json, dtype: np.dtype[Any], land: bool) -> Any:
    """The value of land, or the one that was given; None where every place gets a value."""
    given = field["attributes"].get("_FillValue")
    if given is not None:
        return dtype.type(given)
    return default_fill(dtype) if land else None


def describe(file: Any, manifest: Json, name: str, total: int) -> None:
    """Keep what restores a field in its variables."""
    store = {key: value for key, value in manifest.items() if key != "fields"}
    field = {**manifest["fields"][name], "checksum": f"{total:016x}"}
    for tile, array in enumerate(field["arrays"]):
        entry = {"store": store, "name": name, "tile": tile, "field": field}
        entry["digest"] = manifests.digest_of(entry)
        file.variables[array].setncattr(OURS, json.dumps(entry))


def slabs_of(ranks: Any, context: Context, info: FieldInfo, manifest: Json) -> Any:
    """The slabs of a field, on rank 0 each with its tile, box, values and part of the checksum;
    the others take part and get nothing.
    """
    entry = manifest["fields"][info.name]
    dims, dtype = tuple(entry["dims"]), info.dtype
    end = cut(context, info, dims, entry)
    head = header(info.dims, info.dtype)
    fill = None
    if context.rank == 0:
        fill = fill_value(entry, dtype, context.decomposition.has_land)
    for slab in end.decomposition.blocks():
        arrays = {}
        if context.rank == 0:
            shape = info.shape(dims, dict(zip(context.dims, slab.shape, strict=True)))
            if fill is None or not context.decomposition.has_land:  # every place gets a value
                arrays[slab.number] = np.asarray(_core.empty(shape, dtype))
            else:
                arrays[slab.number] = np.full(shape, fill, dtype)
        way = slab_way(context, info, dims, end, slab)
        Transfer([way], [context.arrays(info, dims)], [arrays]).pack().run(ranks)
        for array in arrays.values():
            field = _core.Field(array, dims=dims)
            whole = tuple((0, slab.shape[a]) for a in info.geometry.axes)
            part = of_block(field, info.geometry.axes, slab, head, [whole], context.dims)
            yield slab.tile, box_of(slab, context.dims, dims, array.shape), array, part


def slab_way(
    context: Context, info: FieldInfo, dims: tuple[str, ...], end: End, slab: Block
) -> Any:
    """The way of one slab to rank 0."""
    return way_of(
        context,
        ("netcdf", info.geometry, tuple(slab)),
        info,
        plain(0),
        dims,
        context.copies(info, straight=True),
        (context.end(info), end),
        (context.blocks, (slab,) if context.rank == 0 else ()),
        (context.decomposition.rank_of, lambda number: 0 if number == slab.number else None),
    )


def cut(context: Context, info: FieldInfo, dims: Sequence[str], entry: Json) -> End:
    """Slabs along the slowest dim that the grid cuts."""
    along = next((context.dims.index(dim) for dim in dims if dim in context.dims), None)
    extents = [places(context, info, t) for t in range(len(context.tiles))]
    pieces = []
    for extent, shape in zip(extents, entry["shapes"], strict=True):
        nbytes = int(np.prod(shape, dtype=object)) * info.dtype.itemsize
        count = max(-(-nbytes // SLAB), 1)
        pieces.append(
            tuple(max(-(-n // count), 1) if a == along else max(n, 1) for a, n in enumerate(extent))
        )
    cuts = cut_into(extents, pieces)
    owners = [0] * Decomposition(cuts, context.size).number_of_blocks
    return context.by_places(info, cuts, owners)
