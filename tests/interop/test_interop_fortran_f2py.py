"""gridbuf.interop.fortran with a module that f2py wrapped."""

from pathlib import Path
from types import ModuleType

import fortran_programs
import numpy as np
import pytest

import gridbuf as gb
import gridbuf.interop.fortran as gbf


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return fortran_programs.f2py("for_f2py", Path(tmp_path_factory.mktemp("f2py"))).for_f2py


def test_what_the_check_lets_pass_is_worked_on_in_place(program: ModuleType) -> None:
    field = gb.Field.from_array(np.arange(12.0).reshape(3, 4), dims="IJ", backend="F", padding=False)
    program.twice(gbf.f2py(field, "real(8)"))
    assert field[2, 3] == 22.0
    result = program.next(gbf.f2py(field))  # intent(in, out): f2py returns the argument itself, or a copy
    assert np.shares_memory(result, field.numpy()) and field[2, 3] == 23.0


@pytest.mark.parametrize(
    ("spec", "says"),
    [({}, r"I \(index 0\)"), ({"backend": "F", "padding": 8}, r"J \(index 1\).*8 elements of room for 3 of I")],
)
def test_what_the_check_refuses_f2py_refuses_or_copies(program: ModuleType, spec: dict, says: str) -> None:
    field = gb.Field.zeros((3, 4), dims="IJ", **spec)
    with pytest.raises(ValueError, match=says):
        gbf.f2py(field)
    with pytest.raises(ValueError, match="not fortran contiguous"):
        program.twice(field.numpy())
    assert not np.shares_memory(program.next(field.numpy()), field.numpy())  # a copy without a word
    assert field[0, 0] == 0.0


def test_kinds_are_exact(program: ModuleType) -> None:
    field = gb.Field.ones((3, 4), dims="IJ", backend="F", padding=False)
    with pytest.raises(ValueError, match=r"array: its elements are real\(c_double\)"):
        gbf.f2py(field, "real(4)")
    with pytest.raises(ValueError, match="elsize=4 but got 8"):
        program.twice_single(field.numpy())
    program.twice_single(gbf.f2py(field.to(dtype="f4"), "real(4)"))


def test_rows_with_room_go_with_the_leading_dimension(program: ModuleType) -> None:
    field = gb.Field.zeros((3, 4), dims="IJ", backend="F", padding=8)
    lda, m = gbf.explicit(field).extents
    whole = gbf.from_pointer(gbf.explicit(field).address, (lda, m), "real(8)", owner=field)
    program.rows(3, gbf.f2py(whole))
    assert lda == 8 and (field.numpy() == 1).all() and (whole.numpy()[3:] == 0).all()


def test_a_field_over_a_modules_allocatable(program: ModuleType) -> None:
    program.make_grid(4)  # grid(-2:7, 0:4, 4)
    field = gbf.wrap(program.grid, "IJK", "real(8)", lower_bounds=(-2, 0, 1), domain=(4, (0, 4), 4))
    assert (field.shape, field.halo) == ((10, 5, 4), ((3, 3), (0, 0), (0, 0)))
    field.domain[0, 0, 0] = -1.0
    assert program.grid[3, 0, 0] == -1.0
    program.grid[9, 4, 3] = -2.0
    assert field[9, 4, 3] == -2.0


def test_a_field_over_a_modules_fixed_array(program: ModuleType) -> None:
    field = gbf.wrap(program.fixed, "IK", lower_bounds=(-1, 0), domain=((0, 2), (0, 4)))
    field.domain[0, 0] = 8.0
    assert program.fixed[1, 0] == 8.0 and field.origin == (1, 0)
    assert gbf.wrap(program.flags, kind="logical").numpy().tolist() == [1, 0, 1]
    assert gbf.wrap(program.waves, kind="complex(8)")[0] == 1 + 2j
    with pytest.raises(
        ValueError, match=r"its elements are integer\(c_int32_t\) \(int32\), and Fortran expects logical\(c_bool\)"
    ):
        gbf.wrap(program.flags, kind="logical(c_bool)")


def test_an_array_that_is_not_allocated(program: ModuleType) -> None:
    program.grid = None
    with pytest.raises((TypeError, ValueError), match="array: "):
        gbf.wrap(program.grid)


def test_read_only_memory_gets_an_error_that_says_so(program: ModuleType) -> None:
    array = np.ones((3, 4), order="F")
    array.flags.writeable = False
    with pytest.raises(ValueError, match="it is read-only"):
        gbf.f2py(array)
    with pytest.raises(ValueError, match="not fortran contiguous"):
        program.twice(array)
    assert array[0, 0] == 1.0
