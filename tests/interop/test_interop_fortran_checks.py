"""gridbuf.interop.fortran: what it says about memory that Fortran cannot take, and about declarations."""

import ctypes

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.interop.fortran as gbf


def field(*args, **spec) -> gb.Field:
    return gb.Field.zeros((6, 5, 4), *args, dims="IJK", **spec)


BROADCAST = gb.Field(np.broadcast_to(np.zeros((6, 1, 4), order="F"), (6, 5, 4)), "IJK")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (field, r"I \(index 0\) has the stride \d+, and Fortran needs 8 there.*here it is K \(index 2\); from fastest to slowest they are KJI.*transpose\('KJI'\)"),
        (lambda: field(layout=(1, 2, 0), padding=False), r"I \(index 0\).*here it is J \(index 1\).*they are JIK.*transpose\('JIK'\)"),
        (lambda: field(layout=(2, 0, 1), padding=False), r"J \(index 1\) has the stride 192, and Fortran needs 48.*from fastest to slowest they are IKJ"),
        (lambda: field(backend="F", padding=8), r"J \(index 1\) has the stride 64, and without gaps it is 48: there are 8 elements of room for 6 of I"),
        (lambda: gb.Field.zeros((6, 9, 4), dims="IJK", backend="F", padding=False)[:, :5], r"K \(index 2\).*9 elements of room for 5 of J \(index 1\)"),
        (lambda: gb.Field.zeros((12, 5, 4), dims="IJK", backend="F", padding=False)[::2], r"I \(index 0\) has the stride 16.*one element in 2"),
        (lambda: field(backend="F", padding=False)[:, ::-1], r"J \(index 1\) has the stride -48, so it runs backwards.*field\[:, ::-1, :\]"),
        (lambda: BROADCAST, r"J \(index 1\) has the stride 0, so all its elements are one"),
    ],
)  # fmt: skip
def test_the_index_that_is_wrong_is_named(given, says: str) -> None:
    with pytest.raises(ValueError, match="array: " + says):
        gbf.f2py(given(), intent="in")


def test_what_the_errors_propose_helps() -> None:
    c = field()
    assert gbf.f2py(c.transpose("KJI")[:, :, :]).shape == (4, 5, 6) if c.plan.padded_shape == c.shape else True
    for given in (c, field(backend="F", padding=8), field(backend="F")[:, ::-1]):
        assert gbf.f2py(given.to(backend="F", padding=False)).flags.f_contiguous
    assert gbf.explicit(field(backend="F", padding=8)).extents == (8, 5, 4)
    assert gbf.descriptor(field()[::-1]).cdesc.dim[0].sm < 0


def test_dims_that_are_not_named_are_numbered() -> None:
    with pytest.raises(ValueError, match=r"array: index 3 has the stride 8.*|array: .*index 0\)? has the stride"):
        gbf.f2py(np.zeros((2, 3, 4, 5)))


@pytest.mark.parametrize("shape", [(1, 5, 1), (), (3, 0, 4), (7,)])
def test_what_is_contiguous_either_way(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape)
    assert np.shares_memory(gbf.f2py(array), array) or 0 in shape
    assert gbf.explicit(array).extents == shape


def test_explicit_shape_wants_fortrans_order() -> None:
    with pytest.raises(ValueError, match=r"I \(index 0\) has the stride \d+, and Fortran needs 8 there"):
        gbf.explicit(field())
    with pytest.raises(ValueError, match=r"J \(index 1\) has the stride -"):
        gbf.explicit(field(backend="F")[:, ::-1])
    odd = gb.Field.zeros((20, 9, 6), dims="IJK", backend="F")[:, ::2]
    with pytest.raises(
        ValueError,
        match=r"K \(index 2\) has the stride 1440, 4.5 times that of J \(index 1\), and Fortran's extents are whole numbers",
    ):
        gbf.explicit(odd)


def test_read_only_memory_for_an_argument_that_is_written() -> None:
    array = np.zeros((3, 4), order="F")
    array.flags.writeable = False
    for call in (gbf.f2py, gbf.explicit, gbf.descriptor):
        with pytest.raises(ValueError, match=r"read-only, and intent\(inout\) would write to it; pass intent='in'"):
            call(array)
        call(array, intent="in")
    with pytest.raises(ValueError, match="intent: 'input' is none of"):
        gbf.f2py(array, intent="input")


