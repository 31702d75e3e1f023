"""The two ways in which global arrays lie in a folder: as Zarr arrays, and as plain .npy files."""

import os
import struct
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gridbuf.distributed.files.manifests import Json, sync, writing
from gridbuf.distributed.plans.layouts import dtype_of

Box = Sequence[slice]


class Store(Protocol):
    """Arrays in a folder."""

    def check(self, dtype: np.dtype[Any], name: str) -> None:
        """ValueError that names the field where such elements cannot be kept."""

    def prepare(
        self, folder: Path, entry: Json, chunks: Mapping[str, Sequence[Sequence[int]]]
    ) -> None:
        """One rank makes the arrays, without values: their shapes and dtypes; of each field the
        size of its pieces on each tile.
        """

    def write(self, folder: Path, name: str, box: Box, values: NDArray[Any]) -> None:
        """Write a piece, which no other rank writes."""

    def finish(self, folder: Path) -> None:
        """One rank, when all is written."""

    def examine(self, folder: Path, name: str, entry: Json, shape: Sequence[int]) -> Any:
        """ValueError where an array differs from the manifest, before memory is made for it."""

    def read(
        self,
        folder: Path,
        name: str,
        entry: Json,
        shape: Sequence[int],
        box: Box,
        target: NDArray[Any],
    ) -> None:
        """Read a box into an array; ValueError that names path, array and chunk where it is
        damaged.
        """

    def close(self) -> None:
        """Close the files that were opened for reading."""


def zarr_is_there() -> bool:
    try:
        import zarr  # noqa: F401
    except ImportError:
        return False
    return True


