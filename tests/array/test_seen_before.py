"""What a call means does not depend on the calls before it, however alike they look."""

import itertools
import random
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf.like import like_spec

SPEC: dict[str, Any] = {"backend": "gt:cpu_ifirst", "aligned_index": (1, 1, 0)}


def layout(a: Any) -> tuple[Any, ...]:
    return a.shape, a.strides, a.dtype


def test_a_dictionary_of_keywords_means_what_it_says() -> None:
    for spec in [
        SPEC,
        {"aligned_index": (1, 1, 0), "backend": "gt:cpu_ifirst"},
        SPEC | {"padding": True},
        {"backend": "gt:cpu_ifirst"},
    ] * 3:
        written = gb.plan(**{"shape": [3, 5, 7], "dtype": "f8"}, **spec)
        assert gb.plan((3, 5, 7), np.float64, **spec) == written
        assert layout(gb.empty((3, 5, 7), np.float64, **spec)) == (
            written.shape,
            written.strides,
            written.dtype,
        )


def test_the_same_values_under_other_names() -> None:
    pair, shape = (1, 0), (4, 6)
    names = ("aligned_index", "layout", "halo", "origin")
    wanted = {name: repr(gb.Field.empty([4, 6], **{name: [1, 0]}).plan) for name in names}
    assert len(set(wanted.values())) == 2
    for name in names * 3:
        assert repr(gb.Field.empty(shape, **{name: pair}).plan) == wanted[name]
        f = gb.Field.empty(shape, **{name: pair})
        assert (f.halo is not None, f.origin is not None) == (
            name == "halo",
            name in {"halo", "origin"},
        )


def test_names_that_were_put_together_at_run_time() -> None:
    for _ in range(3):
        assert gb.plan((3, 5), **{"".join(["lay", "out"]): (1, 0)}).strides == (8, 24)
        with pytest.raises(TypeError, match="unexpected keyword argument 'layouts'"):
            gb.plan((3, 5), **{"".join(["lay", "outs"]): (1, 0)})


def test_shapes_made_for_the_call() -> None:
    """Numbers are compared by value and all else by identity; a tuple that is new each time is
    never taken for another.
    """
    rng = random.Random(3)
    for _ in range(5000):
        n = rng.choice([0, 1, 2, 3, 255, 256, 257, 258, 1000, 1 << 20])
        m = rng.choice([1, 2, 257, 300])
        k = int(str(m))  # the same number in another object
        assert gb.plan((n, m, k)).shape == (n, m, k)
        assert gb.plan((n, k), aligned_index=(m, k)).aligned_index == (m, m)
        assert gb.plan((k, n), dimensions=("J", "K") if n % 2 else ("K", "I")).dims == (
            ("J", "K") if n % 2 else ("K", "I")
        )
        f = gb.Field.zeros((m, k), halo=((k - 1, 0), (1, 0)))
        assert f.halo == ((m - 1, 0), (1, 0))
    for big in (1 << 70, -1, 1 << 64, (1 << 64) + 3):
        for _ in range(2):
            gb.plan((big % 7 + 3, 2))
            with pytest.raises(ValueError, match="shape"):
                gb.plan((big, 2))


Point = namedtuple("Point", "x y")


def test_numbers_of_every_kind() -> None:
    class Number:
        def __init__(self) -> None:
            self.value = 2

        def __index__(self) -> int:
            self.value += 1
            return self.value

    number = Number()
    assert [gb.plan((number, 4)).shape for _ in range(3)] == [(3, 4), (4, 4), (5, 4)]
    for one, two in itertools.product([1, np.int64(1), np.uint8(1)], [2, np.int32(2)]):
        for _ in range(2):
            assert (
                gb.plan((one, two)).shape
                == gb.plan([one, two]).shape
                == gb.plan(Point(one, two)).shape
                == (1, 2)
            )
        for same in (True, np.True_):  # equal to 1, and no number: np.empty refuses it, too
            with pytest.raises(TypeError, match="shape: expected a sequence of ints, got"):
                gb.plan((same, two))
    changing = [3, 4]
    assert gb.empty(changing).shape == (3, 4)
    changing[0] = 5
    assert gb.empty(changing).shape == (5, 4)


# ---- dtypes ----


def test_a_class_with_a_dtype_is_asked_every_time() -> None:
    class Meta:
        dtype = np.dtype("f8")

    assert [gb.empty((3,), Meta).dtype for _ in range(3)] == [np.float64] * 3
    Meta.dtype = np.dtype("f4")
    assert gb.empty((3,), Meta).dtype == gb.Field.empty((3,), dtype=Meta).dtype == np.float32
    assert gb.empty_like(np.zeros(3), Meta).dtype == np.float32


