"""gridbuf.interop.torch: what is shared, and what is said where PyTorch cannot."""

import gc

import numpy as np
import pytest

import gridbuf as gb

torch = pytest.importorskip("torch")
gbt = pytest.importorskip("gridbuf.interop.torch")


@pytest.mark.parametrize(
    "spec", [{}, {"backend": "F"}, {"backend": "gtmc"}, {"layout": (1, 2, 0)}], ids=str
)
def test_a_tensor_shares_any_layout(spec: dict) -> None:
    field = gb.Field.from_array(np.arange(120.0).reshape(4, 5, 6), **spec)
    for view in (field, field[1:, ::2], field.transpose("KIJ")):
        tensor = gbt.to_tensor(view)
        assert tensor.data_ptr() == view.numpy().ctypes.data
        assert tuple(8 * s for s in tensor.stride()) == view.strides
        assert (tensor.numpy() == view.numpy()).all()


def test_the_tensor_keeps_the_memory_of_a_field_that_is_gone() -> None:
    tensor = gbt.to_tensor(gb.Field.full((64, 64), 3.0))
    gc.collect()
    others = [gb.Field.full((64, 64), 4.0) for _ in range(8)]
    assert bool((tensor == 3.0).all()) and len(others) == 8


def test_negative_strides_are_named_with_what_helps() -> None:
    field = gb.Field.from_array(np.arange(12.0).reshape(4, 3), dims="IK")[::-1, ::-1]
    with pytest.raises(
        ValueError, match=r"I \(index 0\) has the stride -24.*field\[::-1, ::-1\].*field\.copy\(\)"
    ):
        gbt.to_tensor(field)
    assert gbt.to_tensor(field[::-1, ::-1])[0, 1] == 1.0
    assert (gbt.to_tensor(field.copy()).numpy() == field.numpy()).all()


def test_read_only_memory_is_not_handed_to_a_library_that_writes() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only, and PyTorch has no read-only tensors"):
        gbt.to_tensor(array)
    assert gbt.to_tensor(gb.Field(array).copy())[0] == 0.0


@pytest.mark.parametrize("dtype", ["S4", ">f8", "datetime64[s]", "longdouble"])
def test_dtypes_that_pytorch_lacks(dtype: str) -> None:
    with pytest.raises(BufferError, match=r"field: PyTorch cannot hold .*dtype"):
        gbt.to_tensor(gb.Field.zeros(3, dtype))


def test_something_without_memory_is_named() -> None:
    with pytest.raises(TypeError, match="field: "):
        gbt.to_tensor(object())
    with pytest.raises(TypeError, match=r"tensor: expected a torch\.Tensor, got ndarray"):
        gbt.from_tensor(np.zeros(3))


def test_a_field_over_a_tensor() -> None:
    tensor = torch.arange(24.0).reshape(4, 6)[1:, ::2].T
    field = gbt.from_tensor(tensor, "KI", halo=(1, 0))
    assert (field.dims, field.halo, field.strides) == (("K", "I"), ((1, 1), (0, 0)), (8, 24))
    field[0, 0] = -1.0
    assert tensor[0, 0] == -1.0
    pointer = tensor.data_ptr()
    del tensor
    gc.collect()
    assert field.numpy().ctypes.data == pointer and field[1, 1] == 14.0


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: torch.zeros(3, requires_grad=True), BufferError, r"detach\(\)"),
        (lambda: torch.zeros(3, dtype=torch.complex64).conj(), BufferError, r"resolve_conj\(\)"),
        (
            lambda: torch.zeros(3, dtype=torch.complex64).conj().imag,
            BufferError,
            r"resolve_neg\(\)",
        ),
        (lambda: torch.eye(3).to_sparse(), ValueError, r"to_dense\(\)"),
        (
            lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
            ValueError,
            r"dequantize\(\)",
        ),
        (lambda: torch.zeros(3, device="meta"), ValueError, "no memory"),
    ],
)
def test_tensors_whose_memory_is_not_their_value(make, error: type, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=says):
        gbt.from_tensor(make())


def test_tensors_laid_out_for_a_backend() -> None:
    tensor = gbt.zeros(
        (10, 4, 3), torch.float32, backend="gt:cpu_ifirst", halo=(2, 0, 0), padding=True
    )
    plan = gb.plan((10, 4, 3), np.float32, backend="gt:cpu_ifirst", halo=(2, 0, 0), padding=True)
    assert tuple(4 * s for s in tensor.stride()) == plan.strides and not tensor.any()
    assert tensor[2:].data_ptr() % 64 == 0
    assert gbt.empty(5, np.int16).dtype is torch.int16


@pytest.mark.parametrize("name", ["bool", "uint8", "uint64", "float16", "float64", "complex128"])
def test_numpy_dtypes(name: str) -> None:
    assert gbt.numpy_dtype(getattr(torch, name)) == np.dtype(name)


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert gbt.numpy_dtype(torch.bfloat16) == np.dtype(ml_dtypes.bfloat16)
    field = gb.Field.full((2, 3), 1.5, ml_dtypes.bfloat16)
    tensor = gbt.to_tensor(field)
    tensor[0, 0] = 2.5
    assert tensor.dtype is torch.bfloat16 and field[0, 0] == 2.5
