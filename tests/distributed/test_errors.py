"""Errors of arguments, plans and waits: each names the argument and the values, reaches the engine,
and leaves the grid usable.
"""

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from in_child import python

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf.distributed import calls
from gridbuf.distributed.calls import Waiting
from gridbuf.distributed.plans import checks
from gridbuf.distributed.plans import plan as plan_module
from gridbuf.distributed.plans.engines import LocalEngine, LocalTransport

GRID = gbd.grid((6, 4), blocks=(1, 1), periodic="I", halo=2)
CUBE = gbd.cubed_sphere(4, halo=1)
FOLD = gbd.tripolar((6, 4), halo=1)
FIELD = GRID.zeros()
LINK = (0, (slice(-1, 0), slice(0, 2)), 1, (slice(0, 1), slice(0, 2)))


def locked() -> gb.Field:
    array = np.zeros((10, 8))
    array.flags.writeable = False
    return gb.Field(array, dims="IJ", halo=(2, 2))


def deep(halo: tuple[int, int]) -> gb.Field:
    return gb.Field.zeros((10, 8, 7), dims="IJK", halo=(2, 2, halo))


def links(*given: Any) -> gbd.Grid:
    return gbd.links([(2, 2), (2, 2)], given)


VALUES: list[tuple[str, Callable[[], Any]]] = [
    ("shape: ", lambda: gbd.grid(())),
    ("shape: ", lambda: gbd.grid((3, -1))),
    ("dims: ", lambda: gbd.grid((3, 3), "IJK")),
    ("dims: ", lambda: gbd.grid((3, 3), "IX")),
    ("dims: ", lambda: gbd.grid((3, 3), "II")),
    ("blocks: 3 entries", lambda: gbd.grid((3, 3), blocks=(1, 1, 1))),
    ("blocks: 0", lambda: gbd.grid((3, 3), blocks=(0, 1))),
    ("cuts: blocks was given", lambda: gbd.grid((3, 3), blocks=(1, 1), cuts=([3], [3]))),
    ("cuts: .* 4 points, the grid has 3", lambda: gbd.grid((3, 3), cuts=([2, 2], [3]))),
    ("cuts: -1", lambda: gbd.grid((3, 3), cuts=([4, -1], [3]))),
    ("cuts: none along J", lambda: gbd.grid((3, 0), cuts=([3], []))),
    ("owners: 1 entries", lambda: gbd.grid((3, 3), blocks=(2, 1), owners=[0])),
    ("owners: there is no rank 1", lambda: gbd.grid((3, 3), blocks=(2, 1), owners=[0, 1])),
    ("owners: .* give blocks", lambda: gbd.grid((3, 3), owners=[0])),
    ("periodic: 'K'", lambda: gbd.grid((3, 3), periodic="K")),
    (
        r"dims: \('8', '6'\) are names, not sizes; a field has the grid's sizes",
        lambda: GRID.zeros((8, 6)),  # type: ignore[arg-type]
    ),
    ("periodic: 'I' has no points", lambda: gbd.grid((0, 3), periodic="I")),
    ("halo: -1", lambda: gbd.grid((3, 3), halo=-1)),
    ("halo: 3 entries", lambda: gbd.grid((3, 3), halo=(1, 1, 1))),
    ("halo: .* pair", lambda: gbd.grid((3, 3), halo=(1, (1, 2, 3)))),
    ("engine: 'gpu'", lambda: gbd.grid((3, 3), engine="gpu")),
    ("engine: 'mpi' needs a communicator", lambda: gbd.grid((3, 3), engine="mpi")),
    ("timeout: -1", lambda: gbd.grid((3, 3), timeout=-1)),
    ("timeout: nan", lambda: gbd.grid((3, 3), timeout=float("nan"))),
    ("shape: .* even", lambda: gbd.tripolar((5, 4))),
    ("shape: .* 3 dims", lambda: gbd.tripolar((4, 4, 4))),
    ("pivot: 'U'", lambda: gbd.tripolar((4, 4), pivot="U")),
    ("n: 0", lambda: gbd.cubed_sphere(0)),
    ("tiles: none", lambda: gbd.topology([], [])),
    ("tiles: ", lambda: gbd.topology([(3,), (3, 3)], [])),
    (r"seams\[0\]: there is no tile 2", lambda: gbd.topology([(3, 3)], [(0, "I+", 2, "I-")])),
    (r"seams\[0\]: 'K\+'", lambda: gbd.topology([(3, 3)], [(0, "K+", 0, "I-")])),
    (r"seams\[0\]: 'I'", lambda: gbd.topology([(3, 3)], [(0, "I", 0, "I-")])),
    (r"seams\[0\]: 3 entries", lambda: gbd.topology([(3, 3)], [(0, "I+", 0)])),
    (
        r"seams\[0\]: I\+ of tile 0 has 4 cells",
        lambda: gbd.topology([(3, 4)], [(0, "I+", 0, "J-")]),
    ),
    (
        r"seams\[1\]: I\+ of tile 0",
        lambda: gbd.topology([(3, 3)], [(0, "I+", 0, "I-"), (0, "I+", 0, "J-")]),
    ),
    ("shapes: none", lambda: gbd.links([], [])),
    (r"links\[0\]: there is no block 2", lambda: links((2, *LINK[1:]))),
    (
        r"links\[0\]: 1 points along I come from 2",
        lambda: links((*LINK[:3], (slice(0, 2), slice(0, 2)))),
    ),
    (r"links\[0\]: its source is 2 to 3", lambda: links((*LINK[:3], (slice(2, 3), slice(0, 2))))),
    (r"links\[0\]: .* owns", lambda: links((0, (slice(0, 1), slice(0, 2)), *LINK[2:]))),
    (r"links\[0\]: .* step 2", lambda: links((0, (slice(-1, 0), slice(0, 4, 2)), *LINK[2:]))),
    (r"links\[0\]: axes", lambda: links((*LINK, ("I", "-I")))),
    (r"links\[0\] and links\[1\]", lambda: links(LINK, LINK)),
    ("faces: 'K'", lambda: GRID.zeros("IK", sizes={"K": 2}, faces="K")),
    ("faces: 'J'", lambda: GRID.zeros("I", faces="J")),
    ("sizes: 'K' is missing", lambda: GRID.zeros("IK")),
    (r"sizes\['K'\]: -1", lambda: GRID.zeros("IK", sizes={"K": -1})),
    ("halo: ", lambda: GRID.zeros(halo=(1,))),
    (
        "its domain has 6 points along J .* 4 .centres. and 5",
        lambda: GRID.exchange(gb.Field.zeros((6, 6), dims="IJ")),
    ),
    ("3 points along I", lambda: GRID.exchange(gb.Field.zeros((3, 4), dims="IJ"))),
    ("got 2 fields, this rank has 1", lambda: GRID.exchange([FIELD, FIELD])),
    ("sign: 2", lambda: gbd.scalar(FIELD, sign=2)),
    ("names: 1 for 2", lambda: GRID.plan(FIELD, GRID.zeros(), names=["T"])),
    ("names: 1 for 2", lambda: GRID.plan(FIELD, GRID.zeros(), names=iter(["T"]))),
    ("dtype", lambda: GRID.exchange(gbd.vector(GRID.zeros(), GRID.zeros(dtype="f4")))),
    ("dims", lambda: GRID.exchange(gbd.vector(GRID.zeros(), GRID.zeros("I")))),
    (
        "sizes",
        lambda: GRID.exchange(
            gbd.pair(GRID.zeros("IJK", sizes={"K": 2}), GRID.zeros("IJK", sizes={"K": 3}))
        ),
    ),
    (
        r"its sizes is \[\('K', 7, \(1, 1\)\)\]",
        lambda: GRID.plan(gbd.vector(deep((1, 1)), deep((0, 2)))),
    ),
    (
        "its sizes on block",
        lambda: CUBE.plan(
            [
                gb.Field.zeros((6, 6, 7), dims="IJK", halo=(1, 1, (1 + i % 2, 2 - i % 2)))
                for i in range(6)
            ]
        ),
    ),
    (
        "I\\+ edge of tile 1|J\\+ edge of tile 0|I- edge of tile 0",
        lambda: CUBE.exchange(CUBE.zeros("I")),
    ),
    ("edge of tile", lambda: CUBE.exchange(CUBE.zeros(faces="I"))),
    ("edge of tile", lambda: CUBE.exchange(gbd.vector(CUBE.zeros(faces="I"), CUBE.zeros()))),
    (
        "int32 has no sign",
        lambda: CUBE.exchange(gbd.vector(CUBE.zeros(dtype="i4"), CUBE.zeros(dtype="i4"))),
    ),
    *(
        (
            ".* has no sign",
            lambda d=d: FOLD.plan(gbd.vector(FOLD.zeros(dtype=d), FOLD.zeros(dtype=d))),
        )
        for d in ("V8", "M8[s]", [("a", "f8")])
    ),
    ("bool has no sign", lambda: FOLD.exchange(gbd.scalar(FOLD.zeros(dtype=bool), sign=-1))),
    ("wider than the tile", lambda: CUBE.exchange(CUBE.zeros(halo=5))),
    ("two ways", lambda: FOLD.exchange(u := FOLD.zeros(), gbd.vector(u, FOLD.zeros()))),
    ("two ways", lambda: FOLD.exchange(gbd.vector(u := FOLD.zeros(), u))),
    (
        "shares memory with",
        lambda: GRID.exchange(FIELD, gb.Field(FIELD.numpy()[:], dims="IJ", halo=(2, 2))),
    ),
    ("read-only", lambda: GRID.exchange(locked())),
    ("dtype", lambda: CUBE.exchange([CUBE.zeros(dtype=("f4", "f8")[i % 2])[i] for i in range(6)])),
    (
        "positions",
        lambda: CUBE.exchange([CUBE.zeros(faces=("", "IJ")[i % 2])[i] for i in range(6)]),
    ),
    ("halo", lambda: CUBE.exchange([CUBE.zeros(halo=i % 2)[i] for i in range(6)])),
    ("points", lambda: GRID.core(gb.Field.zeros((2, 2), dims="IJ"))),
    ("timeout: -1", lambda: GRID.plan(FIELD).start(FIELD).wait(-1)),
    (
        "cuts: blocks was given",
        lambda: gbd.cubed_sphere(2, cuts=([2], [2]), blocks=np.array([1, 1])),
    ),
]
VECTOR = gbd.vector(FIELD, FIELD)

