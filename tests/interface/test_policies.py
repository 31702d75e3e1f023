"""Fields that do not fit a call: "raise" and "copy"; warnings about layouts; disagreement in debug
mode.
"""

import warnings
from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.interface import CopyWarning, LayoutWarning, acquired, get_dims, read


def test_raise_is_the_default() -> None:
    a = np.zeros(3, np.float32)
    with (
        pytest.raises(TypeError, match="inp: its dtype is float32, float64 is needed"),
        acquired({"inp": a}, dtypes={"inp": float}),
    ):
        pass


def test_unknown_policies() -> None:
    with (
        pytest.raises(ValueError, match="policy: 'cast' is not one of 'raise', 'copy'"),
        acquired({}, policy="cast"),
    ):
        pass


@pytest.mark.parametrize("policy", ["raise", "copy"])
def test_another_set_of_dims_is_an_error_under_either_policy(policy: str) -> None:
    f = gb.Field.zeros((2, 3), dims="IK")
    with (
        pytest.raises(ValueError, match=r"f: its dims are \('I', 'K'\)"),
        acquired({"f": f}, dims={"f": "IJ"}, policy=policy),
    ):
        pass


def test_where_nothing_is_incompatible_nothing_is_copied_or_warned() -> None:
    f = gb.Field.zeros((2, 3), dims="KI")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with acquired(
            {"f": f}, ("f",), dims={"f": "IK"}, dtypes={"f": "float64"}, policy="copy"
        ) as buffers:
            assert np.shares_memory(buffers["f"], f.numpy())


def test_copied_in_run_copied_back_and_warned() -> None:
    inp = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = gb.Field.zeros((3, 2), np.float32, dims="JI")
    with (
        pytest.warns(CopyWarning) as told,
        acquired(
            {"inp": inp, "out": out},
            ("out",),
            dims={"inp": "IJ", "out": "IJ"},
            dtypes={"inp": "f8", "out": float},
            policy="copy",
        ) as buffers,
    ):
        assert buffers["inp"].dtype == buffers["out"].dtype == np.float64
        assert not np.shares_memory(buffers["out"], out.numpy())
        buffers["out"][...] = buffers["inp"] + 1
        buffers["inp"][...] = -1
    assert [str(w.message).split(":")[0] for w in told] == ["inp", "out"]
    assert all(
        w.filename == __file__ and "its dtype is float32 and not float64" in str(w.message)
        for w in told
    )
    np.testing.assert_array_equal(out.numpy().T, np.arange(6).reshape(2, 3) + 1)
    assert inp[0, 1] == 1  # an input is not copied back


def test_outputs_are_copied_back_before_touch_and_also_after_a_failure() -> None:
    seen: list[float] = []
    a = np.zeros(2, np.float32)

    class Out:
        __gt_interface__ = {  # noqa: RUF012
            None: {**a.__array_interface__, "touch": lambda: seen.append(float(a[0]))}
        }

    with (
        pytest.warns(CopyWarning),
        pytest.raises(KeyError),
        acquired({"o": Out()}, ("o",), dtypes={"o": "f8"}, policy="copy") as b,
    ):
        b["o"][:] = 5
        raise KeyError
    assert seen == [5.0]


def test_a_copy_of_read_only_data_is_read_only() -> None:
    a = np.zeros(2, np.float32)
    a.flags.writeable = False
    with (
        pytest.warns(CopyWarning),
        acquired({"a": a}, dtypes={"a": "f8"}, policy="copy") as buffers,
    ):
        assert not buffers["a"].flags.writeable
    with (
        pytest.raises(ValueError, match="read-only"),
        acquired({"a": a}, ("a",), dtypes={"a": "f8"}, policy="copy"),
    ):
        pass


def test_a_buffer_on_the_other_device(gpu: FakeDevice) -> None:
    host, device = np.arange(3.0), gs.zeros(3, device="gpu", managed=None)
    for fields, where in (({"x": host}, "gpu"), ({"x": device}, None)):
        with (
            pytest.raises(ValueError, match=r"x: .* has no buffer for"),
            acquired(fields, device=where),
        ):
            pass
    with (
        pytest.warns(
            CopyWarning, match="host: copied for this call, because there is no buffer for gpu"
        ),
        acquired(
            {"host": host, "dev": device}, ("host", "dev"), device="gpu", policy="copy"
        ) as buffers,
    ):
        assert hasattr(buffers["host"], "__cuda_array_interface__")
        buffers["dev"][...] = buffers["host"]
        buffers["host"][...] = 9.0
    assert (host == 9).all()
    with (
        pytest.warns(CopyWarning, match="no buffer for the host"),
        acquired({"d": device}, ("d",), policy="copy") as buffers,
    ):
        assert type(buffers["d"]) is np.ndarray and buffers["d"].tolist() == [0, 1, 2]
        buffers["d"] += 1
    assert gpu.to_host(device.to_cupy()).tolist() == [1, 2, 3]


def test_nothing_anywhere_is_an_error_under_copy_too() -> None:
    with (
        pytest.raises(ValueError, match="x: object has no buffer for the host"),
        acquired({"x": object()}, policy="copy"),
    ):
        pass


def test_a_slow_layout_is_a_warning_with_the_remedy() -> None:
    a, good = np.zeros((4, 5, 6)), gb.empty((4, 5, 6), backend="gt:cpu_ifirst")
    with (
        pytest.warns(LayoutWarning) as told,
        acquired({"a": a, "good": good}, dims={"a": "IJK", "good": "IJK"}, backend="gt:cpu_ifirst"),
    ):
        pass
    (one,) = told
    assert str(one.message).startswith(
        "a: strides (240, 48, 8)"
    ) and "backend='gt:cpu_ifirst'" in str(one.message)
    assert one.filename == __file__


