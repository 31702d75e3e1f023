"""Building says in one line what is missing."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")
ROOT = Path(__file__).parent.parent


def build(path: Path) -> str:
    run = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext"],
        cwd=ROOT,
        env={**os.environ, "PATH": str(path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    lines = [line for line in run.stderr.splitlines() if line.startswith("gridbuf:")]
    assert len(lines) == 1 and "Traceback" not in run.stderr, run.stderr
    return lines[0]


def command(folder: Path, name: str, prints: str) -> None:
    script = folder / name
    script.write_text(f"#!/bin/sh\necho {prints}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def test_without_go(tmp_path: Path) -> None:
    assert "needs Go 1.26 or newer on PATH, and there is no 'go'" in build(tmp_path)


def test_with_a_go_that_is_too_old(tmp_path: Path) -> None:
    command(tmp_path, "go", "go1.20.3")
    command(tmp_path, "cc", "")
    assert "needs Go 1.26 or newer; this is go1.20.3" in build(tmp_path)


def test_without_a_c_compiler(tmp_path: Path) -> None:
    command(tmp_path, "go", "go1.26.8")
    assert "needs a C compiler" in build(tmp_path)
