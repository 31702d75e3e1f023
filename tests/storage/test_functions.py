"""NumPy's functions and ndarray's methods on storages: by axis name where axes are spoken of, else
what NumPy gives.
"""

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.named import functions, positional

RNG = np.random.default_rng(11)
VALUES = RNG.random((3, 4, 5)) + 0.1
AXES = {"K": 2, "KI": (0, 2), "J": 1}


def twins(values: np.ndarray = VALUES, **spec: Any) -> list[Any]:
    """The same values by name, the indices in several orders."""
    axes = "IJK"[: values.ndim]
    orders = [axes, axes[::-1]]
    return [
        gs.storage(values.transpose([axes.index(n) for n in order]), axes=order, **spec)
        for order in orders
    ]


def same(found: Any, expected: Any, axes: str = "IJK") -> bool:
    """Whether a storage has these values, the expected array's indices being `axes`."""
    assert isinstance(found, gs.Storage) and sorted(found.axes) == sorted(axes), (found, axes)
    array = np.asarray(found).transpose([found.axes.index(name) for name in axes])
    return (
        found.dtype == expected.dtype
        and array.shape == expected.shape
        and np.allclose(array, expected, equal_nan=True)
    )


REDUCTIONS = [
    np.sum, np.prod, np.mean, np.std, np.var, np.max, np.min, np.amax, np.amin, np.all, np.any,
    np.median, np.ptp, np.count_nonzero,
    np.average, np.nansum, np.nanprod, np.nanmean, np.nanstd, np.nanvar, np.nanmax, np.nanmin,
    np.nanmedian,
    lambda a, **o: np.percentile(a, 30, **o), lambda a, **o: np.quantile(a, 0.3, **o), lambda a,
    **o: np.nanpercentile(a, 30, **o),
]  # fmt: skip


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
def test_reductions_by_name(function: Callable[..., Any]) -> None:
    for values in (VALUES, (VALUES * 10).astype(np.int32), VALUES > 0.6):
        if values.dtype == bool and function in (*REDUCTIONS[-3:], np.ptp, np.median, np.nanmedian):
            continue
        for s in twins(values, halo=(1, 1, 1)):
            for axis, number in AXES.items():
                left = "".join(n for n in "IJK" if n not in axis)
                assert same(function(s, axis=axis), function(values, axis=number), left)
                kept = function(s, axis=axis, keepdims=True)
                assert same(kept, function(values, axis=number, keepdims=True))
                assert kept.halo == tuple((0, 0) if n in axis else (1, 1) for n in kept.axes)
            found, expected = function(s), function(values)
            assert type(found) is type(expected) and np.allclose(found, expected)


def test_reductions_take_out_where_and_dtype() -> None:
    for s in twins():
        out = gs.empty((5, 3), axes="KI")
        mask = gs.storage(np.array([True, False, True, True]), axes="J")
        assert np.mean(s, axis="J", out=out) is out and np.allclose(
            out.to_numpy(), VALUES.mean(axis=1).T
        )
        assert same(np.mean(s, axis="J", where=mask), VALUES[:, [0, 2, 3]].mean(axis=1), "IK")
        assert same(np.sum(s, "J", np.float32), VALUES.sum(1, np.float32), "IK")
        assert np.allclose(np.sum(s, where=mask), VALUES[:, [0, 2, 3]].sum())
        weights = gs.storage(np.arange(1.0, 6.0), axes="K")
        assert same(
            np.average(s, axis="K", weights=weights),
            np.average(VALUES, axis=2, weights=np.arange(1.0, 6.0)),
            "IJ",
        )
        for function in (np.argmax, np.argmin, np.nanargmax):
            assert same(function(s, axis="J"), function(VALUES, axis=1), "IK")
        for function in (np.cumsum, np.cumprod, np.nancumsum):
            found = function(s, axis="J")
            assert same(found, function(VALUES, axis=1)) and found.axes == s.axes
    plain = np.empty((3, 4))
    assert np.mean(gs.storage(VALUES), axis="K", out=plain) is plain and np.allclose(
        plain, VALUES.mean(2)
    )
    with pytest.raises(ValueError, match="axis"):
        np.mean(gs.storage(VALUES), axis="L")
    with pytest.raises(ValueError, match="argmax goes along one axis"):
        np.argmax(gs.storage(VALUES), axis="IJ")


