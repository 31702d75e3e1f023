"""What constructors remember of requests: the same answer as before, and never for a request that
only looks equal.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs

REQUESTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (((5, 6, 7),), {}),
    (((5, 6, 7), "float32"), {"defaults": "gtmc", "halo": (1, (2, 0), 0)}),
    (((5, 6, 7), np.int16), {"defaults": "F"}),
    (((5, 6, 7), np.dtype("c16")), {"axes": "KJI", "alignment": 4}),
    (((5, 6), bool), {"axes": "KI", "layout": "JKI"}),
    (((), float), {"axes": ""}),
    ((4,), {"axes": "K"}),
    (((0, 3),), {"device": "cpu", "managed": None}),
]


def seen(s: gs.Storage) -> tuple[Any, ...]:
    boundary = 64 * s.alignment
    start = s.__array_interface__["data"][0] % boundary if s.size else 0
    return type(s), s._meta, s.shape, s.strides, s.dtype, start


@pytest.mark.parametrize(("args", "spec"), REQUESTS)
def test_again_is_the_same(args: tuple[Any, ...], spec: dict[str, Any]) -> None:
    first = gs.empty(*args, **spec)
    made = [
        gs.empty(*args, **spec),
        gs.zeros(*args, **spec),
        gs.ones(*args, **spec),
        gs.zeros(*args, **spec),
    ]
    made += [gs.empty_like(first), gs.zeros_like(first), gs.zeros_like(first), gs.ones_like(first)]
    for s, value in zip(made, (None, 0, 1, 0, None, 0, 0, 1), strict=True):
        assert seen(s) == seen(first)
        assert value is None or (s.to_numpy() == value).all()
        assert (
            all(
                not np.shares_memory(s.to_numpy(), other.to_numpy())
                for other in made
                if other is not s
            )
            or s.size == 0
        )


@pytest.mark.parametrize("zeros_of", ["freed", "fresh"])
def test_zeros_are_zero_in_memory_that_was_used(zeros_of: str) -> None:
    for _ in range(5):
        s = (
            gs.zeros((9, 10, 11), defaults="gtmc")
            if zeros_of == "fresh"
            else gs.zeros_like(gs.ones((9, 10, 11), defaults="gtmc"))
        )
        assert not s.to_numpy().any()
        s[...] = 7.0
        del s


@pytest.mark.parametrize(
    "wrong",
    [{"shape": (2.0, 3)}, {"halo": (1.0, 1)}, {"alignment": 2.0}, {"aligned_index": (0.0, 0)}],
)
@pytest.mark.parametrize("function", [gs.empty, gs.zeros, gs.ones])
def test_what_equals_a_right_request_is_refused_all_the_same(
    function: Any, wrong: dict[str, Any]
) -> None:
    right = {"shape": (2, 3), "halo": (1, 1), "alignment": 2, "aligned_index": (0, 0)}
    for _ in range(2):
        function(**right)
        with pytest.raises(TypeError, match=next(iter(wrong))):
            function(**{**right, **wrong})


def test_lists_are_read_each_time() -> None:
    shape = [2, 3]
    assert gs.zeros(shape).shape == (2, 3)
    shape[0] = 5
    assert gs.zeros(shape).shape == (5, 3)


def test_lists_arrays_and_numpy_s_integers_are_the_same_request() -> None:
    expected = gs.zeros(
        (4, 5, 6), halo=((1, 0), (2, 2), (0, 0)), aligned_index=(1, 2, 0), axes="KJI"
    )
    for _ in range(2):
        for halo in ([[1, 0], [2, 2], [0, 0]], [(1, 0), 2, 0], np.array([[1, 0], [2, 2], [0, 0]])):
            for shape in ([4, 5, 6], (np.int64(4), np.uint8(5), 6), np.array([4, 5, 6])):
                assert seen(
                    gs.zeros(shape, halo=halo, aligned_index=[1, 2, 0], axes=["K", "J", "I"])
                ) == seen(expected)
        for wrong in (
            [4.0, 5, 6],
            (True, 5.0, 6),
            np.array([4.0, 5, 6]),
            (np.timedelta64(4, "s"), 5, 6),
        ):
            with pytest.raises(TypeError, match="shape"):
                gs.zeros(wrong)
        for wrong in (["f8", ()], [("a", "f8")]):
            gs.zeros((2,), ("f8", ()))
            with pytest.raises(TypeError):
                gs.zeros((2,), wrong)


@pytest.mark.parametrize("order", ["C", "F"])
def test_like_arrays_and_fields_again(order: str) -> None:
    array = np.arange(24.0).reshape(2, 3, 4).copy(order)
    named = gb.Field(array, "KJI", halo=(1, 0, 0))
    for _ in range(3):
        for data, axes, halo in (
            (array, "IJK", ((0, 0),) * 3), (named, "KJI", ((1, 1), (0, 0), (0, 0))),
            (gb.Field(array), "IJK", ((0, 0),) * 3),
            (array[:, ::-1], "IJK", ((0, 0),) * 3),
        ):  # fmt: skip
            for made in (
                gs.zeros_like(data),
                gs.storage(data),
                gs.storage(data, dtype="f4"),
                gs.as_storage(data),
            ):
                assert (made.axes, made.halo, made.shape) == (axes, halo, (2, 3, 4))
            assert (
                not gs.zeros_like(data).to_numpy().any()
                and gs.ones_like(data, "i4").dtype == np.int32
            )
            values = data if type(data) is np.ndarray else data.numpy()
            assert np.array_equal(gs.storage(data), values) and np.array_equal(
                gs.storage(data, dtype="f4"), values
            )
            assert np.shares_memory(gs.as_storage(data).to_numpy(), array) and not np.shares_memory(
                gs.storage(data).to_numpy(), array
            )
            assert gs.as_storage(data).strides == values.strides
        turned = gs.storage(gs.storage(named), axes="IJK")
        assert turned.shape == (4, 3, 2) and np.array_equal(turned.to_numpy(), array.transpose())
        with pytest.raises(ValueError, match="axes"):
            gs.storage(named, axes="IJ")


def test_joins_seen_before_are_about_these_storages() -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    for axes, halo in (("IJK", 0), ("KJI", 0), ("IJK", 1), ("IJK", 0)):
        one = gs.storage(values, axes=axes, halo=(0, halo, 0))
        turned = np.transpose(one, one.axes[::-1])
        for _ in range(2):
            for axis, at in (("J", 1), (1, 1), (-2, 1), (["J"], 1)):
                both = np.concatenate((one, turned, values), axis=axis)
                assert both.axes == axes and both.halo[1] == (halo, halo)
                assert np.array_equal(both.to_numpy(), np.concatenate((values, values, values), at))
            for wrong in (1.0, True, "JK", "Q", 3):
                with pytest.raises((TypeError, ValueError), match="axis"):
                    (
                        np.concatenate((one, turned), axis=wrong)
                        if wrong is not True
                        else np.stack((one[0], one[0]), axis="Q")
                    )
            plane = one[:, :, 0]
            missing = next(name for name in "IJK" if name not in plane.axes)
            assert set(np.stack((plane, plane), axis=missing).axes) == set("IJK")
            assert (
                np.concatenate((one, one), axis="J", dtype="f4", casting="same_kind").dtype
                == np.float32
            )
            with pytest.raises(TypeError, match="cast"):
                np.concatenate((one, one), axis="J", dtype="i4")


def test_wrapping_again_shares_again() -> None:
    for order, offset in itertools.product("CF", (0, 1)):
        for _ in range(3):
            a = np.zeros((4, 6, 8), order=order)[offset:]
            s = gs.as_storage(a, halo=(1, 1, 0))
            assert np.shares_memory(s.to_numpy(), a) and s.layout == (
                "IJK" if order == "C" else "KJI"
            )
            assert s.halo == ((1, 1), (1, 1), (0, 0)) and s.strides == a.strides
            t = gs.as_storage(s)
            assert (
                t._meta is s._meta
                and np.shares_memory(t.to_numpy(), a)
                and gs.as_storage(s, halo=(0, 0, 0)).halo == ((0, 0),) * 3
            )


def test_whether_memory_is_aligned_is_looked_at_each_time() -> None:
    room = np.zeros(40)
    first = -(room.ctypes.data // 8) % 4
    for _ in range(2):
        assert gs.as_storage(room[first : first + 8], axes="K", alignment=4).alignment == 4
        with pytest.raises(ValueError, match="alignment"):
            gs.as_storage(room[first + 1 : first + 9], axes="K", alignment=4)


def test_views_set_to_another_halo_are_others() -> None:
    s = gs.zeros((6, 6), halo=(1, 1))
    assert gs.zeros_like(s).halo == ((1, 1), (1, 1))
    s.halo = (2, 0)
    assert (
        gs.zeros_like(s).halo == ((2, 2), (0, 0))
        and s.domain.shape == (2, 6)
        and s[1:].halo == ((1, 2), (0, 0))
    )


def test_shapes_that_can_be_read_once() -> None:
    assert gs.zeros(n for n in (2, 3)).axes == "IJ"


def test_halos_as_arrays() -> None:
    assert gs.zeros((4, 5), halo=np.array([[1, 0], [0, 1]])).halo == ((1, 0), (0, 1))
    assert gs.zeros((4, 5), halo=np.array([1, 2])).halo == ((1, 1), (2, 2))
    with pytest.raises(TypeError, match="halo"):
        gs.zeros((4, 5), halo=np.array([[1.0, 0.0], [0.0, 1.0]]))


@pytest.mark.parametrize("copy", [None, "never", 2])
def test_copy_is_yes_or_no(copy: Any) -> None:
    with pytest.raises(TypeError, match=r"copy.*as_storage"):
        gs.storage(np.zeros(3), axes="K", copy=copy)
    assert gs.storage(np.zeros(3), axes="K", copy=np.True_).shape == (3,)


@pytest.mark.parametrize(
    ("device", "error"),
    [(-1, ValueError), (True, ValueError), (1.0, ValueError), ("gpus", ValueError)],
)
def test_wrong_devices(device: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="device"):
        gs.zeros((3,), axes="K", device=device)


DOORS: list[Any] = [
    lambda name: gs.empty((3, 4, 5), backend=name).layout,
    lambda name: gs.zeros((3, 4, 5), defaults=name).layout,
    lambda name: gs.full((3, 4, 5), 2.0, backend=name).layout,
    lambda name: gs.empty_like(np.zeros((3, 4, 5)), backend=name).layout,
    lambda name: gs.ones_like(gs.zeros((3, 4, 5)), backend=name).layout,
    lambda name: gs.storage(np.zeros((3, 4, 5)), backend=name).layout,
    lambda name: gb.empty((3, 4, 5), backend=name).strides,
    lambda name: gb.empty_like(np.zeros((3, 4, 5)), backend=name).strides,
    lambda name: gb.from_array(np.zeros((3, 4, 5)), backend=name).strides,
    lambda name: gb.Field.empty((3, 4, 5), backend=name).strides,
    lambda name: gb.plan((3, 4, 5), backend=name).strides,
]


@pytest.mark.parametrize("door", DOORS)
def test_a_backend_registered_again_is_the_new_one(door: Any) -> None:
    name, found = "again", []
    for layout in ("IJK", "KJI", "JIK", "KJI"):
        gb.register_backend(name, layout=layout)
        with gb.default_backend(name):
            found.append(
                [door(name), door(name), gs.empty((3, 4, 5)).layout, gs.empty((3, 4, 5)).layout]
            )
        gb.register_backend(f"{name}-{layout}", layout=layout)
        assert found[-1] == [door(f"{name}-{layout}")] * 2 + [layout] * 2
    assert found[1] == found[3] and found[0][0] != found[1][0] != found[2][0]


def test_alignment_and_device_of_a_backend_registered_again() -> None:
    array = np.zeros((3, 4, 5))
    for alignment, device in ((8, "cpu"), (1, "gpu"), (4, "cpu")):
        gb.register_backend("moved", layout="IJK", alignment=alignment, device=device)
        for _ in range(2):
            for make in (
                lambda: gs.empty((3, 4, 5), backend="moved"),
                lambda: gs.as_storage(array, backend="moved"),
            ):
                try:
                    made: Any = make()
                except (ImportError, RuntimeError, TypeError, ValueError):  # without a GPU
                    made = None
                assert (type(made) is gs.CPUStorage) == (device == "cpu")
            assert device == "gpu" or gs.empty((3, 4, 5), backend="moved").alignment == alignment
