"""gridbuf.fused: a function whose elementwise operations run as one."""

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.fusing.operations import (
    attributes_of,
    host,
    is_memory,
    is_number,
    signature,
    structure,
)
from gridbuf.fusing.segments import ARGUMENTS, Changed, Node, Run, Segment
from gridbuf.fusing.traced import NotTraced, Traced
from gridbuf.fusing.traces import Eager, Same, Trace, leaves, swapped
from gridbuf.named.broadcasting import WEAK_SCALARS

MOST_TRACES, MOST_DIRECT = 256, 32
_HAVE_ARGUMENTS = (MethodType, functools.partial)  # functions that have some already
_ARRAYS = (
    "__array_ufunc__",
    "__array__",
    "__dlpack__",
    "__array_interface__",
    "__cuda_array_interface__",
)


class Fused(_core.FusedFunction):
    """A fused function; see `gridbuf.fused`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"function: expected a callable, got {type(function).__name__}")
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            parameters = {}  # type: ignore[assignment]
        for name in ("out", "workers"):
            if name in parameters:
                raise TypeError(
                    f"fused: the function has a parameter {name!r}, which is a keyword of every"
                    " fused function; give it another name"
                )
        own = ("__dict__",) if isinstance(function, FunctionType) else ()
        functools.update_wrapper(self, function, updated=own)
        self._function, self._name = function, getattr(function, "__name__", "function")
        self._traces: dict[Any, list[Trace]] = {}
        # For each key, the arrays that are no arguments of its latest call whose trace is not kept
        self._outside: dict[Any, list[Any]] = {}
        self._keeping = threading.Lock()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        binds = hasattr(type(self._function), "__get__") and not isinstance(
            self._function, (staticmethod, *_HAVE_ARGUMENTS)
        )
        return self if instance is None or not binds else MethodType(self, instance)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        return self.__qualname__ if found is self else (Fused, (self._function,))

    def traces(self) -> int:
        """How many traces are kept."""
        return sum(map(len, self._traces.values()))

    def clear(self) -> None:
        """Forget all traces."""
        self._traces, self._outside, self._direct = {}, {}, ()

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """What a call with these arguments does: operations, tiles, temporaries and barriers."""
        kwargs = {name: value for name, value in kwargs.items() if name not in ("out", "workers")}
        given = (*args, *kwargs.values())
        trace, _, run = self._traced(given, args, kwargs, 0, ())
        kept = not trace.lost
        if outside := trace.outside():
            kept &= self._traced(given, args, kwargs, 0, ())[0].outside() == outside
        return Explanation(self._name, trace.steps, run, kept)

    # --- a call that is not known to C

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[Any, list[Any]]:
        options = dict(kwargs or {})
        out, workers = options.pop("out", None), options.pop("workers", None)
        given = (*args, *options.values())
        outs = () if out is None else out if isinstance(out, tuple) else (out,)
        distributed = sys.modules.get("gridbuf.distributed.blocks")
        if distributed and any(isinstance(v, distributed.Blocks) for v in (*given, *outs)):
            return self._by_blocks(distributed, args, options, out, workers), []
        if _holds_traced(given):  # within another fused function
            return _into(out, self._function(*args, **options)), []
        if not WEAK_SCALARS or not all(map(_known, given)):
            return _into(out, self._function(*args, **options)), []
        for value in outs:
            if value is not None and not hasattr(type(value), "shape"):
                raise TypeError(
                    "out: expected an array, a Field or a storage, or a tuple of them, got"
                    f" {type(value).__name__}"
                )
            if is_memory(value) and not host(value).flags.writeable:
                value[...] = value  # raises what an assignment raises
        key = self._key(args, options)
        kept = True
        traces = self._traces.get(key, [])
        for trace in traces:
            if not _fits(trace, given):
                continue
            try:
                result, run = trace.replay(given, workers or 0, outs)
            except Changed:
                continue
            break
        else:
            trace, result, run = self._traced(given, args, options, workers or 0, outs)
            kept = self._keep(key, trace)
        self.saved += run.saved
        found = _into(out, result)
        if kept:
            self._make_direct(trace, given, tuple(options), outs, run)
        return found, run.raised

    def _by_blocks(
        self, distributed: Any, args: Any, options: dict[str, Any], out: Any, workers: Any
    ) -> Any:
        """A call with `gbd.Blocks`. A barrier may be a reduction, which Blocks refuse along dims
        that their grid cuts: such a function is called with the Blocks themselves.
        """
        from gridbuf.distributed import blockwise

        kind, given = distributed.Blocks, (*args, *options.values())
        blocks = [value for value in given if isinstance(value, kind)]
        like = blockwise.common(blocks, self._name) if blocks else None
        if like is None or not like._parts:
            return _into(out, self._function(*args, **options))
        for i, value in enumerate(given):
            if not isinstance(value, kind):
                blockwise.check_operand(value, f"args[{i}]", like._partition)
        first = [blockwise.picked(value, kind, 0, like) for value in given]
        named = dict(zip(options, first[len(args) :], strict=True))
        key = self._key(first[: len(args)], named)
        if key not in self._traces:
            for _ in range(2):  # arrays that are no arguments are found by two calls
                self(*first[: len(args)], **named)
        traces = self._traces.get(key)
        steps = [step for trace in traces or () for step in trace.steps]
        if not traces or any(isinstance(step, Eager) and step.barrier for step in steps):
            return _into(out, self._function(*args, **options))
        options |= {"out": out, "workers": workers}
        found = blockwise.call(kind, distributed.make, self._name, self, args, options)
        return found if out is None else out

    def _keep(self, key: Any, trace: Trace) -> bool:
        """Keep a trace, unless it is good for one call. Arrays that are no arguments are to be the
        same in two calls: those that the function makes, perhaps of others, are not.
        """
        if trace.lost:
            return False
        outside = trace.outside()
        read = tuple((i, repr(trace.constants[i])) for i in sorted(trace.fixed))
        call = key, read, trace.signature if trace.sized else None
        with self._keeping:
            if outside and self._outside.pop(call, None) != outside:
                self._outside[call] = outside
                if len(self._outside) > MOST_TRACES:
                    del self._outside[next(iter(self._outside))]
                return False
            self._traces[key] = [trace, *self._traces.pop(key, [])]
            while self.traces() > MOST_TRACES:
                del self._traces[next(iter(self._traces))]
        return True

    def _key(self, args: Any, options: dict[str, Any]) -> Any:
        """The facts of a call that a trace depends on."""
        own = _flag(self._function) if isinstance(self._function, _HAVE_ARGUMENTS) else None
        return own, _key(args), tuple(options), _key(tuple(options.values()))

    def _traced(
        self,
        given: tuple[Any, ...],
        args: tuple[Any, ...],
        options: dict[str, Any],
        workers: int,
        outs: tuple[Any, ...],
    ) -> tuple[Trace, Any, Run]:
        """The trace of a call, its result and its values. The function is called again where some
        arguments have to be passed as they are, even if it has caught what says so.
        """
        plain: set[int] = set()
        while True:
            trace = Trace(workers)
            try:
                found = self._traced_once(trace, plain, given, args, options, outs)
            except (Exception, NotTraced):
                if not trace.plain:
                    raise
            else:
                if not trace.plain:
                    return found
            plain |= trace.plain

    def _traced_once(
        self,
        trace: Trace,
        plain: set[int],
        given: tuple[Any, ...],
        args: tuple[Any, ...],
        options: dict[str, Any],
        outs: tuple[Any, ...],
    ) -> tuple[Trace, Any, Run]:
        """Call the function with traced arguments, but for those at the places of `plain`."""

        def enter(value: Any, place: int) -> Any:
            if is_memory(value) or (is_number(value) and type(value) is not bool):
                node = trace.argument(value, place)
                if place not in plain:
                    return Traced(trace, node)
                trace.fixed.add(trace.given.index(node))
                trace.lost |= is_memory(value)
            return value

        entered = [enter(value, i) for i, value in enumerate(given)]
        trace.signature = tuple(map(signature, given))
        trace.constants = tuple(value if is_number(value) else None for value in given)
        for place, value in enumerate(given):
            for name, part in attributes_of(value).items():
                if is_memory(part):
                    trace.attribute(part, place, name)
        try:
            found = self._function(
                *entered[: len(args)], **dict(zip(options, entered[len(args) :], strict=True))
            )
            trace.result = _result(trace, found)
            for value in given:
                _make_real(trace, value)
            trace.check_held()
            trace.flush([part for part in leaves(trace.result) if isinstance(part, Node)], outs)
        finally:
            trace.closed = True
        run = trace.run
        result = swapped(trace.result, lambda n: run.get(n) if isinstance(n, Node) else n)
        trace.run = Run()
        return trace, result, run

    def _make_direct(
        self,
        trace: Trace,
        args: tuple[Any, ...],
        names: tuple[str, ...],
        outs: tuple[Any, ...],
        run: Run,
    ) -> None:
        """Such a call is C's next time: arithmetic of numbers, one segment, and nothing else."""
        before: list[Any] = trace.steps[:-1]
        segment: Any = trace.steps[-1] if trace.steps else None
        if trace.lost or trace.fixed or trace.sized or not trace.ends(segment):
            return
        if isinstance(self._function, _HAVE_ARGUMENTS):  # C does not see these
            return
        passed = (i for i in range(len(args)) if i not in trace.places)
        if (
            segment.program is None
            or any(operation.modes for operation in segment.operations)
            or any(out is None for out in outs)
            or len(outs) not in (0, len(segment.targets))
            or (len(outs) == 1 and type(trace.result) is tuple)
            or (outs and not segment.takes(run, outs))
            or not all(args[i] is None or type(args[i]) is bool for i in passed)
        ):
            return
        held = tuple(trace.held.values())
        first = len(args) + len(outs)
        nodes: dict[Node, int] = dict(zip(trace.given, trace.places, strict=True))
        nodes |= {node: first + k for k, (node, *_) in enumerate(held)} | {ARGUMENTS: len(args)}
        scalars: list[Any] = []
        for step in before:
            scalar = step.scalar(nodes, run) if isinstance(step, Eager) else None
            if scalar is None:
                return
            nodes[step.nodes[0]] = first + len(held) + len(scalars)
            scalars.append(scalar)
        if not all(node in nodes for node in segment.inputs):
            return
        objects = (*args, *outs, *(value for _, value, _ in held))
        in_tuple = type(trace.result) is tuple
        try:
            call = segment.bind(
                run, objects, nodes, outs, scalars=tuple(scalars), in_tuple=in_tuple
            )
        except (Changed, TypeError, ValueError):
            return
        self._direct = ((names, call), *(self._direct or ())[: MOST_DIRECT - 1])


