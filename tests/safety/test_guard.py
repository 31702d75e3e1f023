"""A panic in Go reaches Python as an exception, and the process goes on; here with an extension
that has a Go main of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from debug_build import ROOT, debug_build
from pages_of_docs import blocks

import gridbuf
from gridbuf import gufunc

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

SHOWN = {
    block.kind: block.text
    for block in blocks(ROOT / "docs" / "gufuncs.md")
    if "mine.double" in block.text
}
KERNEL = f"""
import numpy as np
from gridbuf import gufunc
assert gufunc.registered() == ["mine.double"]
{SHOWN["python"]}
result, info = double(np.array([1.0, -2.0, 3.0]), errors="return")
assert info.codes.tolist() == [0, 0x80, 0] and result[[0, 2]].tolist() == [2, 6]
x = np.ones(200_000)
x[[5, 150_000]] = -1
result, info = double(x, errors="return")
assert [i.tolist() for i in info.indices] == [[5, 150_000]] and (result[~info.failed] == 2).all()
for i in range(300):
    assert gufunc.GUFunc("()->()", gufunc.go("mine.double"), name="g" + str(i))(float(i)) == 2 * i
try:
    kernel = gufunc.Kernel(3, "dd->d", go_name="mine.double")
    gufunc.GUFunc("(),()->()", [kernel]).reduce(np.ones(3))
except gufunc.SignatureError as error:
    assert "C kernel" in str(error)
print(double(-1.0, errors="return")[1])
"""


@pytest.fixture(scope="module")
def own_main(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package whose extension has a Go main with a kernel, and a Go function that
    always panics.
    """
    return debug_build(tmp_path_factory.mktemp("panic"))


@pytest.mark.parametrize(
    ("code", "says"),
    [(PANIC, "0.0"), (KERNEL, "ErrorInfo(1 of 1 failed, first at (): panic)")],
    ids=["bridge", "kernel"],
)
def test_a_panic_is_an_exception(own_main: Path, code: str, says: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=own_main,
        env={**os.environ, "PYTHONPATH": str(own_main)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0 and run.stdout.strip() == says, run.stderr


@pytest.mark.parametrize(
    "doors",
    [
        "gufunc/test_calls.py",
        "gufunc/test_reduce.py",
        "gufunc/test_numpys_types.py",
        "array/test_explain.py",
    ],
)
def test_the_newest_headers_serve_this_python(own_main: Path, doors: str) -> None:
    """What passes bytes between Python and C, in an extension that the newest Python's headers have
    made (tests/helpers/debug_build.py).
    """
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow",
            doors,
        ],
        cwd=ROOT / "tests",
        env={**os.environ, "PYTHONPATH": str(own_main)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_page_shows_that_kernel() -> None:
    assert SHOWN["go"] == (ROOT / "tests" / "build" / "own_main" / "main.go").read_text()


def test_the_product_has_neither() -> None:
    assert not hasattr(gridbuf._core, "panic")
    assert gufunc.registered() == []
    with pytest.raises(gufunc.SignatureError, match="a main package of your own"):
        gufunc.go("mine.double")


def test_the_page_shows_the_main() -> None:
    assert (ROOT / "tests" / "build" / "own_main" / "main.go").read_text() in (
        ROOT / "docs" / "gufuncs.md"
    ).read_text()
