"""Nothing leaks, nothing is too large, and what cannot be computed is refused."""

import gc
import os
import sys

import numpy as np
import pytest
from resident import resident, small_pages

import gridbuf as gb
from gridbuf import gufunc

add = gufunc.from_ufunc(np.add)


def many_calls(n: int) -> None:
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4, dtype="f")
    out, matrices = np.empty((3, 4)), np.stack([np.eye(3), np.zeros((3, 3))])
    field = gb.Field(x, dims=("I", "J"))
    for i in range(n):
        add(x, y)
        add(x, y, out=out, where=x > 3)
        add(field, 1.0)
        add(x[:, 1:], x[:, :-1], out=x[:, 1:])
        x[:] = 1
        gufunc.inv(matrices, errors="return")
        add.reduce(x, axis=1)
        if i % 10 == 0:
            with pytest.raises(gufunc.PartialSuccess):
                gufunc.inv(matrices)
            with pytest.raises(gufunc.SignatureError):
                add(x, np.ones(7))
            add.submit(x, y).result()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ten_thousand_calls_keep_nothing():
    with small_pages():
        many_calls(500)
        gc.collect()
        before, buffers = resident(), gb.memory.stats()["live_buffers"]
        many_calls(10_000)
        gc.collect()
        assert gb.memory.stats()["live_buffers"] <= buffers + 1
        if "ASAN_OPTIONS" not in os.environ:  # the sanitizer keeps what was freed
            assert resident() - before < 4 << 20


def test_shapes_seen_once_do_not_pile_up():
    gc.collect()
    buffers = gb.memory.stats()["live_buffers"]
    for n in range(3000):
        assert add(np.zeros(n), 1.0).shape == (n,)
    gc.collect()
    assert gb.memory.stats()["live_buffers"] <= buffers + 1


def test_objects_and_text_are_refused():
    for wrong in (
        np.array([1, None]),
        np.array(["a"]),
        np.zeros(2, "V8"),
        np.zeros(2, [("x", "f8")]),
    ):
        with pytest.raises(gufunc.SignatureError, match="input 0"):
            add(wrong, 1.0)
        with pytest.raises(gufunc.SignatureError, match="out"):
            add(np.ones(wrong.shape), 1.0, out=wrong)


def test_unaligned_and_swapped_operands():
    room = np.zeros(8 * 1000 + 1, "u1")
    x = room[1:].view("f8")
    assert not x.flags.aligned
    x[:] = np.arange(1000)
    np.testing.assert_array_equal(add(x, x.astype(">f8"), out=x), 2.0 * np.arange(1000))
    np.testing.assert_array_equal(x, 2.0 * np.arange(1000))
    swapped = np.zeros(1000, ">f4")
    add(x, 1, out=swapped)
    np.testing.assert_array_equal(swapped, x + 1)
    records = np.zeros(5, [("flag", "u1"), ("value", "f8")])
    records["value"] = [4, 9, 16, -1, 25]
    result, info = gufunc.sqrt(records["value"], errors="return")
    assert result[[0, 1, 2, 4]].tolist() == [2, 3, 4, 5] and info.first == (3,)


def test_more_elements_than_an_int_counts():
    n = 2**31 + 5
    many = np.broadcast_to(np.uint8(1), (n,))  # one byte of memory
    with pytest.raises(MemoryError):
        gufunc.from_ufunc(np.add)(np.broadcast_to(1.0, (2**20, 2**20)), 1.0)
    assert add.reduce(many, dtype="u8") == n


def test_empty_operands_of_every_rank():
    for shape in [(0,), (0, 3), (3, 0), (2, 0, 4)]:
        assert add(np.empty(shape), 1.0).shape == shape
        _, info = add(np.empty(shape), 1.0, errors="return")
        assert not info and info.failed.shape == shape and info.nelements == 0
    assert gufunc.inv(np.empty((0, 3, 3))).shape == (0, 3, 3)
    assert gufunc.inv(np.empty((4, 0, 0))).shape == (4, 0, 0)
    assert gufunc.dot(np.empty((4, 0)), np.empty(0)).tolist() == [0, 0, 0, 0]
    assert gufunc.det(np.empty((4, 0, 0))).tolist() == [1, 1, 1, 1]
    assert gufunc.cholesky(np.empty((4, 0, 0))).shape == (4, 0, 0)
    assert gufunc.solve(np.empty((4, 0, 0)), np.empty((4, 0))).shape == (4, 0)
    assert gufunc.tridiagonal(*[np.empty((4, 0))] * 4).shape == (4, 0)
