"""as_storage and storage: sharing, copying, what contradicts the data."""

import copy

import numpy as np
import pytest
from fake_device import FakeArray, FakeDevice

import gridbuf as gb
import gridbuf.storage as gs


def device_array(values: object) -> FakeArray:
    return FakeArray(np.array(values))


def test_as_storage_shares_and_storage_copies() -> None:
    a = np.arange(6.0).reshape(2, 3)
    shared, copied, uncopied = gs.as_storage(a), gs.storage(a), gs.storage(a, copy=False)
    a[0, 0] = 100
    assert shared[0, 0] == uncopied[0, 0] == 100 and copied[0, 0] == 0
    assert type(shared) is gs.CPUStorage


def test_as_storage_takes_memory_only() -> None:
    with pytest.raises(TypeError):
        gs.as_storage([1.0, 2.0])
    assert gs.storage([1.0, 2.0]).shape == (2,)
    assert gs.as_storage(bytearray(4)).dtype == np.uint8


def test_as_storage_of_a_storage_shares_everything() -> None:
    s = gs.zeros((4, 5), axes="JI", halo=(1, 1), defaults="gtmc")
    again = gs.as_storage(s)
    assert (
        type(again) is type(s)
        and again is not s
        and np.shares_memory(again.to_numpy(), s.to_numpy())
    )
    assert (again.axes, again.halo, again.layout, again.alignment) == (
        s.axes,
        s.halo,
        s.layout,
        s.alignment,
    )
    view = s[1:, 1:]
    assert gs.as_storage(view).alignment == 8
    assert gs.as_storage(s, halo=(0, 0)).halo == ((0, 0), (0, 0)) and s.halo == ((1, 1), (1, 1))


def test_as_storage_of_a_software_managed_storage_shares_the_state(gpu: FakeDevice) -> None:
    s = gs.zeros((4,), device="gpu")
    again = gs.as_storage(s)
    assert type(again) is gs.SoftwareManagedGPUStorage and again.sync_state is s.sync_state
    again[0] = 1.0
    assert s.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY


@pytest.mark.parametrize("parameter, value", [
    ("shape", (3, 2)), ("dtype", np.float32), ("layout", "KJI"), ("layout", (1, 0)),
    ("alignment", 5), ("axes", "IJK"),
    ("device", "gpu"), ("axes", "I"),
])  # fmt: skip
def test_explicit_parameters_that_contradict_the_buffer(parameter: str, value: object) -> None:
    a = np.zeros((2, 3))
    extra = {"managed": None} if parameter == "device" else {}
    with pytest.raises(ValueError, match=parameter):
        gs.as_storage(a, **{parameter: value}, **extra)


def test_explicit_parameters_that_fit() -> None:
    a = gb.empty((4, 8), np.float64, byte_alignment=64, padding=8)
    s = gs.as_storage(
        a, shape=(4, 8), dtype=float, layout="IJK", alignment=8, axes="JK", device="cpu"
    )
    assert s.alignment == 8 and s.axes == "JK"


def test_alignment_checks_the_aligned_element_and_the_rows() -> None:
    a = gb.empty((4, 8), np.float64, byte_alignment=64)
    assert gs.as_storage(a, alignment=8).alignment == 8
    with pytest.raises(ValueError, match="alignment"):
        gs.as_storage(a, alignment=8, aligned_index=(0, 1))
    with pytest.raises(ValueError, match="alignment"):
        gs.as_storage(a[:, :7][:, 1:], alignment=8)
    rows = gb.empty((4, 7), np.float64, byte_alignment=64)
    with pytest.raises(ValueError, match="alignment"):  # the first row fits, the others do not
        gs.as_storage(rows, alignment=8)