@pytest.mark.parametrize(
    ("dtype", "kind", "says"),
    [
        ("f8", "real(4)", r"are real\(c_double\) \(float64\), and Fortran expects real\(4\) \(float32\)"),
        ("f4", "double precision", r"expects double precision \(float64\)"),
        ("i8", "integer", r"are integer\(c_int64_t\) \(int64\), and Fortran expects integer \(int32\)"),
        ("?", "logical", r"declare logical\(c_bool\) in Fortran"),
        ("u4", None, r"no unsigned integers.*view\('i4'\)"),
        (">f8", None, r"native byte order, and this is >f8.*dtype='<f8'"),
        ("f2", None, r"Fortran has no type for float16; a copy: field.to\(dtype='f4'\)"),
        ("M8[s]", None, r"Fortran has no type for datetime64"),
    ],
)
def test_kinds_that_do_not_fit(dtype: str, kind: str | None, says: str) -> None:
    with pytest.raises(ValueError, match="array: .*" + says):
        gbf.f2py(gb.Field.zeros(3, dtype), kind)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("real64", "f8"), ("REAL(KIND=real32)", "f4"), ("real", "f4"), ("real*8", "f8"), ("Double  Precision", "f8"), ("c_double", "f8"),
        ("integer(c_int64_t)", "i8"), ("integer*2", "i2"), ("int8", "i1"), ("complex(real64)", "c16"), ("complex*8", "c8"), ("complex", "c8"),
        ("c_double_complex", "c16"), ("logical", "i4"), ("logical(c_bool)", "?"), ("logical(1)", "?"), ("character", "S1"),
        ("real(c_long_double)", "g"), ("f4", "f4"), (np.int64, "i8"), ("float64", "f8"),
    ],
)  # fmt: skip
def test_kinds(kind, dtype: str) -> None:
    assert gbf.dtype(kind) == np.dtype(dtype)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("integer(16)", "up to 8 bytes"),
        ("real(2)", r"no dtype for real\(2\); there are real\(4\), real\(8\)"),
        ("real(wp)", r"'wp' is no kind of real .*real64"),
        ("type(point)", "no type of Fortran"),
        ("nonsense", "neither a type of Fortran"),
    ],
)
def test_kinds_that_numpy_lacks(kind: str, says: str) -> None:
    with pytest.raises(ValueError, match="kind: .*" + says):
        gbf.dtype(kind)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="the longdouble of this machine is not the x87's")
def test_quadruple_precision_is_not_the_longdouble_of_x86() -> None:
    assert gbf.dtype("real(10)") == np.longdouble
    for kind in ("real(16)", "real128", "complex(real128)", "real*16"):
        with pytest.raises(ValueError, match=r"its longdouble is real\(10\) on this machine; declare real\(real64\)"):
            gbf.dtype(kind)


# ---- wrap ----


def test_lower_bounds_become_the_origin() -> None:
    theirs = np.zeros((10, 5), order="F")  # a(-2:7, 0:4)
    wrapped = gbf.wrap(theirs, "IK", "real(8)", lower_bounds=(-2, 0))
    assert (wrapped.origin, wrapped.halo) == ((3, 1), None)
    wrapped = gbf.wrap(theirs, "IK", lower_bounds=(-2, 0), domain=(4, None))
    assert (wrapped.halo, gbf.lower_bounds(wrapped)) == (((3, 3), (0, 0)), (-2, 1))
    assert gbf.wrap(theirs, domain=((2, 9), 5)).halo == ((1, 1), (0, 0))
    assert gbf.wrap(theirs).origin is None
    wrapped[0, 0] = 4.0
    assert theirs[0, 0] == 4.0


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"lower_bounds": (-2,)}, r"lower_bounds: \(-2,\) must have one entry for each of 2 indices"),
        ({"lower_bounds": (5, 1)}, r"lower_bounds: I \(index 0\) is declared 5:14, without a point 1; say with domain="),
        ({"lower_bounds": (-2, 0), "domain": (8, 4)}, r"domain: I \(index 0\): 1:8 does not lie within its declared bounds -2:7"),
        ({"domain": (10, (0, 4))}, r"domain: K \(index 1\): 0:4 does not lie within its declared bounds 1:5"),
        ({"domain": 10}, "domain: 10 must have one entry"),
    ],
)
def test_bounds_that_do_not_fit(bounds: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        gbf.wrap(np.zeros((10, 5), order="F"), "IK", **bounds)


def test_wrap_checks_order_gaps_and_what_a_backend_asks_for() -> None:
    theirs = np.zeros((10, 5, 4), order="F")
    with pytest.raises(ValueError, match=r"I \(index 0\).*here it is K \(index 2\)"):
        gbf.wrap(theirs.T, "IJK")
    section = theirs[:8, ::2]
    with pytest.raises(ValueError, match=r"J \(index 1\) has the stride 160.*20 elements of room for 8 of I"):
        gbf.wrap(section, "IJK")
    assert np.shares_memory(gbf.wrap(section, "IJK", contiguous=False).numpy(), theirs)
    with pytest.raises(ValueError, match=r"here it is K \(index 2\)"):
        gbf.wrap(theirs.T, "IJK", contiguous=False)
    assert gbf.wrap(theirs, "IJK", require={"layout": (2, 1, 0)}).dims == ("I", "J", "K")
    with pytest.raises(ValueError, match="require: backend: 'gt:cpu_kfirst' orders the strides otherwise"):
        gbf.wrap(theirs, "IJK", require={"backend": "gt:cpu_kfirst"})
    with pytest.raises(ValueError, match=r"array: its elements are real\(c_double\)"):
        gbf.wrap(theirs, "IJK", "real(4)")


# ---- pointers and descriptors that are not what they should be ----


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 20180515}, "its version is 20180515, gfortran's is 1: each compiler has its own layout"),
        ({"rank": 16}, "its rank is 16"),
        ({"rank": -1}, "its rank is -1"),
        ({"attribute": 7}, "its attribute is 7"),
        ({"type": -1}, "elements of CFI type -1"),
        ({"type": 3 + (16 << 8)}, r"no dtype for real\(16\)"),
        ({"elem_len": 4}, "its elements have 4 bytes"),
        ({"base_addr": None}, "its base address is NULL"),
        ({"base_addr": 9}, "0x9 .*no place for elements of float64"),
    ],
)
def test_a_descriptor_that_makes_no_sense(change: dict, says: str) -> None:
    descriptor = gbf.descriptor(gb.Field.zeros((3, 4), dims="IJ"))
    for name, value in change.items():
        setattr(descriptor.cdesc, name, value)
    with pytest.raises(ValueError, match=says):
        gbf.from_descriptor(descriptor.address)


