"""The manifest of a checkpoint, written last: a folder without one is no checkpoint. A manifest
with unknown contents is damaged, and nothing that it names is opened.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.distributed.plans.layouts import CENTRE, POSITIONS, dtype_name, dtype_of, order_of
from gridbuf.distributed.whole_fields.collective_context import Context
from gridbuf.distributed.whole_fields.field_info import FieldInfo
from gridbuf.distributed.whole_fields.moving import shapes
from gridbuf.strides import address

Json = dict[str, Any]


class Wrong(Exception):
    """A manifest differs from the output of `describe`."""


def check_all(manifest: Json) -> None:
    """Check that all used entries of a manifest are of the kinds that `describe` writes, and that
    their sizes fit each other.
    """
    dims = entry_of(manifest, "dims", "", "list of names", list_of(is_name))
    shapes = list_of(lambda tile: is_shape(tile, len(dims)))
    tiles = entry_of(manifest, "tiles", "", "list of shapes along the dims", filled(shapes))
    entry_of(manifest, "store", "", "name", is_name)
    entry_of(manifest, "attributes", "", "dict", is_dict)
    fields = entry_of(manifest, "fields", "", "dict of fields", filled(is_dict))
    for name, field in fields.items():
        if not is_dict(field):
            raise Wrong(f"the field {name!r} is {field!r}, which is no dict")
        check_field(f" of {name!r}", field, dims, tiles)


def check_field(of: str, field: Json, dims: list[str], tiles: list[list[int]]) -> None:
    def names_are_different(given: Any) -> bool:
        return list_of(is_name)(given) and len({*given}) == len(given)

    def is_checksum(given: Any) -> bool:
        return isinstance(given, str) and len(given) == 16

    def are_positions(given: Any) -> bool:
        keys = {*order} & {*dims}
        if not is_dict(given) or {*given} != keys:
            return False
        return all(position in POSITIONS for position in given.values())

    def are_names(given: Any) -> bool:
        return list_of(is_name)(given) and len(given) == len(tiles)

    def are_shapes(given: Any) -> bool:
        kind = list_of(lambda shape: is_shape(shape, len(order)))
        return kind(given) and len(given) == len(tiles)

    order = entry_of(field, "dims", of, "list of different names", names_are_different)
    entry_of(field, "dtype", of, "dtype of NumPy", is_dtype)
    entry_of(field, "checksum", of, "number of 16 digits", is_checksum)
    where = "dict of positions along the dims that the grid cuts"
    positions = entry_of(field, "positions", of, where, are_positions)
    entry_of(field, "arrays", of, "list of names, one a tile", are_names)
    shapes = entry_of(field, "shapes", of, "list of shapes, one a tile", are_shapes)
    entry_of(field, "attributes", of, "dict", is_dict)
    layout = field.get("layout", {"order": order, "halo": [[0, 0]] * len(order), "alignment": 1})
    if not is_dict(layout) or not is_layout(layout, order, [*map(max, zip(*shapes, strict=True))]):
        raise Wrong(f"'layout'{of} is {layout!r}, which is no layout of the dims {order!r}")
    for shape, tile in zip(shapes, tiles, strict=True):
        for dim, n, first in zip(order, shape, shapes[0], strict=True):
            wanted = first
            if dim in positions:
                wanted = tile[dims.index(dim)] + (positions[dim] == "face")
            if n != wanted:
                raise Wrong(f"'shapes'{of} is {shapes!r}, which does not fit the tiles {tiles!r}")


def entry_of(entry: Json, key: str, of: str, what: str, fits: Callable[[Any], bool]) -> Any:
    """The value of a key; Wrong where it is none that `describe` writes."""
    if key not in entry:
        raise Wrong(f"it lacks {key!r}{of}")
    if not fits(entry[key]):
        raise Wrong(f"{key!r}{of} is {entry[key]!r}, which is no {what}")
    return entry[key]


def list_of(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, list) and all(map(kind, given))


def filled(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda given: bool(given) and kind(given)


def is_dict(given: Any) -> bool:
    return isinstance(given, dict)


def is_name(given: Any) -> bool:
    """A name that leads nowhere else: of digits, letters and _."""
    return isinstance(given, str) and f"_{given}".isidentifier()


def is_shape(given: Any, ndim: int) -> bool:
    return (
        isinstance(given, list)
        and len(given) == ndim
        and all(type(n) is int and 0 <= n < 2**63 for n in given)
    )


def is_layout(given: Json, dims: list[str], sizes: list[int]) -> bool:
    """The order of dims in memory, a halo for each that is not beyond all measure of the domain's
    size, and an alignment in bytes.
    """
    order, halo, alignment = (given.get(key) for key in ("order", "halo", "alignment"))
    return bool(
        list_of(is_name)(order)
        and sorted(order or []) == sorted(dims)
        and list_of(lambda pair: is_shape(pair, 2))(halo)
        and len(halo or []) == len(dims)
        and all(max(pair) <= 100 * (n + 1) for pair, n in zip(halo or [], sizes, strict=True))
        and type(alignment) is int
        and alignment in (1, 2, 4, 8, 16, 32, 64)
    )


def is_dtype(given: Any) -> bool:
    """Whether a text names a dtype without references. ImportError where the dtype is one of
    ml_dtypes, which is not installed.
    """
    if not isinstance(given, str):
        return False
    try:
        return not dtype_of(given).hasobject
    except ImportError:
        raise
    except Exception:  # of a damaged text
        return False


MOST_ALIGNED = 64  # bytes: a line of the cache; memory may lie on more by chance
NAME, KIND = "manifest.json", "gridbuf.distributed"
VERSION = 2  # 1: gridbuf 0.2, with other checksums


def read_path(path: Any) -> Path:
    """The absolute path of an argument, with links as they are."""
    try:
        found = os.fspath(path)
    except TypeError:
        raise TypeError(f"path: expected a path, got {type(path).__name__}") from None
    if isinstance(found, bytes):
        raise TypeError("path: expected a str or a Path, got bytes")
    if not found or "\0" in found:
        raise ValueError("path: it is empty" if not found else "path: it has a zero byte")
    where = Path(os.path.abspath(found))
    if not where.name:
        raise ValueError(f"path: {str(where)!r} is no place for a checkpoint; give a folder in it")
    return where


def read_attributes(given: Any, names: Sequence[str]) -> tuple[Json, dict[str, Json]]:
    """The user's attributes of the store, and of each field under its name."""
    if not isinstance(given, Mapping):
        raise TypeError(f"attributes: expected a dict, got {type(given).__name__}")
    try:
        check_keys(given)
        copy = json.loads(json.dumps(dict(given), default=plain))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"attributes: they are kept as JSON, which has no such value: {error}"
        ) from error
    fields: dict[str, Json] = {name: {} for name in names}
    for name in names:
        own = copy.pop(name, {})
        if not isinstance(own, dict):
            raise TypeError(
                f"attributes[{name!r}]: expected a dict of the field's attributes, got"
                f" {type(own).__name__}"
            )
        fields[name] = own
    return copy, fields