ITEMS: list[tuple[str, Callable[[], Any]]] = [  # where they say nothing
    ("field", lambda: GRID.sum(VECTOR)),
    ("field", lambda: GRID.argmin(VECTOR)),
    ("field", lambda: GRID.checksum(VECTOR)),
    ("field", lambda: GRID.core(VECTOR)),
    ("field", lambda: GRID.coordinates(VECTOR)),
    ("field", lambda: GRID.scatter(np.zeros((6, 4)), VECTOR)),
    ("field", lambda: GRID.redistribute(VECTOR, GRID)),
    ("T", lambda: GRID.save("never", T=VECTOR)),
    (r"fields\[0\]", lambda: GRID.plan(gbd.vector(VECTOR, FIELD))),
    ("T", lambda: GRID.plan(FIELD, names=["T"])(VECTOR)),
]

TYPES: list[tuple[str, Callable[[], Any]]] = [
    ("shape: ", lambda: gbd.grid("ab")),
    ("shape: ", lambda: gbd.grid((3, 2.5))),
    ("shape: ", lambda: gbd.grid((True, 3))),
    ("dims: ", lambda: gbd.grid((3,), 5)),
    ("blocks: ", lambda: gbd.grid((3, 3), blocks=4)),
    ("blocks: ", lambda: gbd.grid((3, 3), blocks="12")),
    ("cuts: ", lambda: gbd.grid((3, 3), cuts=(3, 3))),
    ("owners: ", lambda: gbd.grid((3, 3), blocks=(1, 1), owners=0)),
    ("halo: ", lambda: gbd.grid((3, 3), halo="a")),
    ("engine: ", lambda: gbd.grid((3, 3), engine=3)),  # type: ignore[arg-type]
    ("timeout: ", lambda: gbd.grid((3, 3), timeout="1")),  # type: ignore[arg-type]
    ("pivot: ", lambda: gbd.tripolar((4, 4), pivot=1)),  # type: ignore[arg-type]
    ("n: ", lambda: gbd.cubed_sphere(2.0)),  # type: ignore[arg-type]
    (r"seams\[0\]: ", lambda: gbd.topology([(3, 3)], [3])),
    (r"seams\[0\]: reversed", lambda: gbd.topology([(3, 3)], [(0, "I+", 0, "I-", 1)])),
    (r"links\[0\]: expected slices", lambda: links((0, (slice(0, 1), 2), *LINK[2:]))),
    ("sizes: ", lambda: GRID.zeros("IK", sizes=3)),
    ("corners: ", lambda: GRID.plan(FIELD, corners=1)),  # type: ignore[arg-type]
    ("sign: ", lambda: gbd.scalar(FIELD, sign=-1.0)),  # type: ignore[arg-type]
    ("expected a Field", lambda: GRID.exchange("abc")),
    ("expected a Field", lambda: GRID.exchange(None)),
    ("list of 6 Fields", lambda: CUBE.exchange(FIELD)),
    ("fields: none were given; an exchange needs one", lambda: GRID.exchange()),
    ("fields: none were given; an exchange needs one", lambda: GRID.exchange(*[])),
    ("fields: none were given; an exchange needs one", lambda: GRID.plan()),
    ("fields: none were given; an exchange needs one", lambda: GRID.sync()),
    ("fields: none were given; sum needs one", lambda: GRID.sum()),
    ("for 1 .*, got 0", lambda: GRID.plan(FIELD).start()),
    ("for 1 .*, got 2", lambda: GRID.plan(FIELD)(FIELD, FIELD)),
    ("names: expected a sequence, got int", lambda: GRID.plan(FIELD, names=3)),  # type: ignore[arg-type]
    (r"names\[0\]: expected a str, got NoneType", lambda: GRID.plan(FIELD, names=[None])),  # type: ignore[list-item]
    ("timeout: expected seconds or None, got str", lambda: GRID.plan(FIELD).start(FIELD).wait("1")),  # type: ignore[arg-type]
    ("fields: each needs a name; write grid.save", lambda: GRID.save("a", FIELD)),  # type: ignore[arg-type]
    *(
        ("periodic: expected names of .* such as 'I', got", partial(gbd.grid, (8, 6), periodic=p))
        for p in (True, (True, False), [False, np.True_])
    ),
    ("fields: expected a Field, .* got what gbd.vector makes", lambda: GRID.exchange([VECTOR])),
    (
        "fields: expected a Field, .* got what gbd.vector makes",
        lambda: GRID.sync(gbd.scalar(VECTOR)),
    ),
    *(
        (f"{name}: expected a Field, Blocks or a list of Fields, got what gbd.vector makes", call)
        for name, call in ITEMS
    ),
]


