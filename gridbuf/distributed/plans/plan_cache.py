"""Plans that are found again by the layouts of their fields. A layout gets a number, and no number
means another layout later.

Of a Field the number is kept until it is gone, so that nothing of it need be asked again.
"""

import weakref
from collections.abc import Callable
from itertools import count
from typing import Any, Generic, TypeVar

from gridbuf import _core
from gridbuf.common import BoundedCache
from gridbuf.distributed.plans.layouts import Layout, layout_of

MOST_LAYOUTS = 1024  # that are known; as many Fields as are alive
MOST_PLANS = 64  # that are kept
P = TypeVar("P")


class LayoutNumbers:
    """A number below 0 for each layout.

    Attributes
    ----------
    numbers : dict
        By a Field's id the number of its layout, as long as the Field lives.
    recent : dict
        What was found for Fields with these ids, in this order. It is emptied when any known Field
        is gone.
    """

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self._references: dict[int, Any] = {}  # weak ones
        self._layouts: dict[Layout, int] = {}
        self._next = count(-1, -1)
        self.recent: BoundedCache[Any] = BoundedCache(MOST_PLANS)
        numbers, references, recent = self.numbers, self._references, self.recent

        def forget(gone: Any) -> None:  # nothing of the owner: a Field may outlive it
            found: Any = references.get(gone.key)
            if found is gone:
                del references[gone.key], numbers[gone.key]
                recent.clear()

        self._forget = forget

    def number(self, field: _core.Field, keep: bool = True) -> int:
        """The number of a Field's layout; `keep`: it is asked for again."""
        if len(self._layouts) >= MOST_LAYOUTS:
            for each in (self.numbers, self._references, self._layouts, self.recent):
                each.clear()
        layout = layout_of(field)
        number = self._layouts.get(layout)
        if number is None:
            number = self._layouts[layout] = next(self._next)
        if keep:
            self._references[id(field)] = weakref.KeyedRef(field, self._forget, id(field))
            self.numbers[id(field)] = number
        return number


class PlanCache(Generic[P]):
    """The last plans, by keys of numbers of layouts and what else their user says."""

    def __init__(self, layouts: LayoutNumbers) -> None:
        self.layouts, self.numbers, self.recent = layouts, layouts.numbers, layouts.recent
        self.plans: dict[Any, P] = {}

    def kept(self, key: Any, make: Callable[[], P]) -> P:
        """The plan of a key, made where there is none."""
        found = self.plans.get(key)
        if found is None:
            found = make()
            while len(self.plans) >= MOST_PLANS:
                del self.plans[next(iter(self.plans))]
                self.recent.clear()
            self.plans[key] = found
        return found
