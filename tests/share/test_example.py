"""examples/sharing: a service in Go and a model in Python on one field, as the tutorial says."""

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages_of_docs import blocks
from share_server import ROOT, build, serving

import gridbuf as gb

EXAMPLE = ROOT / "examples" / "sharing"
TUTORIAL = (ROOT / "docs" / "tutorials" / "sharing.md").read_text()


def test_the_calls_of_the_page(tmp_path: Path) -> None:
    page, address = ROOT / "docs" / "share.md", f"unix:{tmp_path}/s"
    (block,) = [block for block in blocks(page) if block.kind == "python"]
    with serving(address, "salt,heat", "4", "5", "6", "--writable"):
        names: dict[str, Any] = {}
        exec(block.text.replace("unix:/run/user/1000/ocean", address), names)
        assert names["salt"].readonly and not names["heat"].readonly
        names.clear()


@pytest.mark.slow
def test_the_service_hears_that_a_field_is_released(tmp_path: Path) -> None:
    """Server.Wait ends while the model goes on, with its connection open for the next attach."""
    build("./examples/sharing", tmp_path / "sharing")
    address = f"unix:{tmp_path}/ocean"
    service = subprocess.Popen([tmp_path / "sharing", address], stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    assert service.stdout.readline() == f"offered at {address}\n"
    heat = gb.attach(address, "heat", writable=True)
    heat[3, 3, 3] = 200
    first, heat = heat, gb.attach(address, "heat")
    del first
    assert heat[3, 3, 3] == 200
    assert service.poll() is None
    del heat
    gc.collect()
    said, _ = service.communicate(timeout=60)
    assert (said, service.returncode) == ("largest value: 200.000\n", 0)


@pytest.mark.slow
def test_the_service_reads_what_the_model_wrote(tmp_path: Path) -> None:
    pytest.importorskip("gt4py.cartesian")
    build("./examples/sharing", tmp_path / "sharing")
    address = f"unix:{tmp_path}/ocean"
    service = subprocess.Popen([tmp_path / "sharing", address], stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    assert service.stdout.readline() == f"offered at {address}\n"
    model = subprocess.run(
        [sys.executable, EXAMPLE / "model.py", address],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert model.returncode == 0, model.stderr
    said, _ = service.communicate(timeout=60)
    assert service.returncode == 0
    assert model.stdout == (
        "attached IJK (66, 66, 20), halo ((1, 1), (1, 1), (0, 0))\n"
        f"largest value: {largest():.3f}\n"
    )
    assert said == f"largest value: {largest():.3f}\n"
    for line in [*model.stdout.splitlines(), *said.splitlines()]:
        assert line in TUTORIAL


def largest() -> float:
    """The same steps by NumPy on a plane."""
    u = np.zeros((66, 66))
    u[33, 33] = 100
    for _ in range(20):
        out = np.zeros_like(u)
        neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        out[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (neighbours - 4 * u[1:-1, 1:-1])
        u = out
    return float(u.max())
