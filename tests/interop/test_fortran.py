"""gridbuf.interop.fortran with procedures that gfortran compiled, through ISO_C_BINDING."""

import ctypes
import gc
import weakref
from typing import Any

import fortran_build
import numpy as np
import pytest

import gridbuf as gb
from gridbuf.interop import fortran


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> Any:
    found = fortran_build.library(tmp_path_factory.mktemp("fortran"))
    found.keep.restype = ctypes.c_void_p
    found.kept_at.restype = found.total_assumed.restype = ctypes.c_double
    return found


def expected(shape: tuple[int, ...]) -> np.ndarray:
    i, j = np.indices(shape[:2]) + 1
    return 100.0 * i + j


@pytest.mark.parametrize("spec", [{}, {"padding": True}, {"padding": 3}], ids=str)
def test_explicit_shape_works_on_the_field_itself(lib: Any, spec: dict[str, Any]) -> None:
    field = gb.Field.full((7, 5), -1.0, dims="IJ", backend="F", halo=((2, 1), 0), **spec)
    argument = fortran.explicit(field, "real(8)")
    assert argument.lower == (-1, 1) and argument.leading[0] == field.strides[1] // 8
    lib.fill_explicit(argument, *argument.leading, argument.lower[0], 4, 5)
    assert (field.domain.numpy() == expected((4, 5))).all()
    assert (field.numpy()[:2] == -1).all() and (field.numpy()[6:] == -1).all()


def test_leading_extents_of_three_indices(lib: Any) -> None:
    whole = gb.Field.zeros((8, 7, 6), "float32", dims="IJK", backend="F", padding=16)
    field = whole[:5, 1:5, :3]
    argument = fortran.explicit(field, "real(real32)")
    assert argument.leading == (16, 7) and argument.shape == (5, 4, 3)
    lib.fill_shape3(argument, *argument.shape, *argument.leading)
    i, j, k = np.indices(field.shape) + 1
    assert (field.numpy() == 100 * i + 10 * j + k).all()
    assert whole.numpy().sum() == field.numpy().sum(dtype="f4")


def test_single_elements_leave_the_gap_to_the_next_index(lib: Any) -> None:
    field = gb.Field.zeros((4, 3, 5), "float32", dims="IJK", backend="F")[:, 1:2, ::2]
    argument = fortran.explicit(field, "real(4)")
    lib.fill_shape3(argument, *argument.shape, *argument.leading)
    i, j, k = np.indices(field.shape) + 1
    assert (field.numpy() == 100 * i + 10 * j + k).all()


VIEWS = {
    "C": lambda: gb.Field.zeros((5, 4)),
    "F": lambda: gb.Field.zeros((5, 4), backend="F"),
    "padded": lambda: gb.Field.zeros((5, 4), padding=True),
    "sliced": lambda: gb.Field.zeros((11, 9))[1::2, ::3],
    "reversed": lambda: gb.Field.zeros((5, 4))[::-1, ::-1],
    "transposed": lambda: gb.Field.zeros((4, 5), dims="IJ").transpose("JI"),
    "size 0": lambda: gb.Field.zeros((0, 4)),
    "one element": lambda: gb.Field.zeros((9, 9))[4:5, 4:5],
}


@pytest.mark.parametrize("view", VIEWS)
def test_assumed_shape_takes_any_strides(lib: Any, view: str) -> None:
    field = VIEWS[view]()
    lib.fill_assumed(fortran.descriptor(field, "real(c_double)"))
    assert (field.numpy() == expected(field.shape)).all()
    assert lib.total_assumed(fortran.descriptor(field)) == field.numpy().sum()


def test_read_only_memory_for_intent_in(lib: Any) -> None:
    array = np.ones((3, 4))
    array.setflags(write=False)
    assert lib.total_assumed(fortran.descriptor(array, "real(8)", writable=False)) == 12.0


