"""Names, classes, defaults and the search order of parameters."""

import importlib.util
import sys
import types

import numpy as np
import pytest
from fake_device import FakeDevice

import gridbuf as gb
import gridbuf.storage as gs
from gridbuf.storage import devices

CONSTRUCTORS = {
    "empty": lambda **spec: gs.empty((2, 3, 4), **spec),
    "zeros": lambda **spec: gs.zeros((2, 3, 4), **spec),
    "ones": lambda **spec: gs.ones((2, 3, 4), **spec),
    "full": lambda **spec: gs.full((2, 3, 4), 7, **spec),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_the_fallbacks(name: str) -> None:
    s = CONSTRUCTORS[name]()
    assert type(s) is gs.CPUStorage and isinstance(s, gs.Storage) and not isinstance(s, np.ndarray)
    assert s.dtype == np.float64 and s.layout == "IJK" and s.axes == "IJK" and s.alignment == 1
    assert s.halo == ((0, 0),) * 3 and s.aligned_index == (0, 0, 0) and s.device is None
    assert s.shape == (2, 3, 4) and s.strides == (96, 32, 8)


def test_the_values() -> None:
    assert (gs.zeros((2, 3)).to_numpy() == 0).all()
    assert (gs.ones((2, 3)).to_numpy() == 1).all()
    assert (gs.full((2, 3), 1.7, np.int32).to_numpy() == 1).all()


def test_the_likes_take_the_data_s_dtype_and_parameters() -> None:
    model = gs.zeros(
        (4, 5), np.int32, axes="KI", defaults="gtmc", halo=((1, 2), 1), aligned_index=(2, 1)
    )
    for s in (
        gs.empty_like(model),
        gs.zeros_like(model),
        gs.ones_like(model),
        gs.full_like(model, 3),
    ):
        assert (
            s.dtype == np.int32
            and s.shape == (4, 5)
            and s.axes == "KI"
            and s.strides == model.strides
        )
        assert (s.halo, s.aligned_index, s.alignment, s.layout) == (
            ((1, 2), (1, 1)),
            (2, 1),
            8,
            "JKI",
        )
    assert (gs.full_like(model, 3).to_numpy() == 3).all()
    assert gs.zeros_like(model, np.float32).dtype == np.float32
    assert gs.zeros_like(np.zeros((2, 3), np.int8, order="F")).layout == "KJI"


def test_a_likes_new_halo_keeps_the_aligned_index() -> None:
    model = gs.zeros((8, 8, 8), halo=(1, 1, 1))
    s = gs.empty_like(model, halo=(2, 2, 2))
    assert s.halo == ((2, 2),) * 3 and s.aligned_index == (1, 1, 1)


@pytest.mark.parametrize("name", ["shape", "axes"])
def test_a_like_has_the_data_s_shape_and_axes(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        gs.empty_like(gs.zeros((2,)), **{name: (2,)})


def test_storage_and_as_storage_take_the_data_s_dtype() -> None:
    a = np.zeros((2, 3), np.int16)
    assert gs.storage(a).dtype == gs.as_storage(a).dtype == np.int16
    assert gs.storage(a, dtype=np.float32).dtype == np.float32


def test_explicit_wins_over_preset_over_data_over_fallback() -> None:
    model = gs.zeros((8, 8, 8), layout="KIJ", alignment=4)
    assert gs.empty_like(model).layout == "KIJ"
    assert gs.empty_like(model, defaults="gtmc").layout == "JKI"
    assert gs.empty_like(model, defaults="gtmc", layout="IJK").layout == "IJK"
    assert gs.empty_like(model).alignment == 4
    assert gs.empty_like(model, defaults="gtmc").alignment == 8
    assert gs.empty_like(model, defaults="C").alignment == 4
    assert gs.empty_like(model, defaults="gtmc", alignment=2).alignment == 2


def test_axes_default_to_as_many_letters_as_there_are_sizes() -> None:
    assert [gs.empty((2,) * n).axes for n in range(4)] == ["", "I", "IJ", "IJK"]
    s = gs.ones((), axes="")
    assert s.ndim == 0 and s.shape == () and s[()] == 1.0


@pytest.mark.parametrize(
    "axes",
    ["I", "J", "K", "IJ", "JI", "IK", "KI", "JK", "KJ", "IJK", "IKJ", "JIK", "JKI", "KIJ", "KJI"],
)
def test_any_permutation_of_axes(axes: str) -> None:
    assert gs.empty((5,) * len(axes), axes=axes).axes == axes


@pytest.mark.parametrize("axes", ["II", "IJP", "ijk", "IJKI"])
def test_bad_axes(axes: str) -> None:
    with pytest.raises(ValueError, match="axes"):
        gs.empty((2,) * len(axes), axes=axes)


def test_at_most_three_axes() -> None:
    with pytest.raises(ValueError, match="I, J and K"):
        gs.empty((2, 2, 2, 2))


def test_length_three_arguments_for_fewer_axes_are_i_j_k() -> None:
    s = gs.empty((10, 20, 30), axes="KI", halo=(1, (2, 2), 3), aligned_index=(4, 5, 6))
    assert s.shape == (30, 10) and s.halo == ((3, 3), (1, 1)) and s.aligned_index == (6, 4)
    assert gs.empty((30, 10), axes="KI", halo=(3, 1)).halo == ((3, 3), (1, 1))
    assert gs.empty((1, 2, 3), axes="KIJ").shape == (1, 2, 3)  # with three axes, in index order


@pytest.mark.parametrize("argument", ["shape", "halo", "aligned_index"])
def test_wrong_lengths(argument: str) -> None:
    spec = {"shape": (4, 4), "axes": "IJ", argument: (1,)}
    with pytest.raises(ValueError, match=argument):
        gs.empty(**spec)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.complex128, ">f8", float]
)
def test_dtypes(dtype: object) -> None:
    s = gs.ones((2, 2), dtype)
    assert s.dtype == np.dtype(dtype) and (s.to_numpy() == 1).all()