def check_keys(given: Any) -> None:
    """TypeError for keys that JSON would make texts of."""
    if isinstance(given, Mapping):
        for key in given:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r}, which is no str")
    if isinstance(given, Mapping | list | tuple):
        for value in given.values() if isinstance(given, Mapping) else given:
            check_keys(value)


def plain(value: Any) -> Any:
    """A number or a list of numbers of NumPy's as JSON has them."""
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufU":
        return value.tolist()
    raise TypeError(f"{type(value).__name__}")


def layout_of_field(field: _core.Field) -> Json:
    """How a field lies in memory: `Grid.load` makes such fields."""
    domain = field.domain
    place = address(domain) if domain.size and domain.device == "cpu" else 0
    return {
        "order": list(order_of(field.dims, field.strides)),
        "halo": [list(pair) for pair in field.halo or ((0, 0),) * len(field.shape)],
        "alignment": min(place & -place, MOST_ALIGNED) or 1,
    }


def keywords_of(layout: Json, dims: Sequence[str], given: Mapping[str, Any]) -> Json:
    """The keywords of `Grid.empty` for a field that lies as the saved one did, but for those that
    were given.
    """
    found = dict(given)
    if not layout:
        return found
    if found.get("halo") is None:
        found["halo"] = [tuple(pair) for pair in layout["halo"]]
    if not {
        "backend",
        "layout",
        "padding",
        "byte_alignment",
        "aligned_index",
        "device",
        "memory",
    } & {*given}:
        found.update(layout=tuple(layout["order"]), byte_alignment=layout["alignment"])
    return found


def arrays_of(name: str, tiles: int) -> list[str]:
    """The arrays of a store that a field is kept in, one a tile."""
    return [name] if tiles == 1 else [f"{name}_{t}" for t in range(tiles)]


