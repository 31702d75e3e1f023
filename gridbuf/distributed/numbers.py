"""Numbers for the layouts of fields: of a Field it is kept until that is gone, so that nothing of it need be asked again."""

import weakref
from typing import Any

from gridbuf import _core
from gridbuf.distributed.layouts import Layout, layout_of

MOST_FIELDS = 1024  # that are known


class LayoutNumbers:
    """A number for each layout.

    Attributes
    ----------
    known : dict
        By a Field's id the number of its layout, as long as the Field lives.
    """

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        self._references: dict[int, Any] = {}  # weak ones
        self._layouts: dict[Layout, int] = {}
        known, references = self.known, self._references

        def forget(gone: Any) -> None:  # nothing of the owner: a Field may outlive it
            found: Any = references.get(gone.key)
            if found is gone:
                del references[gone.key], known[gone.key]

        self._forget = forget

    @property
    def full(self) -> bool:
        return len(self._references) >= MOST_FIELDS or len(self._layouts) >= MOST_FIELDS

    def clear(self) -> None:
        """Forget all: the next numbers mean other layouts."""
        for each in (self.known, self._references, self._layouts):
            each.clear()

    def of(self, field: _core.Field, keep: bool = True) -> int:
        """The number of a Field's layout; `keep`: it is asked for again."""
        number = -1 - self._layouts.setdefault(layout_of(field), len(self._layouts))
        if keep:
            self._references[id(field)] = weakref.KeyedRef(field, self._forget, id(field))
            self.known[id(field)] = number
        return number
