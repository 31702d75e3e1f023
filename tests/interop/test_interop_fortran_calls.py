"""gridbuf.interop.fortran with procedures that gfortran compiled: descriptors, pointers, and arrays of Fortran's own."""

import ctypes
import gc
import weakref
from pathlib import Path

import fortran_programs
import numpy as np
import pytest

import gridbuf as gb
import gridbuf.interop.fortran as gbf


@pytest.fixture(scope="module")
def fortran(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return fortran_programs.shared("bound_to_c", Path(tmp_path_factory.mktemp("fortran")))


@pytest.fixture
def grid(fortran: ctypes.CDLL):
    fortran.make_grid(4)  # grid(-2:7, 0:4, 4)
    fortran.grid_at.restype = ctypes.c_double
    yield fortran
    fortran.drop_grid()


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    return np.fromfunction(lambda i, j, k: 100.0 * (i + 1) + 10 * (j + 1) + k + 1, shape)


LAYOUTS = {
    "C": lambda: gb.Field.zeros((4, 5, 6), dims="IJK"),
    "F": lambda: gb.Field.zeros((4, 5, 6), dims="IJK", backend="F"),
    "permuted": lambda: gb.Field.zeros((4, 5, 6), dims="IJK", layout=(1, 2, 0)),
    "padded": lambda: gb.Field.zeros((4, 5, 6), dims="IJK", backend="gt:cpu_ifirst"),
    "sliced": lambda: gb.Field.zeros((9, 11, 6), dims="IJK", backend="F")[::2, 1::2],
    "reversed": lambda: gb.Field.zeros((4, 5, 6), dims="IJK")[::-1, :, ::-1],
    "one": lambda: gb.Field.zeros((1, 5, 1), dims="IJK"),
    "size 0": lambda: gb.Field.zeros((4, 0, 6), dims="IJK"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_assumed_shape_takes_any_layout(fortran: ctypes.CDLL, layout: str) -> None:
    field = LAYOUTS[layout]()
    fortran.number(gbf.descriptor(field, "real(c_double)"))
    assert (field.numpy() == numbered(field.shape)).all()
    fortran.seven(gbf.descriptor(field))
    assert (field.numpy() == 7).all()


def test_a_descriptor_of_no_index(fortran: ctypes.CDLL) -> None:
    field = gb.Field.full((), 2.0)
    fortran.scalar(gbf.descriptor(field))
    assert field[()] == 3.0


@pytest.mark.parametrize(
    ("procedure", "dtype"),
    [("add_int32", "i4"), ("add_int64", "i8"), ("add_float", "f4"), ("add_long_double", "g"), ("add_complex", "c8")],
)
def test_each_kind(fortran: ctypes.CDLL, procedure: str, dtype: str) -> None:
    field = gb.Field.from_array(np.arange(6), dtype=dtype)
    expected = field.numpy() + (1j if dtype == "c8" else 1)
    getattr(fortran, procedure)(gbf.descriptor(field))
    assert (field.numpy() == expected).all()


def test_bools_are_logicals_of_c(fortran: ctypes.CDLL) -> None:
    field = gb.Field.from_array([True, False, True], dtype=bool)
    fortran.negate(gbf.descriptor(field, "logical(c_bool)"))
    assert field.numpy().tolist() == [False, True, False]


def test_strides_that_are_no_whole_elements_would_reach_other_memory(fortran: ctypes.CDLL) -> None:
    records = np.zeros((2, 3, 4), [("value", "f8"), ("flag", "i4")])
    field = gb.Field(records["value"], "IJK")
    with pytest.raises(
        ValueError, match=r"array: I \(index 0\) has the stride 144|array: K \(index 2\) has the stride 12, no multiple of its 8"
    ):
        gbf.descriptor(field)
    copy = field.to(backend="F", padding=False)  # as the error says
    fortran.number(gbf.descriptor(copy))
    assert (copy.numpy() == numbered((2, 3, 4))).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: gb.Field.zeros((10, 5, 6), dims="IJK", backend="F"),
        lambda: gb.Field.zeros((10, 5, 6), dims="IJK", backend="gt:cpu_ifirst"),
        lambda: gb.Field.zeros((20, 10, 6), dims="IJK", backend="F")[3:13, ::2],
        lambda: gb.Field.zeros((10, 5, 6), dims="IJK", backend="F", padding=32),
        lambda: gb.Field.zeros((10, 1, 6), dims="IJK", backend="F", padding=32),
    ],
)
def test_explicit_shape_with_a_leading_dimension(fortran: ctypes.CDLL, make) -> None:
    field = make()
    memory = gbf.explicit(field, "real(c_double)")
    lda, ny, nz = memory.extents
    n, m, l = field.shape
    assert memory.address == field.numpy().ctypes.data and nz == l
    fortran.rows(lda, ny, n, m, l, memory)
    assert (field.numpy() == numbered(field.shape)).all()


def test_room_behind_rows_is_left_alone(fortran: ctypes.CDLL) -> None:
    whole = np.full((12, 6, 3), -1.0, order="F")
    part = whole[:10, :5]
    memory = gbf.explicit(part)
    assert memory.extents == (12, 6, 3)
    fortran.rows(12, 6, 10, 5, 3, memory)
    assert (part == numbered(part.shape)).all() and (whole[10:] == -1).all() and (whole[:, 5:] == -1).all()


def test_lower_bounds_go_with_a_pointer(fortran: ctypes.CDLL) -> None:
    field = gb.Field.zeros((10, 6), dims="IK", halo=(3, (1, 0)))
    lower, upper = (np.zeros(2, "i8") for _ in range(2))
    arguments = [ctypes.c_void_p(bounds.ctypes.data) for bounds in (lower, upper)]
    fortran.at_one(gbf.descriptor(field, attribute="pointer"), *arguments)
    assert (lower.tolist(), upper.tolist()) == ([-2, 0], [7, 5]) and field[3, 1] == 11 == field.domain[0, 0]
    fortran.at_one(gbf.descriptor(field, attribute="pointer", lower_bounds=(1, -4)), *arguments)
    assert (lower.tolist(), upper.tolist()) == ([1, -4], [10, 1]) and field[0, 5] == 11


# ---- arrays of Fortran's ----


def test_a_field_over_the_memory_behind_c_loc(grid: ctypes.CDLL) -> None:
    address, extents = ctypes.c_void_p(), (ctypes.c_int64 * 3)()
    grid.where_grid(ctypes.byref(address), extents)
    field = gbf.from_pointer(address, tuple(extents), "real(c_double)", "IJK", lower_bounds=(-2, 0, 1), domain=(4, (0, 4), 4))
    assert (field.shape, field.dims, field.halo) == ((10, 5, 4), ("I", "J", "K"), ((3, 3), (0, 0), (0, 0)))
    assert field.numpy().ctypes.data == address.value and field.numpy().flags.f_contiguous
    assert (field.numpy() == numbered((10, 5, 4))).all()
    field.domain[0, 0, 0] = -5.0  # grid(1, 0, 1)
    assert grid.grid_at(1, 0, 1) == -5.0
    readonly = gbf.from_pointer(address, tuple(extents), "real64", readonly=True)
    with pytest.raises((ValueError, TypeError), match="read-only"):
        readonly[0, 0, 0] = 1.0


def test_memory_that_is_not_allocated(grid: ctypes.CDLL) -> None:
    grid.drop_grid()
    address, extents = ctypes.c_void_p(), (ctypes.c_int64 * 3)()
    grid.where_grid(ctypes.byref(address), extents)
    with pytest.raises(ValueError, match="pointer: it is NULL: the array is not allocated"):
        gbf.from_pointer(address, (10, 5, 4), "real(c_double)")
    assert gbf.from_pointer(address, tuple(extents), "real(c_double)").shape == (0, 0, 0)


def test_a_field_over_a_pointer_that_fortran_sets(grid: ctypes.CDLL) -> None:
    theirs = gbf.unset(3, "real(c_double)")
    with pytest.raises(ValueError, match="its pointer is not associated"):
        gbf.from_descriptor(theirs)
    grid.point_to_grid(theirs)
    field = gbf.from_descriptor(theirs, "IJK", domain=(4, (0, 4), None))  # the descriptor knows the lower bounds
    assert (field.shape, field.halo) == ((10, 5, 4), ((3, 3), (0, 0), (0, 0)))
    field.domain[1, 2, 3] = 0.5
    assert grid.grid_at(2, 2, 4) == 0.5
    assert gbf.from_descriptor(theirs, "IJK").origin is None


def test_a_section_runs_backwards(grid: ctypes.CDLL) -> None:
    theirs = gbf.unset(2, "real(c_double)")
    grid.point_to_section(theirs)
    field = gbf.from_descriptor(theirs, "IJ")
    assert field.shape == (10, 3) and field.strides == (8, -160)
    assert (field.numpy() == numbered((10, 5, 4))[:, ::-2, 0]).all()


def test_an_allocatable_of_fortrans(fortran: ctypes.CDLL) -> None:
    theirs = gbf.unset(1, "integer(c_int32_t)", attribute="allocatable")
    with pytest.raises(ValueError, match="its array is not allocated"):
        gbf.from_descriptor(theirs)
    fortran.allocate_vector(5, theirs)
    field = gbf.from_descriptor(theirs, "I", domain=((0, 3),))
    assert field.numpy().tolist() == [1, 2, 3, 4, 5] and field.halo == ((1, 0),)
    del field
    fortran.allocate_vector(0, theirs)
    assert gbf.from_descriptor(theirs).shape == (0,)
    fortran.allocate_vector(-1, theirs)
    with pytest.raises(ValueError, match="its array is not allocated"):
        gbf.from_descriptor(theirs)


def test_types_behind_descriptors(fortran: ctypes.CDLL) -> None:
    mask, waves = gbf.unset(1, "logical"), gbf.unset(1, "complex(c_double)")
    fortran.point_to_mask(mask)
    fortran.point_to_waves(waves)
    assert gbf.from_descriptor(mask).numpy().astype(bool).tolist() == [True, False, True]
    assert gbf.from_descriptor(waves, kind="complex(8)").numpy().tolist() == [1 + 2j, 3 + 4j]
    with pytest.raises(ValueError, match=r"its elements are complex\(8\) \(complex128\), and kind expects real\(8\)"):
        gbf.from_descriptor(waves, kind="real(8)")


def test_elements_of_a_derived_type(fortran: ctypes.CDLL) -> None:
    point = np.dtype([("x", "f8"), ("n", "i4")], align=True)
    points, xs = gbf.unset(1, point), gbf.unset(1, "real(c_double)")
    fortran.point_to_points(points)
    fortran.point_to_x(xs)
    records, x = gbf.from_descriptor(points, kind=point).numpy(), gbf.from_descriptor(xs, "I")
    assert records["n"].tolist() == [1, 2, 3, 4] and x.strides == (16,)
    x[2] = 2.5
    assert records["x"].tolist() == [0, 0, 2.5, 0]
    with pytest.raises(ValueError, match="give kind= for those of a bind"):
        gbf.from_descriptor(points)
    with pytest.raises(ValueError, match=r"its elements have 16 bytes, .* has 12"):
        gbf.from_descriptor(points, kind=[("x", "f8"), ("n", "i4")])


def test_a_callback_sees_the_callers_section(fortran: ctypes.CDLL) -> None:
    seen = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def callback(descriptor: int) -> None:
        field = gbf.from_descriptor(descriptor, "IJ")
        seen.append((field.shape, field.strides))
        field[2, 2] = 15.0

    fortran.visit(callback)  # checks that the write arrived
    assert seen == [((3, 3), (8, 64))]


def test_the_owner_lives_as_long_as_the_memory_is_in_reach() -> None:
    class Library:
        pass

    library, memory = Library(), np.arange(6.0)
    field = gbf.from_pointer(memory.ctypes.data, (2, 3), "real(8)", "IJ", owner=library)
    gone = weakref.ref(library)
    view = field[1:].numpy()
    del library, field
    gc.collect()
    assert gone() is not None and view.tolist() == [[1.0, 3.0, 5.0]]
    del view
    gc.collect()
    assert gone() is None


def test_a_descriptor_holds_the_memory_and_so_does_what_is_made_of_it() -> None:
    descriptor = gbf.descriptor(gb.Field.full((64, 64), 3.0))
    field = gbf.from_descriptor(descriptor)
    del descriptor
    gc.collect()
    others = [gb.Field.full((64, 64), 4.0) for _ in range(8)]
    assert (field.numpy() == 3.0).all() and len(others) == 8
