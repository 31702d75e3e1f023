"""The examples of GT4Py's "GT Storage Interface", corrected, and the other examples of storages,
run.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from fake_device import FakeDevice

from gridbuf.interface import acquired, read

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FakeCupy:
    """The three functions of cupy that the example calls, on the fake device."""

    def __init__(self, gpu: FakeDevice) -> None:
        self.asarray, self.asnumpy = gpu.from_host, gpu.to_host

    def zeros(self, shape: Any, dtype: Any) -> Any:
        return self.asarray(np.zeros(shape, dtype))


def test_a_class_with_host_and_device_buffers(gpu: FakeDevice) -> None:
    s = load("storage_two_buffers").SomeStorage((2, 3), np.float64, FakeCupy(gpu))
    # The proposal took both from the host's buffer
    assert read(s)["data"] != read(s, "gpu")["data"]
    gpu.log.clear()
    with acquired({"s": s}, outputs=("s",), device="gpu") as buffers:
        buffers["s"][...] = 4.0
    assert s._sync_state == s.CP_MODIFIED and gpu.log == []
    with acquired({"s": s}, outputs=("s",)) as buffers:
        assert gpu.log == ["download"] and (buffers["s"] == 4).all()
        buffers["s"][...] = 5.0
    assert s._sync_state == s.NP_MODIFIED
    with acquired({"s": s}, device="gpu") as buffers:
        assert gpu.log == ["download", "upload"] and (gpu.to_host(buffers["s"]) == 5).all()


def test_a_class_with_two_buffers_says_when_there_is_no_gpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        import cupy  # noqa: F401
    except ImportError:
        load("storage_two_buffers").main()
        assert "needs cupy and a GPU" in capsys.readouterr().out
    else:
        pytest.skip("cupy is there")


def test_a_wrapper_that_adds_dims(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("storage_wrapper")
    wrapped = module.StorageWrapper(np.zeros((2, 3)), dims="KJ")
    assert read(wrapped)["dims"] == ("K", "J") and callable(read(wrapped)["acquire"])
    assert wrapped._storage.axes == "IJ"
    module.main()
    assert capsys.readouterr().out == "[[0. 3.]\n [1. 4.]\n [2. 5.]]\n"


@pytest.mark.filterwarnings(
    "ignore:out_field. strides:UserWarning", "ignore:The layout of the field:UserWarning"
)
def test_the_copy_stencil_prints_the_right_block_for_xarray(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = pytest.importorskip("gt4py.cartesian.config")
    pytest.importorskip("xarray")
    monkeypatch.setitem(config.cache_settings, "root_path", str(tmp_path))
    load("storage_xarray").main()
    block = "[[[1. 2.]\n  [3. 4.]]\n\n [[5. 6.]\n  [7. 8.]]]\n"
    assert (
        capsys.readouterr().out == f"INPUT:\n{block}OUTPUT: numpy\n{block}OUTPUT: xarray\n{block}"
    )


def test_storages_in_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    load("storage_basics").main()
    said = capsys.readouterr().out
    assert "layout='JKI'" in said and "wrapped: KJI, sum: KJI" in said
    assert re.search(r"lowest level: 273\.50 to 280\.00 K", said)


def test_the_program_on_storages_is_the_one_on_arrays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gt4py.cartesian")
    pytest.importorskip("xarray")
    program = load("storage_program")
    result = program.main("numpy", str(tmp_path))  # restarts from its checkpoint, and compares
    assert (
        "tracer kept to" in capsys.readouterr().out
        and result.dims == ("lon", "lat", "level")
        and "lat" in result.coords
    )
    data = program.dataset(12, 10, 4)
    model = program.on_storages(data, "numpy")
    arrays = program.on_arrays(model, "numpy")
    for _ in range(5):
        model.step(0.1)
        arrays.step(0.1)
    assert (
        type(arrays.q) is np.ndarray
        and (model.q.to_numpy() == arrays.q).all()
        and not (arrays.q == arrays.between).all()
    )
