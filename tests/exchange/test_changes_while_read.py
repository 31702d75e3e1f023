"""Descriptions that change while they are read: a value's own `__index__` empties the dict or list
that it came from.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

MEMORY = np.arange(100.0)


class Emptying:
    """An int that empties what holds it, and lets other objects take the place of what goes."""

    def __init__(self, value: int, holder: Any) -> None:
        self.value, self.holder = value, holder

    def __index__(self) -> int:
        self.holder.clear()
        self.others = [bytearray(40) for _ in range(50)]
        return self.value

    def __bool__(self) -> bool:
        return bool(self.__index__())


def shape_and_strides() -> dict[str, Any]:
    interface: dict[str, Any] = {
        "version": 3,
        "typestr": "<f8",
        "data": (MEMORY.ctypes.data, False),
    }
    interface["strides"] = tuple(map(int, ["16", "8"]))  # held by the dict alone
    interface["shape"] = [Emptying(2, interface), 2]
    return interface


def data() -> dict[str, Any]:
    interface: dict[str, Any] = {"version": 3, "typestr": "<f8", "shape": (2, 2)}
    interface["data"] = tuple([Emptying(MEMORY.ctypes.data, interface), Emptying(0, interface)])
    return interface


def shape_alone() -> dict[str, Any]:
    shape: list[Any] = []
    shape += [Emptying(2, shape), Emptying(2, shape)]
    return {"version": 3, "typestr": "<f8", "shape": shape, "data": (MEMORY.ctypes.data, False)}


@pytest.mark.parametrize("make", [shape_and_strides, data, shape_alone])
def test_an_array_interface_is_read_as_it_was(make: Callable[[], dict[str, Any]]) -> None:
    for _ in range(20):
        obj = type("Described", (), {})()
        obj.__array_interface__ = make()
        field = gb.Field(obj)
        assert field.numpy().tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda numbers: gb.Field.zeros(numbers).shape,
        lambda numbers: gb.Field.zeros((8, 8), halo=numbers).halo,
        lambda numbers: gb.Field(np.zeros((8, 8)), origin=numbers).origin,
        lambda numbers: gb.empty((8, 8), aligned_index=numbers).shape,
    ],
)
def test_a_list_is_read_as_it_was(call: Callable[[list[Any]], Any]) -> None:
    for _ in range(20):
        numbers: list[Any] = []
        numbers += [Emptying(2, numbers), Emptying(2, numbers)]
        assert call(numbers) in [(2, 2), ((2, 2), (2, 2)), (8, 8)]
