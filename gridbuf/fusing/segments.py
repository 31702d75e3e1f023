"""Segments: operations that run as one kernel, tile by tile.

A segment is compiled once a trace, by Go: loops, and slots for what one gives to the next. For
operands that lie otherwise than before it is bound anew: sizes, strides, and what the results are
like.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gridbuf import _core
from gridbuf.fusing.operations import (
    CAST,
    WEAK,
    Loop,
    Operation,
    as_bytes,
    axes_of,
    can_fuse,
    empty_like,
    host,
    is_memory,
    is_number,
    names_of,
)
from gridbuf.gufunc.operands import number_of

MOST_OPERANDS, MOST_OPERATIONS, MOST_CALLS = 16, 100, 16
Axes = tuple[int, ...]


class Node:
    """A value of a trace. `operation` None: it is given, or worked out by an unfused step."""

    __slots__ = ("base", "function", "index", "operation", "part", "seen")

    def __init__(self, index: int, operation: Operation | None = None, part: int = 0) -> None:
        self.index, self.operation, self.part = index, operation, part
        self.base: Node | None = None  # of a view
        self.function: Any = None  # makes a view of the base
        self.seen = False  # something else may share its memory


class Run:
    """The values of one call. Those of operations that have not run are memory without contents."""

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        self.real: set[int] = set()
        self.raised: list[Any] = []
        self.saved = 0  # bytes of temporaries that did not travel to memory and back

    def set(self, node: Node, value: Any, real: bool = True) -> None:
        self.values[node.index] = value
        if real:
            self.real.add(node.index)

    def get(self, node: Node) -> Any:
        if node.index not in self.values and node.base is not None:
            self.set(node, node.function(self.get(node.base)))
        return self.values[node.index]

    def pending(self, node: Node) -> bool:
        return node.operation is not None and node.index not in self.real


class Changed(Exception):
    """The operands do not fit the trace: another trace is needed."""


def composed(outer: Axes, inner: Axes) -> Axes:
    return tuple(-1 if a < 0 else inner[a] for a in outer)


def through(run: Run, operation: Operation, axes: Axes, node: Node) -> Iterable[tuple[Any, Axes]]:
    """The inputs of an operation that have memory, and their indices along the frame's."""
    for given in operation.inputs:
        if isinstance(given, Node) and is_memory(value := run.get(given)):
            yield given, composed(axes, axes_of(value, run.get(node)))


def reached(
    run: Run, targets: Sequence[Node]
) -> tuple[dict[Node, Axes], dict[Any, None], Node | None]:
    """The operations to run for the targets, latest first, with the axes of their values; the
    operands (node, axes); and a node that has to be worked out before, by itself.
    """
    root = run.get(targets[0])
    found = dict.fromkeys(targets, tuple(range(root.ndim)))
    leaves: dict[Any, None] = {}
    done: dict[Node, Axes] = {}
    turned: dict[int, Axes] = {}  # of operations: all parts of one go along alike
    while found:
        node = max(found, key=lambda n: n.index)
        axes = done[node] = found.pop(node)
        assert node.operation is not None
        if turned.setdefault(id(node.operation), axes) != axes:
            return done, leaves, node
        for given, own in through(run, node.operation, axes, node):
            if not run.pending(given):
                leaves[given, own] = None
                continue
            sizes = tuple(run.get(given).shape[a] for a in own if a >= 0)
            if (
                sizes != root.shape
                or len(own) != run.get(given).ndim
                or found.get(given, own) != own
            ):
                return done, leaves, given
            found[given] = own
    return done, leaves, None


def obstacle(run: Run, targets: Sequence[Node]) -> Node | None:
    """A node without which the targets cannot be one segment, or too large a one."""
    done, leaves, node = reached(run, targets)
    if node is not None:
        return node
    limit = MOST_OPERANDS - len(targets)
    if len(leaves) <= limit and len(done) <= MOST_OPERATIONS:
        return None
    best, most = None, 0
    for node in sorted(done, key=lambda n: n.index):
        if most == MOST_OPERATIONS // 2:
            break
        if node in targets:
            continue
        part, own, _ = reached(run, [node])
        if len(own) < MOST_OPERANDS and len(part) <= MOST_OPERATIONS // 2 and len(part) > most:
            best, most = node, len(part)
    return best


