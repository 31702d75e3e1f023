"""acquire, run, touch, release around a call: their order, and what the block is given."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.interface import acquired


class Logged:
    """An array that writes down what is called; `fail` is the call that raises."""

    def __init__(
        self,
        name: str,
        log: list[str],
        array: Any = None,
        fail: str = "",
        without: tuple[str, ...] = (),
    ) -> None:
        self.name, self.log, self.fail, self.without = name, log, fail, without
        self.array = np.zeros((2, 3)) if array is None else array

    def _call(self, what: str) -> Callable[[], None]:
        def call() -> None:
            self.log.append(f"{what} {self.name}")
            if what == self.fail:
                raise OSError(f"{what} {self.name}")

        return call

    @property
    def __gt_interface__(self) -> dict[Any, Any]:
        calls = {
            what: None if what in self.without else self._call(what)
            for what in ("acquire", "touch", "release")
        }
        return {None: {**self.array.__array_interface__, **calls}}


def fields(log: list[str], **fail: str) -> dict[str, Logged]:
    return {name: Logged(name, log, fail=fail.get(name, "")) for name in ("a", "b", "c")}


def test_the_order_of_calls() -> None:
    log: list[str] = []
    with acquired(fields(log), outputs=("c", "a")) as buffers:
        assert list(buffers) == ["a", "b", "c"]
        log.append("run")
    assert log == [
        "acquire a",
        "acquire b",
        "acquire c",
        "run",
        "touch a",
        "touch c",
        "release a",
        "release b",
        "release c",
    ]


@pytest.mark.parametrize("axes", ["IJK", "KJI"])
def test_host_memory_is_given_as_it_is_asked_for(axes: str) -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    storage, field = gs.storage(values, axes=axes), gb.Field(values.copy(), axes)
    for name, obj in {"s": storage, "f": field, "a": values}.items():
        own = axes if name != "a" else "KIJ"
        for asked in (None, "KIJ", ("K", "I", "J"), ["K", "I", "J"]):
            dims = {} if asked is None else {name: asked}
            wanted = "IJK" if asked is None else "KIJ"
            expected = values if name == "a" else values.transpose([own.index(n) for n in wanted])
            for dtype, outputs, policy in (
                (None, (), "raise"),
                (float, [name], "copy"),
                ("f8", {name}, "raise"),
            ):
                for _ in range(2):
                    with acquired(
                        {name: obj},
                        outputs,
                        dims=dims,
                        dtypes={name: dtype},
                        policy=policy,
                        device="cpu",
                    ) as buffers:
                        assert np.array_equal(buffers[name], expected) and np.shares_memory(
                            buffers[name], gb.as_numpy(obj)
                        )
        for wrong in (
            "IJ",
            "XYZ",
            [["I"], "J"],
            7,
            *(("IJ0", ("I", "J", 0)) if name != "a" else ()),
        ):
            with (
                pytest.raises((ValueError, TypeError), match=f"^{name}: "),
                acquired({name: obj}, dims={name: wrong}),
            ):
                pass
        for dtype in ("f4", "i8", np.dtype(object)):
            with (
                pytest.raises(TypeError, match=f"{name}: its dtype"),
                acquired({name: obj}, dtypes={name: dtype}),
            ):
                pass


def test_outputs_default_to_none() -> None:
    log: list[str] = []
    with acquired(fields(log)):
        pass
    assert not [line for line in log if line.startswith("touch")]


def test_missing_or_none_callables_are_skipped() -> None:
    log: list[str] = []
    a = Logged("a", log, without=("acquire", "touch", "release"))
    with acquired({"a": a, "b": np.zeros(3)}, outputs=("a", "b")) as buffers:
        buffers["b"][:] = 1
    assert log == []


def test_after_a_failure_of_the_run_outputs_are_touched_and_all_released() -> None:
    log: list[str] = []
    with pytest.raises(ZeroDivisionError), acquired(fields(log), outputs=("b",)):
        _ = 1 / 0
    assert log[3:] == ["touch b", "release a", "release b", "release c"]


def test_if_an_acquire_fails_what_was_acquired_is_released_and_nothing_touched() -> None:
    log: list[str] = []
    with (
        pytest.raises(OSError, match="acquire b"),
        acquired(fields(log, b="acquire"), outputs=("a", "b", "c")),
    ):
        pytest.fail("the block must not run")
    assert log == ["acquire a", "acquire b", "release a"]


@pytest.mark.parametrize("call", ["touch", "release"])
def test_a_failing_touch_or_release_does_not_keep_the_others_from_theirs(call: str) -> None:
    log: list[str] = []
    with (
        pytest.raises(OSError, match=f"{call} a"),
        acquired(fields(log, a=call), outputs=("a", "b")),
    ):
        pass
    assert log[3:] == ["touch a", "touch b", "release a", "release b", "release c"]


def test_all_checks_come_before_the_first_acquire() -> None:
    log: list[str] = []
    good, wrong = Logged("good", log), Logged("wrong", log, np.zeros((2, 3), np.float32))
    with (
        pytest.raises(TypeError, match="wrong: its dtype is float32"),
        acquired({"good": good, "wrong": wrong}, dtypes={"wrong": float}),
    ):
        pytest.fail("the block must not run")
    assert log == []


@pytest.mark.parametrize("argument", ["outputs", "dims", "dtypes"])
def test_names_that_are_not_fields(argument: str) -> None:
    value: Any = ("x",) if argument == "outputs" else {"x": "IJ"}
    with (
        pytest.raises(ValueError, match=f"{argument}: x is not among the fields a"),
        acquired({"a": np.zeros(2)}, **{argument: value}),
    ):
        pass


@pytest.mark.parametrize(
    "spelled",
    [
        iter,
        lambda names: {"b": 1}.keys(),
        lambda names: dict.fromkeys(names),
        lambda names: np.array(names),
    ],
)
def test_outputs_are_read_once_and_touched(spelled: Callable[[list[str]], Any]) -> None:
    log: list[str] = []
    block = acquired(fields(log), outputs=spelled(["b"]))
    for _ in range(2):
        log.clear()
        with block:
            pass
        assert [entry for entry in log if "touch" in entry] == ["touch b"]
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with (
        pytest.raises(ValueError, match="b: its memory is read-only"),
        acquired({"b": frozen}, outputs=spelled(["b"])),
    ):
        pass


@pytest.mark.parametrize(
    ("argument", "value"), [("outputs", 3), ("dims", ["a"]), ("dtypes", ["a"])]
)
def test_what_holds_no_names_is_refused_by_name(argument: str, value: Any) -> None:
    with (
        pytest.raises(TypeError, match=f"{argument}: expected a "),
        acquired({"a": np.zeros(2)}, **{argument: value}),
    ):
        pass


def test_outputs_as_a_str_would_be_letters() -> None:
    with (
        pytest.raises(TypeError, match="outputs: expected a collection"),
        acquired({"a": np.zeros(2)}, outputs="a"),
    ):
        pass


def test_plain_arrays_over_the_same_memory_in_canonical_order() -> None:
    f = gb.Field.zeros((5, 4, 3, 2), dims=("0", "K", "J", "I"))
    with acquired({"f": f}, outputs=("f",)) as buffers:
        assert type(buffers["f"]) is np.ndarray and buffers["f"].shape == (2, 3, 4, 5)
        buffers["f"][1, 2, 3, 4] = 7
    assert f[4, 3, 2, 1] == 7


def test_or_in_the_order_that_is_asked_for() -> None:
    f = gb.Field.zeros((2, 3, 4), dims="IJK")
    with acquired({"f": f}, dims={"f": "KIJ"}) as buffers:
        assert buffers["f"].shape == (4, 2, 3) and np.shares_memory(buffers["f"], f.numpy())


def test_arrays_without_names_are_in_the_stencil_s_order() -> None:
    a = np.zeros((2, 3))
    with acquired({"a": a}, dims={"a": "KI"}) as buffers:
        assert buffers["a"].shape == (2, 3) and np.shares_memory(a, buffers["a"])
    with (
        pytest.raises(ValueError, match="a: 2 indices were given"),
        acquired({"a": a}, dims={"a": "IJK"}),
    ):
        pass


def test_read_only_data_give_read_only_arrays_and_cannot_be_outputs() -> None:
    a = np.zeros(3)
    a.flags.writeable = False
    log: list[str] = []
    for obj in (a, Logged("a", log, a), gb.Field(a)):
        with acquired({"a": obj}) as buffers:
            assert not buffers["a"].flags.writeable
        log.clear()
        with (
            pytest.raises(ValueError, match="a: its memory is read-only"),
            acquired({"a": obj}, outputs=("a",)),
        ):
            pass
        assert log == []


def test_an_array_keeps_its_object_alive() -> None:
    import weakref

    log: list[str] = []
    obj = Logged("a", log)
    alive = weakref.ref(obj)
    with acquired({"a": obj}) as buffers:
        kept = buffers["a"]
    del obj, buffers
    kept[:] = 1
    assert alive() is not None
    del kept
    import gc

    gc.collect()
    assert alive() is None


def test_storages_on_either_side(gpu: FakeDevice) -> None:
    a = gs.ones((2, 3), axes="KI", device="gpu")
    b = gs.zeros((3, 2), axes="IK", device="gpu")
    a.set_host_modified()
    gpu.log.clear()
    with acquired({"a": a, "b": b}, outputs=("b",), device="gpu") as buffers:
        assert gpu.log == ["upload"] and hasattr(buffers["b"], "__cuda_array_interface__")
        buffers["b"][...] = buffers["a"]
    assert (
        b.sync_state.state == gs.SyncState.SYNC_DEVICE_DIRTY
        and a.sync_state.state == gs.SyncState.SYNC_CLEAN
    )
    with acquired({"b": b}) as buffers:
        assert gpu.log == ["upload", "download"] and (buffers["b"] == 1).all()
    assert b.sync_state.state == gs.SyncState.SYNC_CLEAN


def test_size_zero_and_no_axes() -> None:
    log: list[str] = []
    with acquired(
        {"a": Logged("a", log, np.zeros((0, 3))), "b": Logged("b", log, np.array(2.0))}
    ) as buffers:
        assert buffers["a"].shape == (0, 3) and float(buffers["b"]) == 2.0
