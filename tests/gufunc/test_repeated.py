"""A call that was made before enters neither Python nor Go, whatever its keywords; so a forked
child repeats it.
"""

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_child import forked

import gridbuf as gb
from gridbuf import gufunc

PACKAGE = Path(gb.__file__).parent
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
add, divide, dot = gufunc.from_ufunc(np.add), gufunc.from_ufunc(np.divide), gufunc.dot
LINALG = np.linalg._umath_linalg
svd = gufunc.from_ufunc(getattr(LINALG, "svd", LINALG.inv))  # older NumPys have others in its place
needs_svd = pytest.mark.skipif(
    not hasattr(LINALG, "svd"), reason="this NumPy's own gufuncs tell all sizes"
)
POINTER = ctypes.POINTER(ctypes.c_ssize_t)
NOTHING = ctypes.CFUNCTYPE(None, ctypes.c_void_p, POINTER, POINTER, ctypes.c_void_p)(
    lambda *_: None
)
scale = gufunc.GUFunc(
    "()->() ; k:i32, tol:f64, exact:bool", gufunc.numpy_loop(NOTHING, "d->d"), name="scale"
)
x, y, out, mask = np.arange(3.0), np.ones(3), np.empty(3), np.array([True, False, True])
single, square = np.ones(3, "f4"), np.arange(9.0).reshape(3, 3)
f, g = gb.Field(np.ones((3, 2)), dims="IJ", halo=(1, 0)), gb.Field(np.ones((2, 3)), dims="JI")
column, target = gb.Field(np.ones(4), dims="K"), gb.Field(np.zeros((3, 2)), dims="IJ")
CALLS: dict[str, Callable[[], Any]] = {
    "positional": lambda: add(x, y), "out": lambda: add(x, y, out=out),
    "tuple": lambda: add(x, y, out=(out,)),
    "int": lambda: add(x, 1), "complex": lambda: add(x, 1j), "bool": lambda: add(x, True),
    "scalar": lambda: add(x, np.float64(2)),
    "where": lambda: add(x, y, where=mask, out=out),
    "named mask": lambda: add(f, 1.0, where=gb.Field(mask, dims="I"), out=target),
    "dtype": lambda: add(single, single, dtype=np.float64),
    "text": lambda: add(single, 1.0, dtype="d"),
    "signature": lambda: add(single, x, signature="dd->d"),
    "types": lambda: add(x, y, signature=(None, None, np.float32)),
    "casting": lambda: add(x, single, casting="safe"), "workers": lambda: add(x, y, workers=2),
    "errors": lambda: add(x, y, errors="ignore"), "warn": lambda: add(x, y, errors="warn"),
    "axis": lambda: dot(square, square, axis=0),
    "keepdims": lambda: dot(square, square, axis=0, keepdims=True),
    "axes": lambda: dot(square, square, axes=[0, 1, ()]), "named axis": lambda: dot(f, g, axis="J"),
    "svd": lambda: svd(square),
    "Fields": lambda: add(f, g), "Field and number": lambda: add(f, 1.0),
    "Field as out": lambda: add(f, g, out=target),
    "by name": lambda: add(f, column),
    "Field, keywords": lambda: add(f, g, errors="ignore", workers=1, dtype="d"),
    "uniforms": lambda: scale(x, k=3, tol=0.5, exact=True, out=out),
    "swapped": lambda: add(x.astype(">f8"), y), "list": lambda: add([1.0, 2.0], 1.0),
}  # fmt: skip


def python_functions(call: Callable[[], Any]) -> list[str]:
    """The Python functions of gridbuf that a call runs."""
    seen: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and PACKAGE in Path(frame.f_code.co_filename).parents:
            seen.append(frame.f_code.co_qualname)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("name", CALLS)
def test_a_repeated_call_runs_no_python(name: str) -> None:
    CALLS[name]()
    assert python_functions(CALLS[name]) == []


def values(result: Any) -> Any:
    return np.asarray(result).tolist()


def test_a_forked_child_repeats_every_call() -> None:
    for call in CALLS.values():  # what one leaves in `out` another shows that has a mask
        call()
    expected = {name: values(call()) for name, call in CALLS.items()}
    gufunc.dot(np.ones(3), np.ones(3))
    info = divide(x, 0.0, errors="return")[1]
    shapes = [(i % 7 + 1, i % 11 + 1, i) for i in range(200)]
    for shape in shapes:
        add(np.ones(shape), 1.0, errors="ignore")
        divide(np.ones(shape), 0.0, errors="ignore")

    def body() -> None:
        for name, call in CALLS.items():
            assert values(call()) == expected[name], name
        assert divide(x, 0.0, errors="return")[1].codes.tolist() == info.codes.tolist()
        with pytest.raises(gufunc.TotalFailure):
            divide(x, 0.0)
        for shape in shapes:
            assert (add(np.ones(shape), 1.0, errors="ignore") == 2.0).all()
        with pytest.raises(
            RuntimeError, match=r"dot: .* not made before the fork.*'spawn' or 'forkserver'"
        ):
            gufunc.dot(np.ones(99), np.ones(99))

    assert [forked(body) for _ in range(5)] == [0] * 5


@needs_svd
def test_output_dims_is_asked_once_for_each_set_of_shapes() -> None:
    asked = []

    def sizes(dims: dict[str, int | None]) -> dict[str, Any]:
        asked.append(dims["m"])
        return {**dims, "p": min(dims["m"] or 0, dims["n"] or 0)}

    values_of = gufunc.from_ufunc(LINALG.svd, output_dims=sizes)
    for _ in range(3):
        assert values_of(square).shape == (3,) and values_of(np.ones((5, 2, 4))).shape == (5, 2)
    assert asked == [3, 2]


@needs_svd
@pytest.mark.parametrize("name", ["svd", "svd_f", "svd_s", "qr_r_raw"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2, 5), (2, 3, 5, 2), (0, 3, 2)])
def test_sizes_that_numpy_computes_are_asked_of_numpy(name: str, shape: tuple[int, ...]) -> None:
    loop = getattr(LINALG, name)
    a = np.random.default_rng(0).normal(size=shape)
    ours, theirs = gufunc.from_ufunc(loop)(a.copy()), loop(a.copy())
    for mine, numpys in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (ours, theirs)), strict=True
    ):
        np.testing.assert_allclose(mine, numpys, atol=1e-12)


@needs_svd
def test_least_squares() -> None:
    loop = LINALG.lstsq
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5, 2))
    for mine, numpys in zip(gufunc.from_ufunc(loop)(a, b, 1e-12), loop(a, b, 1e-12), strict=True):
        np.testing.assert_allclose(mine, numpys, atol=1e-12)
