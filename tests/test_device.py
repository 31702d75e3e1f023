"""Device, pinned and managed memory on the fake driver: tests/device in a process of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FAKE = HERE.parent / "cuda" / "fake" / "build.sh"


def test_on_the_fake_driver(tmp_path: Path) -> None:
    if not FAKE.exists() or not (shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("the fake driver is built from the source tree with a C compiler")
    library = tmp_path / "libfakecuda.so"
    subprocess.run(["sh", str(FAKE), str(library)], check=True)
    env = os.environ | {"GRIDBUF_DEVICE_TESTS": "fake", "GRIDBUF_LIBCUDA": str(library), "FAKE_CUDA": "devices=2"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "device")]
    done = subprocess.run(command, env=env, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]


def test_importing_and_using_the_host_touches_no_driver(tmp_path: Path) -> None:
    trap = tmp_path / "libtrap.so"
    source = tmp_path / "trap.c"
    source.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void t(void) { abort(); }\n")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(trap), str(source)], check=True)
    code = (
        "import gridbuf as gb, numpy as np\n"
        "a = gb.zeros((4, 5), backend='gt:gpu', device='cpu')\n"
        "f = gb.Field(a); g = f.to(dims='JI'); gb.copyto(g, 1.0); np.from_dlpack(g); gb.plan((4, 5), backend='gt:gpu')\n"
        "gb.memory.stats(); gb.memory.trim(); gb.memory.report(); gb.cuda.stream(2)\n"
        "assert not gb._core.cuda_started()\n"
    )
    env = os.environ | {"GRIDBUF_LIBCUDA": str(trap)}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
    broken = subprocess.run([sys.executable, "-c", "import gridbuf as gb; gb.cuda.available()"], env=env, capture_output=True)
    assert broken.returncode == -6, "the trap is what it is meant to be"


def test_doctor_looks_at_the_driver_that_gridbuf_uses(tmp_path: Path) -> None:
    if not FAKE.exists():
        pytest.skip("needs the source tree")
    library = tmp_path / "libfakecuda.so"
    subprocess.run(["sh", str(FAKE), str(library)], check=True)
    code = "from gridbuf import doctor; print(doctor.cuda_driver())"
    for path, words in ((str(library), "12.4, 3 devices"), ("/nowhere/libcuda.so", "GRIDBUF_LIBCUDA names /nowhere/libcuda.so")):
        env = os.environ | {"GRIDBUF_LIBCUDA": path, "FAKE_CUDA": "devices=3"}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert words in done.stdout


@pytest.mark.parametrize(
    ("setting", "words"),
    [({"GRIDBUF_LIBCUDA": "/nowhere/libcuda.so.1"}, "driver"), ({"FAKE_CUDA": "version=9000"}, "old"), ({"FAKE_CUDA": "devices=0"}, "GPU"),
     ({"FAKE_CUDA": "init=100"}, "GPU")],
)  # fmt: skip
def test_what_is_missing_has_a_message_of_its_own(setting: dict[str, str], words: str, tmp_path: Path) -> None:
    if not FAKE.exists():
        pytest.skip("needs the source tree")
    library = tmp_path / "libfakecuda.so"
    subprocess.run(["sh", str(FAKE), str(library)], check=True)
    code = (
        "import gridbuf as gb\n"
        "assert not gb.cuda.available()\n"
        "for call in (gb.cuda.devices, lambda: gb.Field.empty(3, device='gpu'), lambda: gb.empty(3, memory='pinned'),\n"
        "             lambda: gb.Field.zeros(3, memory='managed'), lambda: gb.empty(3, memory='managed')):\n"
        "    try: call()\n"
        "    except RuntimeError as error: print(error)\n"
        "    else: raise SystemExit(1)\n"
    )
    env = os.environ | {"GRIDBUF_LIBCUDA": str(library)} | setting
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    lines = set(done.stdout.splitlines())
    assert done.returncode == 0 and len(lines) == 1 and words in lines.pop(), done.stdout + done.stderr
