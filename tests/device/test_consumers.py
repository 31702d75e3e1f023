"""Other libraries on a real GPU: what they make of our memory, and we of theirs. Nothing here runs
on the fake driver.
"""

import contextlib
from typing import Any

import numpy as np
import pytest
from fake_driver import MODE, values_of

import gridbuf as gb

pytestmark = pytest.mark.skipif(MODE != "gpu", reason="needs a GPU")

VALUES = np.arange(60.0).reshape(3, 4, 5)


def field(**spec: Any) -> gb.Field:
    return gb.Field.from_array(VALUES, device="gpu", **spec)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    for spec in ({}, {"backend": "gt:gpu"}):
        f = field(**spec)
        for tensor in (torch.from_dlpack(f), torch.as_tensor(f, device="cuda")):
            assert (
                tensor.is_cuda
                and tensor.shape == (3, 4, 5)
                and tensor.data_ptr() == f.__cuda_array_interface__["data"][0]
            )
            assert np.array_equal(tensor.cpu().numpy(), VALUES)
        tensor = torch.from_dlpack(f)
        tensor += 1
        torch.cuda.synchronize()
        assert f[1, 2, 3] == VALUES[1, 2, 3] + 1
    back = gb.Field(torch.arange(6.0, device="cuda").reshape(2, 3), "KJ")
    assert type(back) is gb.DeviceField and np.array_equal(
        values_of(back), np.arange(6.0).reshape(2, 3)
    )
    assert type(gb.Field(torch.zeros(3))) is gb.HostField
    stream = torch.cuda.Stream()
    # The Field's first use is ordered behind torch's stream: on that stream, and on another
    for ours in (stream, None):
        with torch.cuda.stream(stream):
            busy = torch.zeros(1 << 24, device="cuda")
            for _ in range(50):
                busy += 1
            with gb.cuda.stream(ours) if ours else contextlib.nullcontext():
                assert gb.Field(busy)[12345] == 50.0
    assert torch.from_dlpack(gb.Field.zeros(3, memory="pinned")).device.type == "cpu"


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this jax has no GPU")
    jax.config.update("jax_enable_x64", True)
    f = field(backend="F", byte_alignment=256)
    array = jax.numpy.from_dlpack(f)
    assert np.array_equal(np.asarray(array), VALUES)
    back = gb.Field(jax.numpy.arange(12.0).reshape(3, 4))
    assert type(back) is gb.DeviceField and np.array_equal(
        values_of(back), np.arange(12.0).reshape(3, 4)
    )
    array.delete()


def test_numba() -> None:
    numba_cuda = pytest.importorskip("numba.cuda")
    f = field()
    array = numba_cuda.as_cuda_array(f)
    assert array.shape == (3, 4, 5) and np.array_equal(array.copy_to_host(), VALUES)
    back = gb.Field(numba_cuda.to_device(VALUES))
    assert type(back) is gb.DeviceField and np.array_equal(values_of(back), VALUES)


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    f = field(backend="gt:gpu")
    assert np.array_equal(cupy.asnumpy(cupy.asarray(f)), VALUES) and np.array_equal(
        cupy.asnumpy(cupy.from_dlpack(f)), VALUES
    )
    own = cupy.arange(12.0).reshape(3, 4).T
    g = gb.Field(own, "JK")
    assert g.strides == own.strides and np.array_equal(values_of(g), cupy.asnumpy(own))
    managed = gb.Field.from_array(VALUES, memory="managed", device="gpu")
    assert float(managed.cupy().sum()) == VALUES.sum() == float(managed.numpy().sum())


def test_mpi4py() -> None:
    mpi = pytest.importorskip("mpi4py.MPI")
    f = gb.Field.from_array(VALUES, memory="pinned")
    g = gb.Field.empty(VALUES.shape, memory="pinned")
    mpi.COMM_SELF.Sendrecv(f, 0, recvbuf=g, source=0)
    assert np.array_equal(g.numpy(), VALUES)


@pytest.mark.parametrize("backend", ["gt:gpu", "dace:gpu"])
def test_gt4py_stencils(backend: str) -> None:
    pytest.importorskip("cupy")
    gtscript = pytest.importorskip("gt4py.cartesian.gtscript")
    grid = gtscript.Field[np.float64]

    def twice(inp: grid, out: grid) -> None:  # type: ignore[valid-type]
        with computation(PARALLEL), interval(...):  # type: ignore[name-defined]  # noqa: F821
            out = inp * 2  # noqa: F841

    try:
        stencil = gtscript.stencil(backend=backend, definition=twice)
    except Exception as error:
        pytest.skip(f"{backend} does not compile here: {error}")
    inp, out = gb.from_array(VALUES, backend=backend), gb.zeros(VALUES.shape, backend=backend)
    stencil(inp, out)
    assert np.array_equal(values_of(out), VALUES * 2)
    f = gb.Field.from_array(VALUES, backend=backend, dims="IJK")
    g = gb.Field.zeros(VALUES.shape, backend=backend, dims="IJK")
    stencil(f, g)
    assert np.array_equal(values_of(g), VALUES * 2)
