"""Kernels in C, compiled once."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "slow_kernels.c"


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """The library made of slow_kernels.c."""
    compiler = os.environ.get("CC", "cc")
    if not shutil.which(compiler):
        pytest.skip("needs a C compiler")
    path = tmp_path_factory.mktemp("kernels") / "slow_kernels.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-frounding-math", "-o", path, SOURCE, "-lm"],
        check=True,
    )
    return ctypes.CDLL(str(path))