class Segment:
    """Operations whose results are the targets; the first one's indices are the frame."""

    def __init__(self, run: Run, targets: Sequence[Node]) -> None:
        self.axes, leaves, _ = reached(run, targets)
        self.targets = tuple(targets)
        self.nodes = sorted(self.axes, key=lambda n: n.index)
        self.leaves = list(leaves)
        self.calls: tuple[Any, ...] = ()
        program = _Program(self, run)
        self.parameters, self.operations = program.parameters, program.operations
        self.flags = 0
        for operation in self.operations:
            self.flags |= operation.loop.flags
        self.program, self.tile, self.room = program.compiled()
        bases = [base_of(node) for node, _ in self.leaves]
        numbers = [given for given, _ in self.parameters if isinstance(given, Node)]
        self.inputs: tuple[Node, ...] = tuple(dict.fromkeys((*bases, *numbers)))

    # --- for operands of some sizes

    def bind(
        self,
        run: Run,
        objects: tuple[Any, ...],
        nodes: dict[Node, int],
        outs: tuple[Any, ...],
        *,
        scalars: tuple[Any, ...] = (),
        in_tuple: bool = True,
    ) -> Any:
        """A FusedCall: `objects` are its arguments, outs and what stays, `nodes` says which;
        `scalars` are numbers that are worked out of them.
        """
        for node in self.nodes:
            self._liken(run, node)
        frame = run.get(self.targets[0])
        for node, axes in self.axes.items():
            if tuple(run.get(node).shape[a] for a in axes) != frame.shape:
                raise Changed
        leaves = [
            (nodes[base_of(node)], *self._leaf(run, node, axes, frame))
            for node, axes in self.leaves
        ]
        for k, target in enumerate(self.targets):
            value = outs[k] if outs else run.get(target)
            axes = axes_of(value, frame)
            leaves.append((nodes[ARGUMENTS] + k if outs else -1 - k, 0, *_lies(value, axes, frame)))
        parameters = tuple(
            p if isinstance(p, bytes) else (nodes[p], number_of(dtype))
            for p, dtype in self.parameters
        )
        roles = tuple(map(_role, objects))
        results = tuple(template(run.get(t)) for t in self.targets)
        counts = (nodes[ARGUMENTS], len(outs))
        names = tuple(operation.name for operation in self.operations)
        return _core.FusedCall(
            self.program, counts, objects, roles, scalars, parameters, tuple(leaves), frame.shape,
            results, names, self.flags, in_tuple, self.saved(run),
        )  # fmt: skip

    def saved(self, run: Run) -> int:
        """The bytes of temporaries that do not travel to memory and back."""
        between = (run.get(n) for n in self.nodes if n not in self.targets)
        return sum(2 * host(value).nbytes for value in between)

    def _liken(self, run: Run, node: Node) -> None:
        """Make the result of an operation without values, unless it is there."""
        operation = node.operation
        assert operation is not None
        if node.index in run.values:
            return
        made = operation.like([run.get(n) if isinstance(n, Node) else n for n in operation.inputs])
        for other in self.nodes:
            if other.operation is operation:
                run.set(other, made[other.part], real=False)

    @staticmethod
    def _leaf(run: Run, node: Node, axes: Axes, frame: Any) -> tuple[int, int, tuple[int, ...]]:
        value = run.get(node)
        offset = address(value) - address(run.get(base_of(node)))
        return (offset, *_lies(value, axes, frame))

    # --- running

    def execute(self, run: Run, workers: int, outs: tuple[Any, ...] = ()) -> None:
        """Work the targets out, into outs where they fit and nothing that is read lies there."""
        objects = tuple(map(run.get, self.inputs))
        found = None
        for into in (outs, ()) if outs and all(o is not None for o in outs) else ((),):
            if found is None and self.program is not None:
                try:
                    found = self._found(run, objects, into, workers)
                except (TypeError, ValueError):  # the unfused calls say it
                    break
        if found is None:
            self.unfused(run)
            return
        for target, value in zip(self.targets, found, strict=True):
            run.set(target, value)

    def takes(self, run: Run, outs: tuple[Any, ...]) -> bool:
        """Whether the targets can be written straight into outs."""
        return all(_takes(out, run.get(t)) for out, t in zip(outs, self.targets, strict=True))

    def _found(
        self, run: Run, objects: tuple[Any, ...], outs: tuple[Any, ...], workers: int
    ) -> Any:
        for call in self.calls:
            result, flags = call.run(objects, outs, workers)
            if result is not NotImplemented:
                return self._report(run, call, result, flags)
        nodes = {node: i for i, node in enumerate(self.inputs)} | {ARGUMENTS: len(objects)}
        if outs:
            for node in self.nodes:
                self._liken(run, node)
            if not self.takes(run, outs):
                return None
        call = self.bind(run, (*objects, *outs), nodes, outs)
        result, flags = call.run(objects, outs, workers)
        if result is NotImplemented:
            return None
        self.calls = (call, *self.calls[: MOST_CALLS - 1])
        return self._report(run, call, result, flags)

    def _report(self, run: Run, call: Any, result: Any, flags: bytes) -> Any:
        run.saved += call.saved
        if any(flags):
            groups: list[Any] = []
            for k, operation in enumerate(self.operations):
                if flags[k] and operation.modes not in groups:
                    groups.append(operation.modes)
            for modes in groups:
                own = bytes(
                    f if k < len(self.operations) and self.operations[k].modes == modes else 0
                    for k, f in enumerate(flags)
                )
                run.raised.append((call, own, modes))
        return result

    def unfused(self, run: Run) -> None:
        """Run one operation after the other, as the function does."""
        values: dict[Any, Any] = {}
        for node in self.nodes:
            operation = node.operation
            assert operation is not None
            if id(operation) not in values:
                given = [
                    n
                    if not isinstance(n, Node)
                    else values[id(n.operation)][n.part]
                    if id(n.operation) in values and run.pending(n)
                    else run.get(n)
                    for n in operation.inputs
                ]
                with np.errstate(**(operation.modes or {})):
                    values[id(operation)] = operation.call(given)
        for target in self.targets:
            run.set(target, values[id(target.operation)][target.part])