@pytest.mark.parametrize(
    ("kind", "words", "call"), [(ValueError, *c) for c in VALUES] + [(TypeError, *c) for c in TYPES]
)
def test_what_is_wrong_is_named(kind: type[Exception], words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=words):
        call()
    FIELD[...] = 1.0
    FIELD.numpy()[:2] = 0.0
    GRID.exchange(FIELD)
    assert (FIELD.numpy()[:, 2:-2] == 1.0).all()


def test_scalars_of_numpy_are_numbers() -> None:
    grid = gbd.grid(
        (np.int32(6), np.int64(4)), blocks=np.array([2, 1]), halo=np.int8(1), timeout=np.float32(3)
    )
    assert grid.timeout == 3.0 and len(grid.blocks) == 2
    f = FOLD.ones()
    plan = FOLD.plan(gbd.scalar(f, sign=np.sign(np.int64(-5))))
    plan.start(f).wait(np.int64(3))
    assert f[3, 5] == -1.0


def test_a_plan_is_for_its_layouts() -> None:
    plan = GRID.plan(FIELD, names=["T"])
    for other, words in (
        (GRID.zeros(dtype="f4"), "T: .*float32|T: .*dtype"),
        (GRID.zeros(backend="F"), "T: .*strides"),
        (GRID.zeros(halo=1), "T: .*shape"),
    ):
        with pytest.raises(ValueError, match=words):
            plan(other)
    plan(GRID.zeros())


