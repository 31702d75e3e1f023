"""The constructors of a grid: fields on this rank's blocks."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gridbuf import _core
from gridbuf.distributed import arguments as read
from gridbuf.distributed.geometry.blocks import Block, Pairs
from gridbuf.docstrings import as_in
from gridbuf.names import read_names

Fields = Any  # a Field where the rank has one block, else a list of them


class Constructors:
    """What makes fields."""

    dims: tuple[str, ...]
    halo: Pairs
    blocks: tuple[Block, ...]

    def empty(
        self,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, with the grid's halo, uninitialized.

        Parameters
        ----------
        dims : str or sequence, optional
            Their indices: any of the grid's and others. None: the grid's.
        dtype : dtype_like, optional
            Of the elements.
        sizes : dict, optional
            How many points they have along the indices that the grid does not cut, without halo.
        halo : int or sequence, optional
            An int for the grid's dims, or an int or a (low, high) pair for each of dims. None: the
            grid's.
        faces : str or sequence, optional
            Along which of the grid's dims the points lie on faces: one more than there are cells.
        **keywords
            Those of `gridbuf.Field.empty`: backend, padding, device, ...

        Returns
        -------
        Field or list of Field
            A Field where the rank has one block, else a list in the order of `blocks`.

        Raises
        ------
        TypeError, ValueError
            When a parameter is wrong; the message names it.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((8, 6), blocks=(2, 1), halo=1)
        >>> [f.shape for f in grid.empty("IJK", sizes={"K": 5}, faces="I")]
        [(7, 8, 5), (7, 8, 5)]
        """
        return self._make(_core.Field.empty, (), dims, dtype, sizes, halo, faces, keywords)

    @as_in(empty)
    def zeros(
        self,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, filled with zeros.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((8, 6), halo=2).zeros().shape
        (12, 10)
        """
        return self._make(_core.Field.zeros, (), dims, dtype, sizes, halo, faces, keywords)

    @as_in(empty)
    def ones(
        self,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, filled with ones.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> gbd.grid((8, 6)).ones("I").dims
        ('I',)
        """
        return self._make(_core.Field.ones, (), dims, dtype, sizes, halo, faces, keywords)

    @as_in(empty)
    def full(
        self,
        fill_value: Any,
        dims: Any = None,
        dtype: DTypeLike = np.float64,
        *,
        sizes: Mapping[Any, int] = {},
        halo: Any = None,
        faces: Any = "",
        **keywords: Any,
    ) -> Fields:
        """Fields on this rank's blocks, filled with a value.

        Parameters
        ----------
        fill_value : scalar
            What every element is.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> float(gbd.grid((8, 6)).full(2.5)[0, 0])
        2.5
        """
        return self._make(
            _core.Field.full, (fill_value,), dims, dtype, sizes, halo, faces, keywords
        )

    def _make(
        self,
        make: Callable[..., _core.Field],
        value: tuple[Any, ...],
        dims: Any,
        dtype: Any,
        sizes: Any,
        halo: Any,
        faces: Any,
        keywords: Any,
    ) -> Fields:
        names = self.dims if dims is None else read_names(dims, "dims:")
        staggered = read.read_faces(faces, names, self.dims)
        given = read.read_sizes(sizes, names, self.dims)
        if halo is None or not hasattr(halo, "__iter__"):
            own = self.halo if halo is None else read.read_halo(halo, self.dims)
            pairs = tuple(
                own[self.dims.index(name)] if name in self.dims else (0, 0) for name in names
            )
        else:
            pairs = read.read_halo(halo, names)
        fields = []
        for block in self.blocks:
            shape = []
            for name, (low, high) in zip(names, pairs, strict=True):
                axis = self.dims.index(name) if name in self.dims else None
                n = given[name] if axis is None else block.shape[axis] + (name in staggered)
                shape.append(n + low + high)
            fields.append(
                make(tuple(shape), *value, dtype=dtype, dims=names, halo=pairs, **keywords)
            )
        return fields[0] if len(self.blocks) == 1 else fields
