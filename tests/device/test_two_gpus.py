"""Programs that are drawn: Fields on two GPUs, in managed, pinned and pageable memory, on every
kind of stream. The fake driver does the work piece by piece beside the program, finds work that
nothing puts in order, and refuses what CUDA refuses: a launch or an event on a stream of another
GPU, a kernel or a memset on memory of another GPU.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb
import gridbuf.distributed as gbd

SHAPE = (6, 9, 5)
PLACES: list[dict[str, Any]] = [
    {"device": ("gpu", 0)},
    {"device": ("gpu", 1)},
    {"memory": "managed", "device": ("gpu", 0)},
    {"memory": "managed", "device": ("gpu", 1)},
    {"memory": "managed"},
    {"memory": "pinned"},
    {"device": "cpu"},
]
DTYPES = ["f8", "f8", "f8", "f4", "i2", "?", ">f8"]


@pytest.fixture
def busy(fake: Fake) -> Iterator[Fake]:
    """A thread does the work that is queued, one piece at a time; one of the GPUs may be slow."""
    gb.cuda.synchronize(0)
    gb.cuda.synchronize(1)
    fake.watch(True)
    fake.run_every(10)
    yield fake
    fake.run_every(0)


class Exported:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **wishes: Any) -> Any:
        return self.capsule


def gpu_of(field: gb.Field) -> int | None:
    return field.device[1] if field.device != "cpu" else None


class Program:
    """Fields, what is in them, and steps that change both."""

    def __init__(self, fake: Fake, seed: int) -> None:
        self.fake, self.draw = fake, random.Random(seed)
        self.streams = {
            0: [0, 1, 2, fake.stream(0), fake.stream(0, True)],
            1: [0, 1, 2, fake.stream(1), fake.stream(1, True)],
        }
        self.story: list[str] = []
        self.fields: list[gb.Field] = []
        self.values: list[np.ndarray] = []
        self.waiting: list[gb.Copy] = []
        for number in range(6):
            self.fields.append(self.made())
            self.values.append(values_of(self.fields[number]))

    # what is drawn

    def stream(self, device: int | None = None) -> int:
        return self.draw.choice(self.streams[self.draw.randrange(2) if device is None else device])

    def on_a_stream(self) -> Any:
        stream = self.draw.choice([None, self.stream(), self.stream()])
        self.story.append(f"  on {stream}")
        return nullcontext() if stream is None else gb.cuda.stream(stream)

    def made(self) -> gb.Field:
        ranks = self.draw.choice([(0, 1, 2), (2, 1, 0), (1, 2, 0)])
        place, dtype = self.draw.choice(PLACES), self.draw.choice(DTYPES)
        padding = self.draw.choice([False, 4])
        self.story.append(f"  {dtype} in {place}, layout {ranks}, padding {padding}")
        return gb.Field.full(
            SHAPE, self.draw.randrange(2), dtype, layout=ranks, padding=padding, dims="IJK", **place
        )

    def cut(self) -> tuple[slice, ...]:
        return tuple(
            self.draw.choice([slice(None), slice(None), slice(1, None, 2), slice(None, None, -1)])
            for _ in SHAPE
        )

    def turned(self, field: gb.Field) -> gb.Field:
        # Names decide: the values are where they were
        return field.transpose("".join(self.draw.sample("IJK", 3)))

    # steps

    def fill(self, at: int) -> None:
        cut, value = self.cut(), self.draw.randrange(2)
        with self.on_a_stream():
            gb.fill(self.turned(self.fields[at][cut]), value)
        self.values[at][cut] = value

    def copy(self, at: int, source: int) -> None:
        cut = self.cut()
        with self.on_a_stream():
            gb.copyto(self.fields[at][cut], self.turned(self.fields[source][cut]), casting="unsafe")
        self.values[at][cut] = self.values[source][cut]

    def assign(self, at: int, source: int) -> None:
        if gpu_of(self.fields[at]) is None:
            return
        with self.on_a_stream():
            self.fields[at][...] = self.turned(self.fields[source])
        self.values[at][...] = self.values[source]

    def copy_async(self, at: int, source: int) -> None:
        dst, src = self.fields[at], self.turned(self.fields[source])
        gpus = [gpu for gpu in (gpu_of(dst), gpu_of(src)) if gpu is not None]
        if gpus:
            stream = self.draw.choice([None, self.stream(self.draw.choice(gpus))])
            self.story.append(f"  stream={stream}")
            with self.on_a_stream():
                copy = gb.copy_async(dst, src, stream=stream, casting="unsafe")
            # Until a copy is done the program leaves the host's side alone, and memory that a
            # thread of the host converts.
            if len(gpus) == 1 or dst.dtype != src.dtype or self.draw.random() < 0.5:
                copy.wait()
            else:
                self.waiting.append(copy)
            self.values[at][...] = self.values[source]

    def move(self, at: int) -> None:
        """Another Field takes its place, and its block goes back while work is under way."""
        place = self.draw.choice(
            [
                {"device": ("gpu", 0)},
                {"device": ("gpu", 1)},
                {"device": "cpu"},
                {"memory": "pinned"},
            ]
        )
        self.story.append(f"  to {place}")
        with self.on_a_stream():
            self.fields[at] = self.fields[at].to(**place)

    def new(self, at: int) -> None:
        with self.on_a_stream():
            self.fields[at] = self.made()
        self.values[at] = values_of(self.fields[at])

    def exchange(self, at: int, source: int) -> None:
        """A consumer of DLPack reads on its own stream, and ends before the program goes on."""
        gpu = gpu_of(self.fields[source])
        if gpu is None or self.values[source].dtype.byteorder == ">":
            return
        stream = self.draw.choice([s for s in self.streams[gpu] if s])
        with self.on_a_stream():
            capsule = self.fields[source].__dlpack__(
                stream=stream, max_version=(1, 0), copy=self.draw.choice([None, True])
            )
        with gb.cuda.stream(stream):
            gb.copyto(
                self.fields[at], gb.from_dlpack(Exported(capsule), dims="IJK"), casting="unsafe"
            )
        gb.cuda.synchronize(0)
        gb.cuda.synchronize(1)
        self.values[at][...] = self.values[source]

    def step(self) -> None:
        at, source = self.draw.sample(range(len(self.fields)), 2)
        steps: list[tuple[Callable[..., None], tuple[int, ...]]] = [
            (self.fill, (at,)),
            (self.copy, (at, source)),
            (self.copy, (at, source)),
            (self.assign, (at, source)),
            (self.copy_async, (at, source)),
            (self.move, (at,)),
            (self.new, (at,)),
            (self.exchange, (at, source)),
        ]
        take, which = self.draw.choice(steps)
        self.story.append(f"{take.__name__}{which}")
        take(*which)

    def check(self) -> None:
        for copy in self.waiting:
            copy.wait()
        for at, (field, values) in enumerate(zip(self.fields, self.values, strict=True)):
            assert np.array_equal(values_of(field), values), f"field {at}\n" + "\n".join(self.story)


@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs(busy: Fake, seed: int) -> None:
    program = Program(busy, seed)
    busy.slow(seed % 3 - 1)
    for _ in range(14):
        program.step()
        assert busy.misuses() is None, "\n".join(program.story)
    program.check()


@pytest.mark.parametrize("seed", range(20))
def test_drawn_exchanges(busy: Fake, seed: int) -> None:
    """Halos of Fields on both GPUs, beside fills and copies, each on a stream that is drawn; the
    host does the same.
    """
    draw = random.Random(seed)
    grid = gbd.grid((8, 6), blocks=(2, 1), halo=1, periodic=draw.choice(["I", "IJ"]))
    places = [
        {"device": ("gpu", 0)},
        {"device": ("gpu", 1)},
        {"device": ("gpu", draw.randrange(2))},
    ]
    there, here = [grid.zeros(**place) for place in places], [grid.zeros() for _ in places]
    streams = [0, 1, 2, *(busy.stream(n, blocking) for n in (0, 1) for blocking in (False, True))]
    busy.slow(seed % 3 - 1)
    story = []
    for _ in range(16):
        at, other, block = draw.randrange(3), draw.randrange(3), draw.randrange(2)
        stream, value = draw.choice(streams), draw.randrange(9)
        what = draw.choice(["fill", "copy", "exchange", "plan", "accumulate", "start"])
        story.append(f"{what} {at} {other} block {block} stream {stream}")
        for fields, where in ((there, gb.cuda.stream(stream)), (here, nullcontext())):
            with where:
                if what == "fill":
                    gb.fill(fields[at][block][1::2], value)
                elif what == "copy" and at != other:
                    gb.copyto(fields[at][block], fields[other][1 - block].transpose("JI"))
                elif what == "exchange":
                    grid.exchange(fields[at])
                elif what == "plan":
                    grid.plan(fields[at])(fields[at])
                elif what == "accumulate":
                    grid.plan(fields[at]).accumulate(fields[at])
                elif what == "start":
                    grid.plan(fields[at]).start(fields[at]).wait()
        assert busy.misuses() is None, "\n".join(story)
    for f, g in zip(there, here, strict=True):
        for block in range(2):
            assert np.array_equal(values_of(f[block]), g[block].numpy()), "\n".join(story)


class Told:
    """A producer's array, with the stream of its work."""

    def __init__(self, field: gb.Field, stream: int) -> None:
        address, strides = (
            (
                (field.__cuda_array_interface__ | {})["data"][0]
                if field.device != "cpu"
                else field.numpy().ctypes.data
            ),
            field.strides,
        )
        self.keep = field
        self.__cuda_array_interface__ = {
            "shape": field.shape,
            "typestr": field.dtype.str,
            "data": (address, False),
            "strides": strides,
            "version": 3,
            "stream": stream,
        }


