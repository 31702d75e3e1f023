"""The extension once more, as gdb wants it, with a Go main from another module and a Go function
that panics.

It is compiled with the headers of the newest Python of this machine, whichever suite comes first,
and every Python's suite runs it: so its tests also show that the limited API holds from the newest
headers to the oldest Python.
"""

import fcntl
import functools
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import gridbuf

ROOT = Path(__file__).parents[2]
SOURCES = {".c", ".h", ".go", ".map", ".ptx"}


def debug_build(folder: Path) -> Path:
    """A copy of the package in a folder of the caller's, with that extension; it serves every
    Python, for it has the limited API.
    """
    need_setuptools()
    pytest.importorskip("ninja")
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    kept = ROOT / ".venvs" / "debug"  # make clean leaves it: its stamp is a hash of all sources
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers of this run want it too
        stamp, extension = kept / "stamp", kept / "gridbuf" / Path(gridbuf._core.__file__).name
        if not extension.exists() or not stamp.exists() or stamp.read_text() != state():
            stamp.unlink(missing_ok=True)
            flags = f"{os.environ.get('GRIDBUF_CFLAGS', '')} -DGRIDBUF_PANIC"
            env = {
                **os.environ,
                "GRIDBUF_GO_TAGS": "gridbuf_panic",
                "GRIDBUF_CFLAGS": flags,
                "CPATH": newest_headers(),
            }
            command = [
                sys.executable,
                "setup.py",
                "-q",
                "build_ext",
                "--debug",
                "--build-lib",
                str(kept),
                "--build-temp",
                str(kept / "temp"),
            ]
            with tempfile.TemporaryDirectory() as outside:
                env |= own_module(Path(outside))
                subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
            stamp.write_text(state())
    others = shutil.ignore_patterns("_core*.so", "_go.so", "__pycache__")
    shutil.copytree(
        Path(gridbuf.__file__).parent, folder / "gridbuf", dirs_exist_ok=True, ignore=others
    )
    for library in (extension, extension.with_name("_go.so")):
        shutil.copy(library, folder / "gridbuf")
    return folder


def need_setuptools() -> None:
    """Skip without a setuptools that builds this. It is not imported: on Python 3.11 that fails
    once distutils has been.
    """
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("setuptools is not installed")
    if int(version.split(".")[0]) < 77:
        pytest.skip(f"setuptools {version} is older than 77")


@functools.cache
def newest_headers() -> str:
    """The folder of Python.h of the newest Python that the wheel serves. CPATH comes before the
    build's own -isystem.
    """
    pythons = subprocess.run(
        [sys.executable, ROOT / "wheels" / "interpreters.py"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    for line in reversed(pythons):
        python = line.split()[1]
        folder = subprocess.run(
            [python, "-c", code], check=True, capture_output=True, text=True
        ).stdout.strip()
        if (Path(folder) / "Python.h").exists():
            return folder
    pytest.skip("no Python here has its headers")


def own_module(folder: Path) -> dict[str, str]:
    """A module of its own with a main for the extension, in a workspace with the checkout, as
    docs/go.md has it; what names them.
    """
    main = folder / "mine" / "core"
    main.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "build" / "own_main" / "main.go", main)
    (folder / "mine" / "go.mod").write_text("module mine\n\ngo 1.26\n")
    (folder / "go.work").write_text(f"go 1.26\n\nuse (\n\t{ROOT}\n\t./mine\n)\n")
    return {
        "GOWORK": str(folder / "go.work"),
        "GRIDBUF_GO_MAIN": os.path.relpath(main.resolve(), ROOT),
    }


def state() -> str:
    """A hash of all that the extension is made of."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    names = (
        listed.stdout.split()
        if listed.returncode == 0
        else [str(p.relative_to(ROOT)) for p in ROOT.glob("[a-z]*/**/*")]
    )
    paths = [
        Path(name)
        for name in sorted(names)
        if Path(name).suffix in SOURCES and not name.startswith(("build/", "dist/"))
    ]
    contents = [
        (ROOT / path).read_bytes() for path in (Path("setup.py"), *paths) if (ROOT / path).is_file()
    ]
    named = [newest_headers().encode(), *(str(path).encode() for path in paths)]
    return hashlib.sha256(b"\0".join([*named, *contents])).hexdigest()
