"""Classes derived from gridbuf.Field."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import gridbuf as gb


class Quantity(gb.Field):
    """A Field with a unit."""

    units: str = "1"


class Wind(Quantity):
    def __new__(cls, data: Any, dims: Any = None, *, units: str = "m/s", **spec: Any) -> Any:
        self = super().__new__(cls, data, dims, **spec)
        self.units = units
        return self


@pytest.mark.parametrize("cls", [Quantity, Wind])
def test_every_way_in_shares_the_memory(cls: Any) -> None:
    o = np.zeros((3, 4, 5))
    s = cls(o, "IJK")
    assert (
        isinstance(s, cls)
        and isinstance(s, gb.HostField)
        and type(s).__name__ == cls.__name__
        and type(s).__doc__ == cls.__doc__
    )
    for seen in (
        np.asarray(s),
        np.asarray(memoryview(s)),
        np.from_dlpack(s),
        s.numpy(),
        gb.as_numpy(s),
        gb.Field(s).numpy(),
    ):
        assert np.shares_memory(seen, o) and seen.shape == o.shape
    np.asarray(s)[:] = 1
    assert o.sum() == 60 and s.__array_interface__["data"][0] == o.ctypes.data
    assert not hasattr(s, "__cuda_array_interface__")
    s[0] = 3.0
    assert o.sum() == 100


def test_the_class_and_what_was_set_stay() -> None:
    s = Wind(np.ones((3, 4)), "IJ", halo=(1, 0), units="knots")
    views = s[1:], s[0], s.domain, s.T, s.transpose("JI")
    copies = (
        s.copy(),
        s.to(dims="JI"),
        s.astype("f4"),
        copy.copy(s),
        copy.deepcopy(s),
        pickle.loads(pickle.dumps(s)),
        gb.zeros_like(s),
    )
    results = (
        s + 1.0,
        1.0 + s,
        s + s,
        s + gb.Field(np.ones(3), "I"),
        np.sqrt(s),
        s.sum("I"),
        -s,
        s > 0,
    )
    for kind in (views, copies, results):
        for other in kind:
            assert isinstance(other, Wind) and other.units == "knots"
    assert pickle.loads(pickle.dumps(s)).halo == s.halo and np.array_equal(
        pickle.loads(pickle.dumps(s)).numpy(), s.numpy()
    )
    for view in views[:-1]:
        assert np.shares_memory(view, s)
    deep = copy.deepcopy(s)
    deep.units = "km/h"
    assert s.units == "knots"


def test_constructors_make_the_class() -> None:
    for made in (
        Quantity.empty((2,)),
        Quantity.zeros((2,), "f4", dims="K"),
        Quantity.ones(2),
        Quantity.full((2,), 3.0),
        Quantity.from_array([1.0, 2.0]),
    ):
        assert isinstance(made, Quantity) and made.plan is not None
    assert (
        Quantity.zeros((3, 4), backend="gt:cpu_ifirst").copy().strides == (8, 24)
        and type(gb.Field.zeros(2)) is gb.HostField
    )
    assert isinstance(Wind(Quantity.ones(2)), Wind) and not isinstance(
        Quantity(Wind(np.ones(2))), Wind
    )


def test_a_class_of_host_fields_only() -> None:
    class Host(gb.HostField):
        pass

    assert type(Host(np.ones(3))) is Host and np.shares_memory(np.asarray(h := Host(np.ones(3))), h)
    assert isinstance(Host(np.ones(3))[1:] + 1.0, Host)


def test_slots_and_init() -> None:
    class Slotted(gb.Field):
        __slots__ = ()

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.dims  # noqa: B018

    s = Slotted(np.ones((2, 2)), "IJ")
    assert (
        isinstance(s[1:], Slotted)
        and isinstance(s + 1, Slotted)
        and isinstance(copy.deepcopy(s), Slotted)
    )


def test_the_class_of_a_field_cannot_be_exchanged() -> None:
    f = gb.Field.zeros((3, 4))
    with pytest.raises(TypeError, match=r"__class__: .*says where its memory lies"):
        f.__class__ = gb.DeviceField  # type: ignore[assignment]
    assert f.__class__ is gb.HostField and not hasattr(f, "__cuda_array_interface__")


def test_stencils_write_into_the_memory() -> None:
    pytest.importorskip("gt4py")
    from gt4py_stencils import compiled

    inp, o = np.random.default_rng(5).random((4, 5, 6)), np.zeros((4, 5, 6))
    compiled("numpy")(Quantity(inp, "IJK", halo=(1, 1, 0)), Quantity(o, "IJK", halo=(1, 1, 0)))
    assert o[1:-1, 1:-1].all() and not o[0].any()
