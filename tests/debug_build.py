"""The extension once more, as gdb wants it, with a Go main of its own and a Go function that panics; built once for each state of the sources."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gridbuf

ROOT = Path(__file__).parent.parent
SOURCES = {".c", ".h", ".go", ".map", ".gz"}


def debug_build(folder: Path) -> Path:
    """A copy of the package in a folder of the caller's, with that extension; it serves every Python, for it has the limited API."""
    pytest.importorskip("setuptools", minversion="77")
    pytest.importorskip("ninja")
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    kept = ROOT / "build" / "debug"
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers of this run want it too
        stamp, extension = kept / "stamp", kept / "gridbuf" / "_core.abi3.so"
        if not extension.exists() or not stamp.exists() or stamp.read_text() != state():
            stamp.unlink(missing_ok=True)
            chosen = {
                "GRIDBUF_GO_MAIN": "./tests/own_main",
                "GRIDBUF_GO_TAGS": "gridbuf_panic",
                "GRIDBUF_CFLAGS": "-DGRIDBUF_PANIC",
            }
            env = {**os.environ, **chosen}
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
            subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
            stamp.write_text(state())
    others = shutil.ignore_patterns("_core*.so", "__pycache__")
    shutil.copytree(Path(gridbuf.__file__).parent, folder / "gridbuf", dirs_exist_ok=True, ignore=others)
    shutil.copy(extension, folder / "gridbuf")
    return folder


def state() -> str:
    """A hash of all that the extension is made of."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in ROOT.glob("[a-z]*/**/*")]
    paths = [Path(name) for name in sorted(names) if Path(name).suffix in SOURCES and not name.startswith(("build/", "dist/"))]
    contents = [(ROOT / path).read_bytes() for path in (Path("setup.py"), *paths) if (ROOT / path).is_file()]
    return hashlib.sha256(b"\0".join([*(str(path).encode() for path in paths), *contents])).hexdigest()
