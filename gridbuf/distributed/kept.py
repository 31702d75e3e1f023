"""The plans that a grid keeps, found again by the layouts of the fields that are exchanged."""

from typing import Any

from gridbuf.distributed.items import Item, items_of
from gridbuf.distributed.layouts import as_field
from gridbuf.distributed.numbers import LayoutNumbers
from gridbuf.distributed.plan import Plan
from gridbuf.distributed.planning import Planner

MOST_PLANS = 64  # that are kept


class KeptPlans:
    """Plans by what they do and the numbers of their fields' layouts.

    Attributes
    ----------
    plans : dict
        The last ones.
    numbers : dict
        By a Field's id the number of its layout, as long as the Field lives: nothing of it need be asked again.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self.plans: dict[Any, Plan] = {}
        self._numbers = LayoutNumbers()
        self.numbers = self._numbers.known

    def run(self, what: str, items: tuple[Any, ...]) -> None:
        """Run the plan that exchanges ("exchange") or synchronises ("sync") these items."""
        try:
            known = self._key(what, items)
        except (TypeError, ValueError) as error:
            self._planner.failed(error)
            raise
        plan = self.plans.get(known)
        if plan is None:
            make = self._planner.exchange if what == "exchange" else self._planner.sync
            plan = make(items_of(items), shared=True)
            if len(self.plans) >= MOST_PLANS:
                del self.plans[next(iter(self.plans))]
            self.plans[known] = plan
        plan(*(field for item in items for field in (item.fields if isinstance(item, Item) else (item,))))

    def _key(self, what: str, items: tuple[Any, ...]) -> tuple[Any, ...]:
        key: list[Any] = [what]
        for item in items:
            if isinstance(item, Item):
                key += [item.kind, item.sign]
                for field in item.fields:
                    self._number(field, key)
            else:
                self._number(item, key)
        return tuple(key)

    def _number(self, given: Any, key: list[Any]) -> None:
        """Add the number of a field's layout to a key."""
        known = self.numbers.get(id(given))
        if known is not None:
            key.append(known)
        elif isinstance(given, list | tuple):
            key.append(len(given))
            for each in given:
                self._number(each, key)
        else:
            field = as_field(given, "fields")
            if self._numbers.full:
                self._numbers.clear()
                self.plans.clear()  # their keys have numbers of layouts
            key.append(self._numbers.of(field, keep=field is given))
