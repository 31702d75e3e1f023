"""docs/go.md: its files make a module of their own that builds, runs, prints what the page says and
passes its test.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "go.md").read_text()
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The flags, and the race detector, are those of `make test`, whose packages Go has in its cache
# then.
FLAGS = subprocess.run(
    [ROOT / "tests" / "go_flags.sh"], capture_output=True, text=True, check=True
).stdout.strip()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("go") is None, reason="needs go")]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "ocean"
    for block in BLOCK.findall(PAGE):
        named = re.match(r"// file: (\S+)\n", block)
        if named:
            path = folder / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.replace("{gridbuf}", str(ROOT)))
    return folder


def go(folder: Path, *words: str, **environment: str) -> str:
    offline = {
        "GOPROXY": "off",
        "GOFLAGS": "-mod=mod -buildvcs=false",
        "GOWORK": "off",
        "CGO_CFLAGS": FLAGS,
    }
    done = subprocess.run(
        ["go", *words],
        cwd=folder,
        env={**os.environ, **offline, **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_program_prints_what_the_page_says(module: Path) -> None:
    program = next(i for i, block in enumerate(BLOCK.findall(PAGE)) if "// file: main.go" in block)
    assert go(module, "run", "-race", ".") == BLOCK.findall(PAGE)[program + 1]


def test_the_files_are_formatted_and_the_test_passes(module: Path) -> None:
    assert "PASS" in go(module, "test", "-race", "-v", "-run", "Salt", ".")
    files = [str(path) for path in module.rglob("*.go")]
    assert (
        subprocess.run(["gofmt", "-l", *files], capture_output=True, text=True, check=True).stdout
        == ""
    )


def test_a_main_of_ones_own_builds_from_the_checkout(module: Path) -> None:
    (module.parent / "go.work").write_text(f"go 1.26\n\nuse (\n\t{ROOT}\n\t./ocean\n)\n")
    go(
        ROOT,
        "vet",
        str(module / "core"),
        str(module / "kernels"),
        GOWORK=str(module.parent / "go.work"),
        GOFLAGS="-buildvcs=false",
    )


def test_the_examples_run_from_another_module(module: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "go.mod").write_text((module / "go.mod").read_text())
    found = [path for path in ROOT.rglob("example_test.go") if ".venv" not in path.parts]
    rooms = [path.parent.relative_to(ROOT) for path in found]
    assert {"alloc", "cuda", "exact", "grid", "gufunc", "transfer"} <= {str(room) for room in rooms}
    for path, room in zip(found, rooms, strict=True):
        (folder / room).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / room)
    driver = tmp_path / "libcuda-fake.so"  # examples of cuda print what they do on a GPU
    subprocess.run([ROOT / "cuda" / "fake" / "build.sh", driver], check=True)
    said = go(folder, "test", "-v", "./...", GRIDBUF_LIBCUDA=str(driver))
    assert said.count("--- PASS: Example") >= 20
    assert said.count("ok  \t") == len(rooms)


def test_what_is_internal_stays_so(module: Path) -> None:
    inside = module / "inside"
    inside.mkdir()
    (inside / "main.go").write_text(
        'package main\n\nimport _ "gridbuf/internal/record"\n\nfunc main() {}\n'
    )
    with pytest.raises(
        AssertionError, match="use of internal package gridbuf/internal/record not allowed"
    ):
        go(module, "build", "./inside")
