"""Which kernels `watch --measure` calls again: those that nobody can tell were called; and what
gufuncs take besides arrays.
"""

import math
import random
import time
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from random import random as uniform
from time import time as now
from typing import Any

import numpy as np
import pytest
from numpy import sum as total
from numpy.random import normal
from watched import watch

from gridbuf.watch.programs import only_computes

other = np.random
generator = np.random.default_rng(1)
SCALE = np.array([2.0])


def inner(x: Any) -> Any:
    return x + normal()


def made(factor: float) -> Callable[[Any], Any]:
    return lambda x: factor * sqrt(x)


def looped(x: Any) -> Any:
    return looped(x - 1) if x > 0 else x


@pytest.mark.parametrize(
    ("kernel", "computes"),
    [
        (lambda x: math.sin(x) + sqrt(x), True),
        (lambda x: np.exp(x) * SCALE[0] + len(SCALE) + int(np.float32(x)), True),
        (made(2.0), True),
        (looped, True),
        (lambda x: total(x), True),
        (lambda x: x + normal(), False),
        (lambda x: x + other.normal(), False),
        (lambda x: x + np.random.normal(), False),
        (lambda x: x + generator.normal(), False),
        (lambda x: x + uniform(), False),
        (lambda x: x + random.random(), False),
        (lambda x: x + now(), False),
        (lambda x: x + time.time(), False),
        (lambda x: print(x), False),
        (lambda x: inner(x), False),
    ],
)
def test_what_only_computes(kernel: Callable[[Any], Any], computes: bool) -> None:
    assert only_computes(kernel) is computes


def test_a_memoryview_given_to_a_gufunc(tmp_path: Path) -> None:
    source = """
import numpy as np
from gridbuf import gufunc
add = gufunc.from_ufunc(np.add)
a = np.arange(2000.0)
print(add(memoryview(a), a)[:3], add(a, memoryview(a))[:3], add(a, a, out=np.zeros(2000))[:3])
"""
    found = watch(source, "--measure", cwd=tmp_path)
    assert found["stdout"].split() == ["[0.", "2.", "4.]", "[0.", "2.", "4.]", "[0.", "2.", "4.]"]
