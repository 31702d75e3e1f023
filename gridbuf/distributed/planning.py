"""Working out an exchange: fields are bound to this rank's blocks, their links found, and a plan made of both."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gridbuf import _core
from gridbuf.distributed.binding import Memo, Sources
from gridbuf.distributed.blocks import Block
from gridbuf.distributed.engine import Engine
from gridbuf.distributed.items import Item
from gridbuf.distributed.layouts import Bound, Layout, bind, layout_of
from gridbuf.distributed.linking import LinkBuilder
from gridbuf.distributed.plan import Plan, on_blocks
from gridbuf.distributed.rules import check
from gridbuf.distributed.schedule import Schedule, Scheduler
from gridbuf.distributed.twice import check_same, check_shared

MOST_BOUNDS = 1024  # that a grid remembers
PLAIN = Item("scalar", (), 1)
Fields = list[list[_core.Field]]  # of each field of an exchange the part on each of the rank's blocks


class Planner:
    """What makes the plans of a grid."""

    def __init__(self, builder: LinkBuilder, blocks: tuple[Block, ...], engine: Engine) -> None:
        self.builder, self._blocks, self._dims, self._engine = builder, blocks, builder.whole.names, engine
        self._scheduler = Scheduler(builder, list(blocks), engine.rank)
        crossings = [how for _, how in builder.crossings(tuple(range(builder.whole.ndim)))]
        self._crosses, self._turns = bool(crossings), any(how.turns for how in crossings)
        self._bounds: dict[tuple[Layout, ...], Bound] = {}
        self._named: dict[tuple[int, str], Bound] = {}  # by key and name
        self._memo = Memo()
        self._keys = self._made = 0

    def exchange(
        self, items: list[Item], corners: bool = True, names: Sequence[str] | None = None, *, shared: bool = False
    ) -> Plan:
        """The plan that fills halos."""
        with self.telling():
            fields = self._on_blocks(items)
            bounds, sources = self._bind(items, fields, names)
            schedules = [self._scheduler.halos(bound.geometry, corners) for bound in bounds]
            return self._new(bounds, sources, schedules, fields, shared, "halos" if corners else "sides")

    def sync(self, items: list[Item], *, shared: bool = False) -> Plan:
        """The plan that gives points which exist more than once the value that their owner has."""
        with self.telling():
            fields = self._on_blocks(items)
            bounds, sources = self._bind(items, fields, None)
            schedules = [
                self._scheduler.synchronising(bound.geometry, source.item.kind == "scalar" or not self._turns)
                for bound, source in zip(bounds, sources, strict=True)
            ]
            return self._new(bounds, sources, schedules, fields, shared, "sync")

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What is wrong on this rank is heard of by the others when they meet."""
        try:
            yield
        except (TypeError, ValueError) as error:
            self.failed(error)
            raise

    def failed(self, error: Exception) -> None:
        self._engine.failed(error)

    def bound(self, fields: list[_core.Field], name: str) -> Bound:
        """A field bound to this rank's blocks."""
        layouts = tuple(map(layout_of, fields))
        known = self._bounds.get(layouts)
        if known is None:
            if len(self._bounds) >= MOST_BOUNDS:
                for each in (self._bounds, self._named, self._memo):
                    each.clear()
            self._keys += 1  # never the same again: older plans still have theirs
            known = bind(layouts, self._blocks, self._dims, name)._replace(key=self._keys)
            self._bounds[layouts] = known
        named = self._named.get((known.key, name))
        if named is None:
            if len(self._named) >= MOST_BOUNDS:
                self._named.clear()
            named = self._named[known.key, name] = known._replace(name=name)
        return named

    def _on_blocks(self, items: list[Item]) -> Fields:
        flat = [field for item in items for field in item.fields]
        return [on_blocks(field, len(self._blocks), f"fields[{i}]") for i, field in enumerate(flat)]

    def _bind(self, items: list[Item], fields: Fields, names: Sequence[str] | None) -> tuple[list[Bound], list[Sources]]:
        """Every field bound, and for each those that stand for it where axes turn."""
        if names is not None and len(names) != len(fields):
            raise ValueError(f"names: {len(names)} for {len(fields)} fields")
        called = [f"fields[{i}]" for i in range(len(fields))] if names is None else [str(name) for name in names]
        bounds, sources = [], []
        if self._blocks:
            bounds = [self.bound(field, name) for field, name in zip(fields, called, strict=True)]
            sources = sources_of(items)
        check(self.builder, bounds, sources)
        return bounds, sources

    def _new(
        self,
        bounds: list[Bound],
        sources: list[Sources],
        schedules: list[Schedule],
        fields: Fields,
        shared: bool,
        what: str,
    ) -> Plan:
        self._made += 1
        plan = Plan(self._made, bounds, sources, self._blocks, self._dims, schedules, self._engine, self._memo, shared, what)
        plan.binding.plain = not self._crosses
        flat = [each for field in fields for each in field]
        check_same(plan.binding, flat)
        if _core.spans_meet(*flat) is not None:
            check_shared(plan.binding, flat)
        return plan


def sources_of(items: list[Item]) -> list[Sources]:
    """Of each field of the items: which fields stand for it where axes turn."""
    found: list[Sources] = []
    for item in items:
        numbers = tuple(range(len(found), len(found) + len(item.fields)))
        rule = PLAIN if item.kind == "scalar" and item.sign == 1 else item._replace(fields=())  # plans hold no memory
        found += [Sources(rule, numbers, component) for component in range(len(numbers))]
    return found
