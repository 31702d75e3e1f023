"""The DLPack C exchange API (1.3), both ways: our table as a C consumer calls it, and producers
that offer one, sound and hostile.
"""

import ctypes
import gc
import sys
from typing import Any

import numpy as np
import pytest
from dlpack_structs import (
    BORROW,
    CAPSULE,
    COPIED,
    FAIL,
    FROM_OBJECT,
    READ_ONLY,
    Hostile,
    Table,
    Tensor,
    Versioned,
    capsule,
    exchanging,
    table_of,
)  # fmt: skip

import gridbuf as gb

TABLE = table_of(gb.Field)


def take(field: gb.Field) -> Versioned:
    out = ctypes.c_void_p()
    assert TABLE.from_object(field, ctypes.byref(out)) == 0
    return Versioned.from_address(out.value or 0)


def delete(m: Versioned) -> None:
    m.deleter(ctypes.addressof(m))


# ---- ours, as a consumer in C sees it ----


def test_the_table_is_complete_and_of_this_version() -> None:
    assert (TABLE.major, TABLE.minor, TABLE.prev_api) == (1, 3, None)
    assert all(
        bool(getattr(TABLE, name))
        for name in ("allocate", "from_object", "to_object", "borrow", "stream")
    )
    assert "__dlpack_c_exchange_api__" in vars(gb.Field) and gb.HostField.__dlpack_c_exchange_api__
    stream = ctypes.c_void_p(1)
    assert TABLE.stream(1, 0, ctypes.byref(stream)) == 0 and stream.value is None


@pytest.mark.parametrize(
    "view", [lambda f: f, lambda f: f[1:, ::2], lambda f: f[::-1], lambda f: f.transpose("KJI")]
)
def test_owned_and_borrowed_tensors_say_the_same(view: Any) -> None:
    f = view(gb.Field.zeros((4, 6, 5), np.float32, dims="IJK", backend="gtmc"))
    m, t = take(f), Tensor()
    assert TABLE.borrow(f, ctypes.byref(t)) == 0
    for seen in (m.tensor, t):
        assert (
            seen.device_type,
            seen.device_id,
            seen.code,
            seen.bits,
            seen.lanes,
            seen.byte_offset,
        ) == (1, 0, 2, 32, 1, 0)
        assert tuple(seen.shape[: seen.ndim]) == f.shape and seen.data == f.numpy().ctypes.data
        assert tuple(4 * s for s in seen.strides[: seen.ndim]) == f.strides
    delete(m)


def test_an_owned_tensor_outlives_the_field() -> None:
    gc.collect()
    live = gb.memory.stats()["live_buffers"]
    f = gb.Field.full((3,), 7.0)
    m = take(f)
    del f
    gc.collect()
    assert gb.memory.stats()["live_buffers"] == live + 1
    assert ctypes.c_double.from_address(m.tensor.data).value == 7.0
    delete(m)
    assert gb.memory.stats()["live_buffers"] == live


def test_read_only_memory_is_flagged_and_not_lent() -> None:
    f = gb.Field(np.broadcast_to(np.float64(1), (2, 3)))
    m = take(f)
    assert m.flags == READ_ONLY
    delete(m)
    with pytest.raises(BufferError, match="read-only"):
        TABLE.borrow(f, ctypes.byref(Tensor()))


@pytest.mark.parametrize(
    "field", [gb.Field.zeros(3, ">f8"), gb.Field.zeros(3, "M8[s]")], ids=["byte order", "dates"]
)
def test_what_dlpack_cannot_say_is_a_buffer_error(field: gb.Field) -> None:
    with pytest.raises(BufferError):
        TABLE.from_object(field, ctypes.byref(ctypes.c_void_p()))
    with pytest.raises(BufferError):
        TABLE.borrow(field, ctypes.byref(Tensor()))
    with pytest.raises(TypeError, match=r"expected a gridbuf\.Field"):
        TABLE.from_object(np.zeros(3), ctypes.byref(ctypes.c_void_p()))