ACROSS = [
    {"device": ("gpu", 0)},
    {"memory": "managed", "device": ("gpu", 0)},
    {"memory": "managed", "device": ("gpu", 1)},
    {"memory": "managed"},
    {"memory": "pinned"},
]


@pytest.mark.parametrize("place", ACROSS, ids=str)
@pytest.mark.parametrize("device", [0, 1])
def test_a_producers_stream_may_be_of_either_gpu(
    busy: Fake, place: dict[str, Any], device: int
) -> None:
    """Managed and pinned memory is used on either GPU; a stream says nothing about where memory
    lies.
    """
    f = gb.Field.zeros((10, 20), "u1", **place)
    told = Told(f, busy.stream(device))
    gb.cuda.synchronize(0)
    gb.cuda.synchronize(1)
    if f.device == "cpu" or f.device[1] == device or "memory" in place:
        busy.set_bytes(
            told.__cuda_array_interface__["data"][0],
            7,
            200,
            told.__cuda_array_interface__["stream"],
        )
    else:
        gb.fill(f, 7)  # a kernel of another GPU would need access to a peer
    for stream in (None, 0, 2, busy.stream(0), busy.stream(1)):
        with nullcontext() if stream is None else gb.cuda.stream(stream):
            target = gb.Field.zeros((10, 20), "u1", device=("gpu", 0))
            gb.copyto(target, gb.Field(told))
        assert (values_of(target) == 7).all()


