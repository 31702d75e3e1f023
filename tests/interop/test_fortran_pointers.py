"""gridbuf.interop.fortran: pointers with bounds, lifetime, places that are none, and what errors
propose.
"""

import ctypes
import gc
from pathlib import Path
from typing import Any

import fortran_build
import numpy as np
import pytest

import gridbuf as gb
from gridbuf.interop import fortran


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    fortran_build.need_gfortran()
    folder = Path(tmp_path_factory.mktemp("pointers"))
    source = fortran_build.HERE / "fortran_pointers.f90"
    # Types, too
    command = [
        "gfortran",
        "-O1",
        "-fcheck=all,no-array-temps",
        "-shared",
        "-fPIC",
        source,
        "-o",
        "pointers.so",
    ]
    fortran_build.run(command, folder)
    return ctypes.CDLL(str(folder / "pointers.so"))


def test_lower_bounds_go_with_a_pointer(lib: ctypes.CDLL) -> None:
    field = gb.Field.zeros((10, 6), dims="IK", halo=(3, (1, 0)))
    lower, upper = np.zeros(2, "i8"), np.zeros(2, "i8")
    bounds = [ctypes.c_void_p(array.ctypes.data) for array in (lower, upper)]
    lib.bounds_of(fortran.descriptor(field, "real(8)", pointer=True), *bounds)
    assert (lower.tolist(), upper.tolist()) == ([-2, 0], [7, 5]) and field.domain[0, 0] == 11
    lib.bounds_of(fortran.descriptor(field, pointer=True, lower=(1, -4)), *bounds)
    assert (lower.tolist(), upper.tolist()) == ([1, -4], [10, 1]) and field[0, 5] == 11
    back = fortran.from_descriptor(fortran.descriptor(field, pointer=True), "IK", domain=(4, 5))
    assert back.halo == field.halo
    with pytest.raises(ValueError, match="lower: an argument that is no pointer"):
        fortran.descriptor(field, lower=(0, 0))
    with pytest.raises(ValueError, match="lower: 1 bounds for a field of 2 indices"):
        fortran.descriptor(field, pointer=True, lower=(0,))


@pytest.mark.parametrize(
    "make",
    [
        lambda: gb.Field.zeros((4, 5, 6)),
        lambda: gb.Field.zeros((4, 5, 6), layout=(1, 2, 0)),
        lambda: gb.Field.zeros((4, 5, 6), backend="gt:cpu_ifirst"),
        lambda: gb.Field.zeros((7, 11, 6), backend="F", padding=False)[::2, 1::2],
        lambda: gb.Field.zeros((4, 5, 6))[::-1, :, ::-1],
        lambda: gb.Field.zeros((1, 5, 1)),
        lambda: gb.Field.zeros((4, 0, 6)),
    ],
)
def test_strides_that_do_not_divide_each_other(lib: ctypes.CDLL, make: Any) -> None:
    field = make()
    lib.number(fortran.descriptor(field, "real(8)"))
    assert (
        field.numpy()
        == np.fromfunction(lambda i, j, k: 100 * (i + 1) + 10 * (j + 1) + k + 1, field.shape)
    ).all()
    lib.seven(fortran.descriptor(field))
    assert (field.numpy() == 7).all()


def test_a_scalar(lib: ctypes.CDLL) -> None:
    field = gb.Field.full((), 2.0)
    lib.increment(fortran.descriptor(field))
    assert field[()] == 3.0


def test_a_descriptor_holds_its_memory_and_so_does_a_field_over_it() -> None:
    field = fortran.from_descriptor(fortran.descriptor(gb.Field.full((64, 64), 3.0)))
    gc.collect()
    others = [gb.Field.full((64, 64), 4.0) for _ in range(8)]
    assert (field.numpy() == 3.0).all() and len(others) == 8


