"""What the doctor says of MPI: of libraries played by a module of Python, healthy ones and others,
and of the one that is there.
"""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from eventually import eventually

from gridbuf import doctor
from gridbuf.distributed.ranks import shared_memory as sharing

PLAYED = """
import os, sys, time
THREAD_MULTIPLE, TAG_UB = 3, 0
def Get_library_version(): return "Played  MPI v1.2, and more,\\nsecond line\\0"
def Get_version(): return (3, 1)
class COMM_WORLD:
    @staticmethod
    def Get_attr(key): return {tag}
def Init_thread(level):
    os.write(1, b"noise of a library\\n")
    {init}
    return {level}
def Finalize(): print("more noise")
"""


def play(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    package, facts = folder / "mpi4py", folder / "mpi4py-9.8.dist-info"
    package.mkdir()
    facts.mkdir()
    (package / "__init__.py").write_text("def rc(**keywords): pass\n")
    (package / "MPI.py").write_text(text)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mpi4py\nVersion: 9.8\n")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    )
    monkeypatch.setattr(doctor, "version", lambda name: "9.8")


@pytest.mark.skipif(not sharing.machine(), reason="no memory to share here")
def test_a_healthy_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    play(tmp_path, monkeypatch, PLAYED.format(tag=2**20, init="pass", level=1))
    found = dict(doctor.mpi_entries())
    assert found.pop("mpirun")
    assert found == {
        "mpi4py": "9.8",
        "library": "Played MPI v1.2, and more  (MPI 3.1)",
        "thread level": "FUNNELED; the main thread alone exchanges",
        "largest tag": "1,048,576  (gridbuf needs 32,767)",
        "GPU memory": "it does not say whether it knows GPUs",
        "one machine": "messages lie in memory that both ranks have",
    }
    assert capfd.readouterr() == ("", "")


def test_where_no_memory_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "machine", str)
    assert (
        doctor._sharing()
        == "messages are sent: there is no memory that both ranks could have (memfd, /proc)"
    )
    monkeypatch.setenv(sharing.VARIABLE, "0")
    assert doctor._sharing() == "messages are sent: GRIDBUF_SHARED_MESSAGES=0"
    monkeypatch.setenv(sharing.VARIABLE, "no")
    assert "neither '0' nor '1'" in doctor._sharing()


def test_a_library_without_a_bound_for_tags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path, monkeypatch, PLAYED.format(tag=None, init="pass", level=3))
    found = dict(doctor.mpi_entries())
    assert found["largest tag"] == "not said"
    assert found["thread level"] == "MULTIPLE; any thread may exchange, one at a time"


class Patient(subprocess.Popen):  # type: ignore[type-arg]
    """A child whose time begins when its MPI does: Python may take as long to start."""

    began: Path

    def wait(self, timeout: float | None = None) -> int:
        assert timeout is None or eventually(self.began.exists)
        return super().wait(timeout)


HANGS = "open({began!r}, 'w').close(); {more}time.sleep(600)"


@pytest.mark.parametrize(
    ("init", "says"),
    [
        (HANGS, "it did not start within 0.1 s"),
        (
            HANGS.replace(
                "{more}", "__import__('subprocess').Popen(['sleep', '5'], start_new_session=True); "
            ),
            "it did not start within 0.1 s",
        ),
        ("sys.stderr.write('no network\\n'); os._exit(7)", "it ended with status 7: no network"),
        ("os.kill(os.getpid(), 11)", "it ended with status -11: noise of a library"),
        ("raise OSError('no daemon')", "it ended with status 1: OSError: no daemon"),
    ],
)
def test_a_library_that_does_not_start(
    init: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    Patient.began = tmp_path / "began"
    if hangs := "sleep" in init:
        monkeypatch.setattr(doctor.subprocess, "Popen", Patient)
    play(
        tmp_path,
        monkeypatch,
        PLAYED.format(
            tag=1, init=init.format(began=str(Patient.began), more="") if hangs else init, level=3
        ),
    )
    found = dict(doctor.mpi_entries(seconds=0.1 if hangs else 300))
    assert found["cannot be used"] == says
    assert found["library"].startswith("Played MPI") and "thread level" not in found
    assert capfd.readouterr() == ("", "")


def test_mpi4py_that_finds_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(
        tmp_path,
        monkeypatch,
        "raise RuntimeError('cannot load MPI library\\nlibmpi.so.40: no such file')\n",
    )
    assert dict(doctor.mpi_entries()) == {
        "mpi4py": (
            "9.8, which finds no MPI library: cannot load MPI library libmpi.so.40: no such file"
        )
    }


def test_without_mpi4py_there_is_one_line_and_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", missing)
    monkeypatch.setattr(doctor, "mpi_facts", lambda *_: pytest.fail("a process was started"))
    assert list(doctor.mpi_entries()) == [
        ("mpi4py", "not installed: grids have all their blocks in one process (pip install mpi4py)")
    ]
    assert "MPI" in dict(doctor.sections())


def test_the_library_of_this_machine() -> None:
    if find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed")
    found = dict(doctor.mpi_entries())
    if "library" not in found:
        pytest.skip(found["mpi4py"])
    assert "cannot be used" not in found and found["thread level"].split(";")[0] in doctor.LEVELS
    assert found["GPU memory"].startswith("it ")
    assert int(found["largest tag"].split()[0].replace(",", "")) >= 32767
