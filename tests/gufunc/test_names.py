"""Calls with Fields: dims, origin and halo of results, outputs by name, axes by name."""

import itertools
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf import gufunc

add, inv = gufunc.from_ufunc(np.add), gufunc.inv
rng = np.random.default_rng(0)


def field(dims: str, shape: tuple[int, ...], **meta: Any) -> Any:
    return gb.Field(rng.normal(size=shape), dims=dims, **meta)


def test_a_result_keeps_origin_and_halo() -> None:
    f = field("IJ", (6, 5), halo=(1, (0, 2)))
    for result in (
        add(f, 1.0),
        add(1.0, f),
        add(f, f, errors="return")[0],
        add(f, field("J", (5,))),
        gufunc.from_ufunc(np.modf)(f)[1],
    ):
        assert (result.dims, result.halo, result.origin) == (("I", "J"), f.halo, f.origin)
        assert result.domain.shape == f.domain.shape
    only_origin = add(field("JI", (6, 5), origin=(1, 2)), 1.0)
    assert (only_origin.dims, only_origin.origin, only_origin.halo) == (("J", "I"), (1, 2), None)


SIZES = {"I": 2, "J": 3, "K": 4, "0": 5}
SOME_NAMES = [
    "".join(names) for count in (1, 2, 3) for names in itertools.permutations("IJK", count)
] + ["0IJK", "KJI0", "J0"]


@pytest.mark.parametrize("first", SOME_NAMES)
def test_names_of_a_result_have_the_order_of_the_ufunc_s(first: str) -> None:
    """Those of the operand that has all, the first one's order; a mask is an operand too."""
    for second in SOME_NAMES:
        f, g = (field(dims, tuple(SIZES[d] for d in dims)) for dims in (first, second))
        mask = gb.Field(np.ones(f.shape, bool), dims=first)
        for _again in range(2):  # the second call is answered from memory
            assert add(f, g).dims == np.add(f, g).dims
            assert add(f, 1.0).dims == f.dims
            if set(first) >= set(second):
                result = add(g, 1.0, where=mask)
                assert result.dims == (g.dims if set(first) == set(second) else f.dims)
        np.testing.assert_array_equal(add(f, g).numpy(), np.add(f, g).numpy())
        out = np.zeros(np.add(f, g).shape)  # without names: the result's indices
        np.testing.assert_array_equal(add(f, g, out=out), np.add(f, g).numpy())


@pytest.mark.parametrize("first", [(0, 0), (1, 2), (3, 0), (2, 2)])
@pytest.mark.parametrize("second", [(0, 0), (2, 1), (5, 0), (4, 4)])
@pytest.mark.parametrize("axes", ["IJ", "JI", "I"])
def test_halos_join_as_those_of_storages(
    first: tuple[int, int], second: tuple[int, int], axes: str
) -> None:
    shape = tuple({"I": 8, "J": 9}[name] for name in axes)
    halo = tuple({"I": second, "J": (1, 0)}[name] for name in axes)
    ours = add(field("IJ", (8, 9), halo=(first, (0, 3))), field(axes, shape, halo=halo))
    a = gs.storage(np.ones((8, 9)), axes="IJ", halo=(first, (0, 3)))
    b = gs.storage(np.ones(shape), axes=axes, halo=halo)
    assert ours.halo == (a + b).halo


def test_an_input_that_is_broadcast_says_nothing_of_the_domain() -> None:
    wide, thin = field("IJ", (6, 5), halo=(1, 1)), field("IJ", (1, 5), halo=((1, 0), (2, 2)))
    assert add(wide, thin).halo == ((1, 1), (2, 2))


def test_an_output_keeps_its_own_halo() -> None:
    out = field("IJ", (6, 5), halo=(2, 2))
    assert add(field("IJ", (6, 5), halo=(1, 1)), 1.0, out=out) is out and out.halo == (
        (2, 2),
        (2, 2),
    )


def test_names_that_the_output_lacks_are_an_error() -> None:
    plane, column = field("IJ", (3, 3)), field("K", (3,))
    for k in (3, 1):
        with pytest.raises(gufunc.SignatureError, match=r"out: its dimensions \[I J\] lack K"):
            add(plane, field("K", (k,)), out=field("IJ", (3, 3)))
    with pytest.raises(gufunc.SignatureError, match="lack J"):
        add(plane, 1.0, out=field("I", (3,)))
    assert add(plane, column).dims == ("I", "J", "K")
    wider = field("KJI", (2, 3, 3))
    assert add(plane, 1.0, out=wider) is wider
    np.testing.assert_array_equal(wider.numpy(), np.broadcast_to(plane.numpy().T + 1, (2, 3, 3)))


