"""What gridbuf does where a driver is missing, old or not needed. The tests of device memory itself
are in tests/device, which tests/device.sh runs on the fake driver.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from in_child import python

FAKE = Path(__file__).resolve().parents[2] / "cuda" / "fake" / "build.sh"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The fake driver."""
    if not FAKE.exists() or not shutil.which(os.environ.get("CC", "cc")):
        pytest.skip("the fake driver is built from the source tree with a C compiler")
    library = tmp_path_factory.mktemp("driver") / "libfakecuda.so"
    subprocess.run(["sh", str(FAKE), str(library)], check=True)
    return str(library)


def test_importing_and_using_the_host_touches_no_driver(tmp_path: Path) -> None:
    trap = tmp_path / "libtrap.so"
    source = tmp_path / "trap.c"
    source.write_text(
        "#include <stdlib.h>\n__attribute__((constructor)) static void t(void) { abort(); }\n"
    )
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("needs a C compiler")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(trap), str(source)], check=True)
    code = (
        "import gridbuf as gb, numpy as np\na = gb.zeros((4, 5), backend='gt:gpu', device='cpu')\nf"
        " = gb.Field(a); g = f.to(dims='JI'); gb.copyto(g, 1.0); np.from_dlpack(g); gb.plan((4, 5),"
        " backend='gt:gpu')\ngb.memory.stats(); gb.memory.trim(); gb.memory.report();"
        " gb.cuda.stream(2)\nassert not gb._core.cuda_started()\n"
    )
    python(code, GRIDBUF_LIBCUDA=str(trap))
    env = os.environ | {"GRIDBUF_LIBCUDA": str(trap)}
    broken = subprocess.run(
        [sys.executable, "-c", "import gridbuf as gb; gb.cuda.available()"],
        env=env,
        capture_output=True,
    )
    assert broken.returncode == -6, "the trap is what it is meant to be"


def test_doctor_looks_at_the_driver_that_gridbuf_uses(driver: str) -> None:
    code = "from gridbuf import doctor; print(doctor.cuda_driver())"
    for path, words in (
        (driver, "12.4, 3 devices"),
        ("/nowhere/libcuda.so", "GRIDBUF_LIBCUDA names /nowhere/libcuda.so"),
    ):
        assert words in python(code, GRIDBUF_LIBCUDA=path, FAKE_CUDA="devices=3")


@pytest.mark.parametrize(
    ("setting", "words"),
    [({"GRIDBUF_LIBCUDA": "/nowhere/libcuda.so.1"}, "driver"),
    ({"FAKE_CUDA": "version=9000"}, "old"), ({"FAKE_CUDA": "devices=0"}, "GPU"),
     ({"FAKE_CUDA": "init=100"}, "GPU")],
)  # fmt: skip
def test_what_is_missing_has_a_message_of_its_own(
    setting: dict[str, str], words: str, driver: str
) -> None:
    code = (
        "import gridbuf as gb\nassert not gb.cuda.available()\nfor call in (gb.cuda.devices,"
        " lambda: gb.Field.empty(3, device='gpu'), lambda: gb.empty(3, memory='pinned'),\n         "
        "    lambda: gb.Field.zeros(3, memory='managed'), lambda: gb.empty(3, memory='managed')):\n"
        "    try: call()\n    except RuntimeError as error: print(error)\n    else: raise"
        " SystemExit('no error')\n"
    )
    lines = set(python(code, **({"GRIDBUF_LIBCUDA": driver} | setting)).splitlines())
    assert len(lines) == 1 and words in lines.pop()
