"""gridbuf.interop.numba: Fields in compiled functions, over their own memory."""

import gc

import numpy as np
import pytest

import gridbuf as gb

numba = pytest.importorskip("numba")
pytest.importorskip("gridbuf.interop.numba")


@numba.njit
def increase(a):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += 10 * i + j
    return a


VIEWS = [lambda f: f, lambda f: f[1:, ::2], lambda f: f[::-1], lambda f: f.transpose("JI")]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("spec", [{}, {"backend": "F"}, {"padding": True}], ids=str)
def test_a_compiled_function_works_on_the_field_itself(view, spec: dict) -> None:  # type: ignore[no-untyped-def]
    field = view(gb.Field.zeros((4, 6), dims="IJ", **spec))
    back = increase(field)
    i, j = np.indices(field.shape)
    assert (field.numpy() == 10 * i + j).all()
    assert (
        type(back) is np.ndarray
        and back.ctypes.data == field.numpy().ctypes.data
        and back.strides == field.strides
    )


def test_what_comes_back_keeps_the_memory() -> None:
    back = increase(gb.Field.zeros((4, 6)))
    gc.collect()
    others = [gb.Field.full((4, 6), 9.0) for _ in range(8)]
    assert back[3, 5] == 35.0 and len(others) == 8


def test_blocks_are_released() -> None:
    increase(gb.Field.zeros((4, 6)))
    gc.collect()
    before = gb.memory.stats()["live_buffers"]
    for _ in range(10):
        increase(gb.Field.zeros((4, 6)))
    gc.collect()
    assert gb.memory.stats()["live_buffers"] == before


@numba.njit(parallel=True)
def in_parallel(a):  # type: ignore[no-untyped-def]
    for i in numba.prange(a.shape[0]):
        a[i] += i
    a[:] = a * 2


@numba.njit
def array_expressions(a, b, first):  # type: ignore[no-untyped-def]
    chosen = a if first else b
    return chosen.T + 1, np.sum(a[1:]), a.copy()


@pytest.mark.slow
def test_parallel_functions_and_array_expressions() -> None:
    field = gb.Field.ones((3, 4), backend="F")
    in_parallel(field)
    assert (field.numpy() == 2 + 2 * np.arange(3)[:, None]).all()
    turned, total, copied = array_expressions(field, np.zeros((3, 4)), True)
    assert (turned == field.numpy().T + 1).all() and total == field.numpy()[1:].sum()
    assert (copied == field.numpy()).all() and not np.shares_memory(copied, field.numpy())


@numba.stencil
def neighbours(a):  # type: ignore[no-untyped-def]
    return a[0, 1] + a[1, 0]


def test_stencils() -> None:
    field = gb.Field.from_array(np.arange(12.0).reshape(3, 4), backend="F")
    result = numba.njit(lambda a: neighbours(a))(field)
    assert (result[:-1, :-1] == field.numpy()[:-1, 1:] + field.numpy()[1:, :-1]).all()


def test_read_only_fields_cannot_be_written() -> None:
    array = np.zeros((2, 2))
    array.flags.writeable = False
    with pytest.raises(numba.core.errors.TypingError, match="readonly"):
        increase(gb.Field(array))
    assert numba.njit(lambda a: a.sum())(gb.Field(array)) == 0.0


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_size_0(shape: tuple) -> None:
    assert increase(gb.Field.zeros(shape)).shape == shape


def test_scalars() -> None:
    field = gb.Field.full((), 2.0)

    @numba.njit
    def double(a):  # type: ignore[no-untyped-def]
        a[()] *= 2

    double(field)
    assert field[()] == 4.0


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float32", "complex128", "datetime64[s]"]
)
def test_dtypes(dtype: str) -> None:
    field = gb.Field.zeros(3, dtype)
    assert numba.njit(lambda a: a)(field).dtype == np.dtype(dtype)


def test_dtypes_that_numba_lacks_are_named() -> None:
    with pytest.raises(
        numba.core.errors.TypingError, match=r"field: Numba has no type for dtype\('>f8'\)"
    ):
        increase(gb.Field.zeros((2, 2), ">f8"))


def test_written_out_signatures() -> None:
    from gridbuf.interop.numba import FieldType

    strict = numba.njit(numba.float64(FieldType(numba.float64, 2, "A")))(lambda a: a[0, 0])
    assert (
        strict(gb.Field.ones((2, 2))) == 1.0 and strict(gb.Field.ones((2, 2), backend="F")) == 1.0
    )
    arrays = numba.njit(numba.float64(numba.float64[:, :]))(lambda a: a[0, 0])
    assert arrays(gb.Field.ones((2, 2)).numpy()) == 1.0