def test_tensors_come_back_as_fields() -> None:
    f = gb.Field.full((2, 3), 4.0, backend="F")
    m, out = take(f), ctypes.c_void_p()
    assert TABLE.to_object(ctypes.addressof(m), ctypes.byref(out)) == 0
    back = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(back))
    assert type(back) is gb.HostField and np.shares_memory(back, f) and back.strides == f.strides


def test_a_tensor_that_does_not_come_back_stays_the_caller_s() -> None:
    hostile = Hostile(lanes=2)
    with pytest.raises(BufferError, match="lanes"):
        TABLE.to_object(ctypes.addressof(hostile.tensor), ctypes.byref(ctypes.c_void_p()))
    assert hostile.deleted == 0


def allocate(**prototype: Any) -> tuple[int, Any, list[tuple[bytes, bytes]]]:
    shape = prototype.pop("shape", (4, 5))
    tensor = Tensor(
        **{"device_type": 1, "ndim": len(shape), "code": 2, "bits": 64, "lanes": 1} | prototype
    )
    tensor.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    said: list[tuple[bytes, bytes]] = []
    out = ctypes.c_void_p()
    rc = TABLE.allocate(
        ctypes.byref(tensor),
        ctypes.byref(out),
        None,
        FAIL(lambda ctx, kind, text: said.append((kind, text))),
    )
    return rc, out.value, said


def test_consumers_can_allocate_here() -> None:
    rc, pointer, said = allocate()
    m = Versioned.from_address(pointer)
    assert (
        rc == 0
        and not said
        and m.tensor.shape[:2] == [4, 5]
        and m.tensor.strides[:2] == [5, 1]
        and m.tensor.data % 64 == 0
    )
    delete(m)
    for shape in ((0, 3), ()):
        rc, pointer, said = allocate(shape=shape)
        assert rc == 0
        delete(Versioned.from_address(pointer))
    for changes in (
        {"device_type": 7},
        {"lanes": 4},
        {"bits": 7},
        {"shape": (-1, 2)},
        {"shape": (1 << 62, 8)},
        {"ndim": 99},
    ):
        rc, pointer, said = allocate(**changes)
        assert rc == -1 and pointer is None and [kind for kind, _ in said] == [b"BufferError"], (
            changes
        )
    rc, pointer, said = allocate(shape=(1 << 56, 8))
    assert rc == -1 and said[0][0] == b"MemoryError"


# ---- theirs ----


def test_a_producer_with_the_exchange_api_alone_is_wrapped() -> None:
    kind, _ = exchanging()
    sound = Hostile()
    f, g = gb.Field(kind(sound.tensor), "IJ", halo=(0, 1)), gb.from_dlpack(kind(sound.tensor), "KJ")
    assert f.dims == ("I", "J") and f.halo == ((0, 0), (1, 1)) and g.dims == ("K", "J")
    f[1, 2] = 50.0
    assert sound.memory[5] == 50.0 and g[1, 2] == 50.0
    assert (
        np.asarray(f).ctypes.data
        == gb.as_numpy(kind(sound.tensor)).ctypes.data
        == sound.memory.ctypes.data
    )
    sound.deleted = 0
    view = f[1:]
    del f
    gc.collect()
    assert sound.deleted == 0
    del view
    gc.collect()
    assert sound.deleted == 1


def test_flags_and_copies_through_the_exchange_api() -> None:
    kind, _ = exchanging()
    sound = Hostile(flags=READ_ONLY)
    assert gb.Field(kind(sound.tensor)).readonly
    own = gb.from_dlpack(kind(sound.tensor), copy=True)
    assert not own.readonly and not np.shares_memory(own, sound.memory) and own[1, 2] == 5.0
    copied = Hostile(flags=COPIED)
    with pytest.raises(BufferError, match="made a copy"):
        gb.Field(kind(copied.tensor))
    with pytest.raises(BufferError, match="made a copy"):
        gb.from_dlpack(kind(copied.tensor), copy=False)
    assert copied.deleted == 2, "a tensor that the call has given is ours to delete"
    assert gb.from_dlpack(kind(copied.tensor)).shape == (2, 3)


