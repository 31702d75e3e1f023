"""Working out an exchange: fields are bound to this rank's blocks, their links found, and a plan
made of both.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gridbuf import _core
from gridbuf.common import BoundedCache, debugging
from gridbuf.distributed.arguments import entries
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.distributed.geometry.schedule import Schedule, Scheduler
from gridbuf.distributed.plans.aliasing import check_same, check_shared
from gridbuf.distributed.plans.binding import Binding, Sources, Work
from gridbuf.distributed.plans.engine import Engine
from gridbuf.distributed.plans.items import Item
from gridbuf.distributed.plans.layouts import Bound, bind, layout_of
from gridbuf.distributed.plans.plan import Plan, on_blocks
from gridbuf.distributed.plans.plan_cache import LayoutNumbers
from gridbuf.distributed.plans.rules import check

MOST_BOUNDS = 1024  # that a grid remembers
PLAIN = Item("scalar", (), 1)
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


@lru_cache(maxsize=256)
def plain(number: int) -> Sources:
    """Of a field that stands for itself."""
    return Sources(PLAIN, (number,), 0)


def sources_of(items: list[Item], builder: LinkBuilder) -> list[Sources]:
    """Of each field of the items: which fields stand for it where axes turn. A scalar has no sign
    where the grid has no fold.
    """
    found: list[Sources] = []
    for item in items:
        if item.kind == "scalar" and (item.sign == 1 or not builder.folds):
            found.append(plain(len(found)))
            continue
        numbers = tuple(range(len(found), len(found) + len(item.fields)))
        rule = item._replace(fields=())  # plans hold no memory
        found += [Sources(rule, numbers, component) for component in range(len(numbers))]
    return found
