"""The engine finds what a consumer does wrong: each fault here is one that a real package had or
could have.
"""

from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import consumers
from gridbuf.consumers import Absent, Cell, Consumer, Missing, Result, run
from gridbuf.consumers.numpy import Asarray

HELD: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_is_held() -> Any:
    yield
    HELD.clear()


class Copies(Asarray):
    def take(self, field: gb.Field) -> Any:
        return np.array(field)

    def give(self, theirs: Any) -> gb.Field:
        return gb.Field.from_array(theirs, dtype=None)


class LosesStrides(Asarray):
    def take(self, field: gb.Field) -> Any:
        return np.asarray(field).ravel(order="K").reshape(field.shape)


class LosesTheSign(Asarray):
    def take(self, field: gb.Field) -> Any:
        return np.asarray(field).view("u8")


class Leaks(Asarray):
    def take(self, field: gb.Field) -> Any:
        HELD.append(field)
        return np.asarray(field)

    def give(self, theirs: Any) -> gb.Field:
        HELD.append(theirs)
        return gb.Field(theirs)


class HoldsNothing(Asarray):
    def take(self, field: gb.Field) -> Any:
        array = np.asarray(field)
        return np.lib.stride_tricks.as_strided(
            np.ndarray((1,), array.dtype, _address_only(array)), array.shape, array.strides
        )


def _address_only(array: np.ndarray) -> Any:
    """Memory without its owner; the array is kept elsewhere, so that the test may look at it."""
    import ctypes

    HELD.append(array.copy())
    return (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)


class IgnoresReadOnly(Asarray):
    def readonly(self, theirs: Any) -> bool:
        return False


class Remembers(Asarray):
    def values(self, theirs: Any) -> Any:
        HELD.append(np.array(theirs))
        return HELD[0]


class NotThere(Asarray):
    modules = ("no_such_package",)


class SaysItHasNone(Asarray):
    refuses = {("give", "F"): Absent("there are no such arrays")}  # noqa: RUF012


@pytest.mark.parametrize(
    ("consumer", "cell", "outcome", "says"),
    [
        (Copies(), Cell("take"), "wrong", "it is a copy"),
        (Copies(), Cell("give", "F"), "wrong", "it is a copy"),
        (LosesStrides(), Cell("take", "padded"), "wrong", "it is a copy"),
        (LosesStrides(), Cell("take", "permuted"), "wrong", "the values differ"),
        (LosesTheSign(), Cell("take"), "wrong", "dtypes: float64 here, uint64 there"),
        (Leaks(), Cell("take"), "wrong", "not released"),
        (Leaks(), Cell("give"), "wrong", "kept when the Field has gone"),
        (HoldsNothing(), Cell("take"), "wrong", "released while the consumer held it"),
        (IgnoresReadOnly(), Cell("take", "read-only"), "unprotected", "would write"),
        (Remembers(), Cell("take"), "wrong", "writes here are not seen there"),
        (NotThere(), Cell("take"), "skipped", "no_such_package"),
        (SaysItHasNone(), Cell("give", "F"), "yes", ""),
        (Asarray(), Cell("take", "padded"), "yes", ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Consumer) else None,
)
def test_a_fault_is_found(consumer: Consumer, cell: Cell, outcome: str, says: str) -> None:
    result = run(consumer, cell)
    assert result.outcome == outcome and says in result.reason, result


def test_any_error_is_a_refusal_with_its_text() -> None:
    class Refuses(Asarray):
        def take(self, field: gb.Field) -> Any:
            raise LookupError("not\n today")

    assert run(Refuses(), Cell("take")) == Result("no", "not today")


def test_what_fails_beside_taking_and_giving_is_named() -> None:
    class RefusesValues(Asarray):
        def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
            raise TypeError("no scalars")

    assert run(RefusesValues(), Cell("give")) == Result("no", "write: no scalars")


def test_names() -> None:
    with pytest.raises(ValueError, match=r"name: 'numpy' is not among NumPy"):
        consumers.load("numpy")
    assert Missing("why").args == ("why",)