@pytest.mark.parametrize("blocks", [(1, 1), (2, 1)], ids=["one block", "two blocks"])
def test_a_plan_takes_no_field_of_other_dims_or_halo(blocks: tuple[int, int]) -> None:
    """Of the same memory: what it fills elsewhere would not be the field's halo."""
    grid = gbd.grid((8, 4), blocks=blocks, periodic="I", halo=(1, 1))
    fields = [grid.zeros()] if blocks == (1, 1) else [*grid.zeros()]
    listed = (lambda its: its[0]) if blocks == (1, 1) else (lambda its: its)
    plan = grid.plan(listed(fields), names=["T"])
    for call in (plan, plan.start, plan.accumulate):
        for more, says in (
            (
                {"dims": "JI", "halo": (1, 1)},
                r"T: dims \('J', 'I'\); the plan was made for \('I', 'J'\)",
            ),
            (
                {"dims": "IJ", "halo": ((2, 0), 1)},
                r"T: halo \(\(2, 0\), \(1, 1\)\); the plan was made for \(\(1, 1\), \(1, 1\)\)",
            ),
            ({"halo": (0, 0)}, r"T: halo \(\(0, 0\), \(0, 0\)\)"),
        ):
            wrong = [gb.Field(f.numpy(), **more) for f in fields]  # type: ignore[arg-type]
            with pytest.raises(ValueError, match=says):
                call(listed([*fields[:-1], wrong[-1]]))
    # What they do not say is the plan's
    plan(listed([gb.Field(f.numpy(), dims="IJ") for f in fields]))
    plan(listed([f.numpy() for f in fields]))
    plan(listed(fields))


