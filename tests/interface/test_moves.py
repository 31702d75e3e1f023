"""What an object says is read again after its acquire, once for each object, and held against what
can be known.
"""

from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice
from in_child import python

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.gufunc import from_ufunc
from gridbuf.interface import CopyWarning, acquired, read


class Lazy:
    """Its memory is made by acquire; `after` says what it is then."""

    def __init__(self, after: Any = None, dims: Any = None) -> None:
        self.buffer, self.after, self.dims, self.log = np.zeros((3, 4)), after, dims, []  # type: ignore[var-annotated]

    def _acquire(self) -> None:
        self.log.append("acquire")
        self.buffer = np.arange(12.0).reshape(3, 4) if self.after is None else self.after

    @property
    def __gt_interface__(self) -> dict[Any, Any]:
        self.log.append("read")
        extra = {} if self.dims is None else {"dims": self.dims}
        calls = {
            "touch": lambda: self.log.append("touch"),
            "release": lambda: self.log.append("release"),
        }
        return {
            None: {**self.buffer.__array_interface__, "acquire": self._acquire, **extra, **calls}
        }


def test_memory_that_acquire_moves() -> None:
    lazy = Lazy(dims="JI")
    with acquired({"x": lazy}, ("x",)) as buffers:
        assert np.shares_memory(buffers["x"], lazy.buffer) and buffers["x"].shape == (4, 3)
        buffers["x"][...] = 7
    assert (lazy.buffer == 7).all() and lazy.log == ["read", "acquire", "read", "touch", "release"]


def test_strides_may_change_too() -> None:
    lazy = Lazy(np.zeros((4, 3)).T)
    with acquired({"x": lazy}) as buffers:
        assert buffers["x"].strides == (8, 24)


@pytest.mark.parametrize(
    ("after", "what"),
    [
        (np.zeros((3, 5)), "shape"),
        (np.zeros((3, 4), np.float32), "typestr"),
        (np.zeros((3, 4), ">f8"), "typestr"),
    ],
)
def test_what_memory_is_must_stay(after: np.ndarray, what: str) -> None:
    lazy, other = Lazy(after), Lazy()
    with (
        pytest.raises(ValueError, match=f"x: its {what} was .* after its acquire"),
        acquired({"o": other, "x": lazy}, ("x",)),
    ):
        pytest.fail("the block must not run")
    assert lazy.log[-1] == "release" and other.log[-1] == "release" and "touch" not in lazy.log


def test_dims_must_stay_and_outputs_stay_writable() -> None:
    lazy = Lazy(dims="IJ")
    lazy._acquire = lambda: setattr(lazy, "dims", "JI")  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="x: its dims was"), acquired({"x": lazy}):
        pass
    readonly = np.zeros((3, 4))
    readonly.flags.writeable = False
    with (
        pytest.raises(ValueError, match="x: its memory is read-only after its acquire"),
        acquired({"x": Lazy(readonly)}, ("x",)),
    ):
        pass
    with acquired({"x": Lazy(readonly)}) as buffers:
        assert not buffers["x"].flags.writeable


def test_an_object_that_stands_for_several_fields_is_called_once() -> None:
    lazy = Lazy()
    with acquired(
        {"a": lazy, "b": lazy, "c": lazy}, ("c", "b"), dims={"a": "IJ", "b": "IJ", "c": "JI"}
    ) as buffers:
        assert np.shares_memory(buffers["a"], buffers["c"])
    assert lazy.log == ["read", "acquire", "read", "touch", "release"]


def test_one_object_has_one_copy() -> None:
    a = np.arange(4, dtype=np.float32)
    with (
        pytest.warns(CopyWarning),
        acquired(
            {"i": a, "o": a}, ("o",), dtypes={"i": float, "o": float}, policy="copy"
        ) as buffers,
    ):
        assert np.shares_memory(buffers["i"], buffers["o"])
        buffers["o"][...] = 2 * buffers["i"]
    assert a.tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match="o: it is the same object as i"):  # noqa: SIM117
        with acquired({"i": a, "o": a}, ("o",), dtypes={"o": float}, policy="copy"):
            pass


@pytest.mark.parametrize(("own", "needed"), [("i4", "f8"), ("i1", "f8"), ("f8", "c16")])
def test_copies_that_would_lose_values_on_the_way_back(own: str, needed: str) -> None:
    a = np.zeros(3, own)
    with (
        pytest.warns(CopyWarning),
        acquired({"a": a}, dtypes={"a": needed}, policy="copy") as buffers,
    ):
        assert buffers["a"].dtype == needed
    with (
        pytest.raises(TypeError, match=r"a: .*same_kind"),
        acquired({"a": a}, ("a",), dtypes={"a": needed}, policy="copy"),
    ):
        pass
    with (
        pytest.raises(TypeError, match=r"a: .*same_kind"),
        acquired({"a": np.zeros(3, needed)}, dtypes={"a": own}, policy="copy"),
    ):
        pass


@pytest.mark.parametrize("typestr", ["|O", "f8,O"])
def test_python_objects_are_refused(typestr: str) -> None:
    a = np.zeros(3)

    class Objects:
        __gt_interface__ = {None: {**a.__array_interface__, "typestr": typestr}}  # noqa: RUF012

    for call in (read, lambda o: acquired({"x": o}).__enter__(), gb.Field):
        with pytest.raises((ValueError, TypeError)):
            call(Objects())
    with pytest.raises(ValueError, match=r"\|O"):
        read(np.array([None]))