def describe(
    context: Context, infos: Sequence[FieldInfo], dims: Sequence[Sequence[str]], store: str,
    periodic: Sequence[str], halo: Any,
    attributes: Json, of_fields: Mapping[str, Json],
) -> Json:  # fmt: skip
    """All of a manifest but the checksums."""
    fields: dict[str, Json] = {}
    used: dict[str, int] = {}
    for one, order in zip(infos, dims, strict=True):
        by = {
            context.dims[a]: p
            for a, p in zip(one.geometry.axes, one.geometry.positions, strict=True)
        }
        its_shapes = [list(shape) for shape in shapes(context, one._replace(dims=tuple(order)))]
        fields[one.name] = {
            "dims": list(order),
            "positions": {dim: POSITIONS[p] for dim, p in by.items()},
            "dtype": dtype_name(one.dtype),
            "arrays": arrays_of(one.name, len(context.tiles)),
            "shapes": its_shapes,
            "names": [
                [named(used, dim if by.get(dim, CENTRE) == CENTRE else f"{dim}_face", n) for dim,
                n in zip(order, shape, strict=True)]
                for shape in its_shapes
            ],
            "attributes": of_fields[one.name],
        }  # fmt: skip
    return {
        "kind": KIND,
        "version": VERSION,
        "store": store,
        "dims": list(context.dims),
        "tiles": [list(tile) for tile in context.tiles],
        "periodic": list(periodic),
        "halo": [list(pair) for pair in halo],
        "attributes": attributes,
        "fields": fields,
    }


def named(used: dict[str, int], dim: str, n: int) -> str:
    """The name of a dim in the store: one name has one size there."""
    name = dim if used.setdefault(dim, n) == n else f"{dim}_{n}"
    used.setdefault(name, n)
    return name


def digest_of(entry: Json) -> str:
    """The SHA-256 of an entry's text."""
    return sha256(json.dumps(entry).encode()).hexdigest()


def check_digest(entry: Json) -> None:
    """Wrong where an entry is not that of its digest; those of older gridbuf have none."""
    rest = dict(entry)
    digest = rest.pop("digest", None)
    if digest not in (None, digest_of(rest)):
        raise Wrong("its contents are not those that were written: its digest differs")


def write(folder: Path, manifest: Json) -> None:
    """Put it beside what it describes; it is there whole or not at all."""
    beside = folder / f"{NAME}.unfinished"
    text = json.dumps({**manifest, "digest": digest_of(manifest)}, indent=1)
    with writing(folder / NAME, f"{len(text)} bytes"):
        with open(beside, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, folder / NAME)
        sync(folder)


@contextmanager
def writing(path: Path, content: str) -> Iterator[None]:
    """Raise an OSError of the disk, which is full or fails, with the file and the bytes."""
    try:
        yield
    except OSError as error:
        text = error.strerror or str(error)
        raise OSError(
            error.errno or 0, f"{text}: {content} were to be written", str(path)
        ) from error


def sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def read(path: Path) -> Json:
    """The manifest of a finished checkpoint; ValueError where it is missing or damaged."""
    if not path.exists():
        raise ValueError(f"path: there is no {str(path)!r}")
    try:
        found = json.loads((path / NAME).read_text())
    except IsADirectoryError as error:
        raise damaged(path, error) from error
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(
            f"path: {str(path)!r} has no {NAME}: it is no checkpoint, or was never finished"
        ) from None
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from error
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise ValueError(f"path: {str(path)!r} is not what Grid.save writes")
    check_format(path, found, (1, VERSION))
    try:
        check_all(found)
        check_digest(found)
    except Wrong as error:
        raise damaged(path, error) from error
    return found


def check_format(path: Path, manifest: Json, known: Sequence[int]) -> None:
    if manifest.get("version") not in known:
        raise ValueError(
            f"path: {str(path)!r} has version {manifest.get('version')!r}, known:"
            f" {', '.join(map(str, known))}"
        )


def version_of(where: Path) -> list[int] | None:
    """Numbers that differ between checkpoints that were at one path; None where there is none."""
    try:
        found = where.stat()
    except OSError:
        return None
    return [found.st_ino, found.st_mtime_ns, found.st_size]


def damaged(path: Path, why: Exception) -> ValueError:
    return ValueError(f"path: the {NAME} of {str(path)!r} is damaged: {why}")