def _known(value: Any) -> bool:
    """Whether a value is traced, or passed through as it is; other arrays make a call unfused."""
    return is_memory(value) or is_number(value) or not any(hasattr(type(value), n) for n in _ARRAYS)


def _key(values: Any) -> tuple[Any, ...]:
    """The facts of the arguments that a trace depends on: of traced ones the structure, of
    others identity or value.
    """
    return tuple(
        structure(value)
        if is_memory(value)
        else type(value)
        if is_number(value) and type(value) is not bool
        else _argument(value)
        for value in values
    )


def _flag(value: Any) -> Any:
    """The facts of an object that the function may read: identity or value, of itself, of its parts
    and of its attributes.
    """
    cls = type(value)
    if cls in (int, float, str, bool):
        return _plain(value)
    if isinstance(value, functools.partial):
        return _flag(value.func), _flag(value.args), _flag(value.keywords)
    if isinstance(value, MethodType):
        return _plain(value.__func__), _flag(value.__self__)
    parts = _parts(value)
    if parts is not None and cls in _CONTAINERS:
        return parts
    attributes = tuple((name, _plain(part)) for name, part in attributes_of(value).items())
    if parts is not None:
        return parts, attributes
    return (Same(value), attributes) if attributes else _plain(value)


_CONTAINERS = (tuple, list, set, frozenset, dict)