@pytest.mark.parametrize("place", ACROSS[:3], ids=str)
@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("copy", [None, True])
def test_a_consumers_stream_may_be_of_either_gpu(
    fake: Fake, place: dict[str, Any], device: int, copy: bool | None
) -> None:
    f = gb.Field.zeros((10, 20), "u1", **place)
    gb.cuda.synchronize(0)
    gb.cuda.synchronize(1)
    stream = fake.stream(device)
    fake.watch(True)
    fake.hold(True)
    with gb.cuda.stream(fake.stream(1 - device)):
        gb.fill(f, 7)
    before = fake.count("cuStreamWaitEvent")
    gb.from_dlpack(Exported(f.__dlpack__(stream=stream, max_version=(1, 0), copy=copy)))
    assert fake.count("cuStreamWaitEvent") > before, (
        "the consumer's stream waits for the fill, on whichever GPU it is"
    )
    assert fake.misuses() is None


@pytest.mark.parametrize("seed", range(20))
def test_drawn_storages_and_cupys_arrays(busy: Fake, seed: int) -> None:
    pytest.importorskip("cupy")
    import gridbuf.storage as gs

    draw = random.Random(seed)
    streams = [0, 1, 2, *(busy.stream(n, blocking) for n in (0, 1) for blocking in (False, True))]
    arrays: list[Any] = []
    values = [np.zeros((6, 7)) for _ in range(6)]
    busy.slow(seed % 3 - 1)
    for n in range(6):
        with gb.cuda.stream(draw.choice(streams)):
            if n % 2:
                arrays.append(
                    gb.full(
                        (6, 7),
                        0.0,
                        device=("gpu", draw.randrange(2)),
                        layout=draw.choice([(0, 1), (1, 0)]),
                    )
                )
            else:
                managed = draw.choice([None, "cuda", "gt4py"])
                arrays.append(
                    gs.empty((6, 7), device=("gpu", draw.randrange(2)), managed=managed)._dev
                )
                gb.fill(gb.Field(arrays[n]), 0)
    for step in range(16):
        at, source = draw.sample(range(6), 2)
        with gb.cuda.stream(draw.choice(streams)):
            if draw.random() < 0.4:
                gb.fill(arrays[at], float(step))
                values[at][...] = step
            elif draw.random() < 0.6:
                gb.copyto(arrays[at], arrays[source])
                values[at][...] = values[source]
            else:
                gb.copyto(
                    arrays[at][:, ::2], gb.Field(arrays[source], dims="JI")[:, ::2].transpose("JI")
                )
                values[at][:, ::2] = values[source][:, ::2]
        assert busy.misuses() is None
    for array, wanted in zip(arrays, values, strict=True):
        assert np.array_equal(values_of(array), wanted)
