"""A trace: what a function did with its arguments, as steps that can be done again with others.

While it is made nothing is computed but what the function asks to see; the rest runs at its end.
"""

import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gridbuf.fusing import operations as op
from gridbuf.fusing.operations import (
    attributes_of,
    can_fuse,
    goes_along,
    host,
    is_memory,
    is_number,
    names_of,
)
from gridbuf.fusing.segments import MOST_OPERATIONS, Changed, Node, Run, Segment, obstacle

_MODES: Any = getattr(getattr(np, "_core", np).umath, "_extobj_contextvar", None)

set_modes = np.seterr


def modes() -> Any:
    """The value of np.errstate, for comparisons: inside of `with np.errstate` another object."""
    return np.geterr() if _MODES is None else _MODES.get()


def swapped(found: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with everything in its tuples, lists, dicts and slices changed; those of derived
    classes, but for named tuples, become plain ones.
    """
    if isinstance(found, tuple) and hasattr(found, "_make"):
        return found._make(swapped(part, change) for part in found)
    if isinstance(found, (tuple, list)):
        return (tuple if isinstance(found, tuple) else list)(swapped(p, change) for p in found)
    if isinstance(found, dict):
        return {name: swapped(part, change) for name, part in found.items()}
    if type(found) is slice:
        return slice(*(change(part) for part in (found.start, found.stop, found.step)))
    return change(found)


def leaves(found: Any) -> list[Any]:
    """What an argument has in its tuples, lists, dicts and slices."""
    parts: list[Any] = []
    swapped(found, parts.append)
    return parts


def kind(value: Any) -> Any:
    """The facts of an unfused step's result that a trace depends on."""
    if is_memory(value):
        return type(value), value.dtype, value.ndim, names_of(value)
    return tuple(map(kind, value)) if type(value) is tuple else type(value)


class Same:
    """An object that equals itself alone, while it lives. It is kept alive where its class has no
    weak references, as `__slots__` can have it.
    """

    __slots__ = ("_find", "_hash")

    def __init__(self, obj: Any) -> None:
        self._hash = id(obj)
        try:
            self._find: Callable[[], Any] = weakref.ref(obj)
        except TypeError:
            self._find = lambda: obj

    def __eq__(self, other: object) -> bool:
        own = self._find()
        return own is not None and type(other) is Same and other._find() is own

    def __hash__(self) -> int:
        return self._hash


def place_of(value: Any) -> Any:
    """The memory of an array, also of a view that is made anew; other objects are their own."""
    if type(value) is not np.ndarray:
        return Same(value)
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    lies = value.ctypes.data, value.shape, value.strides, value.dtype.str
    return Same(owner if owner.base is None else owner.base), lies


# Warnings of an operator name its ufunc.
_UFUNC_OF = {
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "mul": "multiply",
    "sub": "subtract",
    "abs": "absolute",
    "neg": "negative",
    "sum": "reduce",
    "prod": "reduce",
    "cumsum": "accumulate",
    "cumprod": "accumulate",
    "astype": "cast",
    "setitem": "cast",
}


class Eager:
    """A step that runs unfused: its operands are computed first, and its result is an operand."""

    def __init__(self, function: Any, args: Any, kwargs: Any, modes: Any, line: str) -> None:
        self.function, self.args, self.kwargs, self.line = function, args, kwargs, line
        self.modes = modes  # np.errstate inside of the function, or None
        self.nodes: tuple[Node, ...] = ()
        self.kind: Any = None
        self.barrier = True  # depends on memory, not on numbers alone

    def execute(self, run: Run, workers: int, outs: tuple[Any, ...] = ()) -> Any:
        def real(part: Any) -> Any:
            return run.get(part) if isinstance(part, Node) else part

        def tell(text: str, flag: int) -> None:
            name = getattr(self.function, "__name__", "call")
            run.raised.append((_UFUNC_OF.get(name, name), text))

        now: Any = self.modes or np.geterr()
        told: Any = {name: "call" if mode == "warn" else mode for name, mode in now.items()}
        ours = "warn" in now.values() and not {"call", "log"} & {*now.values()}
        with np.errstate(call=tell, **told) if ours else np.errstate(**now):
            value = self.function(*swapped(self.args, real), **swapped(self.kwargs, real))
        if self.kind is not None and kind(value) != self.kind:
            raise Changed
        for node, part in zip(
            self.nodes, value if type(value) is tuple else (value,), strict=False
        ):
            run.set(node, part)
        return value

    def scalar(self, nodes: dict[Node, int], run: Run) -> Any:
        """For C: the function, the places of its arguments, and the class of its result, a
        number; None for any other step.
        """
        if (
            self.kwargs
            or self.modes
            or len(self.nodes) != 1
            or not is_number(run.get(self.nodes[0]))
        ):
            return None
        where: list[Any] = []
        for part in self.args:
            if isinstance(part, Node):
                if part not in nodes or not is_number(run.get(part)):
                    return None
                where.append(nodes[part])
            elif is_number(part):
                where.append((part,))
            else:
                return None
        return self.function, tuple(where), type(run.get(self.nodes[0]))


class Trace:
    """The steps of a function's call, and whether and when they may run again for other
    arguments.
    """

    def __init__(self, workers: int) -> None:
        self.run, self.workers = Run(), workers
        self.steps: list[Any] = []
        self.given: list[Node] = []  # the arguments that are traced, by their places
        self.places: list[Any] = []
        self.held: dict[int, tuple[Node, Any, bytes]] = {}  # arrays that are no arguments
        self.numbers: dict[int, Any] = {}  # NumPy's numbers that are none
        self.attributes: dict[int, tuple[int, str, Any]] = {}  # memory: place of its owner, name
        self.sources: dict[Node, frozenset[Node]] = {}
        self.fixed: set[int] = set()  # arguments whose value the function saw
        self.plain: set[int] = set()  # places of arguments that the function needs as they are
        self.put_off = 0  # operations recorded since the pending ones were last cut
        self.sized = False  # the function has read a size
        self.lost = False  # the function has read values: no second call by this trace
        self.unfused = False  # the function has memory to write into
        self.closed = False
        self.constants: tuple[Any, ...] = ()  # the arguments that are numbers
        self.signature: Any = None
        self.entry, self.entry_modes = modes(), np.geterr()
        self.entry_call: Any = np.geterrcall()
        self.outer: Any = None  # np.errstate outside, where set inside
        self.result: Any = None
        self.count = 0

    # --- nodes

    def node(self, sources: Any, **how: Any) -> Node:
        node = Node(self.count, **how)
        self.count += 1
        self.sources[node] = frozenset().union(*(self.sources[n] for n in sources))
        return node

    def argument(self, value: Any, place: Any) -> Node:
        node = self.node(())
        node.seen = True
        self.sources[node] = frozenset({node})
        self.given.append(node)
        self.places.append(place)
        self.run.set(node, value)
        return node

    def attribute(self, value: Any, place: int, name: str) -> None:
        """Memory that is an attribute of an argument; which of two has been read is not known."""
        self.lost |= id(value) in self.attributes
        self.attributes[id(value)] = place, name, value

    def hold(self, value: Any) -> Node:
        if id(value) not in self.held:
            node = self.node(())
            node.seen = True
            self.sources[node] = frozenset({node})
            self.run.set(node, value)
            self.held[id(value)] = node, value, host(value).tobytes()
            if id(value) not in self.attributes:  # of a part of one: of another array next time
                others = (host(other) for *_, other in self.attributes.values())
                self.lost |= any(np.may_share_memory(host(value), other) for other in others)
        return self.held[id(value)][0]

    def check_held(self) -> None:
        """Raise where arrays that are no arguments are not as the function found them."""
        for key, (node, value, before) in self.held.items():
            if before != host(value).tobytes():
                raise TypeError(
                    "fused: the function changes an array that it also computes with and that is no"
                    " argument; pass this array as an argument, or write to another one"
                )
            self.held[key] = node, value, b""
        for key, (place, name, _) in self.attributes.items():  # read at each call, kept by none
            self.attributes[key] = place, name, None
            if key in self.held:
                self.held[key] = self.held[key][0], None, b""

    def outside(self) -> list[Any]:
        """The arrays and NumPy numbers that the function has found outside of its arguments, or has
        made: the former are the same at the next call.
        """
        held = [value for key, (_, value, _) in self.held.items() if key not in self.attributes]
        return [place_of(value) for value in (*held, *self.numbers.values())]

    # --- what the function sees

    def flush(self, targets: Any, outs: tuple[Any, ...] = ()) -> None:
        """Work nodes out."""
        while left := [n for n in dict.fromkeys(targets) if self.run.pending(n)]:
            root = self.run.get(left[0])
            alike = [n for n in left if op.same_frame(self.run.get(n), root)][:8]
            before = obstacle(self.run, alike)
            if before is not None:
                self.flush([before])
                continue
            segment = Segment(self.run, alike)
            self.steps.append(segment)
            with np.errstate(call=self.entry_call, **self.entry_modes):  # as the function began
                segment.execute(self.run, self.workers, outs if alike == list(targets) else ())

    def is_outside(self, value: Any) -> bool:
        """Whether a value may lie in the memory of an argument, or of an array that is none."""
        nodes = (*self.given, *(node for node, *_ in self.held.values()))
        found = filter(is_memory, map(self.run.get, nodes))
        return any(np.may_share_memory(host(value), host(other)) for other in found)

    def places_behind(self, node: Node) -> list[int]:
        """The arguments, by their places, that a number is computed of."""
        return [self.places[self.given.index(n)] for n in self.sources[node] if n in self.given]

    def real(self, node: Node) -> Any:
        self.flush([node])
        return self.run.get(node)

    def leak(self, node: Node) -> Any:
        """A value that the function sees: it may do anything with it."""
        value = self.real(node)
        for source in self.sources[node]:
            if source in self.given and is_number(self.run.get(source)):
                self.fixed.add(self.given.index(source))
            else:
                self.lost = True
        if is_memory(value):
            node.seen = True
            self.retreat()
        return value

    def retreat(self) -> None:
        """Put nothing off from here on: memory that is read may be written."""
        if not self.unfused:
            self.flush(self.waiting())
            self.lost = self.unfused = True

    def waiting(self) -> list[Node]:
        return [n for n in self.sources if self.run.pending(n)]

    # --- operations

    def record(
        self,
        name: str,
        loop: op.Loop,
        inputs: Any,
        dtypes: Any,
        how: tuple[Any, Any],
        quiet: bool = False,
    ) -> Any:
        """The nodes of an operation's results; None: it has to run unfused."""
        if self.put_off >= 2 * MOST_OPERATIONS:  # the time to divide more grows with their square
            self.put_off = 0
            self.flush([n for n in inputs if isinstance(n, Node)])
        own: Any = dict.fromkeys(np.geterr(), "ignore") if quiet else self.own_modes()
        if self.unfused or (own and {"raise", "call", "log"} & {*own.values()}):
            return None  # the function may catch an error
        values = [self.run.get(n) if isinstance(n, Node) else n for n in inputs]
        if name in ("power", "float_power") and is_memory(values[1]):
            return None  # NumPy squares where an exponent of 2 has stride 0, and its bits differ
        for value, wanted in zip(values, loop.types, strict=False):
            if is_memory(value):
                if not can_fuse(value):
                    return None
            elif op.number_bytes(value, wanted) is None:
                return None
        try:
            like = how[0](values)
        except Exception:  # the unfused call says it
            return None
        if not all(
            is_memory(v) and v.ndim and v.dtype == d for v, d in zip(like, dtypes, strict=True)
        ):
            return None
        if not all(goes_along(v, like[0]) for v in values if is_memory(v)):
            return None
        operation = op.Operation(
            name, loop, tuple(inputs), tuple(dtypes), how[0], how[1], own, line()
        )
        self.put_off += 1
        sources = [n for n in inputs if isinstance(n, Node)]
        made = []
        for part, value in enumerate(like):
            made.append(self.node(sources, operation=operation, part=part))
            self.run.set(made[-1], value, real=False)
        return made

    def own_modes(self) -> Any:
        """np.geterr() where the function itself has set np.errstate; else None."""
        now = modes()
        if now is self.entry or now == self.entry:
            return None
        self.outer = self.outer or self.entry_modes
        return np.geterr()

    def eager(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """A step that runs unfused; nodes stand for their values."""
        nodes = [part for part in leaves((args, kwargs)) if isinstance(part, Node)]
        step = Eager(function, args, kwargs, self.own_modes(), line())
        try:
            self.flush(nodes)
            value = step.execute(self.run, self.workers)
        except Exception:
            self.lost = True  # the function may catch it
            raise
        parts = value if type(value) is tuple else (value,)
        step.kind = kind(value)
        step.barrier = any(map(is_memory, (*parts, *map(self.run.get, nodes))))
        if not all(
            is_memory(part) or (is_number(part) and type(part) is not bool) for part in parts
        ):
            fact = value is None or isinstance(value, (bool, str, np.dtype))
            for n in nodes:  # another object may hold their memory
                if not fact or is_number(self.run.get(n)):
                    self.leak(n)
            self.lost |= not fact or any(is_memory(self.run.get(n)) for n in nodes)
            return value
        made = []
        for part in parts:
            node = self.node(nodes)
            node.seen = is_memory(part) and self._shared(part)
            made.append(node)
            self.run.set(node, part)
        step.nodes = tuple(made)
        self.steps.append(step)
        return made[0] if type(value) is not tuple else tuple(made)

    def _shared(self, value: Any) -> bool:
        """Whether a value may lie in the memory of others, which are marked then."""
        found = False
        for node in self.sources:
            other = self.run.values.get(node.index) if node.index in self.run.real else None
            if is_memory(other) and np.may_share_memory(host(value), host(other)):
                node.seen = found = True
        return found

    def view(self, node: Node, function: Any) -> Any:
        """Part of a value, or its indices in another order: no step, but where it lies."""
        base = self.real(node)
        try:
            value = function(base)
        except Exception:
            self.sized = True  # the function may catch it
            raise
        if (
            not is_memory(value)
            or not value.ndim
            or not np.may_share_memory(host(base), host(value))
        ):
            return self.eager(function, node)
        made = self.node((node,))
        made.base, made.function = node, function
        made.seen = node.seen = True
        self.run.set(made, value)
        return made

    # --- once more

    def ends(self, step: Any) -> bool:
        """Whether a segment's targets are the results, in their order."""
        results = self.result if type(self.result) is tuple else (self.result,)
        return isinstance(step, Segment) and step.targets == results

    def replay(self, given: Any, workers: int, outs: tuple[Any, ...]) -> tuple[Any, Run]:
        run = Run()
        for node, place in zip(self.given, self.places, strict=True):
            run.set(node, given[place])
        for key, (node, value, _) in self.held.items():
            place, name, _ = self.attributes.get(key, (0, "", None))
            run.set(node, attributes_of(given[place])[name] if name else value)
        try:
            for step in self.steps:
                last = outs if step is self.steps[-1] and self.ends(step) else ()
                step.execute(run, workers, last)
            return swapped(self.result, lambda n: run.get(n) if isinstance(n, Node) else n), run
        except Exception as error:
            raise Changed from error  # the function says it, or catches it


def line() -> str:
    """Where the function stands, for `explain`."""
    frame = sys._getframe(1)
    while frame is not None and "gridbuf/fusing" in frame.f_code.co_filename.replace("\\", "/"):
        frame = frame.f_back  # type: ignore[assignment]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def method(name: str) -> Any:
    def call(obj: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(obj, name)(*args, **kwargs)

    call.__name__ = name
    return call