def test_where_clip_and_comparisons_by_name() -> None:
    profile, plane = np.arange(5.0) / 5, RNG.random((3, 4))
    k, ij = gs.storage(profile, axes="K"), gs.storage(plane.T, axes="JI")
    for s in twins(halo=(1, 1, 0)):
        assert same(np.where(s > k, s, ij), np.where(profile < VALUES, VALUES, plane[:, :, None]))
        assert (
            same(np.where(s > 0.5, 1, 0), np.where(VALUES > 0.5, 1, 0))
            and np.where(s > 0.5, s, 0.0).halo == s.halo
        )
        assert same(np.clip(s, 0.2, k + 0.3), np.clip(VALUES, 0.2, profile + 0.3))
        assert same(np.clip(s, None, ij), np.clip(VALUES, None, plane[:, :, None]))
        assert same(
            np.select([s > 0.8, s > k], [s, ij], -1.0),
            np.select([VALUES > 0.8, profile < VALUES], [VALUES, plane[..., None]], -1),
        )
        assert (
            np.allclose(s, twins()[1])
            and np.array_equal(s, twins()[1])
            and np.allclose(s, s.to_numpy())
        )
        turned = gb.Field(np.asarray(s).T, dims=s.axes[::-1])
        assert (
            np.array_equal(s, turned)
            and np.array_equal(turned, s)
            and not np.array_equal(turned[1:], s)
        )
        assert (
            not np.array_equal(s, k)
            and not np.array_equal(s, twins()[1] + 1)
            and np.array_equiv(s - s + k, k)
        )
        assert same(np.isclose(s, k + 0.3, atol=0.1), np.isclose(VALUES, profile + 0.3, atol=0.1))
        first, second = np.broadcast_arrays(s, k)
        assert first.shape == second.shape == s.shape
    with pytest.raises(ValueError, match="sizes"):
        np.allclose(k, gs.ones((3,), axes="K"))


