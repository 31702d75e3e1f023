"""Broadcasting by name, and the parameters of results."""

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.named.broadcasting import resolve
from gridbuf.storage.results import array_ufunc

SIZES = {"I": 2, "J": 3, "K": 4}
ALL_AXES = ["".join(p) for n in range(4) for p in itertools.permutations("IJK", n)]


def counted(axes: str, **spec: object) -> gs.Storage:
    shape = tuple(SIZES[name] for name in axes)
    return gs.storage(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), axes=axes, **spec)


def expanded(s: gs.Storage) -> np.ndarray:
    """The values as an I, J, K array with ones for missing axes."""
    order = [s.axes.index(name) for name in sorted(s.axes)]
    shape = [s.shape[s.axes.index(name)] if name in s.axes else 1 for name in "IJK"]
    return s.to_numpy().transpose(order).reshape(shape)


def test_the_example_of_the_proposal() -> None:
    a, b = counted("IJ"), counted("K")
    c = a + b
    assert c.axes == "IJK" and c.shape == (2, 3, 4)
    assert all(c[i, j, k] == a[i, j] + b[k] for i in range(2) for j in range(3) for k in range(4))


@pytest.mark.parametrize("first", ALL_AXES)
@pytest.mark.parametrize("second", ALL_AXES)
def test_the_axes_and_values_of_every_pair(first: str, second: str) -> None:
    a, b = counted(first), counted(second)
    c = a * 100 + b
    if set(second) <= set(first):
        axes = first
    elif set(first) <= set(second):
        axes = second
    else:
        axes = "".join(sorted({*first, *second}))
    assert c.axes == axes
    expected = expanded(a) * 100 + expanded(b)
    assert (expanded(c) == expected).all()


def test_sizes_of_one_behave_as_missing_but_their_names_count() -> None:
    a = gs.storage(np.arange(4.0).reshape(1, 1, 4))
    assert (a + counted("IJ")).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="sizes"):
        counted("IJ") + gs.ones((2, 2))
    assert (gs.ones((0, 3)) + gs.ones((1, 3))).shape == (0, 3)


def test_alignment_is_the_lcm_and_the_aligned_index_the_maximum() -> None:
    a = gs.ones((8, 9), axes="IJ", alignment=4, aligned_index=(3, 1))
    b = gs.ones((9, 7), axes="JK", alignment=6, aligned_index=(2, 5))
    c = a + b
    assert c.alignment == 12 and c.aligned_index == (3, 2, 5)
    address = c.__array_interface__["data"][0] + sum(
        i * s for i, s in zip(c.aligned_index, c.strides, strict=True)
    )
    assert address % 96 == 0


@pytest.mark.parametrize("layout", ["IJK", "KJI", "JKI", "KIJ"])
def test_the_layout_is_the_first_storage_s(layout: str) -> None:
    a, b = gs.ones((2, 3, 4), layout=layout), gs.ones((2, 3, 4), layout="IKJ")
    c = np.ones((2, 3, 4)) + (a + b)
    assert c.layout == layout and c.strides == gs.empty((2, 3, 4), layout=layout).strides


def test_the_halo_is_that_of_the_intersection() -> None:
    a = gs.ones((8, 8, 8), halo=((1, 2), (0, 3), 0))
    b = gs.ones((8, 8, 8), halo=((2, 1), (1, 0), 0))
    assert (a + b).halo == ((2, 2), (1, 3), (0, 0))
    assert (a + np.ones((8, 8, 8))).halo == a.halo


def test_what_is_broadcast_along_an_axis_does_not_constrain_it() -> None:
    a, one = gs.ones((8, 8, 8), halo=(1, 1, 1)), gs.ones((1, 8, 8), halo=((1, 0), 2, 0))
    assert (a + one).halo == ((1, 1), (2, 2), (1, 1))
    assert (a + gs.ones((8,), axes="K", halo=(3,))).halo == ((1, 1), (1, 1), (3, 3))
    assert (one + one).halo == one.halo


def test_an_empty_intersection_is_a_domain_of_size_zero() -> None:
    a, b = gs.ones((8,), halo=((5, 0),)), gs.ones((8,), halo=((0, 6),))
    c = a + b
    assert c.domain.shape == (0,) and sum(c.halo[0]) == 8


def test_a_result_of_backend_storages_fits_the_backend() -> None:
    for name in ("gtx86", "gtmc", "gt:cpu_ifirst", "gt:cpu_kfirst"):
        ij, k = gs.ones((6, 7), axes="IJ", defaults=name), gs.ones((5,), axes="K", defaults=name)
        assert (ij + k).strides == gs.empty((6, 7, 5), defaults=name).strides


@pytest.mark.parametrize(
    "call", [np.add, lambda a, k: array_ufunc(np.add, "__call__", a, k)], ids=["C", "Python"]
)
def test_broadcasting_copies_nothing(call: Any) -> None:
    """The operands that NumPy gets are views, and only the result is allocated."""
    plane, column = gs.ones((300, 400), axes="JI"), gs.ones((5,), axes="K")
    call(plane, column)
    before = gb.memory.stats()["allocations"]
    tracemalloc.start()
    try:
        made = call(plane, column)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.shape == (400, 300, 5) and gb.memory.stats()["allocations"] - before == 1
    assert peak % made.nbytes < plane.nbytes // 2  # what NumPy took; the result may be traced, too


def test_the_memory_of_resolutions_is_bounded() -> None:
    for n in range(1100):
        array_ufunc(np.add, "__call__", gs.ones((n % 30 + 1, n // 30 + 1)), 1)
    assert 0 < resolve.cache_info().currsize <= 1024


operands = st.tuples(
    st.sampled_from(ALL_AXES),
    st.tuples(*(st.sampled_from([1, size]) for size in SIZES.values())),
    st.sampled_from("CF"),
)


def drawn(names: str, sizes: tuple[int, ...], order: str) -> gs.Storage:
    shape = tuple(sizes["IJK".index(name)] for name in names)
    return gs.storage(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), axes=names, defaults=order)


@settings(max_examples=150, deadline=None)
@given(st.tuples(operands, operands, operands))
def test_expressions_as_numpy_on_expanded_arrays(
    three: tuple[tuple[str, tuple[int, ...], str], ...],
) -> None:
    a, b, c = (drawn(*one) for one in three)
    found = a * b + c
    assert (expanded(found) == expanded(a) * expanded(b) + expanded(c)).all()
    assert set(found.axes) == {*a.axes, *b.axes, *c.axes}
    out = gs.zeros((2, 3, 4))
    np.subtract(found, a, out=out)
    assert (out.to_numpy() == expanded(found) - expanded(a)).all()
