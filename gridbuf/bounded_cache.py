"""A cache that never grows beyond what it is told: what a program asks for again is soon there
again.
"""

from typing import Any, Generic, TypeVar

V = TypeVar("V")


class BoundedCache(dict[Any, V], Generic[V]):
    """A dict that starts anew when it is full."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Any, value: V) -> None:
        if len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)
