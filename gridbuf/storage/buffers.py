"""The buffers of a storage, on the host, the device or both: their memory, laid out and aligned as
a Meta says; which of two holds the newest values; views of them, and which is brought up to date
when.
"""

import math
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from threading import RLock
from typing import Any, ClassVar, Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from gridbuf import _core
from gridbuf.docstrings import as_in
from gridbuf.storage import devices
from gridbuf.storage.meta import Meta
from gridbuf.validation import boolean


def host_empty(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> NDArray[Any]:
    """A host array."""
    return _core.empty_elements(
        shape, dtype, meta.ranks, meta.aligned_index, alignment=meta.alignment
    )


def host_plan(shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta) -> _core.Plan:
    """The plan that `host_empty` allocates by; C keeps it for the next such request."""
    return _core.plan(
        shape, dtype, layout=meta.ranks, aligned_index=meta.aligned_index, alignment=meta.alignment
    )


def device_request(
    shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta, device: int
) -> devices.Request:
    """The request for a device: the boundary is the alignment alone."""
    plan = _core.plan(
        shape,
        dtype,
        layout=meta.ranks,
        aligned_index=meta.aligned_index,
        byte_alignment=1,
        alignment=meta.alignment,
    )
    nbytes = plan.offset + dtype.itemsize * math.prod(max(n, 1) for n in plan.padded_shape)
    boundary = meta.alignment * dtype.itemsize
    return devices.Request(shape, dtype, plan.strides, plan.offset, nbytes, boundary, device)


def device_empty(
    shape: tuple[int, ...], dtype: np.dtype[Any], meta: Meta, device: int | None
) -> Any:
    """A device array; `device` None: on the first GPU."""
    return devices.current().empty(device_request(shape, dtype, meta, device or 0))


class SyncState:
    """The state shared by all storages over the same pair of buffers.

    Attributes
    ----------
    state : int
        `SYNC_CLEAN` (0), `SYNC_HOST_DIRTY` (1) or `SYNC_DEVICE_DIRTY` (2); can be set.

    Examples
    --------
    >>> from gridbuf.storage import SyncState
    >>> SyncState().state == SyncState.SYNC_CLEAN
    True
    """

    SYNC_CLEAN = 0
    SYNC_HOST_DIRTY = 1
    SYNC_DEVICE_DIRTY = 2

    __slots__ = ("__weakref__", "_lock", "_pairs", "_state")

    def __init__(self) -> None:
        self._state = self.SYNC_CLEAN
        # Held from looking at the state to the end of what follows from it, so that no copy
        # overwrites what another thread writes meanwhile. A thread that holds one lock to write
        # waits for no other: what is read is fetched before.
        self._lock = RLock()
        # Views share this object, so synchronising copies every buffer that it speaks for.
        self._pairs: WeakSet[BufferPair] = WeakSet()

    @property
    def state(self) -> int:
        return self._state

    @state.setter
    def state(self, value: int) -> None:
        if value not in (self.SYNC_CLEAN, self.SYNC_HOST_DIRTY, self.SYNC_DEVICE_DIRTY):
            raise ValueError(
                f"state: {value!r} is not SYNC_CLEAN (0), SYNC_HOST_DIRTY (1) or"
                " SYNC_DEVICE_DIRTY (2)"
            )
        with self._lock:
            self._state = value

    def __repr__(self) -> str:
        return f"SyncState({('SYNC_CLEAN', 'SYNC_HOST_DIRTY', 'SYNC_DEVICE_DIRTY')[self._state]})"

    def to_device(self, force: bool = False) -> None:
        """Bring host changes to the device.

        Parameters
        ----------
        force : bool, optional
            True: copy in every state.

        Examples
        --------
        >>> from gridbuf.storage import SyncState
        >>> state = SyncState()
        >>> state.to_device()
        >>> state
        SyncState(SYNC_CLEAN)
        """
        with self._lock:
            if boolean(force, "force") or self._state == self.SYNC_HOST_DIRTY:
                for pair in list(self._pairs):
                    devices.current().upload(pair.host, pair.device)
                self._state = self.SYNC_CLEAN

    @as_in(to_device)
    def to_host(self, force: bool = False) -> None:
        """Bring device changes to the host.

        Examples
        --------
        >>> from gridbuf.storage import SyncState
        >>> state = SyncState()
        >>> state.to_host()
        >>> state
        SyncState(SYNC_CLEAN)
        """
        with self._lock:
            if boolean(force, "force") or self._state == self.SYNC_DEVICE_DIRTY:
                for pair in list(self._pairs):
                    devices.current().download(pair.device, pair.host)
                self._state = self.SYNC_CLEAN

    def mark(self, dirty: int, force: bool = False) -> None:
        """Note that one side was changed.

        Parameters
        ----------
        dirty : int
            `SYNC_HOST_DIRTY` or `SYNC_DEVICE_DIRTY`: the side.
        force : bool, optional
            True: drop changes of the other side.

        Raises
        ------
        RuntimeError
            When the other side has changes that this would lose.

        Examples
        --------
        >>> from gridbuf.storage import SyncState
        >>> state = SyncState()
        >>> state.mark(SyncState.SYNC_HOST_DIRTY)
        >>> state
        SyncState(SYNC_HOST_DIRTY)
        """
        with self._lock:
            if not boolean(force, "force") and self._state not in (self.SYNC_CLEAN, dirty):
                side = "device" if dirty == self.SYNC_HOST_DIRTY else "host"
                raise RuntimeError(
                    f"the {side} buffer has changes that marking the other side modified would"
                    " lose; call synchronize() first, or give force=True to drop them"
                )
            self._state = dirty


def writing(states: Iterable[SyncState]) -> ExitStack:
    """To be held while one side of each is brought up to date, written and marked. In one order for
    all threads, so that none waits for another.
    """
    stack = ExitStack()
    for state in sorted(set(states), key=id):
        stack.enter_context(state._lock)
    return stack


class BufferPair:
    """A host and a device buffer with the same contents when clean."""

    __slots__ = ("__weakref__", "device", "host", "state")

    def __init__(self, host: Any, device: Any, state: SyncState) -> None:
        self.host, self.device, self.state = host, device, state
        with state._lock:
            state._pairs.add(self)


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
