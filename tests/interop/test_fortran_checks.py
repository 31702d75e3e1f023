"""gridbuf.interop.fortran without a compiler: kinds, and errors that name the index and say what to
do.
"""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridbuf as gb
from gridbuf.interop import fortran
from gridbuf.interop.fortran.types import dtype_of, dtype_of_code, type_code


@pytest.mark.parametrize(("kind", "dtype"), {
    "real(8)": "f8", "REAL( kind = real64 )": "f8", "real(c_float)": "f4", "double precision": "f8",
    "integer(4)": "i4",
    "integer(c_int)": "i4", "integer(c_size_t)": np.intp, "logical(1)": "?", "logical(c_bool)": "?",
    "logical(4)": "i4",
    "complex(4)": "c8", "complex(real64)": "c16", "complex(c_double_complex)": "c16",
    "real64": "f8", "int16": "i2",
    "c_bool": "?", "c_float_complex": "c8", "logical32": "i4", "float64": "f8", "i4": "i4",
}.items())  # fmt: skip
def test_spellings(kind: str, dtype: Any) -> None:
    assert dtype_of(kind) == np.dtype(dtype)


@pytest.mark.parametrize(("kind", "says"), {
    "real(16)": r"'real\(16\)' has no dtype: NumPy has no number of 113 bits of mantissa; there are"
    r" real\(4\), real\(8\)",
    "complex(real128)": r"there are complex\(4\), complex\(8\)",
    "integer(3)": r"'integer\(3\)' has no dtype",
    "real(wp)": r"'real\(wp\)' is no Fortran type with a known kind, such as 'real\(8\)'",
    "character(8)": r"no Fortran type with a known kind",
    "reel": r"neither a Fortran type, such as 'real\(8\)', .* nor a dtype",
}.items())  # fmt: skip
def test_what_is_no_kind(kind: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dtype_of(kind)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "f4", "f8", "g", "c8", "c16", "G"])
def test_types_of_descriptors_go_both_ways(dtype: str) -> None:
    assert dtype_of_code(type_code(np.dtype(dtype)), np.dtype(dtype).itemsize) == np.dtype(dtype)


C_ORDER = gb.Field.zeros((4, 5, 6), dims="IJK")
REFUSED = [
    (fortran.to_f2py, C_ORDER, {},
    "field: I (index 0) has the stride 240 where Fortran order without gaps has 8; pass a copy: "
     "field.to(backend='F'), or turn the indices round: field.transpose(('K', 'J', 'I'))"),
    (fortran.to_f2py, gb.Field.zeros((4, 5, 6), dims="IJK", backend="F", padding=8), {},
     "field: J (index 1) has the stride 64 where Fortran order without gaps has 32; pass"
      " a copy: field.to(backend='F')"),
    (fortran.to_f2py, gb.Field.zeros((4, 5, 6), backend="F")[..., ::2], {},
    "field: K (index 2) has the stride 320 where Fortran"),
    (fortran.explicit, C_ORDER, {},
    "field: I (index 0) has the stride 240 where Fortran's first index has 8"),
    (fortran.explicit, gb.Field.zeros((4, 5, 6), dims="IJK", layout=(2, 0, 1)), {},
    "field: K (index 2) has the stride 32 where "
     "Fortran has a multiple of 192, and at least 960"),
    (fortran.explicit, gb.Field.zeros((4, 5), backend="F")[:, ::-1], {},
    "J (index 1) has the stride -32 where Fortran has a multiple of 8"),
    (fortran.descriptor, gb.Field(np.broadcast_to(np.ones(3), (4, 3))), {"writable": False},
    "I (index 0) has the stride 0, which repeats"),
    (fortran.descriptor, gb.Field(np.zeros((4, 2), "i4,f8")["f1"]), {},
    "J (index 1) has the stride 12, which is no multiple of the 8 bytes"),
    (fortran.descriptor, gb.Field.zeros((2,) * 16), {},
    "field: it has 16 indices, and Fortran's arrays have at most 15"),
    (fortran.to_f2py, gb.Field.zeros(4, "float32"), {"kind": "real(8)"},
    "field: its dtype is float32, and 'real(8)' is float64; "
     "declare real(4), or pass a copy: field.to(dtype='float64')"),
    (fortran.descriptor, gb.Field.zeros(4, "bool"), {"kind": "logical(4)"},
    "declare logical(1), or pass a copy: field.to(dtype='int32')"),
    (fortran.to_f2py, gb.Field.zeros(4, "uint16"), {},
    "field: Fortran has no unsigned integers such as uint16; pass gridbuf.Field("),
    (fortran.to_f2py, gb.Field.zeros(4, "float16"), {},
    "field: no Fortran type has the bits of float16; pass field.to(dtype='float32')"),
    (fortran.to_f2py, gb.Field(np.zeros(4, ">f8")), {},
    "field: '>f8' is not in native byte order; pass field.to(dtype='float64')"),
    (fortran.explicit, gb.Field(np.frombuffer(b"12345678")), {},
    "field: it is read-only; pass writable=False where the argument is intent(in)"),
    (fortran.wrap, np.zeros((3, 4)), {},
    "array: I (index 0) has the stride 32 where Fortran order without gaps has 8"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "data", "keywords", "says"), REFUSED)