def test_a_plan_is_not_started_twice() -> None:
    plan = GRID.plan(FIELD)
    handle = plan.start(FIELD)
    with pytest.raises(RuntimeError, match="not waited for"):
        plan.start(FIELD)
    with pytest.raises(RuntimeError, match="not waited for"):
        plan.accumulate(FIELD)
    handle.wait()
    handle.wait(timeout=1)
    with plan.start(FIELD) as handle:
        pass
    assert handle.test()
    plan(FIELD)
    handle = plan.start(FIELD)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not waited for"):
            plan(FIELD)
    handle.wait()
    plan(FIELD)
    plan.start(FIELD)  # dropped
    gc.collect()
    plan(FIELD)
    other = GRID.plan(FIELD)
    first, second = plan.start(FIELD), other.start(FIELD)
    first.wait()
    second.wait()


def test_the_same_field_twice_is_harmless() -> None:
    u, v = FOLD.zeros(), FOLD.ones()
    u.domain[...] = np.arange(24.0).reshape(6, 4)
    once = u.copy()
    FOLD.exchange(once)
    FOLD.exchange(u, u, gbd.vector(v, FOLD.ones()))
    assert (
        np.array_equal(u.numpy(), once.numpy()) and once.numpy()[0, 1] == once.numpy()[6, 1] == 20
    )
    GRID.exchange(FIELD, gbd.vector(FIELD, GRID.zeros()))  # nothing turns there
    a = np.zeros((10, 8, 2))
    interleaved = [gb.Field(a[..., i], dims="IJ", halo=(2, 2)) for i in range(2)]
    for i, f in enumerate(interleaved):
        f.domain[...] = i + 1
    GRID.exchange(*interleaved)
    assert (a[:, 2:-2] == [1, 2]).all()


def test_a_plan_that_is_kept_looks_again_whether_memory_is_shared() -> None:
    grid = gbd.grid((6, 4), periodic="I", halo=2)
    apart, over = [grid.ones(), grid.ones()], np.zeros(150)
    grid.exchange(*apart)
    plan = grid.plan(*apart, names=["T", "q"])
    meeting = [gb.Field(over[i : i + 80].reshape(10, 8), dims="IJ", halo=(2, 2)) for i in (0, 70)]
    for call in (plan, plan.start, plan.accumulate):
        with pytest.raises(ValueError, match="q: it shares memory with T"):
            call(*meeting)
    with pytest.raises(ValueError, match="shares memory with"):
        grid.exchange(*meeting)
    plan(*apart)
    plan(apart[0], apart[0])  # one Field twice: nothing turns here


