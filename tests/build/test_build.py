"""Building says in one line what is missing; what it hands to the compiler, and when that
changes.
"""

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")
ROOT = Path(__file__).parents[2]
SOURCE = "pyext/module.c"


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


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_a_main_that_is_not_there(tmp_path: Path) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "setup.py",
            "-q",
            "build_ext",
            "--build-lib",
            tmp_path,
            "--build-temp",
            tmp_path,
        ],
        cwd=ROOT,
        env={**os.environ, "GRIDBUF_GO_MAIN": "./nowhere"},
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0 and "Traceback" not in run.stderr
    assert "gridbuf: go list failed: " in run.stderr and "/nowhere: directory" in run.stderr


# It notes what it is asked for, and makes what is asked for without looking.
GO = """
if [ "$1" = env ]; then echo go1.26.8; exit; fi
echo "$CGO_CFLAGS" >"$0.flags"
echo "GOARCH=$GOARCH" >>"$0.arguments"
echo "$@" >>"$0.arguments"
while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done
[ $# = 0 ] || : >"$2"
"""
CC = """
case $1 in -dumpmachine) echo "${MACHINE:-}"; exit ;; --version) echo cc 1.0; exit ;; esac
echo "$@" >>"$0.arguments"
while [ "$1" != -o ]; do shift; done
: >"$2"
"""


@dataclass(frozen=True)
class Built:
    """What a build asked Go and the compiler for: CGO_CFLAGS, and a line for each command."""

    flags: list[str]
    go: list[str]
    cc: list[str]

    def compiled(self, source: str = SOURCE) -> list[str]:
        """The words of the command that compiled a file."""
        (line,) = (line for line in self.cc if f" -c {source} " in line)
        return line.split()

    def stripped(self) -> tuple[bool, bool]:
        """Go's part, and the whole."""
        return "-s -w" in self.go[-1], "-s" in self.cc[-1].split()


class Checkout:
    """What setup.py and the stamps look at, without the rest, and a go and a compiler that note
    what they are asked for.
    """

    def __init__(self, folder: Path) -> None:
        self.root, self.bin = folder / "gridbuf", folder / "bin"
        self.bin.mkdir()
        script(self.bin, "go", GO)
        script(self.bin, "cc", CC)
        rooms = [room for room in ROOT.glob("[!.]*/") if room.name not in {"build", "dist"}]
        for path in [
            *(path for room in rooms for path in room.rglob("*.h")),
            ROOT / SOURCE,
        ]:
            relative = path.relative_to(ROOT)
            (self.root / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, self.root / relative)
        (self.root / "gridbuf").mkdir()
        shutil.copy(ROOT / "gridbuf" / "__init__.py", self.root / "gridbuf")  # has the version
        for folder in ("tests", "wheels"):
            (self.root / folder).mkdir(exist_ok=True)
        for name in (
            "setup.py",
            "rules.ninja",
            "wheels/bill_of_materials.py",
            "pyproject.toml",
            "README.md",
            "LICENSE",
            "go.mod",
            "go.sum",
            "pyext/docstrings.py",
            "gridbuf/docstrings.py",
            "gridbuf/_core.pyi",
            "pyext/exports.map",
            "bridge/exports.map",
            "tests/go_flags.sh",
            "bridge/stamp.sh",
        ):
            shutil.copy(ROOT / name, self.root / name)

    def build(self, *options: str, **environment: str) -> Built:
        """Everything anew."""
        shutil.rmtree(self.root / "build", ignore_errors=True)
        return self.run("setup.py", "-q", "build_ext", *options, **environment)

    def run(self, *arguments: str, **environment: str) -> Built:
        """Python on what is there."""
        for kept in (*self.bin.glob("*.flags"), *self.bin.glob("*.arguments")):
            kept.unlink()
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "GRIDBUF_CFLAGS": "", "CC": "cc", "PATH": path, **environment}
        subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=env, check=True, capture_output=True
        )
        noted = (self.bin / name for name in ("go.flags", "go.arguments", "cc.arguments"))
        flags, go, cc = (path.read_text() if path.exists() else "" for path in noted)
        return Built(flags.split(), go.splitlines(), cc.splitlines())

    def test_flags(self) -> list[str]:
        done = subprocess.run(
            ["sh", "tests/go_flags.sh"], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.split()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def plain(checkout: Checkout) -> Built:
    """As it is, without options."""
    return checkout.build()


@contextmanager
def edited(path: Path, more: str) -> Iterator[None]:
    """A file that is longer, or new, and afterwards as it was."""
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((before or "") + more)
    try:
        yield
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before)


def changes(checkout: Checkout, plain: Built) -> tuple[bool, bool]:
    """Whether Go compiles its rooms anew: for the extension, and for the tests. One stamp is for
    both.
    """
    flags, tests = checkout.build().flags, checkout.test_flags()
    assert flags[-1] == tests[-1] and flags[-1].startswith("-DBUILD_STAMP=")
    return flags != plain.flags, tests[-1] != plain.flags[-1]


def test_musl_is_refused(tmp_path: Path) -> None:
    command(tmp_path, "go", "go1.26.8")
    command(tmp_path, "cc", "x86_64-alpine-linux-musl")
    told = build(tmp_path)
    assert "needs glibc" in told and "x86_64-alpine-linux-musl" in told and "initial-exec" in told