def test_the_exchange_api_goes_before_the_others() -> None:
    kind, _ = exchanging()
    sound = Hostile()

    class Both(kind):  # type: ignore[misc, valid-type]
        def __dlpack__(self, **keywords: object) -> object:
            raise AssertionError("the slow way")

    assert gb.Field(Both(sound.tensor)).shape == gb.from_dlpack(Both(sound.tensor)).shape == (2, 3)

    class Without(Both):
        __dlpack_c_exchange_api__ = None

        def __dlpack__(self, **keywords: object) -> object:
            return sound.__dlpack__()

    assert gb.Field(Without(None)).shape == (2, 3)


def test_the_api_is_looked_up_on_the_type() -> None:
    class Instance:
        pass

    obj = Instance()
    obj.__dlpack_c_exchange_api__ = gb.Field.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="no memory to share"):
        gb.Field(obj)


def test_a_newer_table_leads_to_the_one_we_read() -> None:
    kind, table = exchanging()
    newer = Table(major=2, prev_api=ctypes.addressof(table))
    newest = Table(major=3, prev_api=ctypes.addressof(newer))
    kind.__dlpack_c_exchange_api__ = capsule(ctypes.addressof(newest), CAPSULE)  # type: ignore[attr-defined]
    assert gb.Field(kind(Hostile().tensor)).shape == (2, 3)


def test_a_newer_table_alone_is_passed_over() -> None:
    kind, table = exchanging()
    table.major = 2
    with pytest.raises(TypeError, match="no memory to share"):
        gb.Field(kind(Hostile().tensor))
    kind.__dlpack__ = lambda self, **keywords: np.zeros(3).__dlpack__(**keywords)  # type: ignore[attr-defined]
    assert gb.Field(kind(None)).shape == (3,)


def ring() -> Table:
    table = Table(major=2)
    table.prev_api = ctypes.addressof(table)
    return table


@pytest.mark.parametrize(
    ("api", "words"),
    [
        (lambda: 5, "not a capsule"),
        (lambda: "table", "not a capsule"),
        (lambda: capsule(ctypes.addressof(TABLE), b"dltensor"), "not a capsule"),
        (lambda: ctypes.addressof(TABLE), "not a capsule"),
        (lambda: capsule(ctypes.addressof(TABLE) + 1, CAPSULE), "not aligned"),
        (lambda: capsule(ctypes.addressof(Table(major=1)), CAPSULE), "is NULL"),
        (lambda: capsule(ctypes.addressof(ring()), CAPSULE), "does not end"),
    ],
)
def test_what_is_no_exchange_api_is_a_buffer_error(
    api: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Table] = []
    original = Table.__init__
    monkeypatch.setattr(
        Table, "__init__", lambda self, **fields: (original(self, **fields), kept.append(self))[0]
    )
    kind = type("Hostile", (), {"__dlpack_c_exchange_api__": api()})
    for wrap in (gb.Field, gb.from_dlpack, gb.as_numpy):
        with pytest.raises(BufferError, match=words):
            wrap(kind())


@pytest.mark.parametrize(
    "changes",
    [{"major": 2}, {"major": 0}, {"ndim": -1}, {"ndim": 33}, {"shape": (2, -3)}, {"shape": None},
    {"data": None}, {"bits": 63},
     {"lanes": 2}, {"lanes": 0}, {"code": 77}, {"shape": (1 << 62, 1 << 62)},
     {"strides": (1 << 62, 1)},
     {"byte_offset": (1 << 64) - 8}, {"device_type": 4}, {"device_type": 99}, {"flags": 1 << 40}],
    ids=str,
)  # fmt: skip
def test_hostile_tensors_are_buffer_errors_and_deleted(changes: dict[str, Any]) -> None:
    kind, _ = exchanging()
    hostile = Hostile(**changes)
    for wrap in (gb.Field, gb.from_dlpack, gb.as_numpy):
        hostile.deleted = 0
        with pytest.raises(BufferError, match="DLPack"):
            wrap(kind(hostile.tensor))
        assert hostile.deleted == 1


@pytest.mark.parametrize("pointer", [None, 0, 1, 0xFFFF_FFFF_FFFF_FFF1])
def test_no_tensor_at_all(pointer: Any) -> None:
    kind, _ = exchanging()
    with pytest.raises(BufferError, match=r"tensor: (NULL|not aligned)"):
        gb.Field(kind(pointer))


