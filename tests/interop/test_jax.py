"""gridbuf.interop.jax: shared where XLA can, and told why where it cannot; never a copy or another
dtype unasked.
"""

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import gridbuf as gb

jax = pytest.importorskip("jax")
gbj = pytest.importorskip("gridbuf.interop.jax")


def with_64_bits(on: bool) -> Iterator[None]:
    before = jax.config.jax_enable_x64  # importing gt4py.next switches it on for the process
    jax.config.update("jax_enable_x64", on)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def wide() -> Iterator[None]:
    yield from with_64_bits(True)


@pytest.fixture
def narrow() -> Iterator[None]:
    yield from with_64_bits(False)


@pytest.mark.parametrize(
    "layout", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1)]
)
def test_every_order_of_strides_is_shared(layout: tuple) -> None:
    values = np.arange(60, dtype="float32").reshape(3, 4, 5)
    field = gb.Field.from_array(values, dtype=None, layout=layout, padding=False)
    array = gbj.to_array(field)
    assert array.unsafe_buffer_pointer() == field.numpy().ctypes.data
    assert (np.asarray(array) == values).all()


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (lambda f: f[:, :, ::2], r"K \(index 2\) has the stride 8 where compact memory has 4"),
        (lambda f: f[:, 1:], r"I \(index 0\) has the stride 80 where compact memory has 60"),
        (lambda f: f[::-1], r"I \(index 0\) has the stride -80 where compact memory has 80"),
        (lambda f: f[1:], r"lies 16 bytes after a boundary of 64"),
        (
            lambda f: f.to(padding=True),
            r"J \(index 1\) has the stride 64 where compact memory has 20",
        ),
    ],
)
def test_what_xla_cannot_share_is_said_and_copied_on_request(view, says: str) -> None:  # type: ignore[no-untyped-def]
    field = view(
        gb.Field.from_array(np.arange(60, dtype="float32").reshape(3, 4, 5), dtype=None, dims="IJK")
    )
    with pytest.raises(ValueError, match=says) as refused:
        gbj.to_array(field)
    assert "compact(field)" in str(refused.value)
    shared = gbj.compact(field)
    assert gbj.to_array(shared).unsafe_buffer_pointer() == shared.numpy().ctypes.data
    for array in (
        gbj.to_array(shared),
        gbj.to_array(field, copy=None),
        gbj.to_array(field, copy=True),
    ):
        assert (np.asarray(array) == field.numpy()).all()


def test_half_precision_is_refused_rather_than_given(narrow: None) -> None:
    field = gb.Field.full((2, 3), 1 / 3)
    for copy in (False, None, True):
        with pytest.raises(
            ValueError, match=r"float64 has 64-bit parts.*jax_enable_x64.*to\(dtype='float32'\)"
        ):
            gbj.to_array(field, copy=copy)
    with pytest.raises(ValueError, match=r"to\(dtype='complex64'\)"):
        gbj.to_array(gb.Field.zeros(3, "complex128"))
    assert gbj.to_array(field.to(dtype="float32")).dtype == "float32"


def test_64_bits_are_shared_once_switched_on(wide: None) -> None:
    field = gb.Field.full((2, 3), 1 / 3)
    array = gbj.to_array(field)
    assert array.dtype == "float64" and array.unsafe_buffer_pointer() == field.numpy().ctypes.data


def test_a_copy_is_one() -> None:
    field = gb.Field.zeros((4, 4), "float32")
    array = gbj.to_array(field, copy=True)
    field[...] = 1.0
    assert not array.any()


def test_sizes_0_and_scalars() -> None:
    assert gbj.to_array(gb.Field.zeros((0, 3), "float32")).shape == (0, 3)
    assert float(gbj.to_array(gb.Field.full((), 2.0, "float32"))) == 2.0


@pytest.mark.parametrize("dtype", ["S4", ">f4", "datetime64[s]"])
def test_dtypes_that_jax_lacks(dtype: str) -> None:
    for copy in (False, True):
        with pytest.raises(BufferError, match="field: JAX cannot hold"):
            gbj.to_array(gb.Field.zeros(3, dtype), copy=copy)


def test_read_only_memory_is_shared() -> None:
    values = gb.zeros(16, "float32")
    values.flags.writeable = False
    assert gbj.to_array(values).unsafe_buffer_pointer() == values.ctypes.data


def test_a_field_over_an_array_is_read_only_and_keeps_it() -> None:
    array = jax.numpy.arange(6.0).reshape(2, 3) + 1
    pointer = array.unsafe_buffer_pointer()
    field = gbj.from_array(array, "JK", halo=(0, 1))
    del array
    gc.collect()
    assert field.readonly and field.dims == ("J", "K") and field.numpy().ctypes.data == pointer
    assert field[1, 2] == 6.0
    with pytest.raises(ValueError, match="read-only"):
        field[0, 0] = 1.0


def test_arrays_without_memory() -> None:
    with pytest.raises(TypeError, match="array: it is traced"):
        jax.jit(gbj.from_array)(jax.numpy.zeros(3))
    gone = jax.numpy.zeros(3) + 1
    gone.delete()
    with pytest.raises(ValueError, match="deleted or donated"):
        gbj.from_array(gone)
    with pytest.raises(TypeError, match=r"expected a jax\.Array, got ndarray"):
        gbj.from_array(np.zeros(3))


def test_fields_allocated_for_jax() -> None:
    field = gbj.empty((8, 7, 3), dims="IJK", backend="gt:cpu_ifirst", halo=(3, 3, 0))
    assert gbj.why_not(field) is None and field.halo == ((3, 3), (3, 3), (0, 0))
    plain = gb.Field.empty(
        (8, 7, 3), "float32", dims="IJK", backend="gt:cpu_ifirst", halo=(3, 3, 0)
    )
    assert "boundary" in gbj.why_not(plain)


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    field = gb.Field.full((2, 3), 1.5, ml_dtypes.bfloat16)
    array = gbj.to_array(field)
    assert array.dtype == "bfloat16" and array.unsafe_buffer_pointer() == field.numpy().ctypes.data
    assert gbj.from_array(array).dtype == np.dtype(ml_dtypes.bfloat16)
