"""The traps of taking memory in through DLPack, one test each; they are those of
facts/consumers.md.

byte_offset != 0; strides NULL; hostile tensors of either flavour (dimensions, shape, strides,
lanes, bits, code, data, device, overflow); what is no capsule; capsules consumed twice; no deleter;
size 0; __dlpack_device__ that is no pair or disagrees with the capsule; methods on the instance;
producers older than max_version; a legacy capsule of a producer that says it is read-only;
TypeErrors that mean something else; a producer that copies, or does not, whatever was asked;
__cuda_array_interface__ on the type only; classes in place of instances; shape entries beyond 64
bits; cycles through the owner; the producer's life.
"""

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from dlpack_structs import COPIED, LATEST, READ_ONLY, Hostile, HostileLegacy

import gridbuf as gb


@pytest.mark.parametrize("kind", [Hostile, HostileLegacy])
def test_a_byte_offset_coming_in(kind: type) -> None:
    f = gb.from_dlpack(kind(byte_offset=16, shape=(2, 2), strides=(2, 1)))
    assert f[0, 0] == 2.0 and f.numpy().tolist() == [[2, 3], [4, 5]]


@pytest.mark.parametrize("kind", [Hostile, HostileLegacy])
def test_strides_null_coming_in(kind: type) -> None:
    f = gb.from_dlpack(kind(strides=None))
    assert f.strides == (24, 8) and f[1, 0] == 3.0


