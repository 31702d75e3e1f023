"""Operators and ufuncs of Fields: operands meet along indices of the same name, as storages do."""

import enum
import operator
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridbuf as gb
import gridbuf.storage as gs

A = np.arange(9.0).reshape(3, 3)


def field(values: Any, dims: Any = None, **spec: Any) -> gb.Field:
    return gb.Field(np.array(values, float), dims, **spec)


@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.true_divide, np.hypot, np.less, np.equal]
)
def test_operands_are_matched_by_name_and_not_by_position(ufunc: np.ufunc) -> None:
    result = ufunc(field(A + 1, "IJ"), field(A + 1, "JI"))
    assert result.dims == ("I", "J") and np.array_equal(result.numpy(), ufunc(A + 1, A.T + 1))


@pytest.mark.parametrize(
    "op",
    [
        operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
        operator.pow,
        operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
    ],
)  # fmt: skip
def test_operators_are_the_ufuncs(op: Callable[[Any, Any], Any]) -> None:
    f, g = field(A + 1, "IJ"), field(A + 2, "JI")
    assert np.array_equal(op(f, g).numpy(), op(A + 1, A.T + 2))
    assert np.array_equal(op(f, f).numpy(), op(A + 1, A + 1))
    for number in (2, 2.0, np.float64(2), np.array(2.0)):
        assert np.array_equal(op(f, number).numpy(), op(A + 1, number)) and np.array_equal(
            op(number, f).numpy(), op(number, A + 1)
        )
    assert np.array_equal(op(f, A + 2).numpy(), op(A + 1, A + 2)) and np.array_equal(
        op(A, f).numpy(), op(A, A + 1)
    )


@pytest.mark.parametrize(
    "op", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
)
def test_operators_of_integers(op: Callable[[Any, Any], Any]) -> None:
    f, g = gb.Field(A.astype(int), "IJ"), gb.Field(A.astype(int), "JI")
    assert np.array_equal(op(f, g).numpy(), op(A.astype(int), A.T.astype(int)))


def test_operators_of_one_operand() -> None:
    f = field(A - 4, "IJ")
    assert (
        np.array_equal((-f).numpy(), 4 - A)
        and np.array_equal(abs(f).numpy(), abs(A - 4))
        and np.array_equal((+f).numpy(), A - 4)
    )
    assert np.array_equal((~gb.Field(A.astype(int), "IJ")).numpy(), ~A.astype(int))
    quotient, rest = divmod(f, field(A + 1, "JI"))
    assert np.array_equal(quotient.numpy(), (A - 4) // (A.T + 1)) and np.array_equal(
        rest.numpy(), (A - 4) % (A.T + 1)
    )
    with pytest.raises(TypeError, match="third argument"):
        pow(f, 2, 3)


def test_in_place_operators_keep_the_object_and_write_where_it_lies() -> None:
    memory = A.copy()
    f = before = gb.Field(memory, "IJ", halo=(1, 1))
    f += field(A, "JI")
    assert f is before and np.array_equal(memory, A + A.T) and f.halo == ((1, 1), (1, 1))
    f *= 2.0
    f -= field(np.arange(3.0), "J")
    assert f is before and np.array_equal(memory, 2 * (A + A.T) - np.arange(3.0))
    f **= 2
    assert f is before and np.array_equal(memory, (2 * (A + A.T) - np.arange(3.0)) ** 2)


def test_names_that_the_target_lacks_are_an_error() -> None:
    f, k = field(A, "IJ"), field(np.ones(4), "K")
    assert (f + k).dims == ("I", "J", "K")
    with pytest.raises(ValueError, match=r"out: its dims \('I', 'J'\) lack K; the result has"):
        f += k
    with pytest.raises(ValueError, match="lack K"):
        np.add(f, k, out=f)
    with pytest.raises(ValueError, match="read-only"):
        np.add(f, f, out=gb.Field(np.broadcast_to(np.float64(0), (3, 3)), "IJ"))