def test_failing_functions() -> None:
    silent, _ = exchanging(from_object=FROM_OBJECT(lambda obj, out: -1))
    with pytest.raises(BufferError, match="did not say why"):
        gb.Field(silent(None))

    loud, _ = exchanging(from_object=TABLE.from_object)  # ours, which takes Fields only
    with pytest.raises(TypeError, match=r"expected a gridbuf\.Field"):
        gb.Field(loud(None))


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("is_conj", "resolve_conj"), ("is_neg", "resolve_neg"), ("requires_grad", "detach")],
)
def test_memory_that_is_not_the_value_is_refused(name: str, remedy: str) -> None:
    for exchange in (True, False):
        kind = exchanging()[0] if exchange else Hostile
        for said, refused in (
            (True, True),
            (lambda self: True, True),
            (False, False),
            (lambda self: False, False),
        ):
            obj = type("Lazy", (kind,), {name: said})(*([Hostile().tensor] if exchange else []))
            if not refused:
                assert gb.Field(obj).shape == gb.from_dlpack(obj).shape == (2, 3)
                continue
            for wrap in (gb.Field, gb.from_dlpack, gb.as_numpy):
                with pytest.raises(BufferError, match=remedy):
                    wrap(obj)


def test_the_borrowed_function_is_not_needed() -> None:
    def never(obj: object, out: object) -> int:
        raise AssertionError(
            "a Field keeps what it wraps, and a borrowed tensor ends with the call"
        )

    kind, _ = exchanging(borrow=BORROW(never))
    assert gb.Field(kind(Hostile().tensor)).shape == (2, 3)


def test_nothing_leaks() -> None:
    kind, _ = exchanging()
    hostile, sound = Hostile(lanes=2), Hostile()
    bad, good = kind(hostile.tensor), kind(sound.tensor)
    counts = []
    for _ in range(3):
        for _ in range(50):
            gb.Field(good)
            with pytest.raises(BufferError):
                gb.Field(bad)
        gc.collect()
        counts.append((sys.getrefcount(good), sys.getrefcount(bad), sys.getrefcount(kind)))
    assert counts[0] == counts[2] and sound.deleted == hostile.deleted == 150


# ---- with others ----


def test_with_tvm_ffi() -> None:
    ffi = pytest.importorskip("tvm_ffi")
    f = gb.Field.full((2, 3), 4.0, dims="IJ")
    back = ffi.get_global_func("testing.echo")(f)
    assert type(back) is gb.HostField and np.shares_memory(back, f)
    wrapper = getattr(ffi.core, "DLTensorTestWrapper", None)
    if wrapper is not None:  # its producer side of the exchange API
        values = np.arange(6.0).reshape(2, 3)
        theirs = wrapper(ffi.from_dlpack(values))
        assert np.shares_memory(gb.Field(theirs), values) and gb.from_dlpack(theirs)[1, 2] == 5.0


def test_with_torch() -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip(f"torch {torch.__version__} has no exchange API")
    tensor = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    for theirs in (
        tensor,
        tensor.T,
        tensor[1:, ::2],
        tensor[:0],
        torch.tensor(3.5),
        tensor.to(torch.bfloat16),
    ):
        f = gb.Field(theirs)
        assert f.shape == tuple(theirs.shape) and f.strides == tuple(
            s * theirs.element_size() for s in theirs.stride()
        )
        assert theirs.numel() == 0 or f.numpy().ctypes.data == theirs.data_ptr()
    f = gb.Field(tensor, "IJ")
    f[0, 1] = 100.0
    assert float(tensor[0, 1]) == 100.0
    turned = torch.tensor([1 + 2j]).conj()
    for wrap in (gb.Field, gb.from_dlpack, lambda x: gb.from_dlpack(x, copy=True)):
        for lazy, words in (
            (turned, "is_conj"),
            (turned.imag, "is_neg"),
            (torch.ones(3, requires_grad=True), "requires_grad"),
        ):
            with pytest.raises(BufferError, match=words):
                wrap(lazy)
    assert (
        gb.Field(turned.resolve_conj())[0] == 1 - 2j
        and gb.Field(turned.imag.resolve_neg())[0] == -2
    )
