"""The kernels of docs/gufuncs.md compile and do what the page says."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "gufuncs.md"


def block(section: str, language: str) -> str:
    _, _, text = PAGE.read_text().partition(f"\n### {section}\n")
    found = re.search(rf"```{language}\n(.*?)```", text.partition("\n### ")[0], re.DOTALL)
    assert found, f"{PAGE.name}: no {language} in {section}"
    return found[1]


def run(section: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(block(section, "python"), f"{PAGE.name}, {section}", "exec"), names)
    return names


def test_the_kernel_in_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "kernel.c").write_text(block("C", "c"))
    subprocess.run(
        [
            compiler,
            "-O3",
            "-Wall",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            "kernel.so",
            "kernel.c",
            "-lm",
        ],
        cwd=tmp_path,
        check=True,
    )
    monkeypatch.chdir(tmp_path)
    names = run("C")
    assert names["result"].tolist() == [0, 5, np.inf] and names["info"].codes.tolist() == [0, 0, 8]  # type: ignore[attr-defined]


def test_the_kernels_in_numba() -> None:
    pytest.importorskip("numba")
    names = run("numba")
    assert names["info"].codes.tolist() == [0, 2] and names["norms"].tolist() == [5, 10]  # type: ignore[attr-defined]
    softsign = names["softsign"]
    assert softsign.types == ["f->f"] and softsign(np.float32([1, -3])).tolist() == [0.5, -0.75]  # type: ignore[operator,attr-defined]


@pytest.mark.slow
def test_the_kernel_in_go(tmp_path: Path) -> None:
    """With the race detector, as `make test` has compiled the rooms: none is compiled twice."""
    if not shutil.which("go") or not (ROOT / "go.mod").exists():
        pytest.skip("needs Go and gridbuf's sources")
    (tmp_path / "mine.go").write_text(block("Go", "go"))
    (tmp_path / "overlay.json").write_text(
        json.dumps({"Replace": {str(ROOT / "mine" / "mine.go"): str(tmp_path / "mine.go")}})
    )
    flags = subprocess.run(
        [ROOT / "tests" / "go_flags.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()
    command = [
        "go",
        "build",
        "-race",
        "-buildvcs=false",
        "-o",
        os.devnull,
        "-overlay",
        str(tmp_path / "overlay.json"),
        "./mine",
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "CGO_ENABLED": "1", "CGO_CFLAGS": flags},
    )
    assert done.returncode == 0, done.stderr