def test_no_warning_where_the_layout_cannot_matter() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        column = np.zeros((1, 1, 9))
        with acquired({"a": column}, dims={"a": "IJK"}, backend="gt:cpu_ifirst"):
            pass
        with acquired({"a": np.zeros((4, 5, 6))}, dims={"a": "IJK"}, backend="someone's own"):
            pass


def test_a_backend_registered_again_wants_another_layout() -> None:
    array, names = np.zeros((4, 5, 6)), {"a": "IJK"}
    for layout, slow in (("IJK", False), ("KJI", True), ("IJK", False)):
        gb.register_backend("wants another", layout=layout)
        for _ in range(2):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                with acquired({"a": array}, dims=names, backend="wants another"):
                    pass
            assert [one.category for one in told] == [LayoutWarning] * slow


class Disagrees:
    """`__gt_interface__` and `__array_interface__` of two arrays."""

    def __init__(self, first: np.ndarray, second: np.ndarray) -> None:
        self.keep = first, second
        self.__gt_interface__ = {None: dict(first.__array_interface__)}
        self.__array_interface__ = second.__array_interface__


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (lambda a: a.copy(), "data"),
        (lambda a: a[:2], "shape"),
        (lambda a: a.view(np.int64), "typestr"),
        (lambda a: np.lib.stride_tricks.as_strided(a, (4, 3), (8, 24)), "strides"),
    ],
)
def test_interfaces_that_disagree_raise_in_debug_mode(
    second: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = np.zeros((4, 3))
    obj = Disagrees(a, second(a))
    monkeypatch.delenv("GRIDBUF_DEBUG", raising=False)
    read(obj)
    monkeypatch.setenv("GRIDBUF_DEBUG", "1")
    says = f"the interfaces of Disagrees disagree on {what}"
    with pytest.raises(ValueError, match=says):
        read(obj)
    with pytest.raises(ValueError, match=says):
        gb.Field(obj)
    with pytest.raises(ValueError, match=says), acquired({"x": obj}):
        pytest.fail("the block must not run")


def test_a_device_s_interfaces_may_disagree_too(
    gpu: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRIDBUF_DEBUG", "1")
    first, second = gpu.from_host(np.zeros(3)), gpu.from_host(np.zeros(3))

    class Both:
        def __init__(self, key: Any) -> None:
            self.__gt_interface__ = {key: dict(first.__cuda_array_interface__)}
            self.__cuda_array_interface__ = second.__cuda_array_interface__

    for key in ("gpu", ("gpu", 0)):
        with pytest.raises(ValueError, match="disagree on data"):
            read(Both(key), "gpu")


def test_those_that_agree_do_not_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDBUF_DEBUG", "1")
    a = np.zeros((4, 3))
    for obj in (
        Disagrees(a, a),
        a,
        a[::-1],
        gb.Field(a, "IJ"),
        gs.zeros((3, 4)),
        np.zeros((0, 3)),
        a.astype(">f8"),
        np.zeros(3, "M8[s]"),
    ):
        read(obj)


@pytest.mark.parametrize("obj", [[1.0, 2.0], (1, 2), [[1.0], [2.0]], 3.0])
def test_what_has_numbers_and_no_memory_is_copied_on_request(obj: Any) -> None:
    with (
        pytest.raises(
            ValueError, match=r"x: .* has no buffer for the host; numpy.asarray or policy='copy'"
        ),
        acquired({"x": obj}),
    ):
        pass
    with (
        pytest.warns(CopyWarning, match="has no memory to share"),
        acquired({"x": obj}, dtypes={"x": float}, policy="copy") as buffers,
    ):
        assert np.array_equal(buffers["x"], obj) and buffers["x"].dtype == float
    with (
        pytest.raises(ValueError, match="x: its memory is read-only"),
        acquired({"x": obj}, ("x",), policy="copy"),
    ):
        pass


@pytest.mark.parametrize("obj", ["ab", None, {}, [[1.0], [2.0, 3.0]], object()])
def test_what_has_no_numbers_is_refused(obj: Any) -> None:
    with pytest.raises(ValueError, match=r"^x: "), acquired({"x": obj}, policy="copy"):
        pass


def test_names_that_only_the_interface_says_count_everywhere() -> None:
    values = np.arange(24.0).reshape(2, 3, 4)

    class Named:
        __gt_interface__ = property(
            lambda self: {None: {**values.__array_interface__, "dims": "KJI"}}
        )

    obj = Named()
    assert get_dims(obj) is None
    assert gs.as_storage(obj).axes == gs.storage(obj).axes == "KJI" and gb.Field(obj).dims == (
        "K",
        "J",
        "I",
    )
    assert gb.as_numpy(obj, "IJK").shape == (4, 3, 2)
    for found in (gs.zeros((4, 3, 2)) + obj, gs.zeros((4, 3, 2))):
        found[...] = obj
        assert np.array_equal(found.to_numpy(), values.transpose(2, 1, 0))
    with pytest.raises(ValueError, match="dims"):
        read(
            type(
                "Other",
                (),
                {"__gt_interface__": {None: {**values.__array_interface__, "dims": "XYZ"}}},
            )()
        )
    with pytest.raises(TypeError, match="'dims' is 5"):
        read(
            type(
                "Other", (), {"__gt_interface__": {None: {**values.__array_interface__, "dims": 5}}}
            )()
        )
