"""gcc, clang and zig make the same kernels: without a warning, fused where the rule says so and
nowhere else, with the same flags.

The rule: kernels on matrices are fused with AVX2 and on aarch64, not in the base set of x86;
statistics and exact sums nowhere but where they say so themselves. Looked at is the compiler's
assembly; of zig's, which takes long, wheels/check.py looks at the machine code of the wheels.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
LOOPS = "gufunc/kernels/internal/loops"
FUSED = {
    "x86_64": re.compile(r"^\s*vfn?m(?:add|sub)", re.MULTILINE),
    "aarch64": re.compile(r"^\s*(?:fn?m(?:add|sub)|fml[as])\s", re.MULTILINE),
}
# What rules.ninja gives every C file, less -g, and -Werror.
FLAGS = [
    "-O2",
    "-fasynchronous-unwind-tables",
    "-fno-math-errno",
    "-fPIC",
    "-pthread",
    "-Werror",
]


def zig() -> str | None:
    """The Python that has ziglang: this one, or the one that builds wheels."""
    for python in (sys.executable, str(ROOT / ".venvs" / "wheels" / "bin" / "python")):
        if (
            os.access(python, os.X_OK)
            and subprocess.run([python, "-m", "ziglang", "version"], capture_output=True).returncode
            == 0
        ):
            return f"{python} -m ziglang cc -fno-sanitize=undefined"
    return None


def clang() -> str | None:
    """The newest clang that has half precision on x86: 15 or later."""
    found = [
        path
        for name in ("clang", *(f"clang-{n}" for n in range(30, 14, -1)))
        if (path := shutil.which(name))
    ]
    for path in found:
        told = subprocess.run([path, "-dumpversion"], capture_output=True, text=True).stdout
        if told and int(told.split(".")[0]) >= 15:
            return path
    return None


@cache
def compiler(name: str, machine: str) -> list[str]:
    """The command, or a skip that says what is missing."""
    here = os.uname().machine
    if name == "zig":
        command = zig()
        if command:
            return [*shlex.split(command), "-target", f"{machine}-linux-gnu.2.17"]
    elif name == "clang":
        command = clang()
        if command and machine != here and not Path(f"/usr/{machine}-linux-gnu/include").exists():
            pytest.skip(f"no C library for {machine} beside clang")
        if command:
            return [command, f"--target={machine}-linux-gnu"]
    else:
        command = shutil.which("gcc" if machine == here else f"{machine}-linux-gnu-gcc")
        if command:
            return [command]
    pytest.skip(f"no {name} for {machine} here")


def flags_of(room: str) -> list[str]:
    """What the room's #cgo lines add."""
    text = "".join(path.read_text() for path in sorted((ROOT / room).glob("*.go")))
    return " ".join(re.findall(r"^// #cgo CFLAGS: (.*)$", text, flags=re.MULTILINE)).split()


