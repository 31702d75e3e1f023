"""Planning of exchanges: fields are bound to this rank's blocks, their links found, and a plan made
of both. A grid keeps its last plans, and finds them again by the layouts of the fields.
"""

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Generic, TypeVar

from gridbuf import _core
from gridbuf.common import BoundedCache, debugging
from gridbuf.distributed.arguments import entries
from gridbuf.distributed.blocks import Blocks
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.edges import Edges, read_edges
from gridbuf.distributed.geometry.linking import LinkBuilder, Schedule, Scheduler
from gridbuf.distributed.plans.beyond_edges import NO_EDGES, EdgePlanner, joined
from gridbuf.distributed.plans.binding import Binding, Constant, Work
from gridbuf.distributed.plans.checks import check, check_same, check_shared
from gridbuf.distributed.plans.engines import Engine
from gridbuf.distributed.plans.layouts import Bound, Layout, as_field, bind, layout_of
from gridbuf.distributed.plans.plan import Plan, on_blocks
from gridbuf.distributed.plans.vectors import Item, Sources, items_of, refuse_item, sources_of

MOST_LAYOUTS = 1024  # numbered layouts; a Field has its entry as long as it lives
MOST_PLANS = 64  # kept plans
MOST_BOUNDS = 1024  # bound fields that a grid remembers
P = TypeVar("P")


class LayoutNumbers:
    """A number below 0 for each layout; no number is used for another layout later.

    Attributes
    ----------
    numbers : dict
        By a Field's id the number of its layout, as long as the Field lives.
    """

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self._references: dict[int, Any] = {}  # weak references, by id
        self._layouts: dict[Layout, int] = {}
        self._next = count(-1, -1)
        numbers, references = self.numbers, self._references

        def forget(dead: Any) -> None:  # without a reference to the owner: Fields may outlive it
            found: Any = references.get(dead.key)
            if found is dead:
                del references[dead.key], numbers[dead.key]

        self._forget = forget

    def number(self, field: _core.Field, keep: bool = True) -> int:
        """The number of a Field's layout; `keep`: remember it for this Field."""
        if len(self._layouts) >= MOST_LAYOUTS:
            for each in (self.numbers, self._references, self._layouts):
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
    """The last plans, by keys of the layouts' numbers and of the call's other arguments."""

    def __init__(self, layouts: LayoutNumbers) -> None:
        self.layouts, self.numbers = layouts, layouts.numbers
        self.plans: dict[Any, P] = {}

    def get(self, key: Any, make: Callable[[], P]) -> P:
        """The plan of a key, made where there is none."""
        found = self.plans.get(key)
        if found is None:
            found = make()
            while len(self.plans) >= MOST_PLANS:
                del self.plans[next(iter(self.plans))]
            self.plans[key] = found
        return found