def _parts(value: Any) -> Any:
    """The facts of what a container holds; None for other objects."""
    cls = type(value)
    if isinstance(value, (tuple, list)):
        return cls, tuple(map(_flag, value))
    if isinstance(value, (set, frozenset)):
        return cls, frozenset(map(_flag, value))
    if isinstance(value, dict):
        return cls, tuple((_flag(k), _flag(v)) for k, v in value.items())
    return None


def _argument(value: Any) -> Any:
    """The facts of an argument. Arrays that are its attributes are read anew at each call."""
    attributes = {} if isinstance(value, _CONTAINERS) else attributes_of(value)
    if not attributes:
        return _flag(value)
    facts = {n: signature(v) if is_memory(v) else _plain(v) for n, v in attributes.items()}
    return Same(value), tuple(facts.items())


def _plain(value: Any) -> Any:
    cls = type(value)
    if cls in (str, bytes, type(None), type(Ellipsis)) or isinstance(value, (type, np.dtype)):
        return cls, value
    if cls is slice:
        return cls, tuple(map(_plain, (value.start, value.stop, value.step)))
    if cls is range:
        return cls, repr(value)
    return (cls, repr(value)) if is_number(value) else Same(value)


def _fits(trace: Trace, given: tuple[Any, ...]) -> bool:
    """Whether arguments whose values the function read have the same values again."""
    seen = (trace.places[i] for i in trace.fixed)
    if trace.outer is not None and trace.outer != np.geterr():
        return False
    return all(_flag(given[i]) == _flag(trace.constants[i]) for i in seen) and (
        not trace.sized or tuple(map(signature, given)) == trace.signature
    )