def raw(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of elements in a .npy file: bytes for those of ml_dtypes."""
    return np.dtype(f"V{dtype.itemsize}") if dtype.kind == "V" and dtype.names is None else dtype


class NumpyFiles:
    """One .npy file an array, in C order."""

    def check(self, dtype: np.dtype[Any], name: str) -> None:
        lacking = f"{name}: .npy files have no elements of dtype {dtype}"
        try:
            found = np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(raw(dtype)))
        except ValueError as error:
            raise ValueError(f"{lacking} ({error})") from error
        if found != raw(dtype):
            raise ValueError(lacking)

    def prepare(
        self, folder: Path, entry: Json, chunks: Mapping[str, Sequence[Sequence[int]]]
    ) -> None:
        for field in entry["fields"].values():
            for name, shape in zip(field["arrays"], field["shapes"], strict=True):
                dtype = raw(dtype_of(field["dtype"]))
                header = {
                    "descr": np.lib.format.dtype_to_descr(dtype),
                    "fortran_order": False,
                    "shape": tuple(shape),
                }
                path, nbytes = folder / f"{name}.npy", prod(shape) * dtype.itemsize
                with writing(path, f"{nbytes} bytes"), open(path, "wb") as file:
                    np.lib.format.write_array_header_2_0(file, header)
                    file.truncate(file.tell() + nbytes)

    def write(self, folder: Path, name: str, box: Box, values: NDArray[Any]) -> None:
        with (
            writing(path := folder / f"{name}.npy", f"{values.nbytes} bytes"),
            open(path, "r+b") as file,
        ):
            shape, _, _ = header_of(file)
            start, item = file.tell(), values.dtype.itemsize
            values = np.ascontiguousarray(values)
            inner = len(shape)  # of how many leading axes every index is a run of its own
            while inner and (inner == len(shape) or values.shape[inner] == shape[inner]):
                inner -= 1
            steps = [prod(shape[a + 1 :]) * item for a in range(len(shape))]
            for index in np.ndindex(values.shape[:inner]):
                at = start + sum(
                    (i + part.start) * step
                    for i, part, step in zip(index, box, steps, strict=False)
                )
                at += sum(
                    part.start * step for part, step in zip(box[inner:], steps[inner:], strict=True)
                )
                run: Any = values[index].reshape(-1).view("u1")
                write_all(file.fileno(), memoryview(run), at)
            file.flush()
            os.fsync(file.fileno())

    def finish(self, folder: Path) -> None:
        sync(folder)

    def examine(self, folder: Path, name: str, entry: Json, shape: Sequence[int]) -> int:
        """The offset of the values in the file, whose header agrees with the manifest."""
        path, dtype = folder / f"{name}.npy", raw(dtype_of(entry["dtype"]))
        try:
            with open(path, "rb") as file:
                found_shape, fortran, found_dtype = header_of(file)
                start, size = file.tell(), os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            raise ValueError(f"path: {str(path)!r} is missing") from None
        except (IsADirectoryError, NotADirectoryError):
            raise ValueError(f"path: {str(path)!r} is no file") from None
        except OSError:
            raise  # the disk's
        except Exception as error:  # of the header's parser, which is Python's
            raise ValueError(f"path: {str(path)!r} is damaged: {error}") from error
        check_array(folder, name, (found_shape, found_dtype), (tuple(shape), dtype))
        wanted = start + prod(shape) * dtype.itemsize
        if fortran or size != wanted:
            raise ValueError(
                f"path: {str(path)!r} is damaged: {size} bytes, {wanted} belong there in C order"
            )
        return start

    def read(
        self,
        folder: Path,
        name: str,
        entry: Json,
        shape: Sequence[int],
        box: Box,
        target: NDArray[Any],
    ) -> None:
        start, dtype = self.examine(folder, name, entry, shape), dtype_of(entry["dtype"])
        if prod(shape) and target.size:
            values: Any = np.memmap(folder / f"{name}.npy", raw(dtype), "r", start, tuple(shape))
            # Without dims too an array: a number would forget its byte order
            target[...] = values[(*box, ...)].view(dtype)

    def close(self) -> None:
        """No file stays open."""


def header_of(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if reader is None:
        raise ValueError(f"version {version} of its format is unknown")
    found: tuple[tuple[int, ...], bool, np.dtype[Any]] = reader(file)
    return found


def write_all(number: int, values: memoryview, at: int) -> None:
    while values.nbytes:
        n = os.pwrite(number, values[: 2**30], at)
        values, at = values[n:], at + n


def check_array(folder: Path, name: str, found: tuple[Any, Any], wanted: tuple[Any, Any]) -> None:
    for fact, a, b in zip(("shape", "dtype"), found, wanted, strict=True):
        if a != b:
            raise ValueError(
                f"path: the {fact} of its array {name!r} is {a}, its manifest says {b}; in"
                f" {str(folder)!r}"
            )


class ZarrArrays:
    """One Zarr array each, in a group that xarray opens: whole chunks (or shards) are one
    rank's.
    """

    def __init__(
        self,
        chunks: Mapping[str, int] | None = None,
        shards: bool = False,
        compressors: Any = "auto",
    ) -> None:
        self._inner, self._shards, self._compressors = chunks or {}, shards, compressors
        self._open: dict[tuple[Path, str], Any] = {}
        if not isinstance(compressors, str) or compressors != "auto":
            self._try_out("u1", TypeError, "compressors: zarr.create_array does not take them")

    def check(self, dtype: np.dtype[Any], name: str) -> None:
        lacking = f"{name}: Zarr has no elements of dtype {dtype}; save with format='npy'"
        if dtype.kind == "V" and dtype.names is None:
            raise ValueError(lacking)
        found = self._try_out(dtype, ValueError, lacking).newbyteorder("=")
        wanted = dtype.newbyteorder("=")
        if found != wanted:  # records whose fields do not touch
            raise ValueError(f"{lacking} (it would make {found} of it)")

    def _try_out(self, dtype: Any, kind: type[Exception], problem: str) -> Any:
        """The dtype that Zarr gives an array; raise where it makes none."""
        import zarr

        try:
            with quiet():
                return zarr.create_array(
                    {}, shape=(1,), dtype=dtype, compressors=self._compressors
                ).dtype
        except (TypeError, ValueError, KeyError) as error:
            raise kind(f"{problem} ({error})") from error

    def prepare(
        self, folder: Path, entry: Json, chunks: Mapping[str, Sequence[Sequence[int]]]
    ) -> None:
        import zarr

        with quiet(), writing(folder, "metadata"):
            group = zarr.open_group(folder, mode="a", zarr_format=3)
            group.attrs.update(entry["attributes"])
            for field_name, field in entry["fields"].items():
                for t, name in enumerate(field["arrays"]):
                    piece = tuple(chunks[field_name][t])
                    inner = tuple(
                        min(self._inner.get(dim, n), n)
                        for dim, n in zip(field["dims"], piece, strict=True)
                    )
                    for dim, n, whole, all_of_it in zip(
                        field["dims"], inner, piece, field["shapes"][t], strict=True
                    ):
                        if whole % n and (self._shards or whole < all_of_it):
                            raise ValueError(
                                f"chunks: {n} along {dim} do not divide the {whole} points that one"
                                " rank writes"
                            )
                    group.create_array(
                        name,
                        shape=tuple(field["shapes"][t]),
                        dtype=dtype_of(field["dtype"]),
                        chunks=inner,
                        shards=piece if self._shards else None,
                        compressors=self._compressors,
                        dimension_names=field["names"][t],
                        attributes=for_xarray(field["attributes"], dtype_of(field["dtype"])),
                    )

    def write(self, folder: Path, name: str, box: Box, values: NDArray[Any]) -> None:
        array = self._array(folder, name)
        with writing(folder / name, f"{values.nbytes} bytes"):
            array[tuple(box)] = values
            for _, path in chunks_of(array, folder / name, box):
                if path.exists():  # a chunk of zeros has none
                    sync(path)

    def _array(self, folder: Path, name: str) -> Any:
        import zarr

        known = self._open.get((folder, name))
        if known is None:
            with quiet():
                known = self._open[folder, name] = zarr.open_array(
                    folder / name, mode="r+", zarr_format=3
                )
        return known

    def finish(self, folder: Path) -> None:
        import zarr

        with quiet(), writing(folder, "metadata"):
            zarr.consolidate_metadata(folder, zarr_format=3)

    def examine(self, folder: Path, name: str, entry: Json, shape: Sequence[int]) -> None:
        import zarr

        try:
            with quiet():
                array = self._open.get((folder, name)) or zarr.open_array(
                    folder / name, mode="r", zarr_format=3
                )
                # Zarr swaps bytes itself
                found, files = array.dtype.newbyteorder("="), array.shards or array.chunks
        except FileNotFoundError:
            raise ValueError(f"path: its array {name!r} is missing in {str(folder)!r}") from None
        except Exception as error:  # of the store's metadata
            if isinstance(error, OSError) and not isinstance(
                error, NotADirectoryError | IsADirectoryError
            ):
                raise  # the disk's
            raise damage(error, folder, name) from error
        check_array(
            folder,
            name,
            (array.shape, found),
            (tuple(shape), dtype_of(entry["dtype"]).newbyteorder("=")),
        )
        if any(
            n > max(whole, 1)
            for n, whole in zip((*files, *array.chunks), (*shape, *shape), strict=True)
        ):
            raise damage(f"chunks of {files} points in an array of {tuple(shape)}", folder, name)
        self._open[folder, name] = array

    def read(
        self,
        folder: Path,
        name: str,
        entry: Json,
        shape: Sequence[int],
        box: Box,
        target: NDArray[Any],
    ) -> None:
        self.examine(folder, name, entry, shape)
        array = self._open[folder, name]
        if not target.size:
            return
        try:
            target[...] = array[tuple(box)]
        except Exception as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise
            for part, path in chunks_of(array, folder / name, box):  # find the damaged chunk
                try:
                    array[part]
                except Exception as problem:
                    raise damage(
                        f"its chunk {str(path.relative_to(folder / name))!r}: {problem}",
                        folder,
                        name,
                    ) from problem
            raise damage(error, folder, name) from error

    def close(self) -> None:
        self._open.clear()


def chunks_of(array: Any, folder: Path, box: Box) -> Iterator[tuple[tuple[slice, ...], Path]]:
    """The files of an array that a box lies in, each with its points."""
    files = array.shards or array.chunks
    for index in product(
        *(range(part.start // n, -(-part.stop // n)) for part, n in zip(box, files, strict=True))
    ):
        part = tuple(
            slice(i * n, min((i + 1) * n, whole))
            for i, n, whole in zip(index, files, array.shape, strict=True)
        )
        yield part, folder / array.metadata.encode_chunk_key(index)


def damage(why: Any, folder: Path, name: str) -> ValueError:
    return ValueError(f"path: the array {name!r} in {str(folder)!r} is damaged: {why}")


def for_xarray(attributes: Json, dtype: np.dtype[Any]) -> Json:
    """A fill value of floating-point elements as xarray keeps it in Zarr 3; it opens no other."""
    fill = attributes.get("_FillValue")
    if dtype.kind != "f" or isinstance(fill, bool) or not isinstance(fill, int | float):
        return attributes
    with suppress(struct.error):  # larger than any float
        return {**attributes, "_FillValue": b64encode(struct.pack("<d", fill)).decode()}
    return attributes


class quiet(warnings.catch_warnings):
    """Without Zarr's warnings that consolidated metadata and some dtypes are not in its
    specification yet.
    """

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")


STORES: dict[str, Callable[..., Store]] = {"zarr": ZarrArrays, "npy": NumpyFiles}
