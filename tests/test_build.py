"""Building says in one line what is missing; what it hands to the compiler, and when that changes."""

import os
import shutil
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


def script(folder: Path, name: str, lines: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def command(folder: Path, name: str, prints: str) -> None:
    script(folder, name, f"echo {prints}")


def test_without_go(tmp_path: Path) -> None:
    assert "needs Go 1.26 or newer on PATH, and there is no 'go'" in build(tmp_path)


def test_with_a_go_that_is_too_old(tmp_path: Path) -> None:
    command(tmp_path, "go", "go1.20.3")
    command(tmp_path, "cc", "")
    assert "needs Go 1.26 or newer; this is go1.20.3" in build(tmp_path)


def test_without_a_c_compiler(tmp_path: Path) -> None:
    command(tmp_path, "go", "go1.26.8")
    assert "needs a C compiler" in build(tmp_path)


GO = """
if [ "$1" = env ]; then echo go1.26.8; exit; fi
echo "$CGO_CFLAGS" >"$0.flags"
echo "$@" >"$0.arguments"
while [ "$1" != -o ]; do shift; done
: >"$2"
"""


class Checkout:
    """What setup.py and the stamps look at, without the rest, and a go that notes what it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.root, self.bin = folder / "gridbuf", folder / "bin"
        self.bin.mkdir()
        script(self.bin, "go", GO)
        for path in ROOT.glob("*/**/*.h"):
            relative = path.relative_to(ROOT)
            if relative.parts[0] not in {"build", "dist"} and relative.parts[0][0] != ".":
                (self.root / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, self.root / relative)
        (self.root / "gridbuf").mkdir()
        (self.root / "gridbuf" / "__init__.py").touch()
        (self.root / "tests").mkdir(exist_ok=True)
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "pyext/exports.map", "tests/go_flags.sh"):
            shutil.copy(ROOT / name, self.root / name)

    def build(self, *options: str, **environment: str) -> tuple[list[str], str]:
        """CGO_CFLAGS, and the arguments of go build."""
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", *options],
            cwd=self.root, env={**os.environ, "GRIDBUF_CFLAGS": "", "PATH": path, **environment}, check=True, capture_output=True,
        )  # fmt: skip
        return (self.bin / "go.flags").read_text().split(), (self.bin / "go.arguments").read_text()

    def test_flags(self) -> list[str]:
        done = subprocess.run(["sh", "tests/go_flags.sh"], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.split()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_c_is_optimised(checkout: Checkout) -> None:
    flags, _ = checkout.build()
    assert [flag for flag in flags if flag.startswith("-O")] == ["-O2"]
    assert [flag for flag in checkout.test_flags() if flag.startswith("-O")] == ["-O2"]


def test_flags_of_the_environment_come_last(checkout: Checkout) -> None:
    flags, _ = checkout.build(GRIDBUF_CFLAGS="-O0 -Werror")
    assert flags[-2:] == ["-O0", "-Werror"]


@pytest.mark.parametrize(
    "header", ["alloc/heap.h", "cuda/driver.h", "gufunc/kernels/table.h", "transfer/transfer.h", "pyext/object.h"]
)
def test_an_edited_header_of_any_room_builds_everything_anew(checkout: Checkout, header: str) -> None:
    path = checkout.root / header
    if not path.exists():
        path = next(path.parent.glob("*.h"))
    before, tests = checkout.build()[0], checkout.test_flags()
    assert checkout.build()[0] == before and checkout.test_flags() == tests
    path.write_text(path.read_text() + "enum { ONE_MORE };\n")
    assert checkout.build()[0] != before and checkout.test_flags() != tests


def test_a_new_header_builds_everything_anew(checkout: Checkout) -> None:
    before, tests = checkout.build()[0], checkout.test_flags()
    (checkout.root / "alloc" / "other.h").write_text("")
    assert checkout.build()[0] != before
    (checkout.root / "alloc" / "other.h").write_text("#define OTHER 1\n")
    assert checkout.test_flags() != tests


def test_a_wheel_is_stripped_and_a_checkout_is_not(checkout: Checkout) -> None:
    assert "-s -w" in checkout.build()[1]
    assert "-s -w" not in checkout.build("--inplace")[1]


def test_nothing_is_found_that_a_tool_left(checkout: Checkout) -> None:
    before, tests = checkout.build()[0], checkout.test_flags()
    for folder in ("build/temp", ".venv/include"):
        (checkout.root / folder).mkdir(parents=True, exist_ok=True)
        (checkout.root / folder / "tool.h").write_text("")
    assert checkout.build()[0] == before and checkout.test_flags() == tests
