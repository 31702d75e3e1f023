"""get_dims: names of indices in every spelling that gt4py has, and nothing that is none."""

import enum
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from in_child import python

import gridbuf as gb
import gridbuf.distributed as gbd
import gridbuf.storage as gs

A = np.zeros((2, 3))


class Axis:
    """gtscript.I: it can be indexed, so iterating over it never ends."""

    def __init__(self, name: str) -> None:
        self.name = self.__gt_axis_name__ = name

    def __str__(self) -> str:
        return self.name

    def __getitem__(self, index: int) -> int:
        return index


class Dimension:
    """gt4py.next's: its str says more than its name."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __str__(self) -> str:
        return f"{self.value}[horizontal]"


class Horizontal(enum.Enum):
    I = "I"
    J = "J"


ANNOTATIONS: list[tuple[Any, tuple[str, ...]]] = [
    ("IJ", ("I", "J")), (["I", "0"], ("I", "0")), ([1, "K"], ("1", "K")), (Axis("I"), ("I",)),
    ((Axis("I"), Axis("J")), ("I", "J")),
    (SimpleNamespace(axes=(Axis("I"), Axis("J")), data_dims=()), ("I", "J")),
    (SimpleNamespace(axes=(Axis("K"),), data_dims=(3, 2)), ("K", "0", "1")),
    ([Dimension("J"), Dimension("I")], ("J", "I")), (Dimension("K"), ("K",)),
    ([Horizontal.I, Horizontal.J], ("I", "J")), ((), ()),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "names"), ANNOTATIONS)
def test_annotations(annotation: Any, names: tuple[str, ...]) -> None:
    assert gb.get_dims(A, annotation) == names
    assert gb.get_dims(SimpleNamespace(__gt_dims__=annotation)) == names


@pytest.mark.parametrize(
    "dims", [[Dimension("J"), Dimension("I")], [Axis("J"), Axis("I")], [Horizontal.J, Horizontal.I]]
)
def test_axes_as_dims(dims: Any) -> None:
    assert gb.Field(A, dims).dims == ("J", "I")
    assert (
        gb.empty((2, 3), dimensions=dims, backend="gt:cpu_ifirst").strides
        == gb.empty((2, 3), dimensions="JI", backend="gt:cpu_ifirst").strides
    )
    assert gb.Field.zeros((3,), dims=dims[0]).dims == ("J",)
    assert gb.Field.zeros((2, 3), dims="IJ").transpose(dims).dims == ("J", "I")


@pytest.mark.parametrize(
    "names", [("X",), ("I", "I"), ("i",), ("01",), ("I", None), "IX", ("9" * 5000,), ["IJ"]]
)
def test_names_that_are_none(names: Any) -> None:
    with pytest.raises(ValueError, match="__gt_dims__"):
        gb.get_dims(SimpleNamespace(__gt_dims__=names))
    with pytest.raises(ValueError, match="annotation"):
        gb.get_dims(A, names)


@pytest.mark.parametrize("junk", [5, 1.5, object()])
def test_what_names_nothing(junk: Any) -> None:
    with pytest.raises(TypeError, match="does not name indices"):
        gb.get_dims(A, junk)
    with pytest.raises(TypeError, match="__gt_dims__"):
        gb.get_dims(SimpleNamespace(__gt_dims__=junk))


@pytest.mark.parametrize("names", [{"I", "J"}, frozenset("IJ")])
def test_a_set_has_no_order(names: Any) -> None:
    field, storage, numbers = gb.Field(A, dims="IJ"), gs.ones((2, 3)), type(names)((0, 1))
    calls: list[Callable[[], Any]] = [
        lambda: gb.empty((2, 3), dims=names), lambda: gb.Field(A, dims=names),
        lambda: gs.empty((2, 3), dims=names), lambda: gs.empty(numbers),
        lambda: gs.empty((2, 3), halo=numbers), lambda: gs.empty((2, 3), aligned_index=numbers),
        lambda: gs.empty((2, 3), layout=numbers),
        lambda: gb.empty((2, 3), layout=numbers), lambda: gb.empty((2, 3), halo=(numbers, 0)),
        lambda: gb.Field(A, origin=numbers),
        lambda: gb.get_dims(A, names), lambda: gb.as_numpy(field, names),
        lambda: field.transpose(names), lambda: np.transpose(storage, numbers),
        lambda: np.sum(field, axis=numbers), lambda: np.sum(storage, axis=numbers),
        lambda: gbd.grid((2, 3), dims=names),
        lambda: gbd.grid(numbers), lambda: gbd.grid((2, 3), halo=numbers),
        lambda: gbd.grid((2, 3), blocks=numbers),
        lambda: gb.gufunc.dot(A, A, axes={(0,), (1,), ()}),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match=r"set|expected"):
            call()
    assert gbd.grid((2, 3), periodic=names).periodic == ("I", "J")  # where the order says nothing


def test_sequences_without_an_end() -> None:
    """In a process with little memory: an endless one was read until there was none left."""
    code = """
import itertools, resource, numpy as np, gridbuf as gb
# threads of NumPy's, one for each core, reserve much
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 30), resource.RLIM_INFINITY))
class Endless:
    def __getitem__(self, i): return i
x = gb.Field.zeros((3,), dims="I")
calls = [lambda e: gb.get_dims(np.zeros(3), e), lambda e: gb.empty(e),
         lambda e: gb.Field(np.zeros(3), e), lambda e: gb.empty((3,), halo=e),
         lambda e: gb.empty((3,), layout=e), lambda e: gb.empty((3,), aligned_index=e),
         lambda e: gb.Field(np.zeros(3), origin=e), lambda e: gb.register_backend("e", layout=e),
         lambda e: gb.Field.zeros((3,)).transpose(e), lambda e: gb.as_numpy(x, e)]
for call in calls:
    for endless in (Endless(), itertools.count()):
        try:
            call(endless)
        except (ValueError, TypeError) as error:
            continue
        raise SystemExit("accepted")
print("refused")
"""
    assert python(code) == "refused"


def test_gt4py_itself() -> None:
    gtscript = pytest.importorskip("gt4py.cartesian.gtscript")
    assert gb.get_dims(A, gtscript.I) == ("I",)
    assert gb.get_dims(A, gtscript.IJ) == ("I", "J")
    assert gb.get_dims(A, gtscript.Field[gtscript.IJ, np.float64]) == ("I", "J")
    assert gb.get_dims(A, gtscript.Field[gtscript.IJ, (np.float64, (3,))]) == ("I", "J", "0")
    assert gb.Field(A, dims=gtscript.IJ).dims == ("I", "J")
    assert gb.Field(np.zeros(3), dims=gtscript.K).dims == ("K",)
    following = pytest.importorskip("gt4py.next")
    assert gb.Field(A, dims=[following.Dimension("I"), following.Dimension("K")]).dims == ("I", "K")
