"""A panic in Go reaches Python as an exception, and the process goes on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gridbuf

ROOT = Path(__file__).parent.parent.parent
PANIC = """
import gridbuf as gb
from gridbuf import _core
for _ in range(1000):
    try:
        _core.panic()
    except RuntimeError as error:
        assert "panic in Go: on purpose" in str(error), error
    else:
        raise SystemExit("no exception")
assert gb.plan((3, 5, 7)).shape == (3, 5, 7)
print(gb.zeros((4, 4)).sum())
"""


@pytest.fixture(scope="module")
def panicking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package whose extension has a Go function that always panics."""
    pytest.importorskip("setuptools", minversion="77")
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("panic")
    env = {**os.environ, "GRIDBUF_GO_TAGS": "gridbuf_panic", "GRIDBUF_CFLAGS": "-DGRIDBUF_PANIC"}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--build-lib", str(folder), "--build-temp", str(folder / "temp")]
    subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
    others = shutil.ignore_patterns("_core*", "__pycache__")
    shutil.copytree(Path(gridbuf.__file__).parent, folder / "gridbuf", dirs_exist_ok=True, ignore=others)
    return folder


def test_a_panic_is_an_exception(panicking: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PANIC],
        cwd=panicking,
        env={**os.environ, "PYTHONPATH": str(panicking)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0 and run.stdout.strip() == "0.0", run.stderr


def test_the_product_has_no_such_function() -> None:
    assert not hasattr(gridbuf._core, "panic")