def test_symbols_may_be_kept_in_a_file_of_their_own(checkout: Checkout, tmp_path: Path) -> None:
    symbols, number = tmp_path / "symbols.debug", "-Wl,--build-id=0x1234"
    links = [
        line.split()
        for line in checkout.build(GRIDBUF_DEBUG_FILE=str(symbols), GRIDBUF_LDFLAGS=number).cc
        if "-shared" in line
    ]
    assert len(links) == 2 and all(number in link for link in links)
    assert {("-s" in link, str(symbols) in link) for link in links} == {
        (True, False),
        (False, True),
    }


def test_a_wheel_has_the_licence_of_go_s_runtime() -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go")
    root = subprocess.run(
        [go, "env", "GOROOT"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert (ROOT / "licenses" / "LICENSE-Go.txt").read_text() == (
        Path(root) / "LICENSE"
    ).read_text()


def test_git_is_not_asked(plain: Built) -> None:
    """Of a checkout that belongs to another user, as in a container, it says nothing, and Go
    fails.
    """
    asked = [line for line in plain.go if line.startswith(("list ", "build "))]
    assert len(asked) >= 2 and all("-buildvcs=false" in line.split() for line in asked)


def test_c_is_optimised(checkout: Checkout, plain: Built) -> None:
    for flags in (plain.flags, plain.compiled(), checkout.test_flags()):
        assert [flag for flag in flags if flag.startswith("-O")] == ["-O2"]


def test_the_c_of_the_extension_is_compiled_with_warnings(plain: Built) -> None:
    assert {"-Wall", "-Wextra", "-DPy_LIMITED_API=0x030B0000"} <= set(plain.compiled())


def test_flags_of_the_environment_come_last(checkout: Checkout) -> None:
    built = checkout.build(GRIDBUF_CFLAGS="-O0 -Werror")
    assert built.flags[-3:-1] == ["-O0", "-Werror"] and built.flags[-1].startswith("-DBUILD_STAMP=")
    compiled = built.compiled()
    assert compiled[compiled.index("-MD") - 2 : compiled.index("-MD")] == ["-O0", "-Werror"]


def test_what_is_as_it_was_is_not_built_anew(checkout: Checkout, plain: Built) -> None:
    assert changes(checkout, plain) == (False, False)


@pytest.mark.parametrize(
    "header",
    [
        "alloc/heap.h",
        "cuda/blocks.h",
        "gufunc/kernels/internal/loops/rows_body.h",
        "transfer/transfer.h",
    ],
)
def test_an_edited_header_builds_every_go_room_anew(
    checkout: Checkout, plain: Built, header: str
) -> None:
    assert (checkout.root / header).exists()
    with edited(checkout.root / header, "enum { ONE_MORE };\n"):
        assert changes(checkout, plain) == (True, True)


def test_a_new_header_builds_every_go_room_anew(checkout: Checkout, plain: Built) -> None:
    with edited(checkout.root / "alloc" / "other.h", "#define OTHER 1\n"):
        assert changes(checkout, plain) == (True, True)


def test_nothing_is_found_that_a_tool_left(checkout: Checkout, plain: Built) -> None:
    with edited(checkout.root / ".venv" / "include" / "tool.h", "#define TOOL 1\n"):
        assert changes(checkout, plain) == (False, False)


def test_an_edited_header_of_any_room_compiles_what_includes_it(tmp_path: Path) -> None:
    """Nobody lists who includes what: the compiler says, and ninja keeps it. Here with the real
    ones.
    """
    ninja = pytest.importorskip("ninja")
    (tmp_path / "room").mkdir()
    header, source = tmp_path / "room" / "number.h", tmp_path / "a.c"
    header.write_text("enum { NUMBER = 1 };\n")
    source.write_text('#include "room/number.h"\nint number(void) { return NUMBER; }\n')
    (tmp_path / "build.ninja").write_text(
        f"cc = cc\ninclude {ROOT}/rules.ninja\nbuild a.o: c a.c\n"
    )

    def build() -> str:
        return subprocess.run(
            [Path(ninja.BIN_DIR) / "ninja"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert "no work to do" not in build() and "no work to do" in build()
    header.write_text("enum { NUMBER = 2 };\n")
    os.utime(header, ns=(time.time_ns(), (tmp_path / "a.o").stat().st_mtime_ns + 1_000_000))
    assert "no work to do" not in build()


def test_a_wheel_is_stripped_and_a_checkout_is_not(checkout: Checkout, plain: Built) -> None:
    assert plain.stripped() == (True, True)
    assert checkout.build("--inplace").stripped() == (False, False)


def test_a_checkout_that_pip_has_built_is_built(checkout: Checkout, tmp_path: Path) -> None:
    """pip gives a folder for objects that it drops: all C was compiled twice in the first hour."""
    shutil.rmtree(checkout.root / "build", ignore_errors=True)
    built = checkout.run(
        "-c", f"import setuptools.build_meta as backend; backend.build_editable({str(tmp_path)!r})"
    )
    assert built.compiled()
    again = checkout.run("setup.py", "-q", "build_ext", "--inplace")
    assert not any(" -c " in line for line in again.cc)


def test_a_build_for_gdb_keeps_symbols(checkout: Checkout) -> None:
    built = checkout.build("--debug")
    assert "-Og" in built.compiled() and "-Og" in built.flags
    assert built.stripped() == (False, False)