@pytest.mark.parametrize(
    "changes",
    [{"ndim": -1}, {"ndim": 33}, {"ndim": 1 << 30}, {"shape": (2, -3)}, {"shape": None},
    {"data": None}, {"bits": 63}, {"lanes": 2},
     {"lanes": 0}, {"code": 77}, {"shape": (1 << 62, 1 << 62)}, {"strides": (1 << 62, 1)},
     {"byte_offset": (1 << 64) - 8},
     {"device_type": 2}, {"device_type": 99}, {"device_type": -1}, {"device_id": -1}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kind", [Hostile, HostileLegacy])
def test_hostile_capsules_of_either_flavour(kind: type, changes: dict[str, Any]) -> None:
    hostile = kind(**changes)
    for wrap in (gb.Field, gb.from_dlpack, gb.as_numpy):
        with pytest.raises(BufferError, match="DLPack"):
            wrap(hostile)
    assert hostile.deleted == 0, "what was not taken over is not ours to delete"


@pytest.mark.parametrize("what", [None, 5, "capsule", object()])
def test_what_is_no_capsule(what: Any) -> None:
    for producer in (
        type("P", (), {"__dlpack__": lambda self, **_: what}),
        type("P", (), {"__dlpack__": lambda self: what}),
    ):
        with pytest.raises(BufferError, match="not a fresh"):
            gb.from_dlpack(producer())


@pytest.mark.parametrize("device", [None, 5, (), (1,), ("cpu", 0), (1, 0, 0), (1 << 70, 0), [1, 0]])
def test_a_device_that_is_no_pair(device: Any) -> None:
    hostile = Hostile()
    hostile.__dlpack_device__ = lambda: device  # type: ignore[method-assign]
    with pytest.raises(BufferError, match="__dlpack_device__"):
        gb.from_dlpack(hostile)


def test_a_device_that_is_not_the_capsule_s() -> None:
    elsewhere = Hostile()
    elsewhere.__dlpack_device__ = lambda: (2, 0)  # type: ignore[method-assign]
    with pytest.raises(TypeError, match="DLPack device"):
        gb.as_numpy(elsewhere)
    with pytest.raises(BufferError, match="not on a GPU"):
        gb.from_dlpack(elsewhere)
    with pytest.raises(BufferError, match="not on the host"):
        gb.from_dlpack(Hostile(device_type=2))  # says (1, 0)
    for device in (3, 11, 13):
        assert gb.from_dlpack(Hostile(device_type=device))[1, 2] == 5.0


def test_methods_on_an_instance_are_taken_too() -> None:
    class Empty:
        pass

    obj, values = Empty(), np.arange(3.0)
    obj.__dlpack__ = values.__dlpack__  # type: ignore[attr-defined]
    assert np.shares_memory(gb.Field(obj), values)


def test_producers_older_than_max_version() -> None:
    class Old:
        def __init__(self, **extra: Any) -> None:
            self.__dict__ |= extra
            self.values = np.arange(3.0)

        def __dlpack__(self, stream: Any = None) -> Any:
            return self.values.__dlpack__()

    old = Old()
    assert not gb.Field(old).readonly and np.shares_memory(gb.from_dlpack(old), old.values)
    own = gb.from_dlpack(old, copy=True)
    assert not np.shares_memory(own, old.values) and own[2] == 2.0
    for said in ({"readonly": True}, {"flags": type("Flags", (), {"writeable": False})}):
        assert gb.Field(Old(**said)).readonly, "the producer says so"
    for said in (
        {"readonly": False},
        {"flags": type("Flags", (), {"writeable": True})},
        {"flags": 7},
    ):
        assert not gb.Field(Old(**said)).readonly


def test_a_type_error_of_a_producer_is_not_lost() -> None:
    class Broken:
        def __dlpack__(self, **keywords: Any) -> Any:
            raise TypeError("broken inside")

    with pytest.raises(TypeError, match="broken inside"):
        gb.from_dlpack(Broken())

    class Worse:
        def __dlpack__(self, **keywords: Any) -> Any:
            raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        gb.Field(Worse())


@pytest.mark.parametrize("kind", [Hostile, HostileLegacy])
@pytest.mark.parametrize("flags", [0, COPIED, READ_ONLY, READ_ONLY | COPIED])
def test_copy_true_is_a_writable_copy_whatever_the_producer_does(kind: type, flags: int) -> None:
    producer = kind(flags=flags)
    f = gb.from_dlpack(producer, copy=True)
    assert not f.readonly and f[1, 2] == 5.0
    # The flags of this tensor alone mean a copy that its consumer may keep and write
    kept = kind is Hostile and flags == COPIED
    assert np.shares_memory(f, producer.memory) == kept and producer.deleted == (not kept)


def test_a_copy_is_not_taken_for_sharing() -> None:
    copied = Hostile(flags=COPIED)
    for wrap in (gb.Field, lambda x: gb.from_dlpack(x, copy=False), gb.as_numpy):
        with pytest.raises(BufferError, match="made a copy"):
            wrap(copied)
    assert gb.from_dlpack(copied).shape == gb.from_dlpack(copied, copy=None).shape == (2, 3)


def test_a_capsule_is_consumed_once() -> None:
    for max_version in (None, LATEST):
        capsule = gb.Field.zeros(3).__dlpack__(max_version=max_version)
        once = type("Once", (), {"__dlpack__": lambda self, c=capsule, **_: c})()
        assert gb.Field(once).shape == (3,) and '"used_dltensor' in repr(capsule)
        with pytest.raises(BufferError, match="not a fresh"):
            gb.Field(once)


def test_a_deleter_may_be_missing() -> None:
    no_deleter = Hostile(deleter=type(Hostile().delete)())
    f = gb.from_dlpack(no_deleter)
    del f
    gc.collect()


def test_the_cuda_interface_is_asked_of_the_instance() -> None:
    class OnTheTypeOnly:  # as jax's arrays on the CPU
        def __init__(self, values: Any) -> None:
            self.values = values

        @property
        def __cuda_array_interface__(self) -> Any:
            raise AttributeError("not on a GPU")

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.values

    values = np.arange(3.0)
    assert np.shares_memory(gb.Field(OnTheTypeOnly(values)), values)
    with pytest.raises(TypeError, match="device memory"):
        gb.as_numpy(type("Device", (), {"__cuda_array_interface__": {}})())
    with pytest.raises(ValueError, match="version"):
        gb.Field(type("Device", (), {"__cuda_array_interface__": {}})())


def test_classes_are_not_their_instances() -> None:
    for kind in (np.ndarray, gb.Field, Hostile, type):
        with pytest.raises(TypeError, match="no memory to share"):
            gb.Field(kind)


def test_shape_entries_beyond_64_bits() -> None:
    for make in (lambda n: gb.empty((n,)), lambda n: gb.plan((n, 2)), lambda n: gb.Field.zeros(n)):
        for n in (1 << 63, 1 << 64, -(1 << 70)):
            with pytest.raises(ValueError, match=r"shape"):
                make(n)


def test_a_cycle_through_the_owner_is_collected() -> None:
    class Owner:
        def __init__(self) -> None:
            self.values = np.zeros(3)
            self.__array_interface__ = self.values.__array_interface__

    owner = Owner()
    owner.field = gb.Field(owner)  # type: ignore[attr-defined]
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None


def test_the_producer_is_held_until_the_last_view_goes() -> None:
    sound = Hostile()
    f = gb.Field(sound)
    array = np.asarray(f)[1:]
    again = gb.from_dlpack(f)
    del f, array
    gc.collect()
    assert sound.deleted == 0 and again[1, 2] == 5.0
    del again
    gc.collect()
    assert sound.deleted == 1