@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
def test_names_of_a_structured_dtype_can_be_set(nested: bool) -> None:
    inner = np.dtype([("a", "f8"), ("b", "i8")])
    dtype = np.dtype([("p", inner), ("q", "f8")]) if nested else inner
    for names in [("a", "b"), ("c", "d"), ("b", "a")]:
        inner.names = names
        for _ in range(2):
            want = np.zeros(3, dtype)
            for got in (
                gb.zeros((3,), dtype),
                gb.Field.zeros((3,), dtype),
                gb.Field(want),
                gb.zeros_like(want),
            ):
                assert np.asarray(got).dtype == want.dtype
                assert got.__array_interface__["descr"] == want.__array_interface__["descr"]
                assert memoryview(got).format == memoryview(want).format
            assert gb.plan((3,), dtype).dtype.descr == dtype.descr


# ---- empty_like and its kin, which go by the strides alone where nothing else is asked ----


ARRAYS = {
    "C": np.ones((3, 4, 5)),
    "F": np.ones((3, 4, 5), order="F"),
    "mixed": np.ones((4, 3, 5)).transpose(1, 0, 2),
    "padded rows": np.ones((3, 4, 8))[:, :, :5],
    "every other": np.ones((6, 4, 5))[::2],
    "reversed": np.ones((3, 4, 5))[::-1, :, ::-1],
    "broadcast": np.broadcast_to(np.ones(5), (3, 4, 5)),
    "single": np.ones((1, 1, 1)),
    "empty": np.ones((3, 0, 5)),
    "without indices": np.ones(()),
    "structured": np.zeros((3, 4), [("a", "f8"), ("b", "i1")]),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize(
    "dtype",
    [None, "f4", np.int64, np.dtype((np.float64, (2,)))],
    ids=["own", "f4", "int64", "sub-shape"],
)
def test_like_is_what_its_request_says(name: str, dtype: Any) -> None:
    a = ARRAYS[name]
    # A keyword: spelled out
    asked = gb.empty_like(a, dtype, padding=like_spec(a, {}).get("padding"))
    for make in (gb.empty_like, gb.zeros_like, gb.ones_like):
        made = make(a, dtype)
        assert (
            layout(made) == layout(asked)
            and made.flags.owndata
            and made.flags.aligned == asked.flags.aligned
        )
    if a.dtype.names is None:
        assert (
            (gb.zeros_like(a, dtype) == 0).all()
            and (gb.ones_like(a, dtype) == 1).all()
            and (gb.full_like(a, 7, dtype) == 7).all()
        )


def test_zeros_and_values_of_text() -> None:
    for a in (np.full(3, "abc"), gb.Field.full((3,), "abc", "U3")):
        assert (
            np.asarray(gb.zeros_like(a)).tolist() == [""] * 3
            and np.asarray(gb.full_like(a, 0)).tolist() == ["0"] * 3
        )
    for a in (np.ones(3), gb.Field.ones((3,))):
        assert np.isnan(np.asarray(gb.full_like(a, None))).all()  # what NumPy makes of None
        with pytest.raises(ValueError, match="could not convert string"):
            gb.full_like(a, "x")
    with pytest.raises(TypeError, match="Python objects"):
        gb.empty_like(np.zeros(3, object))


@pytest.mark.parametrize("dims", [None, "KJI"])
def test_a_field_like_a_field(dims: str | None) -> None:
    f = gb.Field.full((3, 4, 5), 9, dims=dims, halo=(1, (0, 1), 0), backend="gtmc")
    for make, value in [(gb.empty_like, None), (gb.zeros_like, 0), (gb.ones_like, 1)]:
        made = make(f)
        assert (
            type(made) is type(f)
            and made.plan == f.plan
            and made.halo == f.halo
            and made.origin == f.origin
            and made.dims == f.dims
        )
        assert hasattr(made, "__gt_dims__") == (dims is not None)
        assert value is None or (made.numpy() == value).all()
    assert (gb.full_like(f, 2.5).numpy() == 2.5).all() and (f.numpy() == 9).all()


# ---- nothing asked, nothing reserved ----


@pytest.mark.parametrize(
    "shape", [(0,), (0, 10**8), (0, 1 << 45), (1 << 45, 0), (1 << 20, 0, 1 << 30)]
)
def test_an_empty_array_reserves_nothing(shape: tuple[int, ...]) -> None:
    assert gb.plan(shape).alloc_nbytes < 1000
    for a in (
        gb.empty(shape),
        gb.zeros(shape),
        gb.ones(shape),
        gb.Field.zeros(shape),
        gb.Field.full(shape, 2).copy(),
    ):
        assert a.shape == shape and a.size == 0
        assert (
            np.from_dlpack(a).shape
            == np.asarray(a).shape
            == gb.empty_like(a).shape
            == gb.Field(a).shape
            == shape
        )
    assert gb.Field(np.empty(shape)).plan.alloc_nbytes == 0
    for device in ("gpu", ("gpu", 1)):
        assert gb.plan(shape, backend="gtcuda", device=device).alloc_nbytes < 1000
    assert gb.gufunc.from_ufunc(np.add)(np.empty(shape), 1.0).shape == shape
    assert gb.storage.empty(shape, np.float64).shape == shape