def test_concatenate_and_stack_by_name() -> None:
    a = gs.storage(VALUES, halo=((1, 0), (1, 1), (2, 1)), aligned_index=(1, 1, 2))
    b = np.transpose(a, "KJI").copy()
    found = np.concatenate((a, b), axis="K")
    assert same(found, np.concatenate((VALUES, VALUES), axis=2)) and found.axes == "IJK"
    assert found.halo == ((1, 0), (1, 1), (2, 1)) and found.aligned_index == (1, 1, 2)
    assert same(np.concatenate((b, VALUES.T)), np.concatenate((VALUES, VALUES), axis=2))
    out = gs.empty((10, 4, 3), axes="KJI")
    assert np.concatenate([a, a], axis="K", out=out) is out and same(
        out, np.concatenate((VALUES, VALUES), axis=2)
    )
    assert np.concatenate((a, b.astype(np.float32)), axis="I", dtype=np.float32).dtype == np.float32
    planes = [a[:, :, 0], b[1], VALUES[:, :, 2]]
    assert same(np.stack(planes, axis="K"), VALUES[:, :, :3])
    assert type(np.stack((a, a))) is np.ndarray and np.stack((a, a)).shape == (2, 3, 4, 5)
    for wrong, message in (
        (lambda: np.concatenate((a, a[0]), axis="K"), "same axes"),
        (lambda: np.stack((a, a), axis="K"), "new axis"),
        (lambda: np.concatenate((a, VALUES[0]), axis="K"), "shape"),
        (lambda: np.concatenate((a, a[:, :2]), axis="K"), "dimensions"),
        (lambda: np.stack((a, b)), "axes 'IJK' and 'KJI' differ"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_copyto() -> None:
    k = gs.storage(np.arange(5.0), axes="K")
    for s in twins():
        np.copyto(s, k)
        assert same(s, np.broadcast_to(np.arange(5.0), (3, 4, 5)))
        np.copyto(s, -1.0, where=k > 2)
        assert same(
            s, np.broadcast_to(np.where(np.arange(5.0) > 2, -1.0, np.arange(5.0)), (3, 4, 5))
        )
        target, field = np.zeros((3, 4, 5)), gb.Field.zeros((5, 3, 4), dims="KIJ")
        np.copyto(target, s if s.axes == "IJK" else np.transpose(s, "IJK"))
        np.copyto(field, s)
        gb.copyto(field, s)
        assert (target[0, 0] == [0, 1, 2, -1, -1]).all() and (
            field.numpy()[:, 0, 0] == target[0, 0]
        ).all()
    with pytest.raises(TypeError, match="same_kind"):
        np.copyto(gs.zeros((5,), int, axes="K"), k)
    with pytest.raises(ValueError, match="src: its axes 'K' do not fit into 'IJ'"):
        np.copyto(gs.zeros((5, 5), axes="IJ"), k)


def test_views_and_like() -> None:
    s = gs.storage(VALUES, halo=((1, 0), (0, 1), (2, 1)), defaults="gtmc")
    assert (
        np.moveaxis(s, "K", 0).axes == "KIJ"
        and np.swapaxes(s, "I", "K").axes == "KJI"
        and s.T.axes == "KJI"
    )
    assert (
        np.shares_memory(s.T, s) and s.transpose("JIK").axes == s.transpose(1, 0, 2).axes == "JIK"
    )
    assert np.flip(s, "K").halo == ((1, 0), (0, 1), (1, 2)) and same(
        np.flip(s, "KI"), VALUES[::-1, :, ::-1]
    )
    rolled = VALUES.copy()  # the domain goes round, the halo stays
    rolled[1:] = np.roll(VALUES[1:], 1, 0)
    assert same(np.roll(s, 1, axis="I"), rolled) and np.roll(s, 1, axis="I").halo == s.halo
    bare = gs.storage(VALUES)
    assert same(np.roll(s, 7), np.roll(VALUES, 7)) and same(
        np.roll(bare, (1, 2), ("I", "K")), np.roll(VALUES, (1, 2), (0, 2))
    )
    wide = np.expand_dims(s[0, 0], "I")
    assert (
        wide.axes == "IK"
        and np.squeeze(wide).axes == "K"
        and np.squeeze(wide, "I").halo == ((2, 1),)
    )
    assert np.expand_dims(s[0, 0], 0).shape == (1, 5) and np.shares_memory(wide, s)
    with pytest.raises(ValueError, match="size 5"):
        np.squeeze(wide, "K")
    for make in (
        np.zeros_like,
        np.ones_like,
        np.empty_like,
        lambda a: np.full_like(a, 1.5),
        np.copy,
        lambda a: a.astype(float),
    ):
        assert make(s).strides == s.strides and make(s).halo == s.halo and make(s) is not s
    assert np.zeros_like(s, np.int8).dtype == np.int8 and np.zeros_like(s, shape=(2,)).shape == (2,)
    assert np.full_like(s, 2.5, int)[0, 0, 0] == 2 and s.astype(float, copy=False) is s
    assert (
        np.shape(s) == (3, 4, 5) and np.ndim(s) == 3 and np.size(s) == 60 and np.size(s, "K") == 5
    )
    z = gs.storage(VALUES + 1j)
    assert (
        same(np.real(z), VALUES)
        and same(z.imag, np.ones_like(VALUES))
        and np.shares_memory(np.real(z), z)
    )
    assert (
        same(np.round(s, 1), np.round(VALUES, 1))
        and same(s.round(2), VALUES.round(2))
        and not np.any(np.imag(s))
    )
    assert same(np.nan_to_num(s * np.nan, nan=3.0), np.full_like(VALUES, 3.0))


PLAIN: list[Callable[..., Any]] = [
    lambda a: np.sort(a, axis=1), lambda a: np.fft.fft(a, axis=0),
    np.linalg.norm, np.unique, np.ravel,
    lambda a: np.reshape(a, (4, -1)), lambda a: np.einsum("ijk,ijk->i", a, a),
    lambda a: np.tensordot(a, a, 3),
    lambda a: np.percentile(a, [20, 40], axis=1), lambda a: np.pad(a, 1),
    lambda a: np.take(a, [0, 2]), np.argwhere, lambda a: np.histogram(a, 4)[0],
    lambda a: np.repeat(a, 2), lambda a: np.tile(a, 2),
    lambda a: np.apply_along_axis(np.sum, 1, a), lambda a: np.array_split(a, 2, axis=1)[1],
    lambda a: np.interp(a, [0, 1], [1, 3]),
    lambda a: np.dot(a[0], a[0].T), lambda a: np.vstack((a, a)), lambda a: np.stack((a, a)),
    lambda a: np.rot90(a),
    lambda a: np.broadcast_to(a, (2, 3, 4, 5)), lambda a: np.nonzero(a)[1],
    lambda a: np.extract(a > 0.5, a),
    lambda a: np.array([np.float64(x) for x in a.ravel()]), lambda a: a.reshape(12, 5),
    lambda a: a.flatten(), lambda a: a.take([1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("function", PLAIN, ids=range(len(PLAIN)))
def test_the_rest_gives_plain_arrays(function: Callable[..., Any]) -> None:
    found, expected = function(gs.storage(VALUES, defaults="F")), function(VALUES)
    assert type(found) is type(expected) and np.allclose(found, expected)


def test_plain_functions_take_names_and_refuse_to_mix_orders() -> None:
    s, t = twins()
    assert np.allclose(np.sort(s, axis="J"), np.sort(VALUES, axis=1)) and np.allclose(
        np.diff(t, axis="I"), np.diff(VALUES.T, axis=2)
    )
    assert np.allclose(np.fft.fftn(s, axes=("I", "K")), np.fft.fftn(VALUES, axes=(0, 2)))
    assert np.percentile(s, [1, 2], axis="K").shape == (2, 3, 4) and np.take(s, 0, "K").shape == (
        3,
        4,
    )
    assert np.einsum("ijk,k->ij", s, gs.ones((5,), axes="K")).shape == (3, 4)
    for mixing in (
        lambda: np.vstack((s, t)),
        lambda: np.cov(s[0], t[:, :, 0]),
        lambda: np.choose(s > 1, (s, t)),
    ):
        with pytest.raises(ValueError, match=r"axes '\w+' and '\w+' differ"):
            mixing()


def test_what_writes_and_out_of_plain_functions(gpu: FakeDevice) -> None:
    for spec in ({}, {"device": "gpu"}):
        s = gs.storage(VALUES, **spec)
        np.put(s, [0, 1], 7.0)
        assert s[0, 0, 1] == 7.0 and (
            not spec or s.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY
        )
        out = gs.zeros((3, 4, 5), **spec)
        assert (
            np.take(VALUES, [0, 1, 2], axis=0, out=out) is out and out[1, 1, 1] == VALUES[1, 1, 1]
        )
        assert not spec or out.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY


def test_files(tmp_path: Any) -> None:
    s = gs.storage(VALUES, axes="KJI")
    np.save(tmp_path / "s.npy", s)
    np.savez(tmp_path / "s.npz", q=s, other=gs.ones((2,)))
    np.savetxt(tmp_path / "s.txt", s[0])
    assert (np.load(tmp_path / "s.npy") == VALUES).all() and (
        np.load(tmp_path / "s.npz")["q"] == VALUES
    ).all()


METHODS = (  # noqa: SIM905
    "all any argmax argmin cumprod cumsum max mean min prod round squeeze std sum var conj"
    " conjugate copy ravel flatten tolist tobytes argsort nonzero diagonal trace"
).split()


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_those_of_an_array(name: str) -> None:
    s = gs.storage(VALUES)
    found, expected = getattr(s, name)(), getattr(VALUES, name)()
    assert np.array_equal(np.asarray(found), np.asarray(expected))
    assert isinstance(found, gs.Storage) == (
        name in ("round", "squeeze", "conj", "conjugate", "copy")
    )


def test_methods_with_arguments() -> None:
    for s in twins():
        assert same(s.mean("K"), VALUES.mean(2), "IJ") and same(
            s.sum("KI", keepdims=True), VALUES.sum((0, 2), keepdims=True)
        )
        assert same(s.clip(0.2, 0.6), VALUES.clip(0.2, 0.6)) and same(
            s.clip(max=0.5), VALUES.clip(max=0.5)
        )
        assert same(s.cumsum("J"), VALUES.cumsum(1)) and same(
            s.astype(np.float32), VALUES.astype(np.float32)
        )
        assert (
            s.item(0, 0, 0) == VALUES[0, 0, 0]
            and type(s.item(3)) is float
            and s.itemsize == 8
            and s.swapaxes(0, 2).axes == s.axes[::-1]
        )
        s.fill(3.0)
        assert np.all(s == 3.0) and 3.0 in s and 4.0 not in s
    with pytest.raises(TypeError, match="safe"):
        gs.ones((2,)).astype(int, casting="safe")
    with pytest.raises(ValueError):
        gs.ones((2,)).item()


def test_iteration_and_scalars() -> None:
    s = gs.storage(VALUES, axes="KIJ")
    assert [row.axes for row in s] == ["IJ"] * 3 and all(
        (a.to_numpy() == b).all() for a, b in zip(s, VALUES, strict=True)
    )
    assert list(gs.storage(np.arange(3), axes="K")) == [0, 1, 2]
    number, count = np.add.reduce(s, axis=None), gs.full((), 3, int, axes="")
    assert (
        f"{number:.3f}" == f"{VALUES.sum():.3f}"
        and str(count) == "3"
        and round(number, 2) == round(VALUES.sum(), 2)
    )
    assert (
        list(range(count)) == [0, 1, 2]
        and [5, 6, 7, 8][count] == 8
        and f"{s}" == repr(s)
        and round(count) == 3
    )
    assert (round(s, 1).to_numpy() == VALUES.round(1)).all()
    for wrong in (lambda: [1][number], lambda: iter(count), lambda: f"{s:.2f}", lambda: range(s)):
        with pytest.raises(TypeError):
            wrong()


def test_the_edges_are_numpy_s() -> None:
    one, flags, column = gs.full((), 3.0, axes=""), gs.ones((2,), bool), gs.ones((3,))
    assert np.add.reduce(one) == np.sum(one, axis=-1) == np.max(one, axis=0) == 3.0
    for scalar in (one, gb.Field(np.array(3.0))):
        assert np.cumsum(scalar, axis=0).tolist() == np.cumprod(scalar, axis=-1).tolist() == [3.0]
        assert np.argmax(scalar, axis=0) == np.nanargmin(scalar, axis=-1) == 0
        with pytest.raises(ValueError, match="axis"):
            np.cumsum(scalar, axis=1)
    assert flags.conj().dtype == bool and gs.full((2,), 1j, complex).conj()[0] == -1j
    for other in (column, np.ones(3)):
        with pytest.raises(ValueError, match="two indices"):
            column @= other
    plane = gs.ones((2, 3))
    plane @= gs.ones((3, 3))
    plane.put([0], 9.0)
    assert plane.to_numpy().tolist() == [[9, 3, 3], [3, 3, 3]] and plane.argpartition(
        1, axis="J"
    ).shape == (2, 3)


def test_repr_shows_values_and_changes_nothing(gpu: FakeDevice) -> None:
    assert (
        repr(gs.storage([[1, 2]], dtype=int))
        == "CPUStorage(axes='IJ', shape=(1, 2), dtype=int64, layout='IJK')\n[[1 2]]"
    )
    assert "..." in repr(gs.zeros((100, 100, 10)))
    s = gs.ones((2,), device="gpu")
    s.set_device_modified()
    gpu.log.clear()
    assert "SoftwareManagedGPUStorage" in repr(s) and gpu.log == []


@pytest.mark.parametrize("managed", [None, "gt4py", "cuda"])
def test_on_a_device(gpu: FakeDevice, managed: str | None) -> None:
    s = gs.storage(VALUES, device="gpu", managed=managed)
    k = gs.storage(np.arange(5.0), axes="K", device="gpu", managed=managed)

    def values(found: gs.Storage) -> np.ndarray:
        assert type(found) is type(s)
        return found._values()

    assert (
        values(np.where(s > k, s, k)) == np.where(np.arange(5.0) < VALUES, VALUES, np.arange(5.0))
    ).all()
    assert np.allclose(values(np.mean(s, axis="K")), VALUES.mean(2)) and np.allclose(
        np.mean(s), VALUES.mean()
    )
    assert (values(np.concatenate((s, s), axis="J")) == np.concatenate((VALUES, VALUES), 1)).all()
    assert np.allclose(values(np.cumsum(s, axis="I")), VALUES.cumsum(0)) and values(
        np.argmax(s, axis="K")
    ).shape == (3, 4)
    assert np.allclose(values(s.round(1)), VALUES.round(1)) and np.allclose(
        values(np.median(s, axis="K")), np.median(VALUES, 2)
    )
    np.copyto(s, k)
    assert (s._values() == np.broadcast_to(np.arange(5.0), (3, 4, 5))).all()
    found = np.sort(s, axis="K")
    assert type(found) is (np.ndarray if managed else type(s._dev)) and found.shape == (3, 4, 5)


def test_every_function_has_a_way() -> None:
    """By name or by position, whatever NumPy this is: nothing falls through."""
    dispatched = {
        function
        for module in (np, np.linalg, np.fft)
        for function in vars(module).values()
        if isinstance(function, types.FunctionType | types.BuiltinFunctionType)
        or hasattr(function, "_implementation")
        if hasattr(function, "_implementation")
    }
    assert len(dispatched) > 200 and len(dispatched & set(functions.HANDLERS)) > 70
    assert all(map(callable, positional.WHEREVER | positional.INDEPENDENT | positional.WRITING))
