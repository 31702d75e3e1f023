"""nanobind, pybind11 and Cython with the arguments that programs declare: taken in place, refused, or copied where documented."""

from types import ModuleType

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import consumers


def module(name: str) -> ModuleType:
    consumer = consumers.load(name)
    try:
        consumer.start()
    except consumers.Missing as error:
        pytest.skip(f"{name}: {error}")
    return consumer.module  # type: ignore[attr-defined]


def readonly(field: gb.Field) -> gb.Field:
    array = field.numpy()
    array.flags.writeable = False
    return gb.Field(array, field.dims)


def test_nanobind_takes_c_order_and_never_copies_a_field() -> None:
    extension = module("nanobind")
    field = gb.Field.ones((4, 5), dims="IJ")
    assert extension.sum_c(field) == (20.0, field.numpy().ctypes.data)
    for other in (
        gb.Field.ones((4, 5), backend="F"),
        gb.Field.ones((4, 5), "f4"),
        gb.Field.ones((2, 4, 5)),
        gb.Field.ones((4, 5), padding=8),
    ):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            extension.sum_c(other)
    array = np.ones((4, 5), order="F")  # what it does to an ndarray
    assert extension.sum_c(array)[1] != array.ctypes.data
    with pytest.raises(TypeError, match="incompatible function arguments"):
        extension.sum_c_in_place(array)


def test_nanobind_does_not_write_to_read_only_memory() -> None:
    extension = module("nanobind")
    assert isinstance(extension.hold(gb.Field.ones(3)), extension.Writable)
    assert isinstance(extension.hold(readonly(gb.Field.ones(3))), extension.Constant)


def test_pybind11_converts_and_copies_as_the_page_says() -> None:
    extension = module("pybind11")
    field = gb.Field.ones((4, 5), backend="gt:cpu_ifirst")
    here = field.numpy().ctypes.data
    assert extension.address_any(field) == here and extension.address_c(field) != here
    assert extension.address_any(gb.Field.ones((4, 5), "f4")) != here
    tight = gb.Field.ones((4, 5), backend="F", padding=False).numpy()
    assert extension.address_exact(tight) == tight.ctypes.data
    with pytest.raises(TypeError, match="incompatible function arguments"):
        extension.address_exact(gb.Field.ones((4, 5), padding=8).numpy())


def test_pybind11_asks_for_writable_memory() -> None:
    extension = module("pybind11")
    field = readonly(gb.Field.ones(3))
    assert extension.hold(field).readonly and not extension.hold(gb.Field.ones(3)).readonly
    with pytest.raises((BufferError, RuntimeError), match="read-only"):
        extension.hold_writable(field)
    held = extension.hold_writable(gb.Field.ones(3))
    with pytest.raises(ValueError, match="one element"):
        held.set([0], b"1234")


def test_cython_compares_element_type_indices_and_order() -> None:
    extension = module("Cython")
    field = gb.Field.ones((4, 5, 6))
    assert extension.contiguous(field) == field.numpy().ctypes.data
    with pytest.raises(BufferError, match="not C-contiguous"):
        extension.contiguous(gb.Field.ones((4, 5, 6), backend="F"))
    with pytest.raises(ValueError, match="expected 'double' but got 'float'"):
        extension.contiguous(gb.Field.ones((4, 5, 6), "f4"))
    with pytest.raises(ValueError, match=r"wrong number of dimensions \(expected 3, got 2\)"):
        extension.contiguous(gb.Field.ones((4, 5)))
    with pytest.raises(BufferError, match="read-only"):
        extension.view(readonly(field))
    assert not np.asarray(extension.constant(readonly(field))).flags.writeable


@pytest.mark.parametrize("name", ["nanobind", "pybind11"])
def test_an_extension_that_keeps_memory_after_a_slice_of_it_is_gone(name: str) -> None:
    extension = module(name)
    held = extension.hold(gb.Field.from_array(np.arange(12.0).reshape(3, 4), dims="IJ", backend="F")[1:, ::2])
    others = [gb.Field.full((3, 4), -1.0) for _ in range(16)]
    assert [np.frombuffer(held.element([i, j]))[0] for i in range(2) for j in range(2)] == [4.0, 6.0, 8.0, 10.0] and len(
        others
    ) == 16