def test_fields_that_interleave_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same distances others may share elements: what had another layout, or was one Field
    twice, says nothing.
    """
    a = np.zeros((10, 16))
    left, right, wide = a[:, :8], a[:, 8:], np.zeros((11, 16))
    made = [gb.Field(each, dims="IJ", halo=(2, 2)) for each in (left, right)]
    plan = gbd.grid((6, 4), periodic="I", halo=2).plan(*made)
    looked: list[Any] = []
    monkeypatch.setattr(
        plan_module,
        "check_shared",
        lambda binding, flat: looked.append(checks.check_shared(binding, flat)),
    )
    for _ in range(3):
        plan(*made)
    assert len(looked) == 1
    with pytest.raises(ValueError, match=r"strides|shape"):
        plan(*(gb.Field(each, dims="IJ", halo=(2, 2)) for each in (wide[:, :8], wide[:, 8:])))
    plan(made[0], made[0])
    with pytest.raises(ValueError, match="shares memory"):
        plan(made[0], gb.Field(left[:], dims="IJ", halo=(2, 2)))


@pytest.mark.parametrize("dtype", [">f8", "M8[s]", [("a", "i4")], "bfloat16"], ids=str)
def test_what_cannot_be_added_is_named(dtype: Any) -> None:
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    grid = gbd.grid((4,), "I", periodic="I", halo=1)
    plan = grid.plan(field := grid.zeros(dtype=dtype), names=["T"])
    with pytest.raises(TypeError, match=r"T: elements of dtype .* cannot be added; allowed are"):
        plan.accumulate(field)
    plan(field)


def test_fields_freed_and_made_anew_find_the_plan_of_their_layout() -> None:
    grid = gbd.grid((4, 3), periodic="IJ", halo=1)
    for i in range(300):
        f = grid.full(float(i), dtype=("f8", "f4")[i % 2], halo=1 + i % 3)
        f.numpy()[0] = -1
        grid.exchange(f)
        assert (f.numpy() == i).all()
    assert len(grid._kept.plans) <= 6


def test_storages_and_arrays() -> None:
    storage = gb.storage.zeros((6, 4), halo=(1, 0))
    storage[...] = 1.0
    array = np.arange(24.0).reshape(6, 4)
    grid = gbd.grid((4, 4), periodic="I")
    grid.exchange(storage)
    with pytest.raises(ValueError, match="6 points along I"):
        grid.exchange(array)
    gbd.grid((6, 4), periodic="I").exchange(array)  # without a halo there is nothing to fill


def test_ten_thousand_plans() -> None:
    """Dropped plans leave nothing."""
    import tracemalloc

    grid = gbd.grid((4,), "I", periodic="I", halo=1)
    f = grid.zeros()

    def make(n: int) -> int:
        for _ in range(n):
            grid.plan(f)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = make(1000)
        assert make(9000) < before + 50_000
    finally:
        tracemalloc.stop()


def test_importing_gridbuf_does_not_import_it() -> None:
    python(
        "import sys, gridbuf; assert not [m for m in sys.modules if"
        " m.startswith('gridbuf.distributed') or 'mpi4py' in m]"
    )
    python("import sys, gridbuf.distributed; assert 'mpi4py' not in sys.modules")


RING = gbd.grid((6, 4), periodic="I", halo=1)
RING_FIELD = RING.zeros()
RING_PLAN = RING.plan(RING_FIELD)


class Unexportable:
    """An array that raises when its memory is asked for."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **given: object) -> object:
        raise self.error


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    found: list[Exception] = []
    monkeypatch.setattr(LocalEngine, "failed", lambda self, error: found.append(error))
    monkeypatch.setattr(LocalTransport, "abandon", lambda self, error: found.append(error))
    return found


@pytest.mark.parametrize(
    "kind", [TypeError, ValueError, BufferError, RuntimeError, MemoryError, OSError, KeyError]
)
@pytest.mark.parametrize(
    "door",
    [RING.exchange, RING.sync, RING.plan, RING_PLAN, RING_PLAN.start, RING_PLAN.accumulate],
    ids=["exchange", "sync", "plan", "call", "start", "accumulate"],
)
def test_errors_reach_the_engine(
    door: Callable[..., Any], kind: type[Exception], received: list[Exception]
) -> None:
    with pytest.raises(kind) as raised:
        door(Unexportable(kind("no")))
    assert received == [raised.value]
    RING.exchange(RING_FIELD)
    RING_PLAN(RING_FIELD)


@pytest.mark.parametrize(
    "door", [RING_PLAN, RING_PLAN.start, RING_PLAN.accumulate], ids=["call", "start", "accumulate"]
)
def test_a_start_of_a_plan_under_way_reaches_the_engine(
    door: Callable[..., Any], received: list[Exception]
) -> None:
    with RING_PLAN.start(RING_FIELD):
        with pytest.raises(RuntimeError, match="not waited for") as raised:
            door(RING_FIELD)
        assert received == [raised.value]


class Message:
    """A message that arrives while missing ranks are looked for: MPI may move messages on whenever
    it is asked about them.
    """

    def __init__(self) -> None:
        self.here = False

    def missing(self) -> str:
        self.here = True
        return "rank 0 waits for rank : plan 1"

    def come(self) -> bool:
        return self.here


def test_what_comes_at_the_deadline_is_no_timeout() -> None:
    message = Message()
    Waiting(1e-3, message.missing).until(message.come)
    assert message.here


def test_nobody_is_warned_of_what_has_come(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(calls, "WARNING", 1e-3)
    message = Message()
    Waiting(None, message.missing).until(message.come)
    assert not recwarn.list


def test_what_does_not_come_is_named() -> None:
    looks: list[int] = []
    for seconds in (0.02, 0.0):
        with pytest.raises(TimeoutError, match=rf"rank 0 waits for rank 1 \({seconds:g} s\)"):
            Waiting(seconds, lambda: "rank 0 waits for rank 1").until(
                lambda: False, lambda: looks.append(1)
            )
        assert looks
        looks.clear()
