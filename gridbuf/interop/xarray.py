"""xarray: DataArrays as stencil arguments, and DataArrays from and to Fields and storages.

Importing this file gives every DataArray the properties `__gt_interface__` and, where its
dims are names that stencils know (I, J, K, 0, 1, ...), `__gt_dims__`: then gt4py's own stencils
put its indices in order, too. `array.gridbuf` has the halo, the domain and the plan.

Examples
--------
>>> import numpy as np, xarray as xr, gridbuf.interop.xarray
>>> out = xr.DataArray(np.zeros((2, 3, 4)), dims=("J", "I", "K"))
>>> out.__gt_dims__
('J', 'I', 'K')
"""

import warnings
from collections.abc import Mapping
from typing import Any

import xarray as xr

from gridbuf import _core
from gridbuf.names import (
    as_numpy,
    entries_of,
    is_dim,
    is_name,
    own_dims,
    shared_dims,
    shared_halo,
)
from gridbuf.storage import Storage
from gridbuf.storage.xarray import Held
from gridbuf.validation import boolean, mapping

# Attributes that gridbuf 0.2 wrote into arrays and files: taken out where one of these is the
# model.
ATTRS_OF_0_2 = ("gt_origin", "gt_halo", "gt_shape")


def _named(array: xr.DataArray) -> tuple[str, ...] | None:
    names = tuple(str(name) for name in array.dims)
    return names if all(map(is_name, names)) else None


def _interface(array: xr.DataArray) -> dict[Any, dict[str, Any]]:
    """The description of the DataArray's data, with its own dims; nothing is cached, because data
    can be replaced.
    """
    data = array.data
    entries = entries_of(data)
    if entries is None:
        entries = {None: data.__array_interface__ | {"strides": data.strides}}
    names = _named(array)
    return {device: {**entry, "dims": names} for device, entry in entries.items()}


def _dims(array: xr.DataArray) -> tuple[str, ...]:
    names = _named(array)
    if names is None:
        raise AttributeError(f"the dims {array.dims} are not names of stencil dimensions")
    return names


@xr.register_dataarray_accessor("gridbuf")
class Accessor:
    """`array.gridbuf`: what gridbuf knows of a DataArray's memory.

    Origin and halo are those of the Field or storage whose memory the array shows, as
    `from_dataarray` finds them; they are looked up at each use, because data can be replaced.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.xarray as gbx
    >>> f = gb.Field.zeros((8, 6), dims="IJ", halo=(1, 1), backend="gt:cpu_ifirst")
    >>> array = gbx.to_dataarray(f)
    >>> array.gridbuf.halo, array.gridbuf.domain.shape, array.gridbuf.plan.layout
    (((1, 1), (1, 1)), (6, 4), (1, 0))
    """

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def field(self, **options: Any) -> _core.Field:
        """`from_dataarray` of the array, with its keywords."""
        return from_dataarray(self._array, **options)

    @property
    def origin(self) -> tuple[int, ...] | None:
        """The first point of the domain, in the order of the array's dims."""
        return self._unnamed().origin

    @property
    def halo(self) -> tuple[tuple[int, int], ...] | None:
        """Points below and above the domain, in the order of the array's dims."""
        return self._unnamed().halo

    @property
    def plan(self) -> _core.Plan:
        """Strides, alignment and padding of the array's memory."""
        return self._unnamed().plan

    @property
    def domain(self) -> xr.DataArray:
        """The points inside the halo, with their coordinates: a view."""
        halo = self.halo or ((0, 0),) * self._array.ndim
        return self._array[
            tuple(
                slice(low, size - high)
                for (low, high), size in zip(halo, self._array.shape, strict=True)
            )
        ]

    def _unnamed(self) -> _core.Field:
        """The Field over the array, whatever its dims are called."""
        dims = _named(self._array) or shared_dims(self._array)
        origin, halo = shared_halo(self._array, dims)
        return _core.Field(as_numpy(self._array), dims, origin=origin, halo=halo)


# Properties of the class, and not an accessor: gt4py reads them from the DataArray itself.
for _name, _property in {
    "__gt_interface__": property(_interface),
    "__gt_dims__": property(_dims),
}.items():
    setattr(xr.DataArray, _name, _property)


