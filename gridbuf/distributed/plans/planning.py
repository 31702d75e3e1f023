"""Plans that are found again by the layouts of their fields. A layout gets a number, and no number
means another layout later.

Of a Field the number is kept until it is gone, so that nothing of it need be asked again.

Working out an exchange: fields are bound to this rank's blocks, their links found, and a plan
made of both.

The plans that a grid keeps, found again by the layouts of the fields that are exchanged.
"""

import weakref
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Generic, TypeVar

from gridbuf import _core
from gridbuf.common import BoundedCache, debugging
from gridbuf.distributed.arguments import entries
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.linking import LinkBuilder, Schedule, Scheduler
from gridbuf.distributed.plans.binding import Binding, Work
from gridbuf.distributed.plans.checks import check, check_same, check_shared
from gridbuf.distributed.plans.engines import Engine
from gridbuf.distributed.plans.layouts import Bound, Layout, as_field, bind, layout_of
from gridbuf.distributed.plans.plan import Plan, on_blocks
from gridbuf.distributed.plans.vectors import Item, Sources, items_of, refuse_item, sources_of

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


MOST_BOUNDS = 1024  # that a grid remembers
Fields = list[
    list[_core.Field]
]  # of each field of an exchange the part on each of the rank's blocks


class Planner:
    """What makes the plans of a grid."""

    def __init__(self, builder: LinkBuilder, blocks: tuple[Block, ...], engine: Engine) -> None:
        self.builder = builder
        self._blocks = blocks
        self._dims = builder.whole.names
        self.engine = engine
        self._scheduler = Scheduler(builder, list(blocks), engine.rank)
        crossings = [how for _, how in builder.crossings(tuple(range(builder.whole.ndim)))]
        self._crosses, self._turns = bool(crossings), any(how.turns for how in crossings)
        self.layouts = LayoutNumbers()
        self._bounds: dict[tuple[int, ...], Bound] = {}  # by the numbers of a field's layouts
        self._named: BoundedCache[Bound] = BoundedCache(MOST_BOUNDS)
        self._works: dict[
            tuple[Any, ...], Work
        ] = {}  # of fields that differ in nothing but their places
        self._keys = self._made = 0

    def exchange(
        self,
        items: list[Item],
        corners: bool = True,
        names: Sequence[str] | None = None,
        *,
        shared: bool = False,
    ) -> Plan:
        """The plan that fills halos."""
        return self._plan(items, names, shared, "halos" if corners else "sides")

    def sync(self, items: list[Item], *, shared: bool = False) -> Plan:
        """The plan that gives points which exist more than once the value that their owner has."""
        return self._plan(items, None, shared, "sync")

    def bound(self, fields: list[_core.Field], name: str) -> Bound:
        """A field bound to this rank's blocks."""
        known = self.layouts.numbers
        numbers = tuple([known.get(id(each)) or self.layouts.number(each) for each in fields])
        named = self._named.get((name, numbers))
        if named is None:
            named = self._named[name, numbers] = self._bound(fields, name, numbers)._replace(
                name=name
            )
        return named

    def _bound(self, fields: list[_core.Field], name: str, numbers: tuple[int, ...]) -> Bound:
        found = self._bounds.get(numbers)
        if found is None:
            if len(self._bounds) >= MOST_BOUNDS:
                for each in (self._bounds, self._named, self._works):
                    each.clear()
            self._keys += 1  # never the same again: older plans still have theirs
            found = bind(tuple(map(layout_of, fields)), self._blocks, self._dims, name)._replace(
                key=self._keys
            )
            self._bounds[numbers] = found
        return found

    def _on_blocks(self, items: list[Item]) -> Fields:
        flat = [field for item in items for field in item.fields]
        return [on_blocks(field, len(self._blocks), f"fields[{i}]") for i, field in enumerate(flat)]

    def _bind(
        self, items: list[Item], fields: Fields, names: Sequence[str] | None
    ) -> tuple[list[Bound], list[Sources]]:
        """Every field bound, and for each those that stand for it where axes turn."""
        names = (
            names
            if names is None
            else entries([*names] if isinstance(names, str) else names, "names")
        )
        if names is not None and len(names) != len(fields):
            raise ValueError(f"names: {len(names)} for {len(fields)} fields")
        called = (
            [f"fields[{i}]" for i in range(len(fields))]
            if names is None
            else [str(name) for name in names]
        )
        bounds, sources = [], []
        if self._blocks:
            bounds = [self.bound(field, name) for field, name in zip(fields, called, strict=True)]
            sources = sources_of(items, self.builder)
        return bounds, sources

    def _plan(
        self, items: list[Item], names: Sequence[str] | None, shared: bool, what: str
    ) -> Plan:
        fields = self._on_blocks(items)
        bounds, sources = self._bind(items, fields, names)
        binding = Binding(bounds, sources, self._blocks, self._dims)
        binding.plain = not self._crosses
        works = [self._work(binding, i, what) for i in range(len(bounds))]
        flat = [each for field in fields for each in field]
        check_same(binding, flat)
        if _core.spans_meet(*flat) is not None:
            check_shared(binding, flat)
        self._made += 1
        plan = Plan(self._made, binding, works, self._blocks, self.engine, shared, what)
        if what != "sync" and debugging():
            plan.twice = self._plan(items, names, shared, "sync")
        return plan

    def _work(self, binding: Binding, field: int, what: str) -> Work:
        bound, source = binding.bounds[field], binding.sources[field]
        key = *[binding.bounds[f].key for f in source.fields], source.component, source.item, what
        found = self._works.get(key)
        if found is None:
            check(self.builder, binding.bounds, source, bound)
            found = self._works[key] = binding.work(field, self._schedule(bound, source.item, what))
        return found

    def _schedule(self, bound: Bound, item: Item, what: str) -> Schedule:
        if what == "sync":
            return self._scheduler.synchronising(
                bound.geometry, item.kind == "scalar" or not self._turns
            )
        return self._scheduler.halos(bound.geometry, what == "halos")


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