def test_an_error_names_the_index_and_says_what_to_do(
    call: Any, data: Any, keywords: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError) as raised:
        call(data, **keywords)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("call", "data", "keywords", "says"), [case for case in REFUSED if "pass a copy: " in case[3]]
)
def test_the_copies_that_errors_name_are_taken(
    call: Any, data: Any, keywords: dict[str, Any], says: str
) -> None:
    named = re.findall(r"field\.[a-z_]+\(.*?\)\)?(?=$|,| or)", says.split("pass a copy: ")[1])
    assert named
    for copy in named:
        call(eval(copy, {"field": data}), **keywords)


def test_other_arguments() -> None:
    with pytest.raises(ValueError, match=r"address: 0 is no address; is the array allocated"):
        fortran.from_pointer(0, (3,), "real(8)")
    with pytest.raises(
        ValueError, match=r"bounds: index 1 has 'x'; expected \(first, last\), or n"
    ):
        fortran.from_pointer(8, (3, "x"), "real(8)")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"leading: \(2,\) are not the extents, or more"):
        fortran.from_pointer(8, (3, 4), "real(8)", leading=(2,))
    with pytest.raises(
        ValueError, match=r"domain: index 0 has 1:5, which is not within the bounds 0:3"
    ):
        fortran.wrap(np.zeros(4), lower=(0,), domain=(5,))
    with pytest.raises(ValueError, match=r"lower: 2 bounds for an array of 1 indices"):
        fortran.wrap(np.zeros(4), lower=(0, 0))
    with pytest.raises(
        ValueError, match=r"attribute: 'target' is neither 'pointer' nor 'allocatable'"
    ):
        fortran.receiver(1, "real(8)", "target")
    with pytest.raises(ValueError, match=r"rank: 16 is not among 0 to 15"):
        fortran.receiver(16, "real(8)")
    with pytest.raises(ValueError, match=r"kind: Fortran has no unsigned integers"):
        fortran.receiver(1, "uint8")


@pytest.mark.parametrize("bounds", [(2**62,), (2**70,), (2**40, 2**40), ((0, 2**63),), (0, 2**70)])
def test_bounds_beyond_memory(bounds: Any) -> None:
    with pytest.raises(
        ValueError, match=r"address: with the shape .* it would be more memory than there can be"
    ):
        fortran.from_pointer(4096, bounds, "real(8)")


SLICES = st.builds(slice, st.integers(0, 3), st.integers(3, 7), st.integers(1, 3))


