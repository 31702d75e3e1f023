"""gridbuf.interop.fortran with an f2py module: what passes is worked on in place, what is refused
f2py would refuse or copy.
"""

from typing import Any

import fortran_build
import numpy as np
import pytest

import gridbuf as gb
from gridbuf.interop import fortran


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return fortran_build.f2py_module(tmp_path_factory.mktemp("f2py"))


def index_values(shape: tuple[int, int]) -> np.ndarray:
    i, j = np.indices(shape) + 1
    return 100.0 * i + j


@pytest.mark.parametrize("make", [
    lambda: gb.Field.zeros((5, 4), dims="IJ", backend="F"),
    lambda: gb.Field.zeros((5, 4), dims="IJ", backend="gt:cpu_ifirst"),
    lambda: gb.Field.zeros((4, 5), dims="JI").transpose("IJ"),
    lambda: gb.Field.zeros((5, 9), dims="IJ", backend="F")[:, 3:7],
    lambda: gb.Field.zeros((1, 4), dims="IJ"),
])  # fmt: skip
def test_an_argument_is_worked_on_in_place(model: Any, make: Any) -> None:
    field = make()
    model.add_index(fortran.to_f2py(field, "real(8)"))
    assert (field.numpy() == index_values(field.shape)).all()


def test_what_we_refuse_f2py_refuses_too(model: Any) -> None:
    for field in (
        gb.Field.zeros((5, 4), dims="IJ"),
        gb.Field.zeros((5, 4), dims="IJ", backend="F", padding=8),
        gb.Field.zeros((5, 4), "float32", dims="IJ", backend="F"),
        gb.Field.zeros((9, 4), dims="IJ", backend="F")[::2],
    ):
        with pytest.raises(ValueError):
            fortran.to_f2py(field, "real(8)")
        with pytest.raises(ValueError):
            model.add_index(field.numpy())


def test_what_we_suggest_works(model: Any) -> None:
    field = gb.Field.from_array(index_values((5, 4)), dims="IJ", padding=8)
    with pytest.raises(ValueError, match=r"field\.to\(backend='F'\)"):
        fortran.to_f2py(field)
    copied = field.to(backend="F")
    model.add_index(fortran.to_f2py(copied, "double precision"))
    assert (copied.numpy() == 2 * field.numpy()).all()


@pytest.mark.parametrize(("kind", "name", "factor", "term"), [
    ("real(4)", "double_single", 2, 0), ("integer(4)", "count_up", 1, 1),
    ("complex(8)", "turn", 1j, 0),
])  # fmt: skip
def test_kinds(model: Any, kind: str, name: str, factor: complex, term: int) -> None:
    field = gb.Field(
        np.arange(6).astype({"real(4)": "f4", "integer(4)": "i4", "complex(8)": "c16"}[kind])
    )
    before = field.numpy().copy()
    getattr(model, name)(fortran.to_f2py(field, kind))
    assert (field.numpy() == factor * before + term).all()


def test_read_only_for_intent_in(model: Any) -> None:
    array = np.asfortranarray(np.ones((3, 4)))
    array.setflags(write=False)
    assert model.total(fortran.to_f2py(array, writable=False)) == 12.0


def test_an_array_of_the_module_becomes_a_field(model: Any) -> None:
    model.start(6, 2)
    field = fortran.wrap(model.state, "IK", kind="real(8)", lower=(-2, 1), domain=(6, None))
    assert (
        field.halo == ((3, 3), (0, 0))
        and (field.domain.numpy() == 1).all()
        and field.numpy().sum() == 12
    )
    field[0, 0] = -7.0
    assert model.corner() == -7.0
