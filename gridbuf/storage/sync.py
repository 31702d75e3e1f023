"""Which of the two buffers of a software-managed storage holds the newest values."""

from collections.abc import Iterable
from contextlib import ExitStack
from threading import RLock
from typing import Any
from weakref import WeakSet

from gridbuf.docstrings import as_in
from gridbuf.storage import devices
from gridbuf.validation import boolean


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