def told(command: list[str], source: str, *options: str) -> str:
    """What the compiler makes of a file; a warning is an error."""
    room = source.rpartition("/")[0]
    done = subprocess.run(
        [*command, *FLAGS, *flags_of(room), f"-I{room}", *options, source],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assembly(command: list[str], source: str) -> str:
    return told(command, source, "-S", "-o", "-")


two = pytest.mark.parametrize("name", ["gcc", "clang"])


# A kernel set: whether it is fused, by machine (None: not compiled for it).
SETS = {
    f"{LOOPS}/f64_base.c": {"x86_64": False, "aarch64": True},
    f"{LOOPS}/f32_base.c": {"x86_64": False, "aarch64": True},
    f"{LOOPS}/f64_avx2_amd64.c": {"x86_64": True},
    f"{LOOPS}/f32_avx2_amd64.c": {"x86_64": True},
    f"{LOOPS}/stats_f64_base.c": {"x86_64": False, "aarch64": False},
    f"{LOOPS}/stats_f32_base.c": {"x86_64": False, "aarch64": False},
    f"{LOOPS}/stats_f64_avx2_amd64.c": {"x86_64": False},
    f"{LOOPS}/stats_f32_avx2_amd64.c": {"x86_64": False},
}


def test_every_kernel_set_is_looked_at() -> None:
    assert set(SETS) == {f"{LOOPS}/{path.name}" for path in (ROOT / LOOPS).glob("*.c")} - {
        f"{LOOPS}/table.c"
    }


def cases() -> list[object]:
    """The sets of float32 are made of the same text and flags as those of float64."""
    return [
        pytest.param(
            source,
            machine,
            id=f"{Path(source).stem}-{machine}",
            marks=[pytest.mark.slow] if "f32" in source else [],
        )
        for source, machines in SETS.items()
        for machine in machines
    ]


@two
@pytest.mark.parametrize(("source", "machine"), cases())
def test_kernels_are_fused_as_the_rule_says(name: str, source: str, machine: str) -> None:
    found = len(FUSED[machine].findall(assembly(compiler(name, machine), source)))
    assert (found > 50) == SETS[source][machine] and (found == 0) != SETS[source][machine], (
        f"{found} fused instructions"
    )


@two
def test_an_avx2_set_uses_whole_registers(name: str) -> None:
    assert "%ymm" in assembly(compiler(name, "x86_64"), f"{LOOPS}/stats_f64_avx2_amd64.c")


PRAGMA = re.compile(r"GCC\s+target|attribute\s+push")


def test_instruction_sets_are_turned_on_for_both() -> None:
    """clang does not read gcc's pragmas: without its own, a set that calls itself AVX2 would be
    SSE2. One header says it to both.
    """
    assert PRAGMA.search('#pragma GCC target("avx2")\n') and PRAGMA.search(
        "#pragma clang attribute push("
    )
    texts = {
        f"{room}/{path.name}": path.read_text()
        for room in ROOMS
        for path in (ROOT / room).glob("*.[ch]")
    }
    assert sum("GB_TARGET(" in text for text in texts.values()) >= 7
    assert [name for name, text in texts.items() if PRAGMA.search(text)] == ["alloc/system.h"]


ROOMS = (
    "alloc",
    "cuda",
    "dlpack",
    "arrayinterface",
    "cudaarrayinterface",
    "transfer",
    "exact",
    "gufunc",
    LOOPS,
)


def test_clang_has_nothing_to_say() -> None:
    """gcc and zig build the wheels, without a warning. Left out is what needs a header that Go
    makes.
    """
    here = os.uname().machine
    for path in (path for room in ROOMS for path in sorted((ROOT / room).glob("*.c"))):
        if "_cgo_export.h" not in path.read_text() and not (
            path.stem.endswith("_amd64") and here != "x86_64"
        ):
            told(compiler("clang", here), path.relative_to(ROOT).as_posix(), "-fsyntax-only")


@pytest.mark.parametrize("name", ["gcc", "clang", "zig"])
def test_halves_say_that_a_number_was_too_large(name: str, tmp_path: Path) -> None:
    program = tmp_path / "casts"
    flags = [
        *flags_of("gufunc"),
        "-O2",
        "-Werror",
        "-o",
        str(program),
        "tests/build/casts.c",
        "-lm",
    ]
    subprocess.run([*compiler(name, os.uname().machine), *flags], cwd=ROOT, check=True, timeout=300)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(
    sys.version_info < (3, 13), reason="headers of Python before 3.13 know a GIL only"
)
def test_what_a_python_without_a_gil_compiles_is_compiled(tmp_path: Path) -> None:
    """No other build looks at it."""
    sys.path.insert(0, str(ROOT / "pyext"))
    import docstrings

    sys.path.remove(str(ROOT / "pyext"))
    (tmp_path / "docs.h").write_text(
        docstrings.header((ROOT / "gridbuf" / "_core.pyi").read_text())
    )
    includes = [
        f"-isystem{path}" for path in (tmp_path, np.get_include(), sysconfig.get_path("include"))
    ]
    options = [
        "-std=gnu11",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-Wno-missing-field-initializers",
    ]
    sources = [
        path
        for path in sorted((ROOT / "pyext").rglob("*.c"))
        if "Py_GIL_DISABLED" in path.read_text()
    ]
    assert any(path.name == "module.c" for path in sources)
    for path in sources:
        told(
            [os.environ.get("CC", "cc")],
            str(path.relative_to(ROOT)),
            *options,
            "-DPy_GIL_DISABLED",
            *includes,
        )