def to_dataarray(
    obj: Any,
    *,
    like: xr.DataArray | None = None,
    axes: Mapping[Any, str] | None = None,
    coords: Mapping[Any, Any] | None = None,
    name: Any = None,
    domain: bool = False,
) -> xr.DataArray:
    """A DataArray over the host memory of a Field, a storage or anything with dims; nothing is
    copied.

    Of a storage with memory on both sides it has the newest values whenever it is read, and
    writes to it count as changes on the host.

    Parameters
    ----------
    obj
        An object that names its indices. `from_dataarray` finds its origin and halo by the memory;
        nothing of them goes into attrs, so that files and other programs do not meet them.
    like : DataArray, optional
        The source of coordinates, name and attrs. Coordinates of another length are left
        out, with a warning.
    axes : mapping, optional
        The DataArray's own names of dims to "I", "J", "K", "0", ..., as in `from_dataarray`.
    coords, name : optional
        As for DataArray; they win over those of `like`.
    domain : bool, optional
        Only the points inside the halo of obj, and coordinates of `like`, which are of all points,
        cut by that halo.

    Returns
    -------
    xarray.DataArray

    Raises
    ------
    TypeError
        When obj has no host memory.
    ValueError
        When obj does not name its indices, or coordinates do not fit.

    Examples
    --------
    >>> import gridbuf as gb, gridbuf.interop.xarray as gbx
    >>> f = gb.Field.zeros((4, 3), dims="JI", halo=(1, 0))
    >>> array = gbx.to_dataarray(f, axes={"lon": "I", "lat": "J"}, coords={"lon": [0, 10, 20]})
    >>> array.dims, array.attrs
    (('lat', 'lon'), {})
    >>> gbx.from_dataarray(array, axes={"lon": "I", "lat": "J"}).halo
    ((1, 1), (0, 0))
    """
    dims = own_dims(obj)
    if dims is None:
        raise ValueError(
            f"obj: {type(obj).__name__} does not name its indices; wrap it in a gridbuf.Field with"
            " dims"
        )
    axes = mapping({} if axes is None else axes, "axes", "names of dims and of indices")
    if not (like is None or isinstance(like, xr.DataArray)):
        raise TypeError(f"like: expected a DataArray, got {like!r}")
    if boolean(domain, "domain"):
        obj, like = _inside(obj, dims, like, axes)
    spelling = {axis: dim for dim, axis in axes.items()}
    attrs = (
        {}
        if like is None
        else {key: value for key, value in like.attrs.items() if key not in ATTRS_OF_0_2}
    )
    array = xr.DataArray(
        _memory(obj), dims=[spelling.get(d, d) for d in dims], attrs=attrs, name=name
    )
    if like is not None:
        array.name = like.name if name is None else name
        fitting = {
            key: c
            for key, c in like.coords.items()
            if all(array.sizes.get(d) == n for d, n in c.sizes.items())
        }
        for dim in (
            d
            for d in like.dims
            if d in array.sizes and like.sizes[d] != array.sizes[d] and d in like.coords
        ):
            warnings.warn(
                f"like: {dim} has {like.sizes[dim]} points there and {array.sizes[dim]} here, so"
                " that its coordinates are left out; to_dataarray(field, like=..., domain=True)"
                " cuts both by the field's halo",
                stacklevel=2,
            )
        array = array.assign_coords(fitting)
    return (
        array
        if coords is None
        else array.assign_coords(mapping(coords, "coords", "names and coordinates"))
    )


def _memory(obj: Any) -> Any:
    """The data of the DataArray: host memory, of a storage with two sides something that brings the
    host's up to date.
    """
    return (
        Held(obj)
        if isinstance(obj, Storage) and obj._has_host and obj._has_device
        else as_numpy(obj)
    )


def _inside(
    obj: Any, dims: tuple[str, ...], like: xr.DataArray | None, axes: Mapping[Any, str] | None
) -> tuple[Any, Any]:
    """The domain of a Field or storage, and the same points of `like`."""
    halo = obj.halo if isinstance(obj, (_core.Field, Storage)) else None
    if halo is None:
        raise ValueError(
            f"domain: {type(obj).__name__} has no halo; give it one, as in gridbuf.Field(data,"
            " dims, halo=(3, 3, 0))"
        )
    if like is not None:
        own = {(axes or {}).get(dim, str(dim)): dim for dim in like.dims}
        sizes = dict(zip(dims, obj.shape, strict=True))
        cuts = {
            own[dim]: slice(low, sizes[dim] - high)
            for dim, (low, high) in zip(dims, halo, strict=True)
            if dim in own and like.sizes[own[dim]] == sizes[dim]
        }
        like = like.isel(cuts)
    return obj.domain, like


def from_dataarray(
    array: xr.DataArray,
    *,
    axes: Mapping[Any, str] | None = None,
    origin: Any = None,
    halo: Any = None,
) -> _core.Field:
    """A Field over the memory of a DataArray, with its dims, origin and halo; nothing is copied.

    Parameters
    ----------
    array : DataArray
        Of host memory.
    axes : mapping, optional
        The DataArray's dims to "I", "J", "K", "0", ..., for stencils. Others keep their names.
        Names that the array lacks are ignored, so that one mapping serves a whole dataset.
    origin, halo : optional
        As for Field, in index order; else those of the Field or storage whose memory the array
        shows, all of it and in any order of dims. A part, a result and an array read from a file
        have none.

    Returns
    -------
    Field
        It carries no coordinates: `to_dataarray(field, like=array)` gives them back.

    Raises
    ------
    TypeError
        When array is no DataArray, or not of host memory.
    ValueError
        When a dim is neither an identifier nor a number; when origin or halo do not fit.

    Examples
    --------
    >>> import numpy as np, xarray as xr, gridbuf.interop.xarray as gbx
    >>> array = xr.DataArray(np.zeros((4, 3)), dims=("lat", "lon"))
    >>> gbx.from_dataarray(array, axes={"lon": "I", "lat": "J"}).dims
    ('J', 'I')
    """
    if not isinstance(array, xr.DataArray):
        raise TypeError(
            f"array: expected an xarray.DataArray, got {type(array).__name__}; gridbuf.Field wraps"
            " other memory"
        )
    axes = mapping({} if axes is None else axes, "axes", "names of dims and of indices")
    dims = tuple(axes.get(dim, str(dim)) for dim in array.dims)
    if not all(map(is_dim, dims)):
        raise ValueError(
            f"axes: the dims {dims} are not all identifiers or numbers; say which is which, as in"
            " {'sea level': 'K'}"
        )
    if origin is None and halo is None:
        origin, halo = shared_halo(array, dims)
    return _core.Field(as_numpy(array), dims, origin=origin, halo=halo)


__all__ = ["from_dataarray", "to_dataarray"]
