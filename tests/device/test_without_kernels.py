"""A driver that does not compile our PTX: what needs no kernel works, and the rest says what
to do.
"""

import os
import subprocess
import sys

import pytest
from fake_driver import MODE

CODE = """
import numpy as np, gridbuf as gb
def values(f):
    fortran = f.strides and f.strides[0] == f.dtype.itemsize
    a = np.empty(f.shape, f.dtype, order="F" if fortran else "C")
    gb.copyto(a, f)
    return a
for dtype in ("f8", "f4", "i8", "c16", "i2", "i1", "bool", "S3", "V5"):
    for shape in ((7,), (5, 3), (4, 3, 9), (), (1, 1), (0, 3), (1000, 1001)):
        for order in ("C", "F"):
            if dtype not in ("S3", "V5"):
                f = gb.Field.ones(shape, dtype, device="gpu", backend=order)
                assert f.dtype == np.dtype(dtype) and (values(f) == 1).all(), (dtype, shape)
    if dtype[0] in "SV": continue
    f = gb.Field.full((6, 5), 3, dtype, device="gpu")
    f[2, 3] = 1
    expected = np.full((6, 5), 3, dtype)
    expected[2, 3] = 1
    assert np.array_equal(values(f), expected), dtype
    g = gb.Field.full((6, 5), 0.1 if dtype in ("f8", "c16") else 1, dtype, device="gpu",
        halo=(1, 1))
    gb.fill(g.domain, 7)
    expected = np.full((6, 5), 0.1 if dtype in ("f8", "c16") else 1, dtype)
    expected[1:-1, 1:-1] = 7
    assert np.array_equal(values(g), expected), dtype
f = gb.Field.full((40, 50), 0.1, device="gpu", backend="F")
host = np.arange(2000.0).reshape(40, 50)
gb.copyto(f, host)   # another layout: the host lays out
back = np.zeros((40, 50))
gb.copyto(back, f)
assert np.array_equal(back, host)
for act in (lambda: gb.copyto(gb.Field.empty((40, 50), device="gpu"), f),
    lambda: gb.fill(gb.Field.empty((5000, 3), device="gpu")[:, 1], 0.1)):
    try: act()
    except RuntimeError as error: print(error)
    else: raise SystemExit("no error")
"""


@pytest.mark.skipif(MODE != "fake", reason="steers the fake driver")
@pytest.mark.parametrize("code", [222, 218, 221])
def test_without_kernels(code: int) -> None:
    env = os.environ | {"FAKE_CUDA": f"refuse={code}"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2 and all(
        "PTX" in line and f"({code})" in line and "laid out on the host" in line for line in lines
    ), lines
    assert "fake CUDA driver" not in done.stderr
