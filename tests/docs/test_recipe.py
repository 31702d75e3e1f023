"""The recipe of docs/programs.md: from a netCDF file to a stencil and back, as it stands there."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gt4py.cartesian")
xr = pytest.importorskip("xarray")
pytest.importorskip("netCDF4")

ROOT = Path(__file__).parents[2]


def test_from_a_file_to_a_stencil_and_back(tmp_path: Path) -> None:
    page = (ROOT / "docs/programs.md").read_text()
    (tmp_path / "recipe.py").write_text(
        page.partition("<!-- recipe -->\n```python\n")[2].partition("```")[0]
    )
    rng = np.random.default_rng(5)
    h, oro = rng.random((2, 3, 6, 8), "f4"), rng.random((6, 8), "f4")
    coords = {
        "lon": np.arange(8) * 10.0,
        "lat": np.arange(6) * 5.0,
        "lev": [1.0, 2.0, 3.0],
        "time": [0, 6],
    }
    dataset = xr.Dataset(
        {"h": (("time", "lev", "lat", "lon"), h), "oro": (("lat", "lon"), oro)}, coords=coords
    )
    dataset.h.attrs.update(units="m", standard_name="height")
    dataset.to_netcdf(tmp_path / "in.nc")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning:gridbuf", "recipe.py"], cwd=tmp_path, env=env,
        capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with xr.open_dataset(tmp_path / "out.nc") as found:
        expected = (
            0.25 * (h[..., 1:-1, 2:] + h[..., 1:-1, :-2] + h[..., 2:, 1:-1] + h[..., :-2, 1:-1])
            + 0.01 * oro[1:-1, 1:-1]
        )
        assert found.h.dims == ("time", "lev", "lat", "lon") and found.h.dtype == np.float32
        assert np.allclose(found.h, expected, rtol=1e-6)
        assert found.h.attrs == {"units": "m", "standard_name": "height"}
        for name, cut in {
            "lon": slice(1, -1),
            "lat": slice(1, -1),
            "lev": slice(None),
            "time": slice(None),
        }.items():
            assert np.array_equal(found[name], coords[name][cut])
