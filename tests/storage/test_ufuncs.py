"""ufunc calls: results, outputs, arrays beside storages."""

import operator

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs

RNG = np.random.default_rng(7)


def random(shape: tuple[int, ...], **spec: object) -> gs.Storage:
    return gs.storage(RNG.random(shape) + 0.5, **spec)


@pytest.mark.parametrize("op",
[operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
                                operator.pow, operator.lt, operator.ge, operator.eq,
                                operator.ne])  # fmt: skip
def test_operators(op: object) -> None:
    a, b = random((2, 3, 4)), random((2, 3, 4))
    x, y = a.to_numpy(), b.to_numpy()
    for found, expected in (
        (op(a, b), op(x, y)),
        (op(a, 2), op(x, 2)),
        (op(2, a), op(2, x)),
        (op(a, y), op(x, y)),
        (op(x, b), op(x, y)),
    ):
        assert type(found) is gs.CPUStorage and found.dtype == expected.dtype
        assert np.allclose(found.to_numpy(), expected, rtol=1e-14)  # NumPy 1 squares in x ** 2


def test_unary_operators_and_abs() -> None:
    a = random((2, 3)) - 1.0
    for found, expected in (
        (-a, -a.to_numpy()),
        (+a, a.to_numpy()),
        (abs(a), abs(a.to_numpy())),
        (~(a > 0), ~(a.to_numpy() > 0)),
    ):
        assert (found.to_numpy() == expected).all()


@pytest.mark.parametrize(
    "op", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
)
def test_operators_in_place_keep_the_object_and_its_parameters(op: object) -> None:
    a = random((2, 3, 4), halo=(0, 1, 0), defaults="gtmc")
    x = a.to_numpy().copy()
    address = a.__array_interface__["data"]
    meta = (a.halo, a.layout, a.alignment)
    b = random((3,), axes="J", halo=((1, 1),))
    result = op(a, b)
    assert (
        result is a
        and a.__array_interface__["data"] == address
        and (a.halo, a.layout, a.alignment) == meta
    )
    assert (a.to_numpy() == op(x, b.to_numpy()[None, :, None])).all()


def test_in_place_into_fewer_axes_or_another_dtype() -> None:
    k, counts = gs.zeros((4,), axes="K"), gs.zeros((4,), int, axes="K")
    with pytest.raises(ValueError, match="out"):
        k += gs.ones((1, 1, 4))
    with pytest.raises(TypeError, match="same_kind"):
        counts += 0.5


@pytest.mark.parametrize(
    "dtypes",
    [
        ("i4", "f4"),
        ("u1", "i1"),
        ("f4", "f8"),
        ("?", "i2"),
        ("f4", "c8"),
        ("i8", "f4"),
        (">f8", "f4"),
    ],
)
def test_the_dtype_is_numpy_s(dtypes: tuple[str, str]) -> None:
    a, b = (gs.ones((3,), dtype) for dtype in dtypes)
    x, y = a.to_numpy(), b.to_numpy()
    for ufunc in (np.add, np.multiply, np.true_divide, np.less):
        assert ufunc(a, b).dtype == ufunc(x, y).dtype
    for scalar in (2, 2.5, True, 1j, np.float32(2), np.int16(3), np.array(2.0), 300):
        for s, array in ((a, x), (b, y)):
            try:
                expected = np.add(array, scalar)
            except OverflowError:
                with pytest.raises(OverflowError):
                    np.add(s, scalar)
                continue
            assert np.add(s, scalar).dtype == expected.dtype
            assert (np.add(s, scalar).to_numpy() == expected).all()


def test_several_outputs_are_a_tuple() -> None:
    a = random((2, 3)) * 10
    quotient, rest = np.divmod(a, 3.0)
    assert type(quotient) is gs.CPUStorage and (rest.to_numpy() == np.mod(a.to_numpy(), 3.0)).all()
    _, exponent = np.frexp(a)
    assert exponent.dtype == np.int32
    out = gs.empty((2, 3))
    first, second = np.modf(a, out=(out, None))
    assert first is out and (second.to_numpy() == np.modf(a.to_numpy())[1]).all()


def test_out_is_returned_itself_and_keeps_its_metadata() -> None:
    a = random((2, 3, 4), halo=(1, 1, 1))
    out = gs.empty((4, 3, 2), axes="KJI", halo=(2, 0, 0), layout="KJI")
    result = np.add(a, 1.0, out=out)
    assert result is out and out.halo == ((2, 2), (0, 0), (0, 0)) and out.layout == "KJI"
    assert (out.to_numpy() == a.to_numpy().transpose(2, 1, 0) + 1).all()


def test_out_with_more_axes_is_broadcast_into() -> None:
    ij, out = random((2, 3)), gs.empty((2, 3, 4))
    assert np.sqrt(ij, out=out) is out
    assert (out.to_numpy() == np.sqrt(ij.to_numpy())[:, :, None]).all()


def test_out_without_an_axis_of_the_result() -> None:
    with pytest.raises(ValueError, match=r"out.*lack 'K'"):
        np.add(random((2, 3, 4)), 1.0, out=gs.empty((2, 3)))
    with pytest.raises(ValueError):
        np.add(random((2, 3)), 1.0, out=gs.empty((1, 3)))


def test_a_plain_array_of_the_result_s_shape_can_be_out() -> None:
    ij, k, out = random((2, 3)), random((4,), axes="K"), np.empty((2, 3, 4))
    assert np.add(ij, k, out=out) is out
    assert (out == ij.to_numpy()[:, :, None] + k.to_numpy()).all()
    with pytest.raises(ValueError, match="out"):
        np.add(ij, k, out=np.empty((4, 3, 2)))


