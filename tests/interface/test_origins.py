"""The origin of each field of a call."""

from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.interface import resolve_origins


def a_set() -> dict[str, Any]:
    return {
        "field": gb.Field.zeros((6, 6, 6), dims="IJK", halo=(1, 2, 3)),
        "storage": gs.zeros((6, 6), axes="KI", halo=(1, 2)),
        "array": np.zeros((6, 6, 6)),
        "data": gb.Field.zeros((2, 6, 6), dims="0JI", halo=((0, 0), (4, 0), (5, 0))),
    }


def test_what_the_objects_carry_else_zeros() -> None:
    assert resolve_origins(a_set()) == {
        "field": (1, 2, 3),
        "storage": (2, 1),
        "array": (0, 0, 0),
        "data": (5, 4, 0),
    }


def test_a_tuple_is_for_all_and_filtered_to_the_field_s_axes() -> None:
    expected = {"field": (7, 8, 9), "storage": (7, 9), "array": (7, 8, 9), "data": (7, 8, 0)}
    assert (
        resolve_origins(a_set(), (7, 8, 9))
        == resolve_origins(a_set(), {"_all_": [7, 8, 9]})
        == expected
    )


def test_the_name_wins() -> None:
    found = resolve_origins(a_set(), {"_all_": (7, 8, 9), "storage": (3, 4), "data": (1, 1, 1)})
    assert found == {"field": (7, 8, 9), "storage": (3, 4), "array": (7, 8, 9), "data": (1, 1, 1)}
    assert resolve_origins(a_set(), {"array": (1, 1, 1)})["field"] == (1, 2, 3)


def test_zeros_for_data_dimensions() -> None:
    assert resolve_origins(a_set(), {"data": (3, 2)})["data"] == (3, 2, 0)


def test_an_annotation_names_what_does_not_name_itself() -> None:
    plane = {"p": np.zeros((4, 4))}
    assert resolve_origins(plane, (1, 2, 3), dims={"p": "JK"}) == {"p": (2, 3)}
    assert resolve_origins(plane, (1, 2, 3)) == {"p": (1, 2)}


@pytest.mark.parametrize(
    ("origin", "error", "says"),
    [
        ((1, 2), ValueError, "an entry for each of I, J and K"),
        ({"storage": (1, 2, 3)}, ValueError, "for storage has 3 entries"),
        ({"x": (1, 2, 3)}, ValueError, "origin: x is not among the fields"),
        (3, TypeError, "origin: expected"),
        (
            {"array": (1.5, 0, 0)},
            TypeError,
            r"origin: expected a sequence of ints for array, got \(1.5, 0, 0\)",
        ),
        ({"array": {1, 2, 3}}, TypeError, "origin: expected a sequence of ints for array"),
        ({"_all_": 3}, TypeError, "origin: expected a sequence of ints for all fields, got 3"),
        ("IJK", TypeError, "origin: expected"),
    ],
)
def test_wrong_origins(origin: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        resolve_origins(a_set(), origin)