ARGUMENTS = Node(-1)  # how many there are of them


class _Program:
    """The steps of a segment, and what Go makes of them."""

    def __init__(self, segment: Segment, run: Run) -> None:
        self.segment, self.run = segment, run
        self.parameters: list[Any] = []  # (node or the bytes of a number, dtype)
        self.operations: list[Operation] = []  # one for each step
        self.steps: list[tuple[Any, ...]] = []
        self.made: dict[Any, Any] = {}  # of nodes and conversions: (step, part)
        emitted: dict[int, int] = {}
        for node in segment.nodes:
            operation = node.operation
            assert operation is not None
            n = len(operation.inputs)
            if id(operation) not in emitted:
                values = [self.value(node, operation, k) for k in range(n)]
                emitted[id(operation)] = self.step(operation, operation.loop, values, n)
            made = "step", emitted[id(operation)], node.part
            given, wanted = operation.loop.types[n + node.part], operation.dtypes[node.part]
            self.made[node] = self.converted(operation, made, given, wanted)

    def step(self, operation: Operation, loop: Loop, values: list[Any], n: int) -> int:
        self.steps.append((loop, values, loop.types[n:]))
        self.operations.append(operation)
        return len(self.steps) - 1

    def converted(self, operation: Operation, value: Any, have: Any, want: Any) -> Any:
        if have == want:
            return value
        key = value, want
        if key not in self.made:
            loop = Loop(CAST, 0, 0, 0, (have, want))
            self.made[key] = "step", self.step(operation, loop, [value], 1), 0
        return self.made[key]

    def value(self, node: Node, operation: Operation, k: int) -> Any:
        """Input k of a node's operation, in the type that the loop takes."""
        given, want = operation.inputs[k], operation.loop.types[k]
        value = self.run.get(given) if isinstance(given, Node) else given
        if is_memory(value):
            place = self.made.get(given)
            if place is None:
                axes = composed(self.segment.axes[node], axes_of(value, self.run.get(node)))
                place = "leaf", self.segment.leaves.index((given, axes)), 0
            return self.converted(operation, place, value.dtype, want)
        own = want if type(value) in WEAK else np.dtype(type(value))
        parameter = (given, own) if isinstance(given, Node) else (as_bytes(value, own), own)
        if parameter not in self.parameters:
            self.parameters.append(parameter)
        place = "parameter", self.parameters.index(parameter), 0
        return self.converted(operation, place, own, want)

    def compiled(self) -> tuple[Any, int, int]:
        """The program, elements of a tile, bytes of scratch memory; no program where Go cannot be
        asked: in a forked child of a process that did.
        """
        first = {"leaf": 0, "parameter": len(self.segment.leaves)}
        number = first["parameter"] + len(self.parameters)
        numbers: list[int] = []
        for _, _, types in self.steps:
            numbers.append(number)
            number += len(types)

        def of(place: Any) -> int:
            kind, index, part = place
            return int(numbers[index] + part if kind == "step" else first[kind] + index)

        leaves = [number_of(self.run.get(node).dtype) for node, _ in self.segment.leaves]
        parameters = [number_of(dtype) for _, dtype in self.parameters]
        words = [len(leaves), *leaves, len(parameters), *parameters, len(self.steps)]
        for loop, values, types in self.steps:
            words += loop.kind, loop.function, loop.data, len(values), *map(of, values)
            words += len(types), *map(number_of, types)
        words += len(self.segment.targets), *(of(self.made[t]) for t in self.segment.targets)
        try:
            program: tuple[Any, int, int] = _core.fuse(words)
            return program
        except RuntimeError:
            return None, 0, 0