def lying(**changes: Any) -> Any:
    a = np.arange(12.0).reshape(3, 4)

    class Lying:
        keep = a
        __array_interface__ = a.__array_interface__
        __gt_interface__ = {None: {**a.__array_interface__, **changes}}  # noqa: RUF012

    return Lying()


@pytest.mark.parametrize(
    "changes",
    [{"shape": (3, 40)}, {"strides": (3200, 8)}, {"strides": (32, -8)}, {"shape": (4, 4)}],
)
def test_memory_that_the_object_does_not_have(changes: dict[str, Any]) -> None:
    with (
        pytest.raises(ValueError, match=r"x: shape .*beyond the memory"),
        acquired({"x": lying(**changes)}),
    ):
        pass
    with pytest.raises(ValueError, match="data: shape"):
        gb.Field(
            type("Only", (), {"__gt_interface__": lying(strides=(10**12, 8)).__gt_interface__})()
        )


@pytest.mark.parametrize(
    ("strides", "says"),
    [
        ((10**12, 8), "x: shape .*where this process has no memory"),
        ((-(10**12), 8), "x: shape .*where this process has no memory"),
        ((2**62, 8), "__gt_interface__ of .*: strides: with entry 0 .* leave the address space"),
        (
            (8, -(2**61)),
            "__gt_interface__ of .*: strides: elements from .* leave the address space",
        ),
    ],
)
def test_memory_that_the_process_does_not_have(strides: tuple[int, int], says: str) -> None:
    with pytest.raises(ValueError, match=says), acquired({"x": lying(strides=strides)}):
        pass


def test_a_part_and_the_whole_of_padded_memory_are_no_lies() -> None:
    whole = np.zeros((6, 6))

    class Padded:
        __array_interface__ = whole[1:-1, 1:-1].__array_interface__
        __gt_interface__ = {None: whole.__array_interface__}  # noqa: RUF012
        keep = whole

    with acquired({"x": Padded(), "part": lying(shape=(2, 4))}) as buffers:
        assert buffers["x"].shape == (6, 6) and buffers["part"].shape == (2, 4)


def test_errors_of_a_property_are_its_own() -> None:
    class Broken:
        @property
        def __gt_interface__(self) -> Any:
            return self.no_such_thing

    for call in (read, lambda o: acquired({"x": o}).__enter__()):
        with pytest.raises(AttributeError, match="no_such_thing"):
            call(Broken())


def test_a_property_may_say_that_there_is_none() -> None:
    class Without:
        def __init__(self) -> None:
            self.__array_interface__ = np.arange(3.0).__array_interface__

        @property
        def __gt_interface__(self) -> Any:
            raise AttributeError("not today")

    assert read(Without())["shape"] == (3,)


@pytest.mark.parametrize("fields", [[np.zeros(3)], np.zeros(3), None, "x"])
def test_fields_that_have_no_names(fields: Any) -> None:
    with (
        pytest.raises(TypeError, match="fields: expected a map from name to object"),
        acquired(fields),
    ):
        pass


def test_managed_memory_is_waited_for(gpu: FakeDevice) -> None:
    m = gs.zeros((3,), axes="K", device="gpu", managed="cuda")
    gpu.log.clear()
    with acquired({"m": m}) as buffers:
        assert buffers["m"].tolist() == [0, 0, 0]
    assert gpu.log == ["synchronize"]


class OnlyThis:
    """Nothing but `__gt_interface__`, with memory that acquire makes."""

    def __init__(self) -> None:
        self.buffer, self.made = np.zeros((2, 3)), 0

    def _acquire(self) -> None:
        self.made += 1
        self.buffer = np.full((2, 3), 5.0)

    @property
    def __gt_interface__(self) -> Any:
        return {
            None: {**self.buffer.__array_interface__, "acquire": self._acquire, "dims": ("J", "I")}
        }


def test_everything_takes_objects_that_have_nothing_else() -> None:
    for call in (gb.Field, gb.as_numpy, gs.as_storage):
        obj = OnlyThis()
        found = np.asarray(call(obj))  # type: ignore[operator]
        assert found.tolist() == [[5.0] * 3] * 2 and np.shares_memory(found, obj.buffer)
    assert gb.Field(OnlyThis()).dims == ("J", "I")
    assert np.asarray(from_ufunc(np.negative)(OnlyThis())).tolist() == [[-5.0] * 3] * 2


CRASH = """
import numpy as np, gridbuf.interface as gi
class L:
    def __init__(s): s.buf = np.zeros(200_000)
    def _acq(s): s.buf = np.arange(200_000.)
    __gt_interface__ = property(lambda s: {None: {**s.buf.__array_interface__, "acquire": s._acq}})
for _ in range(50):
    l = L()
    with gi.acquired({"x": l}, ("x",)) as b: b["x"][...] = 7
    assert (l.buf == 7).all()
print("fine")
"""


def test_nothing_is_written_to_freed_memory() -> None:
    assert python(CRASH) == "fine"