def test_an_array_as_output_has_the_indices_of_the_result() -> None:
    a, b, out = field("IJ", (3, 3)), field("JI", (3, 3)), np.zeros((3, 3))
    assert add(a, b, out=out) is out
    np.testing.assert_array_equal(out, a.numpy() + b.numpy().T)
    with pytest.raises(gufunc.SignatureError, match="without names"):
        add(a, b, out=np.zeros((2, 3, 3)))


def test_an_axis_by_name() -> None:
    shape = (3, 4, 5)
    f, g = field("IJK", shape, halo=(0, 1, 2)), field("IJK", shape)
    for name, axis in (("I", 0), ("J", 1), ("K", 2)):
        np.testing.assert_array_equal(
            gufunc.dot(f, g, axis=name).numpy(), gufunc.dot(f, g, axis=axis).numpy()
        )
        kept = gufunc.dot(f, g, axis=name, keepdims=True)
        assert kept.dims == ("I", "J", "K") and kept.shape == tuple(
            1 if d == axis else n for d, n in enumerate(shape)
        )
    other = gb.Field(g.numpy().transpose(2, 0, 1), dims="KIJ")
    np.testing.assert_array_equal(
        gufunc.dot(f, other, axis="J").numpy(), gufunc.dot(f, g, axis=1).numpy()
    )
    main = gb.Field(f.numpy() + 9, dims="IJK", halo=(0, 1, 2))
    solved = gufunc.tridiagonal(f, main, f, f, axis="J")
    assert solved.dims == ("I", "J", "K") and solved.halo == f.halo
    np.testing.assert_array_equal(solved.numpy(), gufunc.tridiagonal(f, main, f, f, axis=1).numpy())
    out = field("KJI", (5, 4, 3))
    assert gufunc.tridiagonal(f, main, f, f, axis="J", out=out) is out
    np.testing.assert_array_equal(out.numpy(), solved.numpy().transpose(2, 1, 0))


def test_an_axis_by_name_needs_names() -> None:
    with pytest.raises(gufunc.SignatureError, match="axis: J is a name, and input 0 has none"):
        gufunc.dot(np.ones((2, 2)), np.ones((2, 2)), axis="J")
    with pytest.raises(gufunc.SignatureError, match="axis: input 1 has no dimension J"):
        gufunc.dot(field("IJ", (2, 2)), field("IK", (2, 2)), axis="J")


def test_a_matrix_keeps_the_names_of_its_indices() -> None:
    for dims in ("JK", "KJ", "IJK"):
        f = gb.Field(np.broadcast_to(np.eye(3), (3,) * len(dims)).copy(), dims=dims)
        assert inv(f).dims == tuple(dims)
    assert gufunc.matvec(gb.Field(np.eye(3), dims="JK"), gb.Field(np.ones(3), dims="K")).dims == (
        "J",
    )


def test_one_reader_of_names_for_operands_and_get_dims() -> None:
    class Array(np.ndarray):
        dims: Any = None

    a = rng.normal(size=(3, 2)).view(Array)
    a.dims = ("K", "J")
    assert gb.get_dims(a) == ("K", "J")
    result = add(a, field("K", (3,)))
    assert result.dims == ("K", "J")
    a.dims = ("height", "lat")
    assert gb.get_dims(a) is None and type(add(a, np.ones(2))) is np.ndarray


def test_a_storage_brings_its_halo() -> None:
    s = gs.storage(np.ones((6, 5)), axes="IJ", halo=((1, 2), (0, 1)))
    assert add(s, 1.0).halo == ((1, 2), (0, 1))
    reduced = add.reduce(s, axis="J")
    assert reduced.dims == ("I",) and reduced.halo == ((1, 2),)
    assert add.reduce(range(5)) == 10  # and whatever else a call takes


class Unreadable:
    """Whose memory is asked for in vain: the error is one that no text alone makes."""

    @property
    def __array_interface__(self) -> Any:
        raise UnicodeDecodeError("utf-8", b"x", 0, 1, "no text")


@pytest.mark.parametrize(
    "take", [lambda x: add(x, 1.0), add.reduce, lambda x: gb.check(x, backend="C")]
)
def test_an_object_s_error_stays_what_it_is(take: Any) -> None:
    with pytest.raises(UnicodeDecodeError, match="no text"):
        take(Unreadable())
