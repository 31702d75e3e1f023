"""Storage: the class of GDP-3's storages, and everything that the four of them have in common.

Its memory is `Buffers` (buffers.py); an ndarray's methods are in gridbuf/array_methods.py.
"""

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gridbuf import _core
from gridbuf.array_methods import ArrayMethods
from gridbuf.storage import devices
from gridbuf.storage.buffers import Buffers, SyncState
from gridbuf.storage.meta import (
    Halo,
    check_axes,
    check_halo,
    meta_of,
    relabelled_layout,
)
from gridbuf.validation import as_dtype


class Storage(Buffers, ArrayMethods, NDArrayOperatorsMixin):
    """A field with named axes, a halo and its memory on the host, the device or both.

    The common base class, for type checks; `gridbuf.storage.empty` and its kin make
    storages. A Storage is not an ndarray, but NumPy's ufuncs and operators work on it and
    broadcast along axes of the same name.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> a, b = gs.ones((2, 3), axes="IJ"), gs.ones((4,), axes="K")
    >>> (a + b).axes, (a + b).shape
    ('IJK', (2, 3, 4))
    """

    __slots__ = ()
    __array_priority__: ClassVar[int] = 10

    SyncState = SyncState

    # ---- what can be asked of a storage without calling it

    @property
    def axes(self) -> str:
        """The name of each index."""
        return self._meta.axes

    @property
    def layout(self) -> str:
        """All three axes, the one with the largest stride first."""
        return self._meta.layout

    @property
    def alignment(self) -> int:
        """On a boundary of how many elements `aligned_index` lies, as given at creation."""
        return self._meta.alignment

    @property
    def aligned_index(self) -> tuple[int, ...]:
        """The point that memory is aligned to, as given at creation."""
        return self._meta.aligned_index

    @property
    def halo(self) -> Halo:
        """Per axis the points at the low and the high end that are not in the domain; can be
        set.
        """
        return self._meta.halo

    @halo.setter
    def halo(self, value: Any) -> None:
        self._meta = self._meta.replaced(halo=check_halo(value, self.shape, self.axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each index."""
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each index."""
        strides: tuple[int, ...] = self._array.strides
        return strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of indices."""
        return len(self._meta.axes)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._array.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding."""
        return int(self._array.nbytes)

    @property
    def data(self) -> memoryview | None:
        """The host buffer's `data`, or None."""
        return None if self._host is None else self._on_host().data

    @property
    def flags(self) -> Any:
        """The host buffer's `flags`, or None."""
        return None if self._host is None else self._host.flags

    @property
    def device(self) -> int | None:
        """The number of the GPU that the device buffer lies on, or None."""
        return None

    @property
    def device_data(self) -> Any:
        """The device buffer's `data`, or None."""
        return None if self._dev is None else self._on_device().data

    @property
    def device_flags(self) -> Any:
        """The device buffer's `flags`, or None."""
        return None if self._dev is None else self._dev.flags

    @property
    def domain_view(self) -> Self:
        """A view of the points that are not in the halo."""
        found: Self = self._inside()
        if found is NotImplemented:
            found = self[
                (
                    *(
                        slice(low, size - high)
                        for (low, high), size in zip(self._meta.halo, self.shape, strict=True)
                    ),
                    ...,
                )
            ]
        return found

    @domain_view.setter
    def domain_view(self, value: Any) -> None:
        # `s.domain += 1` assigns the view that it has added to
        self.domain_view[...] = value

    domain = domain_view

    @property
    def __gt_dims__(self) -> tuple[str, ...]:
        return tuple(self._meta.axes)

    @property
    def __gt_origin__(self) -> tuple[int, ...]:
        # gt4py reads it in the order I, J, K, whatever the order of the indices.
        meta = self._meta
        return tuple(meta.halo[meta.axes.index(name)][0] for name in sorted(meta.axes))

    @property
    def __gt_interface__(self) -> dict[Any, dict[str, Any]]:
        """The buffers by device; reading copies nothing, `acquire` does."""
        known = self._host_entry()
        if known is not None:
            return {None: known}
        entries: dict[Any, dict[str, Any]] = {}
        host, dev = self._host, self._dev
        if host is not None:
            acquire, touch = self.device_to_host, self.set_host_modified
            entries[None] = self._entry(host, host.__array_interface__, acquire, touch)
        if dev is not None:
            acquire, touch = self.host_to_device, self.set_device_modified
            entries["gpu"] = self._entry(dev, dev.__cuda_array_interface__, acquire, touch)
        return entries

    def _entry(
        self,
        array: Any,
        interface: dict[str, Any],
        acquire: Callable[[], None],
        touch: Callable[[], None],
    ) -> dict[str, Any]:
        """A buffer as `__gt_interface__` describes it: nothing is copied until `acquire` is
        called.
        """
        return {
            **{key: interface[key] for key in ("shape", "typestr", "data")},
            "strides": tuple(array.strides),
            "dims": self.__gt_dims__,
            "acquire": acquire,
            "touch": touch,
            "release": None,
        }

    # ---- views, copies, conversions

    def reinterpret(self, axes: Any) -> Self:
        """The same memory, shape and strides, with other names of the indices.

        Parameters
        ----------
        axes : str
            The new name of each index.

        Returns
        -------
        Storage
            Of the same class: a view.

        Raises
        ------
        TypeError, ValueError
            When axes does not name each index.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> s = gs.zeros((10, 20, 30)).reinterpret("KJI")
        >>> s.shape, s.axes
        ((10, 20, 30), 'KJI')
        """
        names, meta = check_axes(axes), self._meta
        if len(names) != self.ndim:
            raise ValueError(
                f"axes: {names!r} has {len(names)} names, the storage {self.ndim} indices"
            )
        layout = relabelled_layout(meta.layout, meta.axes, names)
        changed = meta.replaced(axes=names, layout=layout)
        return self._mapped(lambda array: array, changed)

    def transpose(self, *axes: Any) -> Self:
        """The same memory with the axes in another order.

        Parameters
        ----------
        *axes : str, int or None
            Names ("KJI"), numbers, or nothing for the reverse.

        Returns
        -------
        Storage
            Of the same class: a view.

        Raises
        ------
        ValueError
            When axes is no permutation of the storage's.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.zeros((2, 3, 4)).transpose("KJI").axes
        'KJI'
        """
        given: Any = axes or None
        if len(axes) == 1 and not isinstance(axes[0], int):
            given = axes[0]
        order = self._order(given)
        return self._mapped(lambda array: array.transpose(order), self._meta.selected(order))

    def _order(self, axes: Any) -> tuple[int, ...]:
        """The numbers of the axes in the order that transpose was given."""
        if axes is None:
            return tuple(reversed(range(self.ndim)))
        if isinstance(axes, str):
            if sorted(check_axes(axes)) != sorted(self.axes):
                raise ValueError(f"axes: {axes!r} is not a permutation of {self.axes!r}")
            return tuple(self.axes.index(name) for name in axes)
        from gridbuf.named.broadcasting import positions

        given = (axes,) if isinstance(axes, set | frozenset) else tuple(axes)
        order = positions(given, tuple(self.axes), self.ndim)
        if len(order) != self.ndim:
            raise ValueError(
                f"axes: {axes!r} is not a permutation of the {self.ndim} axes {self.axes!r}"
            )
        return order

    @property
    def T(self) -> Self:
        """The indices in the opposite order: a view."""
        return self.transpose()

    def copy(self) -> Self:
        """New memory with the same values, class and parameters.

        Returns
        -------
        Storage
            Of the same class, with a SyncState of its own.

        Raises
        ------
        MemoryError
            No memory, or a limit (`gridbuf.memory.set_limit`).

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> s = gs.ones((2,), axes="K")
        >>> s.copy().to_numpy()
        array([1., 1.])
        """
        made = self._new(self.shape, self.dtype, self._meta, self.device)
        with self._writing():
            if self._host is not None:
                made._host[...] = self._host if self._pair is not None else self._on_host()
            if self._dev is not None and (self._pair is not None or self._host is None):
                made._dev[...] = self._dev
            if self._pair is not None and made._pair is not None:
                made._pair.state.state = self._pair.state.state
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: the newest values and what to make a storage of them from."""
        meta = self._meta
        parameters = (meta.axes, meta.layout, meta.halo, meta.aligned_index, meta.alignment)
        values = np.ascontiguousarray(self._values()).reshape(self.shape)
        return type(self)._rebuilt, (values, parameters, self.device)

    @classmethod
    def _rebuilt(cls, values: Any, parameters: tuple[Any, ...], device: int | None) -> Self:
        """The storage of a pickle; both sides are filled."""
        made = cls._new(values.shape, values.dtype, meta_of(*parameters), device)
        if made._host is None:
            devices.current().upload(values, made._dev)
        else:
            made._host[...] = values
            if made._pair is not None:
                made.host_to_device(force=True)
        return made

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", copy: bool = True
    ) -> Self:
        """The values in another type, with the same parameters.

        Parameters
        ----------
        dtype : dtype_like
            Of the result.
        order : str, optional
            Ignored: the layout stays.
        casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
            Which conversions are allowed, as for `numpy.ndarray.astype`.
        copy : bool, optional
            False: return the storage itself where it has that dtype already.

        Returns
        -------
        Storage
            Of the same class.

        Raises
        ------
        TypeError
            When the conversion is not allowed.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2, 2)).astype("int32").dtype
        dtype('int32')
        """
        wanted = as_dtype(dtype)
        if not np.can_cast(self.dtype, wanted, casting):
            raise TypeError(
                f"dtype: {self.dtype} does not convert to {wanted} with casting={casting!r}"
            )
        if not copy and wanted == self.dtype:
            return self
        made: Any = np.empty_like(self, dtype=wanted)
        np.copyto(made, self, casting="unsafe")
        return made  # type: ignore[no-any-return]

    def view(self, kind: Any = None) -> Any:
        """The same memory as another kind of array.

        Parameters
        ----------
        kind : type, optional
            `numpy.ndarray`: as `numpy.asarray`; nothing, or a class that the storage has: as a
            storage with the same parameters.

        Returns
        -------
        Storage or numpy.ndarray

        Raises
        ------
        TypeError
            When kind is neither; bytes are read as another dtype by
            `numpy.asarray(storage).view(dtype)`.

        Examples
        --------
        >>> import gridbuf.storage as gs, numpy as np
        >>> s = gs.zeros((2, 2), axes="IJ")
        >>> type(s.view(np.ndarray)), s.view().axes
        (<class 'numpy.ndarray'>, 'IJ')
        """
        if kind is np.ndarray:
            return np.asarray(self)
        if kind is None or (isinstance(kind, type) and isinstance(self, kind)):
            return self[...]
        raise TypeError(
            f"kind: expected numpy.ndarray or a class of this storage, got {kind!r};"
            f" numpy.asarray(storage).view({kind!r}) reads bytes anew"
        )

    def fill(self, value: Any) -> None:
        """Write one value, or values that broadcast, everywhere.

        Parameters
        ----------
        value : scalar or array_like
            The value of every element; a storage or an array is broadcast.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> s = gs.zeros((2,), axes="K")
        >>> s.fill(5.0)
        >>> s.tolist()
        [5.0, 5.0]
        """
        self[...] = value

    # ---- as a Python object

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a storage without axes")
        return self.shape[0]

    def _scalar(self) -> Any:
        if self.size != 1:
            raise TypeError(
                f"only a storage with one element converts to a scalar; this one has {self.size}"
            )
        return self._values().reshape(())[()]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "the truth value of a storage of other than one element is ambiguous; use np.any or"
                " np.all"
            )
        return bool(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only an integer storage without axes can be an index")
        return operator.index(self._scalar())

    def __round__(self, ndigits: int | None = None) -> Any:
        if self.ndim:
            return self.round(0 if ndigits is None else ndigits)
        scalar = self._scalar()
        return round(scalar.item()) if ndigits is None else round(scalar, ndigits)

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(np.equal(self, value)))

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a storage without axes")
        return map(self.__getitem__, range(self.shape[0]))

    def __imatmul__(self, other: Any) -> Self:
        if not self.ndim or np.ndim(other) < 2:  # else a number would be written everywhere
            raise ValueError(
                "matmul: in place, a storage has at least one axis and the other operand at least"
                " two indices"
            )
        matmul: Any = np.matmul
        return matmul(self, other, out=(self,))  # type: ignore[no-any-return]

    @property
    def variable(self) -> Any:
        """The memory as xarray asks an operand for it: a Variable with the axes as dims."""
        if "xarray" not in sys.modules:
            raise AttributeError("variable")
        from gridbuf.storage.xarray import variable

        return variable(self)

    # ---- as text

    def _shown(self) -> Any:
        """The newest values, or None: looking at a storage moves no data from the device to its
        host buffer, and never much.
        """
        if self._pair is not None:
            dirty = self._pair.state.state == SyncState.SYNC_DEVICE_DIRTY
            return None if dirty else self._host
        if self._has_host:
            return self._on_host()
        small = self.size <= np.get_printoptions()["threshold"]
        return devices.current().to_host(self._dev) if small else None

    def _parameters(self) -> str:
        halo = f", halo={self.halo}" if any(map(any, self.halo)) else ""
        return (
            f"{type(self).__name__}(axes={self.axes!r}, shape={self.shape},"
            f" dtype={self.dtype}, layout={self.layout!r}{halo})"
        )

    def __repr__(self) -> str:
        values = self._shown()
        line = self._parameters()
        return line if values is None else f"{line}\n{np.array2string(values)}"

    def __str__(self) -> str:
        return repr(self) if self.ndim else str(self._scalar())

    def __format__(self, spec: str) -> str:
        if not self.ndim:
            return format(self._scalar(), spec)
        if spec:
            raise TypeError(
                f"a storage with axes has no format {spec!r}; format its elements, or"
                " np.array2string(s)"
            )
        return str(self)

    def _repr_html_(self) -> str:
        """The layout, drawn for a notebook; values stay where they are."""
        from gridbuf import explain

        buffer = self._array if self._pair is not None or not self._has_host else self._on_host()
        plan = _core.Field(buffer, self.axes, halo=self.halo).plan
        return explain.html(plan, halo=self.halo, title=f"{type(self).__name__} {self.axes}")