def test_what_only_a_preset_says_and_does_not_fit_is_dropped() -> None:
    a = np.zeros((3, 5, 7))
    s = gs.as_storage(a, defaults="gtmc")
    assert s.layout == "IJK" and s.alignment == 1 and np.shares_memory(s.to_numpy(), a)
    s = gs.as_storage(a, defaults="gtcuda", managed=None)  # a GPU that has no data
    assert type(s) is gs.CPUStorage
    model = gs.empty((12, 12, 7), defaults="gtmc").to_numpy()
    assert gs.as_storage(model, defaults="gtmc").alignment == 8


def test_contradictions_to_a_storage() -> None:
    s = gs.zeros((2, 3), axes="JI")
    for parameters in ({"axes": "IJ"}, {"device": "gpu"}, {"dtype": int}, {"layout": "KJI"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            gs.as_storage(s, **parameters)


def test_a_copy_is_laid_out_as_asked_and_by_name() -> None:
    s = gs.storage(np.arange(6.0).reshape(2, 3), axes="KI")
    t = gs.storage(s, axes="IK", defaults="gtmc", dtype=np.float32)
    assert t.axes == "IK" and t.shape == (3, 2) and t.layout == "JKI" and t.dtype == np.float32
    assert (t.to_numpy() == s.to_numpy().T).all()
    with pytest.raises(ValueError, match="axes"):
        gs.storage(s, axes="IJ")


def test_a_copy_of_an_array_has_its_layout() -> None:
    s = gs.storage(np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)))
    assert s.layout == "KJI" and s.strides == (8, 16, 48) and s[1, 2, 3] == 23


def test_a_field_brings_its_dims_and_halo() -> None:
    f = gb.Field.from_array(np.arange(20.0).reshape(4, 5), dims="KI", halo=(1, (0, 2)))
    for s in (gs.as_storage(f), gs.storage(f)):
        assert s.axes == "KI" and s.halo == ((1, 1), (0, 2)) and s[3, 4] == 19
    assert np.shares_memory(gs.as_storage(f).to_numpy(), f.numpy())
    with pytest.raises(ValueError, match="dims"):
        gs.storage(gb.Field.zeros((2, 2), dims="I0"))


def test_read_only_memory_stays_read_only() -> None:
    a = np.zeros(3)
    a.flags.writeable = False
    s = gs.as_storage(a)
    assert not s.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        s[0] = 1.0


def test_one_side_given_to_a_software_managed_storage(gpu: FakeDevice) -> None:
    a = np.arange(4.0)
    s = gs.as_storage(a, device="gpu")
    assert (
        type(s) is gs.SoftwareManagedGPUStorage
        and s.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY
    )
    assert np.shares_memory(s._host, a) and not gpu.log
    assert (s.to_cupy().hidden == a).all() and s.sync_state.state == gs.SyncState.SYNC_CLEAN
    d = device_array([1.0, 2.0])
    t = gs.as_storage(device_data=d)
    assert t.sync_state.state == gs.SyncState.SYNC_DEVICE_DIRTY and (t.to_numpy() == [1, 2]).all()
    assert np.shares_memory(t._dev.hidden, d.hidden)
    assert gs.as_storage(d).sync_state.state == gs.SyncState.SYNC_DEVICE_DIRTY  # in either place


def test_both_sides_given(gpu: FakeDevice) -> None:
    a, d = np.zeros(4), device_array(np.ones(4))
    s = gs.as_storage(a, d)
    assert s.sync_state.state == gs.SyncState.SYNC_CLEAN and not gpu.log
    state = gs.SyncState()
    state.state = gs.SyncState.SYNC_DEVICE_DIRTY
    t = gs.as_storage(a, d, sync_state=state)
    assert t.sync_state is state and (t.to_numpy() == 1).all() and (a == 1).all()
    with pytest.raises(ValueError, match="device_data"):
        gs.as_storage(a, device_array(np.ones(5)))
    with pytest.raises(TypeError, match="sync_state"):
        gs.as_storage(a, d, sync_state=1)  # type: ignore[arg-type]