class Planner:
    """Makes the plans of a grid."""

    def __init__(self, builder: LinkBuilder, blocks: tuple[Block, ...], engine: Engine) -> None:
        self.builder, self.engine, self.layouts = builder, engine, LayoutNumbers()
        self._blocks, self._dims = blocks, builder.whole.names
        self._scheduler = Scheduler(builder, list(blocks), engine.rank)
        crossings = [how for _, how in builder.crossings(tuple(range(builder.whole.ndim)))]
        self._crosses, self._turns = bool(crossings), any(how.turns for how in crossings)
        self._bounds: dict[tuple[int, ...], Bound] = {}  # by the numbers of a field's layouts
        self._works: dict[Any, Work] = {}  # shared by fields that differ in their slots alone
        self._keys = self._plans = 0

    def plan(
        self,
        items: list[Item],
        purpose: str = "halos",
        names: Sequence[str] | None = None,
        shared: bool = False,
        edges: Edges = NO_EDGES,
    ) -> Plan:
        """The plan that fills halos ("halos", or "sides": without corners), by `edges` also beyond
        the edges of the grid, or gives points that exist more than once the value of their owner
        ("sync").
        """
        count = len(self._blocks)
        given = [field for item in items for field in item.fields]
        called = read_field_names(names, len(given))
        fields = [on_blocks(field, count, name) for field, name in zip(given, called, strict=True)]
        bounds: list[Bound] = []
        sources: list[Sources] = []
        if count:
            bounds = [self.bound(field, name) for field, name in zip(fields, called, strict=True)]
            sources = sources_of(items, self.builder)
        binding = Binding(bounds, sources, self._blocks, self._dims)
        binding.plain = not self._crosses and not self.builder.rules
        binding.ruled = bool(self.builder.rules)
        binding.edges = edges.text
        works = [self._work(binding, i, purpose, edges) for i in range(len(bounds))]
        flat = [each for field in fields for each in field]
        check_same(binding, flat)
        if _core.spans_meet(*flat) is not None:
            check_shared(binding, flat)
        self._plans += 1
        plan = Plan(self._plans, binding, works, self._blocks, self.engine, shared, purpose)
        if purpose != "sync" and debugging():
            plan.twice = self.plan(items, "sync", names, shared)
        return plan

    def bound(self, fields: list[_core.Field], name: str) -> Bound:
        """A field bound to this rank's blocks."""
        known = self.layouts.numbers
        numbers = tuple([known.get(id(each)) or self.layouts.number(each) for each in fields])
        found = self._bounds.get(numbers)
        if found is None:
            if len(self._bounds) >= MOST_BOUNDS:
                self._bounds.clear()
                self._works.clear()
            self._keys += 1  # never the same again: older plans still have theirs
            layouts = tuple(map(layout_of, fields))
            found = bind(layouts, self._blocks, self._dims, name, self.builder.common)
            found = self._bounds[numbers] = found._replace(key=self._keys)
        return found if found.name == name else found._replace(name=name)

    def _work(self, binding: Binding, field: int, purpose: str, edges: Edges) -> Work:
        bound, source = binding.bounds[field], binding.sources[field]
        keys = [binding.bounds[f].key for f in source.fields]
        key = *keys, source.component, source.item, purpose, edges.text
        found = self._works.get(key)
        if found is None:
            check(self.builder, binding.bounds, source, bound)
            schedule = self._schedule(bound, source.item, purpose)
            fills: list[Constant] = []
            if edges.text:
                beyond = EdgePlanner(self.builder, self._scheduler, edges, purpose == "halos")
                beyond.check(bound)
                schedule = joined(schedule, beyond.schedule(bound.geometry))
                fills = beyond.constants(binding, field)
            found = binding.work(field, schedule)._replace(fills=fills)
            self._works[key] = found
        return found

    def _schedule(self, bound: Bound, item: Item, purpose: str) -> Schedule:
        if purpose == "sync":
            corners = item.kind == "scalar" or not self._turns
            return self._scheduler.synchronising(bound.geometry, corners)
        return self._scheduler.halos(bound.geometry, purpose == "halos")


def read_field_names(names: Any, count: int) -> list[str]:
    """The fields' names in errors: their places where none are given."""
    if names is None:
        return [f"fields[{i}]" for i in range(count)]
    found = entries([*names] if isinstance(names, str) else names, "names")
    if len(found) != count:
        raise ValueError(f"names: {len(found)} for {count} fields")
    for i, name in enumerate(found):
        if not isinstance(name, str):
            raise TypeError(f"names[{i}]: expected a str, got {type(name).__name__}")
    return [str(name) for name in found]


class KeptPlans(PlanCache[Plan]):
    """The plans of `Grid.exchange` and `Grid.sync`, by purpose and the numbers of the fields'
    layouts.
    """

    def __init__(self, planner: Planner) -> None:
        super().__init__(planner.layouts)
        self._planner = planner
        self._rules: BoundedCache[Edges] = BoundedCache(MOST_PLANS)

    def run(self, purpose: str, items: tuple[Any, ...], edges: Any = None) -> None:
        """Run the plan of these items, made where there is none."""
        try:
            rules = NO_EDGES if edges is None else self._rules_of(edges)
            key, fields = self._key_and_fields(purpose + rules.text, items)
            plan = self.plans.get(key)
            if plan is None:
                make = self._planner.plan
                plan = self.get(
                    key, lambda: make(items_of(items), purpose, shared=True, edges=rules)
                )
        except BaseException as error:
            self._planner.engine.failed(error)
            raise
        plan(*fields)

    def _rules_of(self, edges: Any) -> Edges:
        """The rules of an argument, read once for each text of it."""
        text = repr(edges)
        found = self._rules.get(text)
        if found is None:
            found = self._rules[text] = read_edges(edges, self._planner.builder)
        return found

    def _key_and_fields(
        self, purpose: str, items: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], list[Any]]:
        key: list[Any] = [purpose]
        fields: list[Any] = []
        for item in items:
            if isinstance(item, Item):
                key += [item.kind, item.sign]
                fields += item.fields
            else:
                fields.append(item)
            for field in item.fields if isinstance(item, Item) else (item,):
                self._add_number(field, key)
        return tuple(key), fields

    def _add_number(self, given: Any, key: list[Any]) -> None:
        """Add the number of a field's layout to a key; of a list those of its fields."""
        known = self.numbers.get(id(given))
        if known is not None:
            key.append(known)
        elif isinstance(given, Blocks | list | tuple):
            refuse_item(given, "fields")
            key.append(len(given))
            for each in given:
                self._add_number(each, key)
        else:
            field = as_field(given, "fields")
            key.append(self.layouts.number(field, keep=field is given))
