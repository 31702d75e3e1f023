"""A panic in Go reaches Python as an exception, and the process goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from debug_build import debug_build

import gridbuf

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
    return debug_build(tmp_path_factory.mktemp("panic"))


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