KINDS = {
    "real(real32)": ("float32", "double_real32"),
    "integer(int32)": ("int32", "double_int32"),
    "integer(int64)": ("int64", "double_int64"),
    "integer(c_int8_t)": ("int8", "double_int8"),
    "complex(c_float_complex)": ("complex64", "double_complex64"),
    "complex(8)": ("complex128", "double_complex128"),
    "real(10)": ("longdouble", "double_long"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(lib: Any, kind: str) -> None:
    dtype, name = KINDS[kind]
    if kind == "real(10)" and np.finfo(np.longdouble).nmant != 63:
        pytest.skip("long double has another format here")
    field = gb.Field(np.arange(1, 7).astype(dtype) * (1 + 2j if dtype.startswith("complex") else 1))
    before = field.numpy().copy()
    getattr(lib, name)(fortran.descriptor(field, kind))
    assert field.dtype == dtype and (field.numpy() == 2 * before).all()


@pytest.mark.parametrize(
    ("kind", "dtype", "name"),
    [("logical(1)", "bool", "invert_bool"), ("logical(4)", "int32", "invert_logical")],
)
def test_logicals(lib: Any, kind: str, dtype: str, name: str) -> None:
    field = gb.Field(np.array([1, 0, 0, 1, 1], dtype))
    getattr(lib, name)(fortran.descriptor(field, kind))
    assert field.numpy().tolist() == [0, 1, 1, 0, 0]


def test_memory_of_fortran_by_its_address(lib: Any) -> None:
    at = lib.keep(6, 4, 3)
    field = fortran.from_pointer(
        at, ((-2, 9), (0, 5), 3), "real(8)", "IJK", domain=(6, 4, None), owner=lib
    )
    assert (
        field.shape == (12, 6, 3)
        and field.halo == ((3, 3), (1, 1), (0, 0))
        and field.origin == (3, 1, 0)
    )
    assert field.domain[0, 0, 0] == 10101 and field[0, 0, 2] == 30000 - 2
    field.domain[1, 2, 0] = -5.0
    assert lib.kept_at(2, 3, 1) == -5.0


def test_a_pointer_brings_its_bounds(lib: Any) -> None:
    at = lib.keep(6, 4, 3)
    received = fortran.receiver(3, "real(8)")
    lib.point(received)
    assert repr(received) == "Descriptor(rank=3, type=2051, pointer, bounds=(-2:9, 0:5, 1:3))"
    field = fortran.from_descriptor(received, "IJK", kind="real(8)", owner=lib)
    assert field.numpy().ctypes.data == at and field.origin == (3, 1, 0) and field.halo is None
    inner = fortran.from_descriptor(received, "IJK", domain=((1, 6), (1, 4), None), owner=lib)
    assert inner.halo == ((3, 3), (1, 1), (0, 0)) and inner.domain[5, 3, 2] == 30406


def test_a_pointer_to_a_section_has_its_strides(lib: Any) -> None:
    lib.keep(6, 4, 3)
    received = fortran.receiver(2, "real(8)")
    lib.point_every_second(received)
    field = fortran.from_descriptor(received, "IJ", owner=lib)
    assert field.strides == (16, -8 * 12) and field[0, 0] == 10498 + 0 - 0 and field.shape == (6, 6)
    field[1, 0] = 1.5
    assert lib.kept_at(0, 5, 1) == 1.5


def test_an_allocatable_is_given_back(lib: Any) -> None:
    received = fortran.receiver(1, "real(8)", "allocatable")
    lib.make(received, 5)
    field = fortran.from_descriptor(received, "K", release=lambda: lib.unmake(received))
    assert field.shape == (7,) and field.origin == (2,) and (field.numpy() == 7).all()
    kept = field.numpy()[1:]
    del field
    gc.collect()
    assert received.structure.base_addr and kept[0] == 7
    del kept
    gc.collect()
    assert not received.structure.base_addr
    with pytest.raises(ValueError, match="base_addr is NULL: the array is not allocated"):
        fortran.from_descriptor(received)


def test_the_owner_is_kept_by_every_view() -> None:
    memory = np.arange(12.0)
    watched = weakref.ref(memory)
    view = fortran.from_pointer(memory.ctypes.data, (3, 4), "real(8)", owner=memory).numpy()[1:]
    del memory
    gc.collect()
    assert watched() is not None and view[1, 3] == 11.0
    del view
    gc.collect()
    assert watched() is None


def test_nothing_was_associated(lib: Any) -> None:
    received = fortran.receiver(2, "real(8)")
    lib.point_nowhere(received)
    with pytest.raises(ValueError, match="base_addr is NULL"):
        fortran.from_descriptor(received)


def test_fortran_calls_back_with_a_descriptor(lib: Any) -> None:
    seen = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def callback(at: int) -> None:
        field = fortran.from_descriptor(at, "IJ", lower=(0, 1))
        seen.append((field.shape, field.strides, field.origin, field[0, 0]))
        field[...] = 5.0

    lib.show(callback)
    assert seen == [((3, 4), (16, 48), (1, 0), 3.0)]


def test_quadruple_precision_has_no_dtype(lib: Any) -> None:
    received = fortran.receiver(1, "real(8)")
    received.structure.type, received.structure.elem_len = 3 + (16 << 8), 16
    lib.point_quadruple(received)
    with pytest.raises(
        ValueError,
        match=r"NumPy has no dtype for Fortran's type 3 with a kind of 16 bytes, as real\(16\)",
    ):
        fortran.from_descriptor(received)
