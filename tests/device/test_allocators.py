"""gridbuf's pools as the allocators of other libraries."""

import ctypes
import gc
from types import SimpleNamespace

import pytest
from fake_driver import MODE, Fake
from in_child import python

import gridbuf as gb
from gridbuf.cuda import pool_allocate, pool_release


def live(**pool: object) -> int:
    return int(gb.memory.stats(**(pool or {"device": "gpu"}))["live_buffers"])


def test_by_address(fake: Fake) -> None:
    exports = gb._core.cuda_exports()
    assert all(exports.values()) and len(set(exports.values())) == len(exports)
    malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
        exports["cupy_free"]
    )
    for name, pool in (
        ("cupy_malloc", {"device": "gpu"}),
        ("cupy_malloc_managed", {"memory": "managed"}),
        ("cupy_malloc_pinned", {"memory": "pinned"}),
    ):
        address = malloc(exports[name])(None, 1000, 0)
        assert address and address % 256 == 0 and live(**pool) == 1
        free(None, address, 0)
        assert live(**pool) == 0
        assert not malloc(exports[name])(None, 1 << 50, 0)
    assert malloc(exports["cupy_malloc"])(None, 1000, 99) is None


def test_callbacks_of_python() -> None:
    address = pool_allocate(5000, 0, 2)
    assert live() == 1
    pool_release(address, 5000, 0, 2)
    with pytest.raises(MemoryError, match="GPU 0"):
        pool_allocate(1 << 50, 0)
    f = gb.Field.empty(100, device="gpu")
    gb.memory.set_limit(1000, device="gpu")
    try:
        with pytest.raises(MemoryError):
            pool_allocate(5000, 0)
    finally:
        gb.memory.set_limit(None, device="gpu")
    assert f.size == 100


def test_cupy(fake: Fake) -> None:
    pytest.importorskip("cupy")
    from gridbuf.interop import cupy as gb_cupy

    gb_cupy.allocator(), gb_cupy.allocator(managed=True)
    pointer = gb_cupy.pinned_allocator()(1000)
    assert pointer.ptr % 512 == 0 and pointer.size() == 1000 and live(memory="pinned") == 1
    pointer_2 = gb_cupy.pinned_allocator()(1000)
    del pointer, pointer_2
    gc.collect()
    assert live(memory="pinned") == 0


@pytest.mark.skipif(MODE != "gpu", reason="cupy allocates on a GPU only")
def test_cupy_on_a_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    from gridbuf.interop import cupy as gb_cupy

    with gb_cupy.memory():
        a = cupy.arange(1000.0)
        assert live() >= 1 and float((a * 2).sum()) == 999000.0
    gb_cupy.install()
    b = cupy.asnumpy(cupy.ones(1000))
    gb_cupy.uninstall()
    assert b.sum() == 1000
    del a, b
    gc.collect()


@pytest.mark.skipif(MODE != "gpu", reason="needs torch with CUDA")
def test_torch_on_a_gpu() -> None:
    pytest.importorskip("torch")
    code = (
        "import torch, gridbuf as gb, gridbuf.interop.torch_cuda as t\n"
        "torch.cuda.memory.change_current_allocator(t.allocator())\n"
        "x = torch.arange(1000., device='cuda'); assert (x * 2).sum().item() == 999000\n"
        "assert gb.memory.stats(device='gpu')['live_buffers'] >= 1\n"
    )
    python(code)


def test_numba(fake: Fake) -> None:
    try:
        from gridbuf.interop.numba_cuda import MemoryManager
    except Exception as error:  # numba-cuda looks for libraries of CUDA when it is imported
        pytest.skip(f"numba-cuda cannot be imported: {error}")

    manager = MemoryManager(context=SimpleNamespace(device=SimpleNamespace(id=0)))
    memory = manager.memalloc(5000)
    assert (
        live() == 1
        and int(getattr(memory.device_pointer, "value", memory.device_pointer)) % 256 == 0
    )
    assert manager.get_memory_info().total > 0 and manager.interface_version == 1
    del memory
    gc.collect()
    assert live() == 0


def test_rmm() -> None:
    rmm = pytest.importorskip("rmm")
    from gridbuf.interop.rmm import resource

    made = resource()
    assert isinstance(made, rmm.mr.CallbackMemoryResource)
    if MODE == "gpu":
        buffer = rmm.DeviceBuffer(size=1000, mr=made)
        assert live() == 1
        del buffer
