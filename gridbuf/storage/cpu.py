"""CPUStorage: memory on the host only."""

from gridbuf.storage.protocols import HostBuffer


class CPUStorage(HostBuffer):
    """A storage over a NumPy array."""

    __slots__ = ()