@given(
    st.permutations(range(3)), st.sampled_from([False, True, 3]), st.tuples(SLICES, SLICES, SLICES)
)
def test_leading_extents_say_where_each_element_lies(layout: Any, padding: Any, key: Any) -> None:
    """What is taken lies where Fortran looks for it; what is refused, no leading extents
    describe.
    """
    field = gb.Field.empty((6, 5, 7), layout=tuple(layout), padding=padding)[key]
    try:
        leading = fortran.explicit(field).leading
    except ValueError as error:
        assert re.search(r"[IJK] \(index \d\) has the stride", str(error))
        found = [
            (a, b)
            for a in range(field.shape[0], 60)
            for b in range(field.shape[1], 200)
            if _same(field, (8, 8 * a, 8 * a * b))
        ]
        assert not found
    else:
        assert leading[0] >= field.shape[0] and leading[1] >= field.shape[1]
        assert _same(field, (8, 8 * leading[0], 8 * leading[0] * leading[1]))


def _same(field: gb.Field, strides: tuple[int, ...]) -> bool:
    return not field.size or all(
        n == 1 or a == b for n, a, b in zip(field.shape, field.strides, strides, strict=True)
    )


def test_a_declaration_with_larger_extents() -> None:
    memory = np.arange(8.0 * 4).reshape(4, 8).T
    field = fortran.from_pointer(
        memory.ctypes.data, ((0, 4), 3), "real(8)", "IJ", leading=(8,), owner=memory
    )
    assert (
        field.strides == (8, 64)
        and (field.numpy() == memory[:5, :3]).all()
        and field.origin == (1, 0)
    )


@pytest.mark.parametrize(("change", "says"), [
    ({"version": 20180515}, "version 20180515 and rank 1 are not gfortran's"),
    ({"rank": 16}, "rank 16 are not gfortran's"),
    ({"type": 5 + (1 << 8)}, "its type 261 is no integer, logical, real or complex"),
    ({"type": -1}, "its type -1 is no integer"),
    ({"elem_len": 4}, "its elements have 4 bytes, those of its type 2051 have 8"),
    ({"extent": -1}, "index 0 has the extent -1: an assumed-size array"),
    ({"sm": 2**62}, "it would be more memory than there can be"),
    ({"base_addr": None}, "base_addr is NULL"),
])  # fmt: skip
def test_a_wrong_descriptor_is_an_error(change: dict[str, Any], says: str) -> None:
    made = fortran.descriptor(np.zeros(4))
    for name, value in change.items():
        setattr(made.structure.dim[0] if name in ("extent", "sm") else made.structure, name, value)
    with pytest.raises(ValueError, match=re.escape(says)):
        fortran.from_descriptor(made)


def test_a_descriptor_is_one() -> None:
    for wrong in (None, "x", 0):
        with pytest.raises(
            TypeError,
            match="descriptor: expected a Descriptor or the address of a CFI_cdesc_t, got",
        ):
            fortran.from_descriptor(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="descriptor: its dtype is float64, and 'integer"):
        fortran.from_descriptor(fortran.descriptor(np.zeros(4)), kind="integer(4)")


@pytest.mark.parametrize(("bits", "kind"), [(63, 10), (112, 16)])
def test_long_double_is_what_the_processor_has(
    monkeypatch: pytest.MonkeyPatch, bits: int, kind: int
) -> None:
    """80 bits on x86, 128 on aarch64; both take 16 bytes."""
    monkeypatch.setattr(np, "finfo", lambda dtype: SimpleNamespace(nmant=bits))
    for name, dtype in (("real", np.longdouble), ("complex", np.clongdouble)):
        assert dtype_of(f"{name}({kind})") == dtype
        code = type_code(np.dtype(dtype))
        assert code >> 8 == kind and dtype_of_code(code, np.dtype(dtype).itemsize) == dtype
        with pytest.raises(ValueError, match="has no dtype"):
            dtype_of(f"{name}({26 - kind})")
