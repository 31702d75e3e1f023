"""The kernels of docs/gufuncs.md in C and with numba are compiled and called."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gridbuf import gufunc

PAGE = (Path(__file__).parents[2] / "docs" / "gufuncs.md").read_text()


def blocks(language: str, word: str) -> list[str]:
    """The page's code blocks that are not sessions, as they are."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return [b for b in found if ">>>" not in b and word in b]


def test_the_kernel_in_c(tmp_path, monkeypatch):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    monkeypatch.chdir(tmp_path)
    (source,) = blocks("c", "distance")
    Path("kernel.c").write_text(source)
    command = re.search(r"cc (-O3 .*?):", source)
    subprocess.run([compiler, *command[1].split()], check=True, timeout=60)
    scope = {"np": np, "gufunc": gufunc, "ctypes": ctypes}
    (use,) = blocks("python", "kernel.so")
    exec(use, scope)
    good, bad = np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 0.0], [1.0, np.inf]])
    assert scope["distance"](good, np.array([3.0, 4.0])).tolist() == [5, 4]
    _, info = scope["distance"](bad, np.array([3.0, 4.0]), errors="return")
    assert info.failed.tolist() == [False, True] and info.codes.tolist() == [0, 8]


def test_the_kernels_with_numba():
    pytest.importorskip("numba")
    scope = {"gufunc": gufunc}
    adopted, generated = blocks("python", "numba")
    exec(adopted, scope)
    assert scope["g"](np.arange(3.0), 2.0).tolist() == [1, 3, 5]
    assert scope["totals"](np.ones((2, 3))).tolist() == [3, 3]
    exec(generated, scope)
    cubes = scope["cubes"]
    for kind in "fd":
        assert cubes(np.arange(4, dtype=kind)).tolist() == [0, 1, 8, 27] and cubes(np.ones(2, kind)).dtype == kind
    assert sorted(cubes.types) == ["d->d", "f->f"]
    with pytest.raises(KeyError):  # what the generator raises comes through
        cubes(np.ones(2, "i4"))
