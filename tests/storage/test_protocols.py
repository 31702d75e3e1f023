"""Attributes where they make sense, copies, pickle, NumPy, DLPack."""

import copy
import gc
import pickle

import numpy as np
import pytest
from fake_device import FakeArray, FakeDevice

import gridbuf as gb
import gridbuf.storage as gs

CLASSES = {
    "cpu": {},
    "gpu": {"device": "gpu", "managed": None},
    "gt4py": {"device": "gpu"},
    "cuda": {"device": "gpu", "managed": "cuda"},
}


@pytest.mark.parametrize("kind", ["cpu", "gt4py", "cuda"])  # of those on a GPU alone: tests/device
@pytest.mark.parametrize("shape", [(8, 9, 4), (8, 9), ()])
def test_a_storage_draws_itself_in_a_notebook(
    gpu: FakeDevice, kind: str, shape: tuple[int, ...]
) -> None:
    s = gs.zeros(
        shape,
        halo=((1, 2), (0, 0), (0, 0))[: len(shape)],
        axes="IJK"[: len(shape)],
        **CLASSES[kind],
    )  # type: ignore[arg-type]
    if kind == "gt4py":
        s.set_device_modified()
        state = s.sync_state.state
    drawn = s._repr_html_()
    assert kind != "gt4py" or s.sync_state.state == state  # nothing was brought over
    assert (
        "<svg" in drawn
        and f"{type(s).__name__} {s.axes}" in drawn
        and ("halo" in drawn) == bool(shape)
    )
    assert (
        s[2:4].halo == ((0, 0), *s.halo[1:]) and "<svg" in s[2:4]._repr_html_() if shape else True
    )


@pytest.mark.parametrize(
    "kind, host, device",
    [("cpu", True, False), ("gpu", False, True), ("gt4py", True, True), ("cuda", True, True)],
)
def test_attributes_are_there_with_their_buffer(
    gpu: FakeDevice, kind: str, host: bool, device: bool
) -> None:
    s = gs.zeros((2, 3), **CLASSES[kind])
    assert (
        hasattr(s, "__array_interface__") == host
        and hasattr(s, "__cuda_array_interface__") == device
    )
    assert isinstance(s.data, memoryview) == host and (s.flags is not None) == host
    assert (s.device_data is not None) == device and (s.device_flags is not None) == device
    assert s.device == (0 if device else None)
    # gt4py and DaCe take these for their own
    for name in ("ndarray", "descriptor", "name", "data_ptr"):
        assert not hasattr(s, name)


@pytest.mark.parametrize("kind", CLASSES)
def test_views_of_the_buffers(gpu: FakeDevice, kind: str) -> None:
    s = gs.zeros((2, 3), **CLASSES[kind])
    if kind == "gpu":
        with pytest.raises(gs.GTNoSuchBufferError, match="host"):
            s.to_numpy()
    else:
        assert type(s.to_numpy()) is np.ndarray and np.shares_memory(s.to_numpy(), s._host)
    if kind == "cpu":
        with pytest.raises(gs.GTNoSuchBufferError, match="device"):
            s.to_cupy()
        assert type(s.to_ndarray()) is np.ndarray
    else:
        assert type(s.to_cupy()) is type(s.to_ndarray()) is FakeArray
    assert issubclass(gs.GTNoSuchBufferError, RuntimeError)


def test_a_gpu_storage_does_not_become_a_numpy_array(gpu: FakeDevice) -> None:
    s = gs.zeros((2,), device="gpu", managed=None)
    for convert in (np.asarray, np.array, lambda s: s.__array__()):
        with pytest.raises(TypeError, match="to_cupy"):
            convert(s)


def test_plain_attributes() -> None:
    s = gs.zeros((2, 3, 7), np.float32, defaults="gtmc")
    assert (s.ndim, s.size, s.nbytes, s.shape, s.dtype) == (3, 42, 168, (2, 3, 7), np.float32)
    assert s.strides == s.to_numpy().strides and "CPUStorage(axes='IJK', shape=(2, 3, 7)" in repr(s)
    with pytest.raises(AttributeError):
        s.shape = (7, 3, 2)
    with pytest.raises(AttributeError):
        s.anything = 1
    with pytest.raises(TypeError):
        hash(s)


def test_numpy_reads_it_without_a_copy() -> None:
    s = gs.storage(np.arange(6.0).reshape(2, 3), defaults="F")
    a = np.asarray(s)
    assert np.shares_memory(a, s.to_numpy()) and a.strides == s.strides
    del s
    assert a.sum() == 15  # and keeps the memory
    s = gs.ones((2,))
    assert s.__array__(np.int32).dtype == np.int32 and not np.shares_memory(
        s.__array__(copy=True), s.to_numpy()
    )
    with pytest.raises(ValueError, match="copy"):
        s.__array__(np.int32, copy=False)