def test_out_is_returned_itself_and_keeps_its_own_metadata() -> None:
    out = gb.Field.zeros((3, 3), dims="JI", halo=(1, 0))
    assert np.add(field(A, "IJ"), 1, out=out) is out
    assert np.array_equal(out.numpy(), A.T + 1) and out.halo == ((1, 1), (0, 0))
    plain = np.zeros((3, 3))
    assert np.multiply(field(A, "IJ"), 2, out=plain) is plain and np.array_equal(plain, 2 * A)
    # Arrays have no names to ask for
    assert np.add(A, A, out=out) is out and np.array_equal(out.numpy(), A + A)
    wide = gb.Field.zeros((3, 3, 4), dims="JIK")
    np.add(field(A, "IJ"), 0, out=wide)
    assert np.array_equal(wide.numpy()[..., 2], A.T)


def test_fields_without_names_and_arrays_go_by_position() -> None:
    u, f = field(A), field(A, "JI")
    assert not hasattr(u + u, "__gt_dims__") and np.array_equal(
        (u + field(np.arange(3.0))).numpy(), A + np.arange(3.0)
    )
    assert (u + f).dims == ("J", "I") and np.array_equal((u + f).numpy(), A + A)
    with pytest.raises(
        ValueError,
        match=(
            r"must have as many indices \(2 for the dims \('J', 'I'\)\); gridbuf.Field\(array,"
            r" dims=...\)"
        ),
    ):
        f + np.arange(3.0)


def test_data_dimensions_have_names_too() -> None:
    f, g = field(np.ones((2, 3)), ["K", "10"]), field(np.arange(3.0), ["10"])
    assert (g + f).dims == ("K", "10") and (g + field(np.ones(2), "1")).dims == ("1", "10")


def test_the_result_is_laid_out_as_its_operand() -> None:
    f = gb.Field.ones((6, 7, 8), dims="IJK", backend="gt:gpu", device="cpu", halo=(3, 3, 0))
    assert f.strides == (8, 256, 1792)
    for result in (
        f + 1.0,
        f + f,
        np.sqrt(f),
        np.add(f, f, dtype="f8", casting="unsafe"),
        f + field(np.ones(8), "K"),
        f[...] + 1.0,
    ):
        assert result.dims == f.dims and result.halo == f.halo
        assert result.strides in (f.strides, (8, 48, 336))  # of a view: packed
    assert (f + 1.0).strides == f.strides and (f + 1.0).numpy()[
        3, 3, 0:
    ].ctypes.data % 256 == f.numpy()[3, 3, 0:].ctypes.data % 256
    assert (f > 0).strides == (1, 32, 224)
    plane = gb.Field.ones((6, 7), dims="IJ", backend="gt:cpu_ifirst")
    column = field(np.ones(8), "K")
    assert (plane + column).strides == (8, 48, 336) and (column + plane).strides[2] == 8