@pytest.mark.parametrize(
    "dtype", [object, "U4", "S3", "M8[s]", "m8[s]", "V8", [("a", "f8")], (np.float64, (2,))]
)
def test_other_dtypes(dtype: object) -> None:
    with pytest.raises(TypeError, match="dtype"):
        gs.empty((2, 2), dtype)


@pytest.mark.parametrize("make", [gs.empty, gs.zeros, gs.ones, gs.storage, gs.as_storage])
def test_neither_shape_nor_data(make: object) -> None:
    with pytest.raises(TypeError, match="shape"):
        make()  # type: ignore[operator]


def test_storage_without_data_is_empty() -> None:
    assert gs.storage(shape=(2, 3), copy=False, dtype=np.int8).dtype == np.int8
    assert gs.as_storage(shape=(2, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    "shape, error",
    [((2, -1), ValueError), (("2", 3), TypeError), ((2.0, 3), TypeError), ((None, 3), TypeError)],
)
def test_bad_shapes(shape: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="shape"):
        gs.empty(shape)


def test_arrays_as_parameters() -> None:
    assert gs.empty(np.array(3)).shape == (3,) and gs.empty((5, 5), halo=np.array([1, 2])).halo == (
        (1, 1),
        (2, 2),
    )
    for name in ("halo", "aligned_index", "layout"):
        with pytest.raises(TypeError, match=f"{name}: expected a s"):
            gs.empty((5, 5), **{name: np.array(1)})
    for device in (np.array([0, 1]), np.array([])):
        with pytest.raises(ValueError, match="device: "):
            gs.empty((5, 5), device=device)


def test_size_zero() -> None:
    s = gs.zeros((0, 3, 4), defaults="gtmc")
    assert s.shape == (0, 3, 4) and s.nbytes == 0 and np.max(s, axis="JK").shape == (0,)


@pytest.mark.parametrize(
    "index, error",
    [((-1, 0), ValueError), ("01", TypeError), (("0", 1), TypeError), (3, TypeError)],
)
def test_bad_aligned_index(index: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="aligned_index"):
        gs.empty((4, 4), aligned_index=index)


def test_unknown_parameters_are_named() -> None:
    with pytest.raises(TypeError, match="default_origin"):
        gs.empty((2,), default_origin=(1,))  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"defaults.*gtmc"):
        gs.empty((2,), defaults="gt:fast")
    with pytest.raises(TypeError, match="defaults"):
        gs.empty((2,), defaults=8)  # type: ignore[arg-type]
    for managed, error in (("cupy", ValueError), (True, TypeError)):
        with pytest.raises(error, match="managed"):
            gs.empty((2,), managed=managed)  # type: ignore[arg-type]
    for device in ("tpu", ("gpu", -1), ("gpu",), -1, True, 0.0):
        with pytest.raises(ValueError, match="device"):
            gs.empty((2,), device=device)