def test_where_and_dtype() -> None:
    a, out = random((2, 3, 4)), gs.zeros((2, 3, 4))
    keep = gs.storage(np.array([True, False]), axes="I")
    np.negative(a, out=out, where=keep)
    assert (out.to_numpy()[0] == -a.to_numpy()[0]).all() and (out.to_numpy()[1] == 0).all()
    assert np.add(a, a, dtype=np.float32).dtype == np.float32


def test_what_a_conversion_drops_is_warned_of_once() -> None:
    values = np.full((2, 3), 1 + 1j)
    for obj in (gs.storage(values), gb.Field(values, dims="IJ")):
        for options in ({"dtype": float}, {"signature": "dd->d"}, {"dtype": "f4", "where": True}):
            with pytest.warns(np.exceptions.ComplexWarning) as told:
                found = np.add(obj, 1, casting="unsafe", **options)
            assert (
                len(told) == 1
                and (np.asarray(found) == 2).all()
                and found.dtype == options.get("dtype", float)
            )


def test_arrays_of_the_storage_s_shape_go_by_index() -> None:
    ki = random((4, 2), axes="KI")
    x = RNG.random((4, 2))
    assert (ki + x).axes == "KI" and ((ki + x).to_numpy() == ki.to_numpy() + x).all()


def test_arrays_of_three_dimensions() -> None:
    kji, x = random((4, 3, 2), axes="KJI"), RNG.random((4, 1, 2))
    assert (kji + x).axes == "KJI" and ((kji + x).to_numpy() == kji.to_numpy() + x).all()
    ij, y = random((5, 3)), RNG.random((5, 3, 1))
    assert (ij + y).axes == "IJ" and ((ij + y).to_numpy() == ij.to_numpy() + y[:, :, 0]).all()
    ji, z = random((3, 5), axes="JI"), RNG.random((1, 3, 7))
    assert (ji + z).axes == "IJK" and ((ji + z).to_numpy() == ji.to_numpy().T[:, :, None] + z).all()


@pytest.mark.parametrize(
    "shape", [(3,), (4,), (2, 1), (1, 3), (1,), (3, 2), (2, 3, 4, 1), (5, 3, 4)]
)
def test_arrays_that_do_not_fit(shape: tuple[int, ...]) -> None:
    for operands in ((random((2, 3)), np.ones(shape)), (np.ones(shape), random((2, 3, 4)))):
        with pytest.raises(ValueError, match="broadcast"):
            np.add(*operands)


def test_arrays_of_out_s_shape() -> None:
    k, x, out = random((4,), axes="K"), RNG.random((2, 4)), gs.empty((2, 4), axes="IK")
    np.add(k, x, out=out)
    assert (out.to_numpy() == k.to_numpy() + x).all()
    with pytest.raises(ValueError, match="broadcast"):
        np.add(k, x)
    np.add(x, x, out=out)
    assert (out.to_numpy() == 2 * x).all()


def test_lists_and_zero_dimensional_arrays() -> None:
    s = gs.storage(np.arange(3.0))
    assert np.add(s, [1, 2, 3]).to_numpy().tolist() == [1, 3, 5]
    assert (
        (s * np.array(2.0)).to_numpy().tolist()
        == (np.array(2.0) * s).to_numpy().tolist()
        == [0, 2, 4]
    )


def test_a_field_takes_part_by_its_names() -> None:
    ij, f = random((2, 3)), gb.Field.from_array(RNG.random((4, 2)), dims="KI")
    found = np.multiply(ij, f)
    assert (
        found.axes == "IJK"
        and (found.to_numpy() == ij.to_numpy()[:, :, None] * f.numpy().T[:, None, :]).all()
    )


def test_the_other_methods_of_ufuncs() -> None:
    s = random((3, 3), axes="JI", halo=(1, 0))
    values = s.to_numpy().copy()
    for axis, number in (("I", 1), ("J", 0), (-1, 1)):
        found = np.add.accumulate(s, axis=axis)
        assert (found.axes, found.halo) == ("JI", s.halo) and (
            found.to_numpy() == np.add.accumulate(values, axis=number)
        ).all()
    out = gs.empty((3, 3))
    assert (
        np.add.accumulate(s, axis="I", out=out) is out
        and (out.to_numpy() == np.add.accumulate(values, axis=1).T).all()
    )
    for call in (
        lambda a: np.add.reduceat(a, [0, 1]), lambda a: np.add.outer(a, a),
        lambda a: np.matmul(a, a), lambda a: a @ a,
    ):  # fmt: skip
        assert type(call(s)) is np.ndarray and (call(s) == call(values)).all()
    np.add.at(s, [0, 0], 1.0)
    np.add.at(values, [0, 0], 1.0)
    assert (s.to_numpy() == values).all()
    with pytest.raises(ValueError, match=r"add\.outer: it goes by position"):
        np.add.outer(s, random((3, 3)))


def test_zero_axes() -> None:
    s = gs.full((), 3.0, axes="")
    assert (s + 1).ndim == 0 and float(s * s) == 9.0 and ((s + random((2, 3))).axes) == "IJ"
    assert bool(s == 3) and int(s) == 3 and complex(s) == 3


def test_truth_and_scalars_of_more_than_one_element() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        bool(gs.zeros((2,)))
    with pytest.raises(TypeError, match="one element"):
        float(gs.zeros((2,)))
