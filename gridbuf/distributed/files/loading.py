"""Loading a checkpoint: each rank reads its own boxes, and all of them compare the checksums."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.distributed.calls import Topic
from gridbuf.distributed.files import manifests, netcdf
from gridbuf.distributed.files.first_checksums import first_checksum
from gridbuf.distributed.files.pieces import box_of
from gridbuf.distributed.files.saving import ALL_STORES, read_progress
from gridbuf.distributed.files.stores import Store, zarr_is_there
from gridbuf.distributed.geometry.between_decompositions import Copies, End
from gridbuf.distributed.plans.layouts import dtype_of
from gridbuf.distributed.whole_fields.collective_context import (
    Context,
    summed,
)
from gridbuf.distributed.whole_fields.field_info import array_of, bring_back, info_of
from gridbuf.distributed.whole_fields.reductions import Checksum, header, of_block
from gridbuf.validation import boolean

# By the version of a manifest
CHECKSUMS: dict[int, Checksum] = {1: first_checksum, 2: _core.checksum}


class Checkpoint(dict[str, Any]):
    """The fields that were loaded, by name.

    Attributes
    ----------
    attributes : dict
        The attributes of the store.
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
            The attributes that `Grid.save` was given for the field.

        Raises
        ------
        KeyError
            When there is no such field.

        Examples
        --------
        >>> import tempfile, gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, attributes = f"{folder}/x", {"T": {"units": "K"}}
        ...     grid.save(path, T=grid.ones(), attributes=attributes, format="npy")
        ...     grid.load(path).attributes_of("T")
        {'units': 'K'}
        """
        return dict(self._of_fields[name])


def loading(
    ranks: Any,
    context: Context,
    path: Any,
    names: Sequence[str],
    verify: Any,
    make: Callable[..., Any],
    progress: Any,
) -> "Checkpoint":
    """The steps of `Grid.load`."""
    boolean(verify, "verify")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"names: expected the names of fields, got {type(name).__name__}")
    where = manifests.read_path(path)
    progress = read_progress(progress, f"load {where}", context.rank)
    found = version = None
    if context.rank == 0:
        version = manifests.version_of(where)
        found = netcdf.read_manifest(where) if where.is_file() else manifests.read(where)
    if found is not None:
        check(found, context, names, where)
    args = {"path": str(where), "names": list(names), "verify": verify}
    topic = Topic(found, found is not None, version)
    agreed = ranks.agree("load", args, [topic], needed=True)
    manifest, version = agreed.topics[0]
    wanted = list(names) or list(manifest["fields"])
    sums = np.zeros(len(wanted), np.uint64)

    store = ALL_STORES[manifest["store"]]()
    fields = {name: manifest["fields"][name] for name in wanted}
    made = Checkpoint(
        manifest["attributes"], {name: field["attributes"] for name, field in fields.items()}
    )
    checksum = CHECKSUMS[manifest["version"]] if verify else None
    with closing(store):
        for i, name in enumerate(wanted):
            try:
                made[name], part = get_field(
                    store, where, fields[name], context, name, make, checksum
                )
            except (OSError, ValueError) as error:
                check_version(where, version, error)
                raise
            sums[i] = part % 2**64
            if progress is not None:
                progress((i + 1) / len(wanted))
    check_version(where, version)
    agreed = ranks.agree("load", args, values=sums[: ranks.room])
    total = summed(ranks, sums, agreed)
    if verify and not context.decomposition.has_land:  # land is not read
        for name, number in zip(wanted, total, strict=True):
            if f"{int(number):016x}" != manifest["fields"][name]["checksum"]:
                raise ValueError(
                    f"path: the values of {name!r} in {str(where)!r} are not those that were saved:"
                    " their checksum differs"
                )
    return made


def check_version(where: Path, version: Any, cause: Exception | None = None) -> None:
    """Refuse what was read if there has been another checkpoint at the path meanwhile."""
    if manifests.version_of(where) != version:
        raise ValueError(
            f"path: {str(where)!r} was replaced while it was loaded; load it again"
        ) from cause


def check(manifest: manifests.Json, context: Context, names: Sequence[str], where: Path) -> None:
    tiles = tuple(tuple(tile) for tile in manifest["tiles"])
    if (tiles, tuple(manifest["dims"])) != (context.tiles, context.dims):
        raise ValueError(
            f"path: {str(where)!r} has tiles {tiles} along {tuple(manifest['dims'])}, this grid"
            f" {context.tiles} along {context.dims}"
        )
    for name in names:
        if name not in manifest["fields"]:
            raise ValueError(
                f"names: {name!r} is not in {str(where)!r}, which has"
                f" {', '.join(manifest['fields'])}"
            )
    if manifest["store"] not in ALL_STORES:
        raise ValueError(f"path: {str(where)!r} is kept as {manifest['store']!r}, which is unknown")
    if manifest["store"] == "zarr" and not zarr_is_there():
        raise ValueError(
            f"path: {str(where)!r} is kept as Zarr; install the package zarr (pip install zarr)"
        )


def get_field(
    store: Store,
    where: Path,
    field: manifests.Json,
    context: Context,
    name: str,
    make: Callable[..., Any],
    checksum: Checksum | None,
) -> tuple[Any, int]:
    """A field on this rank's blocks, read from its own boxes alone, and their checksum."""
    dims, dtype = tuple(field["dims"]), dtype_of(field["dtype"])
    shape = field["shapes"][0]
    sizes = {dim: n for dim, n in zip(dims, shape, strict=True) if dim not in context.dims}
    faces = [dim for dim, position in field["positions"].items() if position == "face"]
    for tile in sorted({block.tile for block in context.blocks}):
        store.examine(where, field["arrays"][tile], field, field["shapes"][tile])
    made = make(field.get("layout", {}), dims, dtype, sizes=sizes, faces=faces)
    one = info_of(made, context.blocks, context.dims, name)
    if one is None:
        return made, 0
    end, head, total = context.end(one), header(one.dims, one.dtype), 0
    owned = Copies(None, End(*end))
    for block, domain in zip(context.blocks, one.domains, strict=True):
        array = array_of(domain, dims)
        box = box_of(block, context.dims, dims, array.shape)
        store.read(
            where, field["arrays"][block.tile], field, field["shapes"][block.tile], box, array
        )
        if checksum is not None:
            total += of_block(
                domain, one.geometry.axes, block, head, owned.owned(block), context.dims, checksum
            )
    bring_back(one)
    return made, total