@pytest.mark.parametrize("managed", [None, "gt4py", "cuda"])
def test_without_a_device_managed_has_no_effect(managed: str | None) -> None:
    assert type(gs.empty((2,), managed=managed)) is gs.CPUStorage


def test_the_four_classes(gpu: FakeDevice) -> None:
    assert type(gs.empty((2,), device="gpu", managed=None)) is gs.GPUStorage
    assert type(gs.empty((2,), device="gpu")) is gs.SoftwareManagedGPUStorage
    assert type(gs.empty((2,), device=("gpu", 0), managed="gt4py")) is gs.SoftwareManagedGPUStorage
    s = gs.empty((2,), device="gpu", managed="cuda")
    assert type(s) is gs.CUDAManagedGPUStorage and s.device == 0
    assert gs.GT4PySyncedGPUStorage is gs.SoftwareManagedGPUStorage
    assert gs.CUDASyncedGPUStorage is gs.CudaManagedGPUStorage is gs.CUDAManagedGPUStorage


def test_priorities() -> None:
    assert gs.CPUStorage.__array_priority__ == gs.GPUStorage.__array_priority__ == 10
    assert (
        gs.SoftwareManagedGPUStorage.__array_priority__
        == gs.CUDAManagedGPUStorage.__array_priority__
        == 11
    )


def test_a_gpu_preset_asks_for_the_gpu_and_cpu_keeps_to_the_host(gpu: FakeDevice) -> None:
    assert type(gs.empty((2, 2, 2), defaults="gtcuda")) is gs.SoftwareManagedGPUStorage
    s = gs.empty((2, 2, 2), defaults="gtcuda", device="cpu")
    assert type(s) is gs.CPUStorage and s.alignment == 32 and s.layout == "KJI"
    assert type(gs.empty((2, 2, 2), defaults="gtcuda", managed=None)) is gs.GPUStorage


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="cupy is installed")
@pytest.mark.parametrize("managed", [None, "gt4py", "cuda"])
def test_without_cupy_the_error_says_what_is_missing(managed: str | None) -> None:
    assert devices._current is None
    with pytest.raises((ImportError, RuntimeError), match="cupy"):
        gs.empty((2, 2), device="gpu", managed=managed)
    with pytest.raises(ValueError, match="halo"):  # wrong arguments come first
        gs.empty((2, 2), device="gpu", managed=managed, halo=(3, 3))


def test_cupy_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> int:
        raise RuntimeError("there is no CUDA driver")

    monkeypatch.setitem(sys.modules, "cupy", types.ModuleType("cupy"))
    monkeypatch.setattr(devices, "_current", None)
    monkeypatch.setattr(gb._core, "cuda_count", count)
    with pytest.raises(
        RuntimeError, match=r"device: 'gpu' needs a GPU and its driver: there is no CUDA driver"
    ):
        gs.empty((2, 2), device="gpu")
    monkeypatch.setattr(gb._core, "cuda_count", lambda: 2)
    with pytest.raises(RuntimeError, match="device: there is no GPU 5; this machine has 2"):
        gs.empty((2, 2), device=("gpu", 5))


def test_classes_are_not_called() -> None:
    for cls in (gs.Storage, gs.CPUStorage):
        with pytest.raises(TypeError, match=r"gridbuf\.storage\.empty"):
            cls((2, 3))
