"""Gufuncs in a forked child, which has no Go: sizes, strides, masks, casts and Fields that the
parent has not seen.
"""

import multiprocessing
import os
import pickle
import random
from typing import Any

import numpy as np
import pytest
from in_child import forked

import gridbuf as gb
from gridbuf import gufunc

add, divide = gufunc.from_ufunc(np.add), gufunc.from_ufunc(np.divide)
TYPES = ["f8", "f4", "i4"]


def known() -> None:
    """One small call for each kernel."""
    for first in TYPES:
        for second in TYPES:
            for call in (add, divide):
                call(np.ones(2, first), np.ones(2, second))


def drawn_array(draw: random.Random, shape: tuple[int, ...]) -> np.ndarray:
    """Of any order of strides, sliced, reversed, in the other byte order, and with sizes of 1."""
    shape = tuple(1 if draw.random() < 0.2 else n for n in shape)
    order = draw.sample(range(len(shape)), len(shape))
    whole = np.zeros([shape[d] * 2 for d in order], draw.choice([*TYPES, ">f8"])).transpose(
        np.argsort(order)
    )
    part = whole[
        tuple(
            draw.choice(
                [slice(None, n), slice(n, None), slice(None, None, 2), slice(None, None, -2)]
            )
            for n in shape
        )
    ]
    part[...] = (np.arange(part.size) % 49 + 1).reshape(part.shape)
    return part[(0,) * draw.randrange(len(shape))] if part.size and draw.random() < 0.2 else part


def drawn(draw: random.Random) -> tuple[Any, tuple[np.ndarray, np.ndarray], dict[str, Any]]:
    shape = tuple(draw.randrange(1, 12) for _ in range(draw.randrange(1, 5)))
    if draw.random() < 0.1:
        shape = (0, *shape)
    inputs = drawn_array(draw, shape), drawn_array(draw, shape)
    result = np.broadcast_shapes(*(a.shape for a in inputs))
    options: dict[str, Any] = {"out": np.full(result[::-1], -1.0).T} if draw.random() < 0.4 else {}
    if "out" in options and draw.random() < 0.5:
        options["where"] = (np.arange(np.prod(result)) % 3 > 0).reshape(result)
    return draw.choice([(add, np.add), (divide, np.divide)]), inputs, options


def check_drawn(seed: int) -> None:
    draw = random.Random(seed)
    for case in range(150):
        (call, ufunc), inputs, options = drawn(draw)
        copied = {key: value.copy() for key, value in options.items()}
        found, wanted = call(*inputs, **options), ufunc(*inputs, **copied)
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted), (seed, case)


@pytest.mark.parametrize("seed", range(4))
def test_calls_of_any_size(seed: int) -> None:
    known()
    check_drawn(seed)
    assert forked(lambda: check_drawn(seed + 100)) == 0


def described(result: Any) -> Any:
    if isinstance(result, gb.Field):
        return result.__gt_dims__, result.shape, result.strides, result.numpy().tolist()
    return result.shape, result.strides, result.tolist()


def test_results_are_laid_out_as_in_the_parent() -> None:
    known()
    draw = random.Random(7)
    cases = []
    for _ in range(60):
        (call, _), inputs, _ = drawn(draw)
        if draw.random() < 0.5 and all(0 < a.ndim < 4 for a in inputs):
            names = ["".join(draw.sample("IJK", a.ndim)) for a in inputs]
            sizes = {name: draw.randrange(1, 9) for name in "IJK"}
            fields = [
                gb.Field(
                    np.arange(1.0, 1 + np.prod([sizes[d] for d in n])).reshape(
                        [sizes[d] for d in n]
                    ),
                    n,
                )
                for n in names
            ]
            cases.append((call, fields))
        else:
            cases.append((call, list(inputs)))

    def body() -> None:
        for (call, inputs), told in zip(cases, expected, strict=True):
            assert described(call(*inputs)) == told

    expected: list[Any] = []
    reads, writes = os.pipe()
    pid = os.fork()  # first in a child, which knows none of these sizes; then here
    if pid == 0:
        with os.fdopen(writes, "wb") as to:
            pickle.dump([described(call(*inputs)) for call, inputs in cases], to)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as stream:
        expected.extend(pickle.load(stream))
    os.waitpid(pid, 0)
    body()


def test_wrong_calls_say_so_and_failures_are_found() -> None:
    known()

    def body() -> None:
        with pytest.raises(gufunc.SignatureError, match="do not broadcast: sizes 41 and 43"):
            add(np.ones(41), np.ones(43))
        with pytest.raises(gufunc.SignatureError, match="out"):
            add(np.ones((5, 47)), 1.0, out=np.ones(47))
        with pytest.raises(gufunc.PartialSuccess) as failed:
            divide(np.ones(53), np.arange(53.0))
        assert failed.value.failed.tolist() == [True] + [False] * 52

    assert forked(body) == 0


def work(n: int) -> float:
    return float(add(np.arange(float(n)).reshape(1, n), np.ones((3, 1))).sum())


def test_a_pool_of_processes() -> None:
    known()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(60, 90)) == [3.0 * (n * (n - 1) / 2 + n) for n in range(60, 90)]


def test_large_calls_run_alone() -> None:
    known()
    large = np.arange(700_000.0).reshape(700, 1000)

    def body() -> None:
        assert np.array_equal(add(large, 1.0, workers=4), large + 1)

    assert forked(body) == 0