def _result(trace: Trace, found: Any) -> Any:
    """The function's result, with nodes in the place of traced values."""
    if type(found) is Traced:
        return found._node if found._trace is trace else found._leak()
    if isinstance(found, tuple) and (type(found) is tuple or hasattr(found, "_make")):
        parts = [_result(trace, part) for part in found]
        return tuple(parts) if type(found) is tuple else type(found)._make(parts)  # type: ignore[attr-defined]
    if _holds_traced(found) or _holds_traced(attributes_of(found)):
        raise TypeError(
            f"fused: the function returns a {type(found).__name__}; return an array or a tuple of"
            " arrays"
        )
    if not (found is None or is_number(found) or isinstance(found, (str, bytes, type))):
        trace.lost = True  # the same object every time would share its memory
    return found


def _make_real(trace: Trace, value: Any) -> None:
    """Give traced values that the function has stored in an argument their real ones."""
    items = (
        value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    )
    for key, part in [*items]:
        if type(part) is Traced and part._trace is trace:
            value[key] = part._leak()
    for name, part in attributes_of(value).items():
        if type(part) is Traced and part._trace is trace:
            setattr(value, name, part._leak())


def _holds_traced(found: Any) -> bool:
    """Whether a traced value is among tuples, lists and dicts."""
    return any(type(part) is Traced for part in leaves(found))


def _into(out: Any, result: Any) -> Any:
    """The result in the memory of out, which is returned then."""
    if out is None:
        return result
    if isinstance(out, tuple) != isinstance(result, tuple) or (
        isinstance(out, tuple) and len(out) != len(result)
    ):
        raise TypeError(f"out: the function returns {_count(result)}; {_count(out)} was given")
    if result is None:
        raise TypeError("out: the function returns None")
    if not isinstance(out, tuple):
        return _assigned(out, result)
    arrays = [host(o) for o in out if is_memory(o)]
    for i, one in enumerate(arrays):
        if any(np.shares_memory(one, other) for other in arrays[:i]):
            raise ValueError("out: two outputs share memory; give each its own")
    if len(arrays) > 1:  # a result may be a view of another one's out
        result = tuple(
            r if o is None or r is o or not is_memory(r) else r.copy()
            for o, r in zip(out, result, strict=True)
        )
    return tuple(map(_assigned, out, result))


def _count(found: Any) -> str:
    return f"a tuple of {len(found)}" if isinstance(found, tuple) else "one array"


def _assigned(out: Any, value: Any) -> Any:
    if out is None or out is value:
        return value
    out[...] = value
    return out


class Explanation:
    """The steps of a call, as a table: print(f.explain(...)).

    Attributes
    ----------
    operations, barriers : int
        How many run fused, and how many steps run as they would unfused.
    saved : int
        Bytes of temporaries that do not travel to memory and back.
    room : int
        Bytes of scratch memory that a worker takes.
    """

    def __init__(self, name: str, steps: list[Any], run: Run, kept: bool) -> None:
        segments = [step for step in steps if isinstance(step, Segment)]
        self.operations = sum(len(segment.operations) for segment in segments)
        self.saved = sum(segment.saved(run) for segment in segments)
        self.room = max((segment.room for segment in segments), default=0)
        rows: list[tuple[str, str, str]] = []
        self.barriers = 0
        for step in steps:
            if isinstance(step, Segment):
                rows += _rows(step, run)
                continue
            self.barriers += step.barrier
            what = getattr(step.function, "__name__", repr(step.function))
            rows.append((f"{'barrier' if step.barrier else 'number '}  {what}", "", step.line))
        widths = [max((len(row[k]) for row in rows), default=0) for k in (0, 1)]
        head = (
            f"{name}: {self.operations} operations in {len(segments)} kernels,"
            f" {self.barriers} barriers; {self.saved / 1e6:.1f} MB of temporaries stay in the cache"
        )
        if not kept:
            head += "\nThe function looked at values: it is traced anew at each call."
        lines = (f"{a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in rows)
        self._text = "\n".join((head, *lines))

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def _rows(segment: Segment, run: Run) -> list[tuple[str, str, str]]:
    frame = run.get(segment.targets[0])
    kernel = (
        f"kernel   {' x '.join(map(str, frame.shape))}, tiles of {segment.tile} elements",
        f"{len(segment.leaves)} operands, {segment.room} bytes of temporaries a worker",
        "",
    )
    rows = [kernel if segment.program is not None else ("unfused: no Go in a forked child", "", "")]
    for operation in segment.operations:
        n = len(operation.inputs)
        types = [str(dtype) for dtype in operation.loop.types]
        rows.append(
            (
                f"  {operation.name}",
                f"{', '.join(types[:n])} -> {', '.join(types[n:])}",
                operation.line,
            )
        )
    return rows
