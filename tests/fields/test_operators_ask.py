"""Operators of storages and Fields ask the other operand's class whatever ndarray's operators ask
it.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs


def _mine(self: Any, *args: Any, **kwargs: Any) -> str:
    return "mine"


def _said(what: str) -> Callable[[Any, Any], str]:
    return lambda self, other: what


REFUSING: dict[str, Any] = {
    "__array_ufunc__": None, "__radd__": _said("radd"), "__gt__": _said("gt"),
    "__eq__": _said("eq"), "__ne__": _said("ne"),
}  # fmt: skip
NUMBERS = [float, int, complex, np.float64, np.float32, np.int64]
KINDS: dict[str, Any] = {"storage": gs.full, "Field": gb.Field.full}
BINARY: list[Any] = [
    operator.add,
    operator.pow,
    operator.lt,
    operator.eq,
    operator.ne,
    divmod,
    np.add,
]


@pytest.fixture(params=KINDS)
def ours(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param]((3, 4, 5), 7.0)


@pytest.mark.parametrize("does", [*BINARY, operator.iadd, operator.ipow])
@pytest.mark.parametrize("base", NUMBERS)
def test_a_number_that_answers_ufuncs_itself_is_asked(ours: Any, base: Any, does: Any) -> None:
    number = type("Sub", (base,), {"__array_ufunc__": _mine})(2)
    assert does(np.full((3, 4, 5), 7.0), number) == "mine"
    found = does(ours, number)
    assert isinstance(found, str) and found == "mine"


@pytest.mark.parametrize("options", [{"dtype": "f4"}, {"where": True}, {"out": ...}])
def test_a_number_is_asked_beside_every_option(ours: Any, options: dict[str, Any]) -> None:
    number = type("Sub", (np.float64,), {"__array_ufunc__": _mine})(2)
    options = {name: ours if value is ... else value for name, value in options.items()}
    found = np.add(ours, number, **options)
    assert isinstance(found, str) and found == "mine"
    at: Any = np.add.at
    assert at(ours, ([0], [1], [2]), number) == "mine"


def test_a_list_that_answers_ufuncs_itself_is_asked(ours: Any) -> None:
    found = ours + type("Sub", (list,), {"__array_ufunc__": _mine})([1.0])
    assert isinstance(found, str) and found == "mine"


@pytest.mark.parametrize("base", [float, int, complex, np.float64, np.float32, list, object])
@pytest.mark.parametrize(
    ("does", "said"), [("add", "radd"), ("lt", "gt"), ("eq", "eq"), ("ne", "ne")]
)
def test_what_refuses_ufuncs_has_its_own_operator_asked(
    ours: Any, base: Any, does: str, said: str
) -> None:
    other = type("Sub", (base,), REFUSING)(*([2] if base in NUMBERS else []))
    array = np.full((3, 4, 5), 7.0)
    assert getattr(operator, does)(array, other) == getattr(operator, does)(ours, other) == said
    for target in (array, ours):
        with pytest.raises(TypeError):
            operator.iadd(target, other)
    assert (np.asarray(ours) == 7.0).all()


@pytest.mark.parametrize("base", NUMBERS)
@pytest.mark.parametrize("does", BINARY)
def test_a_number_of_a_class_with_nothing_to_say_is_a_number(
    ours: Any, base: Any, does: Any
) -> None:
    if base is complex and does is divmod:
        pytest.skip("not of complex numbers")
    number, array = type("Sub", (base,), {})(2), np.full((3, 4, 5), 7.0)
    found, wanted = does(ours, number), does(array, number)
    assert np.array_equal(np.asarray(found), np.asarray(wanted))
    assert isinstance(wanted, tuple) or found.dtype == wanted.dtype


@pytest.mark.parametrize(
    "does",
    [operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt, operator.add],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_the_first_operands_order_is_the_results(does: Any, swapped: bool) -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    both = [gb.Field(a, dims="IJK"), gs.storage(a.T % 7, axes="KJI")]
    first, second = both[::-1] if swapped else both
    found = does(first, second)
    assert found.shape == first.shape
    assert np.array_equal(np.asarray(found), does(np.asarray(first), np.asarray(second).T))


@pytest.mark.parametrize("does", [*BINARY[:-1], operator.matmul, operator.iadd, operator.ipow])
@pytest.mark.parametrize("base", [gs.CPUStorage, gb.Field])
def test_a_subclass_that_answers_ufuncs_itself_is_asked(base: Any, does: Any) -> None:
    cls: Any = type("Sub", (base,), {"__array_ufunc__": _mine})
    array = np.full((3, 3), 7.0)
    y = cls._of(array, None, gs.zeros((3, 3))._meta) if base is gs.CPUStorage else cls(array)
    x = gs.storage(array) if base is gs.CPUStorage else gb.Field(array)
    for found in (does(y, y), does(y, 2), does(x, y), does(2.0, y), does(array, y), -y, abs(y), +y):
        assert isinstance(found, str) and found == "mine"


def test_a_subclass_may_ask_its_base_or_nothing() -> None:
    class Counting(gs.CPUStorage):
        asked = 0

        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
            Counting.asked += 1
            return super().__array_ufunc__(*args, **kwargs)

    for cls in (Counting, type("Silent", (gs.CPUStorage,), {})):
        y: Any = cls._of(np.full(3, 7.0), None, gs.zeros(3, axes="I")._meta)
        assert (
            type(y + y) is cls
            and (np.asarray(y + 1) == 8.0).all()
            and (np.asarray(-y) == -7.0).all()
        )
    assert Counting.asked == 3