def test_extents_that_fortran_does_not_know() -> None:
    descriptor = gbf.descriptor(gb.Field.zeros((3, 4), dims="IJ", backend="F", padding=False))
    descriptor.cdesc.dim[1].extent = -1
    with pytest.raises(ValueError, match=r"index 1 has the extent of an assumed-size array"):
        gbf.from_descriptor(descriptor.address)
    descriptor.cdesc.dim[0].extent = -7
    with pytest.raises(ValueError, match="index 0 has the extent -7"):
        gbf.from_descriptor(descriptor.address)
    descriptor.cdesc.dim[0].extent, descriptor.cdesc.dim[1].extent = 2**62, 2**62
    with pytest.raises(ValueError, match="beyond 64 bits"):
        gbf.from_descriptor(descriptor.address)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((0, (3,), "real(8)"), ValueError, "pointer: it is NULL"),
        ((-8, (3,), "real(8)"), ValueError, "-8 is no address"),
        ((9, (3,), "real(8)"), ValueError, "0x9 .*no place for elements"),
        ((64, (3, -1), "real(8)"), ValueError, "shape: index 1 has -1 elements"),
        ((64, (3.5,), "real(8)"), TypeError, "integer"),
        (("0x40", (3,), "real(8)"), TypeError, "pointer: expected an address"),
        ((64, (2**62, 2**62), "real(8)"), ValueError, "shape: "),
        ((64, (3,), "u4"), ValueError, "no unsigned integers"),
    ],
)
def test_a_pointer_that_makes_no_sense(arguments: tuple, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gbf.from_pointer(*arguments)


def test_pointers_of_ctypes() -> None:
    memory = (ctypes.c_double * 6)(*range(6))
    for pointer in (
        memory,
        ctypes.pointer(memory),
        ctypes.cast(memory, ctypes.POINTER(ctypes.c_double)),
        ctypes.addressof(memory),
    ):
        assert gbf.from_pointer(pointer, (2, 3), "real(8)").numpy().tolist() == [[0, 2, 4], [1, 3, 5]]


def test_attributes_and_what_goes_with_them() -> None:
    with pytest.raises(ValueError, match="could deallocate an allocatable"):
        gbf.descriptor(field(), attribute="allocatable")
    with pytest.raises(ValueError, match="attribute='pointer' takes the caller's"):
        gbf.descriptor(field(), lower_bounds=(0, 0, 0))
    with pytest.raises(ValueError, match="attribute: 'target' is none of"):
        gbf.descriptor(field(), attribute="target")
    with pytest.raises(ValueError, match="Fortran sets a 'pointer' or an 'allocatable'"):
        gbf.unset(2, "real(8)", attribute="other")
    with pytest.raises(ValueError, match="rank: 16"):
        gbf.unset(16, "real(8)")
    assert "pointer (1:6, 1:5, 1:4)" in repr(gbf.descriptor(field(), attribute="pointer"))
    assert repr(gbf.explicit(field(backend="F", padding=8))).startswith("<real(c_double), dimension(8, 5, 4) at 0x")