def test_dlpack(gpu: FakeDevice) -> None:
    s = gs.storage(np.arange(6.0).reshape(2, 3))
    s[0, 0] = 9.0
    assert np.from_dlpack(s)[0, 0] == 9.0 and np.shares_memory(np.from_dlpack(s), s.to_numpy())
    assert s.__dlpack_device__() == (1, 0) and gb.from_dlpack(s).shape == (2, 3)
    with pytest.raises(BufferError):
        s.__dlpack__(dl_device=(99, 0))
    assert gs.zeros((2,), device="gpu", managed=None).__dlpack_device__()[0] == 2


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda s: s.copy()])
@pytest.mark.parametrize("kind", CLASSES)
def test_copies(gpu: FakeDevice, make: object, kind: str) -> None:
    s = gs.storage(
        np.arange(60.0).reshape(3, 4, 5),
        axes="KIJ",
        defaults="gtmc",
        halo=(1, 1, 0),
        aligned_index=(2, 2, 2),
        **({"device": "cpu"} | CLASSES[kind]),
    )
    t = make(s)
    assert type(t) is type(s) and t.strides == s.strides
    assert (t.axes, t.layout, t.halo, t.aligned_index, t.alignment, t.dtype) == (
        s.axes,
        s.layout,
        s.halo,
        s.aligned_index,
        s.alignment,
        s.dtype,
    )
    assert (t._values() == np.arange(60.0).reshape(3, 4, 5)).all()
    t[0, 0, 0] = -1.0
    assert s[0, 0, 0] == 0.0


@pytest.mark.parametrize("make", [copy.deepcopy, lambda s: s.copy()])
def test_a_copied_slice_is_packed(make: object) -> None:
    s = gs.storage(np.arange(24.0).reshape(2, 3, 4), layout="JKI", alignment=2)
    view = s[:, 1:, ::2]
    t = make(view)
    assert (
        t.strides == gs.empty((2, 2, 2), layout="JKI", alignment=2).strides
        and t.layout == "JKI"
        and t.alignment == 2
    )
    assert (t.to_numpy() == view.to_numpy()).all() and not np.shares_memory(
        t.to_numpy(), s.to_numpy()
    )


@pytest.mark.parametrize("state", [0, 1, 2])
def test_a_copy_has_its_own_sync_state_with_the_same_value(gpu: FakeDevice, state: int) -> None:
    s = gs.zeros((3,), device="gpu")
    s._host[...], s._dev[...], s.sync_state.state = 1.0, 2.0, state
    t = copy.deepcopy(s)
    assert t.sync_state is not s.sync_state and t.sync_state.state == state and gpu.log == []
    assert (t._host == 1).all() and (t._dev.hidden == 2).all()


@pytest.mark.parametrize("kind", CLASSES)
def test_pickle(gpu: FakeDevice, kind: str) -> None:
    s = gs.storage(
        np.arange(12.0).reshape(3, 4),
        axes="KI",
        defaults="gtmc",
        halo=(1, (0, 2)),
        **({"device": "cpu"} | CLASSES[kind]),
    )
    t = pickle.loads(pickle.dumps(s))
    assert type(t) is type(s) and t._meta is s._meta and t.strides == s.strides
    assert (t._values() == np.arange(12.0).reshape(3, 4)).all()
    if kind == "gt4py":
        assert t.sync_state.state == gs.SyncState.SYNC_CLEAN and (t._dev.hidden == t._host).all()


def test_pickle_of_slices_and_of_no_axes() -> None:
    for s in (gs.ones((4, 4), halo=(1, 1))[1:, ::-1], gs.full((), 3.0, axes="")):
        t = pickle.loads(pickle.dumps(s))
        assert (t.to_numpy() == s.to_numpy()).all() and t.halo == s.halo and t.shape == s.shape


def test_memory_goes_back_when_the_last_view_goes() -> None:
    gc.collect()  # what other tests left in circles is not counted
    before = gb.memory.stats()["live_buffers"]
    s = gs.zeros((5, 5))
    view = s[1:].domain
    del s
    assert gb.memory.stats()["live_buffers"] == before + 1
    del view
    assert gb.memory.stats()["live_buffers"] == before


def test_a_storage_is_a_source_for_the_rest_of_gridbuf() -> None:
    s = gs.storage(np.arange(6.0).reshape(2, 3), axes="KI", halo=(0, 1))
    f = gb.Field(s)
    assert f.dims == ("K", "I") and f.origin == (0, 1) and np.shares_memory(f.numpy(), s.to_numpy())
    assert gb.get_dims(s) == ("K", "I") and gb.get_origin(s) == (1, 0)
    assert gb.as_numpy(s, "IK").shape == (3, 2)
    assert (gb.from_array(s, dtype=None) == s.to_numpy()).all()
