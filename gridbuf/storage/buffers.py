"""The buffers of a storage, on the host, the device or both: views of them, and which is brought up
to date when.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.docstrings import as_in
from gridbuf.storage.meta import Meta
from gridbuf.storage.sync import BufferPair, SyncState, writing
from gridbuf.validation import boolean

_NO_STATE: AbstractContextManager[Any] = nullcontext()


class GTNoSuchBufferError(RuntimeError):
    """A storage was asked for a buffer on a side where it has none."""


class Buffers(_core.StorageBase):
    """The memory of a storage."""

    __slots__ = ()
    _has_host: ClassVar[bool] = False
    _has_device: ClassVar[bool] = False
    _managed: ClassVar[str | None] = None  # the value of `managed` that makes the class

    _meta: Meta
    _pair: BufferPair | None

    def _mapped(self, change: Callable[[Any], Any], meta: Meta) -> Self:
        """A view: the same change made to each buffer."""
        host = None if self._host is None else change(self._host)
        dev = None if self._dev is None else change(self._dev)
        return type(self)._of(host, dev, meta, self._pair)

    @property
    def _array(self) -> Any:
        """The buffer that is asked for shape, strides and dtype."""
        return self._dev if self._host is None else self._host

    # ---- buffers, brought up to date

    def _on_host(self) -> Any:
        """The host buffer with the newest values."""
        if self._host is None:
            raise GTNoSuchBufferError(
                f"a {type(self).__name__} has no host buffer; gridbuf.storage.storage(s,"
                " device='cpu') copies"
            )
        return self._host

    def _on_device(self) -> Any:
        """The device buffer with the newest values."""
        if self._dev is None:
            raise GTNoSuchBufferError(
                f"a {type(self).__name__} has no device buffer; gridbuf.storage.storage(s,"
                " device='gpu') copies"
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

    def _values(self) -> NDArray[Any]:
        """The newest values on the host: a view, or a copy where only the device has them."""
        return self.to_numpy()

    @classmethod
    def _new(
        cls,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        meta: Meta,
        device: int | None = None,
        state: SyncState | None = None,
    ) -> Self:
        """An uninitialised storage. A software-managed one is clean unless it is given a state."""
        raise NotImplementedError

    # ---- arrays

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

    # ---- synchronisation: only a software-managed storage has something to do

    def device_to_host(self, *, force: bool = False) -> None:
        """Copy device to host if the device was modified.

        Parameters
        ----------
        force : bool, optional
            True: copy always.

        Notes
        -----
        Only a storage with two buffers (managed="gt4py") has something to copy. With managed="cuda"
        this and `synchronize` wait for the device.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").device_to_host()
        """
        if force is not False:  # C asks with each write
            boolean(force, "force")

    @as_in(device_to_host)
    def host_to_device(self, *, force: bool = False) -> None:
        """Copy host to device if the host was modified.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").host_to_device()
        """
        if force is not False:  # C asks with each write
            boolean(force, "force")

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
        if force is not False:  # C asks with each write
            boolean(force, "force")

    @as_in(set_device_modified)
    def set_host_modified(self, *, force: bool = False) -> None:
        """Note that the host buffer was written to.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").set_host_modified()
        """
        if force is not False:  # C asks with each write
            boolean(force, "force")

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
        """Copy in the direction that is due.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> gs.ones((2,), axes="K").synchronize()
        """
