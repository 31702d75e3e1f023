"""A wrong call says which argument is wrong, what came and what is allowed."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridbuf as gb

MAKERS = [gb.empty, gb.zeros, gb.plan, gb.Field.empty]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("shape", "keywords", "error", "words"),
    [
        ("abc", {}, TypeError, "shape.*'abc'"),
        (None, {}, TypeError, "shape.*None"),
        (2.5, {}, TypeError, r"shape.*2\.5"),
        ((2, 1.0), {}, TypeError, r"shape.*1\.0"),
        ((2, "3"), {}, TypeError, "shape.*'3'"),
        ({2, 3}, {}, TypeError, "shape: expected .*, got {2, 3}"),
        ({2: 3}, {}, TypeError, "shape: expected .*, got {2: 3}"),
        ((-1,), {}, ValueError, "shape.*negative"),
        ((1 << 64,), {}, ValueError, "shape.*64 bits"),
        ((1,) * 33, {}, ValueError, "33.*at most 32"),
        ((2, 3), {"dimensions": "I"}, ValueError, "dimensions: 1 entries for 2"),
        ((2, 3), {"dimensions": "IX"}, ValueError, "dimensions: 'IX' has an unknown name"),
        ((2, 3), {"dimensions": ("I", "01")}, ValueError, "dimensions.*unknown"),
        ((2, 3), {"dimensions": "II"}, ValueError, "dimensions: 'II' names a dimension twice"),
        ((2, 3), {"dimensions": 5}, TypeError, "dimensions.*5"),
        ((2, 3), {"aligned_index": (1,)}, ValueError, "aligned_index.*1 entries"),
        ((2, 3), {"aligned_index": (0, -1)}, ValueError, "aligned_index.*negative"),
        ((2, 3), {"aligned_index": "ab"}, TypeError, "aligned_index.*'ab'"),
        ((2, 3), {"aligned_index": ("a", "b")}, TypeError, "aligned_index.*'a'"),
        ((2, 3), {"halo": 1.5}, TypeError, "halo.*got 1.5"),
        ((2, 3), {"halo": "ab"}, TypeError, "halo"),
        ((2, 3), {"halo": (1,)}, ValueError, "halo: 1 entries for 2"),
        ((2, 3), {"halo": (1, (1, 2, 3))}, ValueError, "halo.*3|halo"),
        ((2, 3), {"halo": (-1, 0)}, ValueError, "halo.*negative"),
        (
            (2, 3),
            {"halo": (0, (2, 2))},
            ValueError,
            r"halo: \(2, 2\) is more than the 3 elements of J \(index 1\)",
        ),
        ((2, 3), {"layout": (0,)}, ValueError, "layout.*1 entries for 2"),
        ((2, 3), {"layout": (1, 1)}, ValueError, "layout.*permutation"),
        ((2, 3), {"layout": (0, 2)}, ValueError, "layout.*permutation"),
        ((2, 3), {"layout": "IX"}, ValueError, "layout: .IX. has an unknown name"),
        ((2, 3), {"byte_alignment": 48}, ValueError, "byte_alignment: 48.*power of two"),
        ((2, 3), {"byte_alignment": 0}, ValueError, "byte_alignment: 0"),
        ((2, 3), {"byte_alignment": "64"}, TypeError, "byte_alignment.*'64'"),
        ((2, 3), {"padding": -1}, ValueError, "padding: -1"),
        ((2, 3), {"padding": "x"}, TypeError, "padding.*'x'"),
        ((2, 3), {"device": "cuda"}, ValueError, "device: 'cuda'.*'gpu'"),
        ((2, 3), {"device": ("gpu", -1)}, ValueError, "device"),
        ((2, 3), {"memory": "fast"}, ValueError, "memory: 'fast'.*'pinned'"),
        ((2, 3), {"backend": 7}, TypeError, "backend.*7"),
        ((2, 3), {"dtype": object}, TypeError, "dtype.*Python objects"),
        ((2, 3), {"dtype": [("a", "f8"), ("b", "O")]}, TypeError, "dtype.*Python objects"),
        ((2, 3), {"colour": 1}, TypeError, "unexpected keyword argument 'colour'"),
    ],
)
def test_errors_name_the_argument(make, shape, keywords, error, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=words):
        make(shape, **keywords)


F, S = gb.Field.ones((2, 3), dims="IJ"), gb.storage.ones((2, 3), axes="IJ")
SAYS_YES_OR_NO = {
    "keepdims": [
        lambda x: F.sum(keepdims=x), lambda x: F.max("I", keepdims=x),
        lambda x: F.mean("J", keepdims=x), lambda x: F.argmax(keepdims=x),
        lambda x: np.sum(F, axis=0, keepdims=x), lambda x: np.add.reduce(F, keepdims=x),
        lambda x: np.median(F, axis=0, keepdims=x),
        lambda x: S.sum(keepdims=x), lambda x: S.std("I", keepdims=x),
        lambda x: S.argmin("I", keepdims=x),
        lambda x: np.ptp(S, axis=0, keepdims=x), lambda x: np.multiply.reduce(S, keepdims=x),
        lambda x: np.percentile(S, 50, keepdims=x),
        lambda x: gb.gufunc.minmax.reduce(np.ones((2, 3)), keepdims=x),
        lambda x: gb.gufunc.dot(np.ones(3), np.ones(3), keepdims=x),
    ],
    "ordered": [lambda x: gb.gufunc.argmin.reduce(np.ones(3), ordered=x)],
    "force": [
        lambda x: S.device_to_host(force=x), lambda x: S.host_to_device(force=x),
        lambda x: S.set_host_modified(force=x),
        lambda x: S.set_device_modified(force=x), lambda x: gb.storage.SyncState().to_host(x),
        lambda x: gb.storage.SyncState().mark(1, x),
        lambda x: gb.storage.SyncState().to_device(force=x),
    ],
    "copy": [lambda x: gb.storage.storage(S, copy=x), lambda x: gb.from_dlpack(F, copy=x),
    lambda x: S.__array__(copy=x)],
    "padding": [lambda x: gb.empty(3, padding=x)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "call"), [(name, call) for name, calls in SAYS_YES_OR_NO.items() for call in calls]
)
def test_yes_or_no_is_a_bool_of_pythons_or_numpys(name, call) -> None:  # type: ignore[no-untyped-def]
    for value in (True, False, np.True_, np.False_):
        with contextlib.suppress(ValueError):  # this data cannot be had so
            call(value)
    for value in ("x", "", [], [1], 1.5, object(), {}, np.ones(2)):
        with pytest.raises(TypeError, match=f"^{name}: expected .*, got "):
            call(value)


def test_a_bool_is_no_number() -> None:
    for name, call in {
        "shape": lambda x: gb.empty(x), "byte_alignment": lambda x: gb.empty(8, byte_alignment=x),
        "halo": lambda x: gb.empty(8, halo=(x,)),
        "layout": lambda x: gb.empty((8, 8), layout=(0, x)),
        "origin": lambda x: gb.Field.empty(8, origin=(x,)), "n": gb.set_num_threads,
        "limit": gb.memory.set_limit,
        "alignment": lambda x: gb.register_backend("never", layout="IJK", alignment=x),
        "workers": lambda x: gb.gufunc.sqrt(4.0, workers=x),
        "device": lambda x: gb.empty(8, device=("gpu", x)),
    }.items():  # fmt: skip
        for value in (True, np.True_):
            with pytest.raises((TypeError, ValueError), match=f"^{name}: "):
                call(value)
    threads = gb.get_num_threads()
    for two in (2, np.int8(2), np.uint64(2)):
        assert (
            gb.empty(two).shape
            == gb.empty((two,)).shape
            == gb.storage.empty((two,), axes="I").shape
            == (2,)
        )
        gb.set_num_threads(two)
        assert gb.get_num_threads() == 2
    gb.set_num_threads(threads)


def test_missing_and_superfluous_arguments() -> None:
    with pytest.raises(TypeError, match=r"empty.. is missing the required argument 'shape'"):
        gb.empty()
    with pytest.raises(TypeError, match=r"full.. is missing the required argument 'fill_value'"):
        gb.full((2,))
    with pytest.raises(TypeError, match="at most 2 positional"):
        gb.empty((2,), np.float64, "C")
    with pytest.raises(TypeError, match="multiple values for argument 'dtype'"):
        gb.empty((2,), np.float64, dtype=np.float64)
    with pytest.raises(TypeError, match="dims and dimensions"):
        gb.Field.empty((2,), dims="I", dimensions="I")


def test_what_is_allowed_although_unusual() -> None:
    assert (
        gb.empty(5).shape == (5,)
        and gb.empty(np.int64(3)).shape == (3,)
        and gb.empty([2, 3]).shape == (2, 3)
    )
    assert gb.empty(()).shape == () and gb.empty((0, 4)).ctypes.data != 0
    assert gb.empty(np.array([2, 3])).shape == (2, 3)
    assert gb.plan((4, 4), aligned_index=(100, 100)).aligned_index == (100, 100)
    assert gb.empty((2, 3), dimensions=["K", "0"]).shape == (2, 3)
    assert gb.empty((2,), None).dtype == np.float64
    assert gb.full((3,), 1.7, np.int32).tolist() == [1, 1, 1]
    assert gb.empty((1,) * 32).ndim == 32

    class Axis:
        def __str__(self) -> str:
            return "K"

    assert gb.plan((2,), dimensions=[Axis()]).dims == ("K",)


def test_equal_plans_compare_equal_however_they_were_asked_for() -> None:
    a = gb.plan((4, 5, 6), np.float64, backend="C")
    same = [
        gb.plan([4, 5, 6], "f8", layout=(0, 1, 2)),
        gb.plan(
            (4, 5, 6),
            float,
            backend="numpy",
            dimensions=("I", "J", "K"),
            aligned_index=[0, 0, 0],
            byte_alignment=64,
        ),
        gb.plan((4, 5, 6), np.dtype("=f8"), halo=(0, 0, 0), padding=False),
    ]
    assert all(a == b and hash(a) == hash(b) for b in same) and len({a, *same}) == 1
    assert (
        a != gb.plan((4, 5, 6), np.int64) and a != gb.plan((4, 5, 6), backend="F") and a != "plan"
    )
    with pytest.raises(AttributeError):
        a.shape = (1,)
    assert "\n" not in repr(a) and "float64" in repr(a) and "\n" in str(a)


JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=4),
        st.binary(max_size=4),
        st.sampled_from([object, int, "IJK", "gpu"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=2),
    ),
    max_leaves=6,
)
NAMES = [
    "dtype",
    "backend",
    "dimensions",
    "aligned_index",
    "halo",
    "layout",
    "byte_alignment",
    "padding",
    "device",
    "memory",
    "origin",
    "dims",
]


@settings(max_examples=400)
@given(
    maker=st.sampled_from(MAKERS),
    shape=JUNK,
    keywords=st.dictionaries(st.sampled_from(NAMES), JUNK, max_size=4),
)
def test_junk_is_refused_and_never_crashes(maker, shape, keywords) -> None:  # type: ignore[no-untyped-def]
    if isinstance(shape, int) and abs(shape) > 1 << 20:
        shape = 7
    with contextlib.suppress(TypeError, ValueError, RuntimeError, MemoryError, OverflowError):
        maker(shape, **keywords)