def test_storage_copies_both_sides(gpu: FakeDevice) -> None:
    state = gs.SyncState()
    state.state = gs.SyncState.SYNC_DEVICE_DIRTY
    a, d = np.zeros(4), device_array(np.ones(4))
    s = gs.storage(a, d, sync_state=state)
    assert s.sync_state is state and not np.shares_memory(s._dev.hidden, d.hidden)
    assert (s.to_numpy() == 1).all() and (a == 0).all()


def test_storages_of_one_state_are_synchronised_together(gpu: FakeDevice) -> None:
    s = gs.zeros((6,), device="gpu")
    host, dev = s.to_numpy(), s.to_cupy()
    part = gs.as_storage(host[:3], FakeArray(dev.hidden[:3]), sync_state=s.sync_state)
    part[...] = 1.0
    s[3:] = 2.0
    part.host_to_device()  # marks all of it clean, and so has to copy all of it
    assert (dev.hidden == [1, 1, 1, 2, 2, 2]).all()


def test_the_side_that_is_missing_for_the_class(gpu: FakeDevice) -> None:
    with pytest.raises(ValueError, match=r"GPUStorage needs device memory"):
        gs.as_storage(np.zeros(3), device="gpu", managed=None)
    with pytest.raises(ValueError, match=r"CPUStorage needs host memory"):
        gs.as_storage(device_array([1.0]), device="cpu")
    assert type(gs.as_storage(device_array([1.0]), defaults="gtx86", managed=None)) is gs.GPUStorage
    assert gs.storage(device_array([1.0]), device="cpu")[0] == 1.0
    assert (gs.storage(np.ones(3), device="gpu", managed=None).to_cupy().hidden == 1).all()


def test_managed_memory_is_shared_only_where_it_is_managed(gpu: FakeDevice) -> None:
    s = gs.ones((3,), device="gpu", managed="cuda")
    again = gs.as_storage(s.to_numpy(), device="gpu", managed="cuda")
    again[0] = 5.0
    assert s[0] == 5.0 and s.to_cupy().hidden[0] == 5.0
    with pytest.raises(ValueError, match="managed"):
        gs.as_storage(np.zeros(3), device="gpu", managed="cuda")


def test_empty_zeros_ones_full_are_clean_on_both_sides(gpu: FakeDevice) -> None:
    for s in (
        gs.empty((2,), device="gpu"),
        gs.zeros((2,), device="gpu"),
        gs.full((2,), 3, device="gpu"),
    ):
        assert s.sync_state.state == gs.SyncState.SYNC_CLEAN
    assert (s._host == 3).all() and (s._dev.hidden == 3).all() and not gpu.log


@pytest.mark.parametrize(
    "wrap",
    [
        gs.as_storage,
        gs.as_storage,
        lambda a: gs.storage(a, copy=False),
        lambda a: gs.as_storage(a, halo=(1, 1, 0)),
    ],
)
def test_an_array_that_is_reshaped_or_retyped_in_place_is_another_view(wrap) -> None:  # type: ignore[no-untyped-def]
    array = np.zeros((4, 5, 6))
    storage = wrap(array)
    array.shape = (120,)
    array.dtype = np.dtype("i8")
    assert (
        storage.shape == (4, 5, 6)
        and storage.dtype == "f8"
        and (storage + 1).domain.to_numpy().min() == 1
    )
    assert np.shares_memory(storage.to_numpy(), array)


class Own(gs.CPUStorage):
    """A user's class."""


def test_what_is_computed_from_a_class_of_ones_own_is_of_that_class() -> None:
    own = Own._of(np.ones((2, 3, 4)), None, gs.zeros((2, 3, 4))._meta)
    for made in (own.copy(), copy.deepcopy(own), own + 1, np.add(own, 1, dtype="f4"),
    np.sum(own, axis="K"), np.where(own > 0, own, 0),
                 np.concatenate((own, own), axis="K"), own + gs.zeros((2, 3, 4)), own[1:],
                 own.domain):  # fmt: skip
        assert type(made) is Own
