"""What a grid does with files: checkpoints that any other cut of it can read."""

from collections.abc import Callable, Mapping
from typing import Any

from gridbuf.distributed.files.manifests import keywords_of
from gridbuf.distributed.files.saving import Checkpoint, loading, saving
from gridbuf.distributed.reducing import Reducing


class Filing(Reducing):
    """What saves and loads fields. All ranks call these."""

    periodic: tuple[str, ...]

    def save(
        self,
        path: Any,
        /,
        *,
        attributes: Mapping[str, Any] = {},
        format: str | None = None,
        chunks: Mapping[str, int] | None = None,
        shards: bool = False,
        compressors: Any = "auto",
        progress: Callable[[float], Any] | None = None,
        **fields: Any,
    ) -> None:
        """Save fields so that they can be loaded on any number of ranks, however the grid is cut.
        All ranks call this.

        Parameters
        ----------
        path : path_like
            Where, the same on all ranks, who all see it. A checkpoint that is there is replaced
            when the new one is complete, and not before; anything else that is there is left alone,
            and an error.
        attributes : dict, optional
            What is to be said of the store; under the name of a field a dict of what is to be said
            of it: units, long_name, ...
        format : {"zarr", "npy"}, optional
            A Zarr group, which xarray opens, or a folder of global `.npy` arrays. None: Zarr where
            the package zarr is installed.
        chunks : dict, optional
            Of Zarr: how many points a chunk has along some dims; along those that the grid cuts
            they divide a block. Otherwise a block is a chunk.
        shards : bool, optional
            Of Zarr: whether the chunks of a block are kept in one file.
        compressors : optional
            Of Zarr: as `zarr.create_array` takes them; None: values are kept as they are.
        progress : callable, optional
            Called on this rank with the part that is written, up to 1.0. No call of all ranks of
            this grid may be made in it.
        **fields : Field or list of Field
            On this rank's blocks, by name. Halos are not saved.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong on this rank, or there is a file in the way, or Zarr lacks a
            dtype; the message names it.
        OSError
            When this rank cannot write. The others raise RevokedError, and nothing is left of the
            new checkpoint.
        RevokedError
            When another rank has raised; DisagreementError, which is one, when ranks do not call
            the same. The grid is made again then.
        TimeoutError
            When a rank does not come.

        Notes
        -----
        A file has one value for each place of a tile: that of the lowest block that has it, and
        along a periodic dim the last face is the first. Along a fold, and at edges where axes turn,
        each side keeps its own values, so vectors come back as they were.

        Examples
        --------
        >>> import tempfile, gridbuf.distributed as gbd
        >>> grid, other = gbd.grid((8, 6), blocks=(2, 1), halo=1), gbd.grid((8, 6), blocks=(1, 3), halo=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     grid.save(f"{folder}/step7", T=grid.full(280.5), attributes={"step": 7, "T": {"units": "K"}})
        ...     T = other.load(f"{folder}/step7")["T"]
        >>> len(T), T[0].shape, other.mean(T)
        (3, (10, 4), 280.5)
        """
        options: dict[str, Any] = {} if chunks is None else {"chunks": chunks}
        if shards is not False and shards is not None:
            options["shards"] = shards
        if not (isinstance(compressors, str) and compressors == "auto"):
            options["compressors"] = compressors
        self._call(
            "save",
            lambda ranks: saving(
                ranks,
                self._ground,
                path,
                fields,
                attributes,
                format,
                options,
                self.periodic,
                self.halo,
                progress,
            ),
        )

    def load(
        self,
        path: Any,
        /,
        *names: str,
        verify: bool = True,
        progress: Callable[[float], Any] | None = None,
        **keywords: Any,
    ) -> Checkpoint:
        """Load fields that a grid of the same tiles has saved, whatever its ranks and blocks. All
        ranks call this.

        Parameters
        ----------
        path : path_like
            Where.
        *names : str
            Which fields; all where no name is given.
        verify : bool, optional
            Whether to compare checksums of what was read with those of what was saved.
        progress : callable, optional
            Called on this rank with the part that is read, up to 1.0.
        **keywords
            Those of `empty` for the new fields: halo, backend, padding, ... A halo that is not
            given is the saved one; where no layout is given either (`backend`, `layout`, `padding`,
            `byte_alignment`, `device`), strides are in the saved order.

        Returns
        -------
        Checkpoint
            A dict: of each name a Field where the rank has one block, else a list of them. Halos
            are 0. Its `attributes` are the store's, its `attributes_of(name)` those of a field.

        Raises
        ------
        TypeError, ValueError
            When an argument is wrong, or the store: it was never finished, has other tiles, an
            array is missing or has another shape or dtype, or other values than were saved.
        RevokedError
            When another rank has raised; DisagreementError, which is one, when ranks do not call
            the same. The grid is made again then.
        TimeoutError
            When a rank does not come.

        Examples
        --------
        >>> import tempfile, gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), blocks=(2, 1), halo=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     grid.save(f"{folder}/step7", T=grid.ones(), q=grid.zeros("IJK", sizes={"K": 3}), format="npy")
        ...     loaded = gbd.grid((8, 6)).load(f"{folder}/step7", "q", halo=1)
        >>> {name: field.shape for name, field in loaded.items()}
        {'q': (10, 8, 3)}
        """

        def make(layout: Any, dims: Any, dtype: Any, **given: Any) -> Any:
            for name in ("dims", "dtype", "sizes", "faces"):
                if name in keywords:
                    raise TypeError(f"{name}: what is loaded has that of the store")
            return self.zeros(dims, dtype, **given, **keywords_of(layout, dims, keywords))

        found: Checkpoint = self._call(
            "load", lambda ranks: loading(ranks, self._ground, path, names, verify, make, progress)
        )
        return found
