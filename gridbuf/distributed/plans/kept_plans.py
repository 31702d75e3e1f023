"""The plans that a grid keeps, found again by the layouts of the fields that are exchanged."""

from typing import Any

from gridbuf.distributed.plans.items import Item, items_of, refuse_item
from gridbuf.distributed.plans.layouts import as_field
from gridbuf.distributed.plans.plan import Plan
from gridbuf.distributed.plans.plan_cache import PlanCache
from gridbuf.distributed.plans.planning import Planner


class KeptPlans(PlanCache[Plan]):
    """Plans by what they do and the numbers of their fields' layouts."""

    def __init__(self, planner: Planner) -> None:
        super().__init__(planner.layouts)
        self._planner = planner

    def known(self, ids: tuple[int, ...]) -> Plan | None:
        """The plan that exchanges the Fields with these ids, if that was done before."""
        plan = self.plans.get(("exchange", *map(self.numbers.get, ids)))
        if plan is not None:  # all are known Fields: anything else has no number, and is not found
            self.recent[ids] = plan
        return plan

    def run(self, what: str, items: tuple[Any, ...]) -> None:
        """Run the plan that exchanges ("exchange") or synchronises ("sync") these items."""
        make = self._planner.exchange if what == "exchange" else self._planner.sync
        try:
            plan = self.kept(self._key(what, items), lambda: make(items_of(items), shared=True))
        except BaseException as error:
            self._planner.engine.failed(error)
            raise
        plan(
            *(
                field
                for item in items
                for field in (item.fields if isinstance(item, Item) else (item,))
            )
        )

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
            refuse_item(given, "fields")
            key.append(len(given))
            for each in given:
                self._number(each, key)
        else:
            field = as_field(given, "fields")
            key.append(self.layouts.number(field, keep=field is given))