def base_of(node: Node) -> Node:
    """The node whose memory a view shows."""
    while node.base is not None:
        node = node.base
    return node


def address(value: Any) -> int:
    return int(host(value).ctypes.data)


def _lies(value: Any, axes: Axes, frame: Any) -> tuple[int, tuple[int, ...]]:
    """Type and strides of an operand along the frame; 0 where it is broadcast."""
    array = host(value)
    if not all(
        a < 0 or array.shape[a] in (1, size) for a, size in zip(axes, frame.shape, strict=True)
    ):
        raise ValueError("operands do not broadcast")
    strides = tuple(
        array.strides[a] if a >= 0 and array.shape[a] == size else 0
        for a, size in zip(axes, frame.shape, strict=True)
    )
    return number_of(array.dtype), strides


def _role(value: Any) -> int:
    """As pyext/fused/fused.h has them: memory, a number of any value, this very object."""
    return 0 if is_memory(value) else 1 if is_number(value) and type(value) is not bool else 2


def _takes(out: Any, value: Any) -> bool:
    """Whether a result can be written straight into out: what an assignment would do is no more."""
    if not is_memory(out) or out.dtype != value.dtype or out.ndim != value.ndim:
        return False
    own, names = names_of(out), names_of(value)
    if own is not None and names is not None and sorted(own) != sorted(names):
        return False
    axes = axes_of(out, value)
    if not can_fuse(out) or tuple(out.shape[a] for a in axes) != value.shape:
        return False
    # NumPy 2.5's isfinite and signbit write wrong values where neighbours of out lie apart.
    strides = [(out.strides[a], value.strides[k]) for k, a in enumerate(axes) if out.shape[a] > 1]
    return out.dtype != bool or not strides or (1, 1) in strides


def template(value: Any) -> Any:
    """A model of results without the memory: a Field, strides of an array, or a function that
    makes one.
    """
    if isinstance(value, _core.Field):
        return value
    if type(value) is np.ndarray:
        model = np.lib.stride_tricks.as_strided(
            np.empty(1, value.dtype), value.shape, value.strides
        )
        if np.empty_like(model).strides == value.strides:
            return model
    return partial(empty_like, value, value.dtype)