@pytest.mark.parametrize("shape", [(1, 2, 8), (3, 1, 8), (3, 1, 1), (1, 1, 5)])
@pytest.mark.parametrize("backend", ["C", "F", "gt:cpu_ifirst", "gt:cpu_kfirst"])
def test_an_index_of_one_element_keeps_its_place_in_the_order_of_memory(
    shape: tuple[int, ...], backend: str
) -> None:
    f = gb.Field.ones(shape, "f4", dims="IJK", backend=backend)
    whole = gb.Field.ones((3, 2, 8), dims="IJK", backend=backend)
    results: list[gb.Field] = [
        f + 1, np.maximum(f, f), np.clip(f, 0, 1), np.clip(f, f, f), np.modf(f)[1], divmod(f, f)[0],
        np.add(f, f, dtype="f4"), np.maximum(f, f, where=np.ones(shape, bool)), np.round(f, 1),
        np.where(f > 0, f, 0), np.copy(f), np.zeros_like(f), f.copy(), np.cumsum(f, "K"),
        gb.fused(lambda f: np.clip(f, 0, 1))(f),
    ]  # fmt: skip
    for result in results:
        assert result.strides == tuple(s * result.itemsize // 4 for s in f.strides)
    if shape == (1, 2, 8):  # what is made of it is laid out for the backend
        assert (np.clip(f, 0, 1) * whole).strides == whole.strides


@pytest.mark.parametrize(
    "dtypes", [("f4", "f8"), ("i2", "f4"), ("u1", "i8"), ("?", "f2"), ("c8", "f8"), (">f8", "f8")]
)
def test_the_dtype_is_numpys(dtypes: tuple[str, str]) -> None:
    a, b = np.ones(3, dtypes[0]), np.ones(3, dtypes[1])
    assert (gb.Field(a, "I") + gb.Field(b, "I")).dtype == (a + b).dtype and (
        gb.Field(a, "I") + 1
    ).dtype == (a + 1).dtype
    assert (gb.Field(a, "I") * np.float32(1)).dtype == (a * np.float32(1)).dtype


def test_numbers_that_do_not_fit_fail_as_in_numpy() -> None:
    small = gb.Field.ones((3,), "u1", dims="I")
    for _ in range(2):
        if np.__version__ >= "2":
            with pytest.raises(OverflowError):
                small + 300
        with pytest.raises(TypeError):
            np.bitwise_and(field(A, "IJ"), field(A, "IJ"))


# --- halo and origin


def test_the_domain_of_a_result_is_where_all_domains_meet() -> None:
    a = gb.Field.ones((8, 8), dims="IJ", halo=((1, 2), (0, 1)))
    b = gb.Field.ones((8, 8), dims="JI", halo=((2, 0), (3, 0)))
    result = a + b
    assert result.halo == ((3, 2), (2, 1)) and result.origin == (3, 2)
    thin = gb.Field.ones((1, 8), dims="IJ", halo=((0, 1), (4, 0)))
    assert (a + thin).halo == ((1, 2), (4, 1))  # broadcast along I, it says nothing of it
    assert (a + 1.0).halo == a.halo and (a + np.ones((8, 8))).halo == a.halo
    far = gb.Field.ones((8, 8), dims="IJ", halo=((8, 0), (0, 8)))
    assert (a + far).domain.shape == (0, 0)


def test_an_origin_without_a_halo_stays() -> None:
    f = gb.Field.ones((8, 8), dims="IJ", origin=(2, 1))
    assert (
        (f + f).origin == (2, 1)
        and (f + f).halo is None
        and (f + gb.Field.ones((8,), dims="J", origin=(3,))).origin == (2, 3)
    )
    assert (gb.Field.ones((4,)) + 1).origin is None


def test_without_names_the_halo_goes_by_position() -> None:
    f = gb.Field.ones((8, 9), halo=(1, 2))
    assert (f + np.ones(9)).halo == ((1, 1), (2, 2)) and (
        f + gb.Field.ones((9,), halo=(3,))
    ).halo == ((1, 1), (3, 3))


_axes = st.sampled_from(["".join(p) for n in (1, 2, 3) for p in permutations("IJK", n)])


@given(_axes, _axes, st.data())
def test_fields_and_storages_agree(first: str, second: str, data: Any) -> None:
    """One truth: axes, sizes, values, domain."""
    size = {"I": 3, "J": 4, "K": 3}
    operands = []
    for axes in (first, second):
        shape = tuple(data.draw(st.sampled_from([1, size[n]])) for n in axes)
        halo = tuple(
            (
                data.draw(st.integers(0, 1)) if n > 2 else 0,
                data.draw(st.integers(0, 1)) if n > 2 else 0,
            )
            for n in shape
        )
        values = np.random.default_rng(7).random(shape)
        operands.append(
            (gb.Field(values, axes, halo=halo), gs.storage(values, axes=axes, halo=halo))
        )
    (f, s), (g, t) = operands
    ours, theirs = f * g, s * t
    assert (
        "".join(ours.dims) == theirs.axes
        and ours.halo == theirs.halo
        and np.array_equal(ours.numpy(), theirs.to_numpy())
    )
    target = gb.Field.zeros(f.shape, dims=first), gs.zeros(f.shape, axes=first)
    outcomes = []
    for to, operand in zip(target, (g, t), strict=True):
        try:
            to[...] = operand
            outcomes.append(None)
        except ValueError:
            outcomes.append(ValueError)
    assert outcomes[0] == outcomes[1] and np.array_equal(target[0].numpy(), target[1].to_numpy())


# --- other kinds of operands


def test_storages_compute_themselves() -> None:
    s = gs.storage(A, axes="IJ")
    for result in (field(A, "JI") + s, s + field(A, "JI"), np.add(field(A, "JI"), s)):
        assert isinstance(result, gs.Storage) and np.array_equal(result.to_numpy(), A + A.T)
    with pytest.raises(ValueError, match="storages have I, J and K only"):
        s + field(A, ["I", "0"])


def test_other_libraries_arrays_go_by_position_where_the_names_allow_it() -> None:
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(A, dims=("I", "J"))
    assert isinstance(field(A, "IJ") + array, xarray.DataArray)
    for call in (operator.add, np.add):
        with pytest.raises(ValueError, match=r"names .* differ, and one of them goes by position"):
            call(field(A, "JI"), array)


def test_other_libraries_see_an_array_to_read_and_not_one_to_keep() -> None:
    """xarray keeps what shows `__array_function__`, and would compute by our names where it has its
    own.
    """
    f = field(A, "IJ")
    assert callable(f.__array_ufunc__)
    assert callable(gb.Field.__array_function__) and not hasattr(f, "__array_function__")
    xarray = pytest.importorskip("xarray")
    by_xarray = xarray.DataArray(f, dims=("x", "y")) + xarray.DataArray(
        field(A, "JI"), dims=("x", "y")
    )
    assert type(by_xarray.data) is np.ndarray and np.array_equal(by_xarray, A + A)
    assert np.shares_memory(xarray.DataArray(f).data, f.numpy())
    dask = pytest.importorskip("dask.array")
    for lazy in (f + dask.from_array(A), dask.from_array(A) + f):
        assert isinstance(lazy, dask.Array) and np.array_equal(lazy.compute(), A + A)


def test_in_place_nothing_else_takes_the_place_of_a_field() -> None:
    f = before = field(A, "IJ")
    f += gs.storage(A, axes="JI")
    assert f is before and np.array_equal(f.numpy(), A + A.T)
    for other in (np.ma.masked_array(A, A > 4), "a", None, object()):
        with pytest.raises(TypeError):
            f += other
    assert f is before


def test_subclasses_that_override_the_protocol() -> None:
    class Counted(gb.Field):
        calls = 0

        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
            type(self).calls += 1
            return super().__array_ufunc__(*args, **kwargs)

    result = np.add(Counted(A.copy(), "IJ"), 1)
    assert (
        np.array_equal(result.numpy(), A + 1)
        and type(result).calls == 1
        and hasattr(result, "__array_ufunc__")
    )


def test_objects_with_memory_are_arrays_and_others_defer() -> None:
    f = field(A, "IJ")
    assert np.array_equal((f + memoryview(A)).numpy(), A + A) and np.array_equal(
        (f + A.tolist()).numpy(), A + A
    )
    masked = np.ma.masked_array(A, A > 4)
    assert isinstance(f + masked, np.ma.MaskedArray) and (f + masked).mask.any()

    class Reflected:
        def __radd__(self, other: object) -> str:
            return "mine"

    class Disabled:
        __array_ufunc__ = None

        def __rmul__(self, other: object) -> str:
            return "mine too"

        def __eq__(self, other: object) -> Any:
            return "equal"

    assert (
        f + Reflected() == "mine" and f * Disabled() == "mine too" and (f == Disabled()) == "equal"
    )
    for other in (None, "a", object()):
        with pytest.raises(TypeError):
            f + other
        with pytest.raises(TypeError, match="`is` compares identities"):
            f == other  # noqa: B015
        with pytest.raises(TypeError, match="`is` compares identities"):
            f != other  # noqa: B015


def test_fields_are_not_hashable_as_arrays_and_storages() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(field(A))


def test_a_mask_goes_by_name() -> None:
    out = gb.Field.zeros((3, 3), dims="IJ")
    np.add(field(A, "IJ"), 1, out=out, where=gb.Field(A > 4, "JI"))
    assert np.array_equal(out.numpy(), np.where(A.T > 4, A + 1, 0))


def test_several_outputs() -> None:
    fraction, whole = np.modf(gb.Field(A / 2, "IJ", halo=(1, 1)))
    assert np.array_equal(fraction.numpy(), np.modf(A / 2)[0]) and whole.halo == ((1, 1), (1, 1))
    out = gb.Field.zeros((3, 3), dims="JI"), None
    assert np.modf(field(A / 2, "IJ"), out=out)[0] is out[0] and np.array_equal(
        out[0].numpy(), np.modf(A / 2)[0].T
    )


def test_core_dimensions_have_no_names() -> None:
    f, u = field(A, "IJ"), field(A)
    with pytest.raises(
        TypeError,
        match=r"matmul: its core dimensions have no names.*field.numpy\(\) goes by position",
    ):
        f @ f
    assert isinstance(u @ u, gb.Field) and np.array_equal((u @ u).numpy(), A @ A)


def test_subclasses_may_override() -> None:
    class Celsius(gb.Field):
        def __add__(self, other: Any) -> Any:
            return "warmer"

    assert Celsius(A.copy(), "IJ") + 1.0 == "warmer"


def test_overlapping_memory_is_read_before_it_is_written() -> None:
    f = gb.Field.from_array(np.arange(6.0), dims="I")
    f[1:] += f[:-1]
    assert f.tolist() == [0, 1, 3, 5, 7, 9]
    square = gb.Field(A.copy(), "IJ")
    square += gb.Field(square, "JI")
    assert np.array_equal(square.numpy(), A + A.T)


class Two(enum.IntEnum):
    TWO = 2


class Half(float):
    pass


@pytest.mark.parametrize("number", [Two.TWO, Half(0.5)])
@pytest.mark.parametrize(
    "make", [lambda array: gb.Field(array, dims="IJ"), lambda array: gs.storage(array, axes="IJ")]
)
def test_numbers_of_a_subclass_are_numbers(make: Any, number: Any) -> None:
    array = np.arange(6, dtype="float32").reshape(2, 3)
    for call in (
        lambda a: a * number,
        lambda a: number - a,
        lambda a: a == number,
        lambda a: np.divmod(a, number)[1],
    ):
        found, expected = np.asarray(call(make(array))), call(array)
        assert found.dtype == expected.dtype and (found == expected).all()


@pytest.mark.parametrize("exponent", [2, 2.0, 0.5, 3, -1.0])
@pytest.mark.parametrize("dtype", [bool, "int8", "float32", "complex128"])
@pytest.mark.parametrize("dims", ["IJ", None])
def test_powers_are_those_of_an_array(dims: str | None, dtype: Any, exponent: Any) -> None:
    array = np.array([[1, 0, 1], [1, 1, 0]], dtype)
    if dtype == "float32":
        array[0, 0] = -np.inf  # whose root is not its power 0.5
    with np.errstate(all="ignore"):
        found, expected = gb.Field(array.copy(), dims=dims) ** exponent, array**exponent
        assert isinstance(found, gb.Field) and found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)
        strided = gb.Field(np.repeat(array, 2, axis=1)[:, ::2], dims=dims)
        if expected.dtype == array.dtype:
            strided **= exponent
            np.testing.assert_array_equal(strided.numpy(), expected)
            return
        with pytest.raises(TypeError):
            strided **= exponent
