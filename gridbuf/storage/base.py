"""Storage: the base class of GDP-3's storages, and what all four have in common.

The files about indexing, ufuncs, reductions and copies are written against this class, so it knows none of them:
methods.py, which is loaded before anybody gets a storage, gives it their functions.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.docstrings import as_in
from gridbuf.storage import layout
from gridbuf.storage.axes import check_axes
from gridbuf.storage.halo import Halo, check_halo
from gridbuf.storage.interface import described
from gridbuf.storage.meta import Meta
from gridbuf.storage.sync import Pair, SyncState, writing

_Method = Callable[..., Any]


_NO_STATE: AbstractContextManager[Any] = nullcontext()


class GTNoSuchBufferError(RuntimeError):
    """A storage was asked for a buffer on a side where it has none."""


class Storage(_core.StorageBase, NDArrayOperatorsMixin):
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
    _has_host: ClassVar[bool] = False
    _has_device: ClassVar[bool] = False
    _one_description: ClassVar[bool] = True  # all its interfaces are made from one

    SyncState = SyncState

    _meta: Meta
    _pair: Pair | None

    def _mapped(self, change: Callable[[Any], Any], meta: Meta) -> Self:
        """A view: the same change made to each buffer."""
        host = None if self._host is None else change(self._host)
        dev = None if self._dev is None else change(self._dev)
        return type(self)._of(host, dev, meta, self._pair)

    @property
    def _array(self) -> Any:
        """The buffer that is asked for shape, strides and dtype."""
        return self._dev if self._host is None else self._host

    # --- buffers, brought up to date

    def _on_host(self) -> Any:
        """The host buffer with the newest values."""
        if self._host is None:
            raise GTNoSuchBufferError(
                f"a {type(self).__name__} has no host buffer; gridbuf.storage.storage(s, device='cpu') copies"
            )
        return self._host

    def _for_host(self) -> None:
        """What `__gt_interface__` calls before a host computation."""
        self.device_to_host()

    def _on_device(self) -> Any:
        """The device buffer with the newest values."""
        if self._dev is None:
            raise GTNoSuchBufferError(
                f"a {type(self).__name__} has no device buffer; gridbuf.storage.storage(s, device='gpu') copies"
            )
        return self._dev

    def _writing(self) -> AbstractContextManager[Any]:
        """To be held from bringing a side up to date to `_wrote`."""
        return _NO_STATE if self._pair is None else writing([self._pair.state])

    def _wrote(self, device: bool) -> None:
        """Values were written on that side, which was up to date before."""

    def _prefers_device(self) -> bool:
        """Whether as an operand this counts as a GPU array."""
        return self._has_device

    # --- attributes

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
        """Per axis the points at the low and the high end that are not in the domain; can be set."""
        return self._meta.halo

    @halo.setter
    def halo(self, value: Any) -> None:
        self._meta = self._meta.replaced(halo=check_halo(value, self.shape, self.axes))

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        strides: tuple[int, ...] = self._array.strides
        return strides

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return len(self._meta.axes)

    @property
    def size(self) -> int:
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
            found = self[(*(slice(low, size - high) for (low, high), size in zip(self._meta.halo, self.shape, strict=True)), ...)]
        return found

    @domain_view.setter
    def domain_view(self, value: Any) -> None:  # `s.domain += 1` ends here, with the view that it was done in
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
        told = self._told()
        if told is not NotImplemented:
            told |= {"dims": self.__gt_dims__, "acquire": self.device_to_host, "touch": self.set_host_modified}
            return {None: told}
        entries: dict[Any, dict[str, Any]] = {}
        host, dev = self._host, self._dev
        if host is not None:
            acquire, touch = self._for_host, self.set_host_modified
            entries[None] = described(host, host.__array_interface__, self.__gt_dims__, acquire, touch)
        if dev is not None:
            acquire, touch = self.host_to_device, self.set_device_modified
            entries["gpu"] = described(dev, dev.__cuda_array_interface__, self.__gt_dims__, acquire, touch)
        return entries

    # --- arrays

    def to_numpy(self) -> NDArray[Any]:
        """A NumPy view of the host buffer, brought up to date.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        GTNoSuchBufferError
            When the storage has no such buffer.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> s = gs.ones((2,), axes="K")
        >>> s.to_numpy()
        array([1., 1.])
        """
        view: NDArray[Any] = self._on_host()[...]
        return view

    def to_cupy(self) -> Any:
        """A cupy view of the device buffer, brought up to date.

        Returns
        -------
        cupy.ndarray

        Raises
        ------
        GTNoSuchBufferError
            When the storage has no such buffer.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> s = gs.ones((2,), axes="K")
        >>> try:
        ...     s.to_cupy()
        ... except gs.GTNoSuchBufferError as error:
        ...     print(error)
        a CPUStorage has no device buffer; gridbuf.storage.storage(s, device='gpu') copies
        """
        return self._on_device()[...]

    def to_ndarray(self) -> Any:
        """A view of the device buffer if there is one, else of the host buffer.

        Returns
        -------
        cupy.ndarray or numpy.ndarray

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> s = gs.ones((2,), axes="K")
        >>> s.to_ndarray()
        array([1., 1.])
        """
        return self.to_numpy() if self._dev is None else self.to_cupy()

    def reinterpret(self, axes: Any) -> Self:
        """The same memory, shape and strides, with the indices called otherwise.

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
            raise ValueError(f"axes: {names!r} has {len(names)} names, the storage {self.ndim} indices")
        changed = meta.replaced(axes=names, layout=layout.relabelled(meta.layout, meta.axes, names))
        return self._mapped(lambda array: array, changed)

    # --- synchronisation: only a software-managed storage has something to do

    def device_to_host(self, *, force: bool = False) -> None:
        """Copy device to host if the device was modified.

        Parameters
        ----------
        force : bool, optional
            True: copy always.

        Notes
        -----
        Only a storage with two buffers (managed="gt4py") has something to do.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").device_to_host()
        """

    @as_in(device_to_host)
    def host_to_device(self, *, force: bool = False) -> None:
        """Copy host to device if the host was modified.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").host_to_device()
        """

    @as_in(device_to_host)
    def set_device_modified(self, *, force: bool = False) -> None:
        """Note that the device buffer was written to.

        Parameters
        ----------
        force : bool, optional
            True: drop changes of the other buffer.

        Raises
        ------
        RuntimeError
            When this would lose changes of the other buffer.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").set_device_modified()
        """

    @as_in(set_device_modified)
    def set_host_modified(self, *, force: bool = False) -> None:
        """Note that the host buffer was written to.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").set_host_modified()
        """

    @as_in(device_to_host)
    def set_synchronized(self) -> None:
        """Note that both buffers are equal.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").set_synchronized()
        """

    @as_in(device_to_host)
    def synchronize(self) -> None:
        """Copy whichever way is due.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").synchronize()
        """

    # --- what whole files are about, given to the class by methods.py

    if TYPE_CHECKING:

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
        def copy(self) -> Self: ...
        def __copy__(self) -> Self: ...
        def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self: ...
        def __reduce__(self) -> tuple[Any, ...]: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __contains__(self, value: Any) -> bool: ...
        def __index__(self) -> int: ...
        def __round__(self, ndigits: int | None = None) -> Any: ...

        # an ndarray's methods
        all: _Method
        any: _Method
        argmax: _Method
        argmin: _Method
        argsort: _Method
        astype: Callable[..., Self]
        choose: _Method
        clip: Callable[..., Self]
        compress: _Method
        conj: Callable[..., Self]
        conjugate: Callable[..., Self]
        cumprod: _Method
        cumsum: _Method
        diagonal: _Method
        dot: _Method
        fill: Callable[[Any], None]
        flatten: _Method
        item: _Method
        max: _Method
        mean: _Method
        min: _Method
        nonzero: _Method
        prod: _Method
        ravel: _Method
        repeat: _Method
        reshape: _Method
        round: _Method
        searchsorted: _Method
        squeeze: Callable[..., Self]
        std: _Method
        sum: _Method
        swapaxes: Callable[..., Self]
        take: _Method
        tobytes: Callable[..., bytes]
        tolist: _Method
        trace: _Method
        transpose: Callable[..., Self]
        var: _Method
        T: Self
        real: Self
        imag: Self
        itemsize: int

    # --- as a Python object

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a storage without axes")
        return self.shape[0]

    def _values(self) -> NDArray[Any]:
        """The newest values on the host: a view, or a copy where only the device has them."""
        return self.to_numpy()

    def _scalar(self) -> Any:
        if self.size != 1:
            raise TypeError(f"only a storage with one element converts to a scalar; this one has {self.size}")
        return self._values().reshape(())[()]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of a storage of other than one element is ambiguous; use np.any or np.all")
        return bool(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())