def test_pointers_of_ctypes_and_numbers_of_numpy() -> None:
    memory = (ctypes.c_double * 6)(*range(6))
    at = ctypes.addressof(memory)
    for address in (memory, ctypes.pointer(memory), ctypes.c_void_p(at), at, np.intp(at)):
        field = fortran.from_pointer(address, (2, 3), "real(8)", owner=memory)
        assert field.numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises((TypeError, ValueError), match="read-only"):
        fortran.from_pointer(at, (2, 3), "real(8)", owner=memory, writable=False)[0, 0] = 1.0


@pytest.mark.parametrize(
    ("address", "bounds", "kind", "says"),
    [
        (ctypes.c_void_p(), (3,), "real(8)", "is no address; is the array allocated"),
        (None, (3,), "real(8)", "None is no address"),
        (-8, (3,), "real(8)", "-8 is no address"),
        ("0x40", (3,), "real(8)", "'0x40' is no address"),
        (True, (3,), "real(8)", "True is no address"),
        (9, (3,), "real(8)", "address: 0x9, which is no place for elements of float64"),
        (64, (2**62, 2**62), "real(8)", "more memory than there can be"),
        (64, (3,), "u4", "kind: Fortran has no unsigned integers"),
    ],
)
def test_addresses_that_are_none(address: Any, bounds: Any, kind: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        fortran.from_pointer(address, bounds, kind)


def test_places_that_are_none() -> None:
    shifted = np.zeros(81, "u1")[1:].view("f8")
    if shifted.flags.aligned:
        shifted = np.zeros(81, "u1")[:80].view("f8")
    for call in (fortran.to_f2py, fortran.explicit, fortran.descriptor):
        with pytest.raises(
            ValueError,
            match=r"field: it begins at 0x\w+, which is no place for float64; pass a copy",
        ):
            call(shifted)
    descriptor = fortran.descriptor(gb.Field.zeros((3, 4), dims="IJ"))
    descriptor.structure.dim[1].sm = 12
    with pytest.raises(ValueError, match="index 1 has the stride 12, which is no place"):
        fortran.from_descriptor(descriptor)


def test_bounds_without_an_element_1() -> None:
    array = np.zeros((10, 5), order="F")
    for lower in ((5, 1), (-20, 1)):
        with pytest.raises(
            ValueError,
            match=r"lower: index 0 is declared .*, without an element 1; say with domain=",
        ):
            fortran.wrap(array, "IK", lower=lower)
    assert fortran.wrap(array, "IK", lower=(5, 1), domain=((7, 12), None)).halo == ((2, 2), (0, 0))
    assert fortran.wrap(array, "IK", lower=(-2, 0)).origin == (3, 1)


def test_errors_propose_what_helps_without_a_copy() -> None:
    padded = gb.Field.zeros((6, 5), dims="IJ", backend="F", padding=8)
    with pytest.raises(
        ValueError,
        match=(
            r"J \(index 1\) has the stride 64.*or declare the gaps as leading extents:"
            r" explicit\(field\)"
        ),
    ):
        fortran.to_f2py(padded)
    assert fortran.explicit(padded).leading == (8,)
    reversed_ = gb.Field.zeros((6, 5), dims="IJ", backend="F", padding=False)[:, ::-1]
    with pytest.raises(
        ValueError, match=r"J \(index 1\) has the stride -48.*or turn it forwards: field\[:, ::-1\]"
    ):
        fortran.to_f2py(reversed_)
    assert fortran.to_f2py(reversed_[:, ::-1]).flags.f_contiguous
    with pytest.raises(
        ValueError, match=r"turn the indices round: field.transpose\(\('J', 'I'\)\)"
    ):
        fortran.to_f2py(gb.Field.zeros((6, 8), dims="IJ", padding=False))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("real", "f4"),
        ("integer", "i4"),
        ("logical", "i4"),
        ("complex", "c8"),
        ("real*8", "f8"),
        ("COMPLEX * 16", "c16"),
        ("integer*2", "i2"),
    ],
)
def test_older_spellings(kind: str, dtype: str) -> None:
    assert fortran.from_pointer(64, (0,), kind).dtype == np.dtype(dtype)
