"""The command line, as a user types it."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import gridbuf as gb
from gridbuf import consumers, doctor, explain
from gridbuf.cli import main


def output(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_plan_prints_the_explanation_of_the_same_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, _ = output(
        capsys, "plan", "128", "128", "80", "--backend", "gt:cpu_ifirst", "--halo", "3", "3", "0"
    )
    plan = gb.plan((128, 128, 80), backend="gt:cpu_ifirst", halo=(3, 3, 0))
    assert status == 0
    assert out == explain.text(plan, halo=(3, 3, 0)) + "\n"


def test_a_shape_that_an_option_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["plan", "--halo", "3", "3", "0", "128", "128", "80"])
    assert (
        exit_.value.code == 2 and "shape: none was given; it goes first" in capsys.readouterr().err
    )


def test_plan_passes_every_option_on(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "plan 15 100 90 --dtype float32 --dims KJI --halo 0 1:2 2 --aligned-index 0 4 8 --layout 2"
        " 0 1 --byte-alignment 128 --padding 32"
    )
    plan = gb.plan(
        (15, 100, 90), "float32", dimensions="KJI", halo=(0, (1, 2), 2), aligned_index=(0, 4, 8),
        layout=(2, 0, 1), byte_alignment=128, padding=32
    )  # fmt: skip
    assert output(capsys, *words.split())[1] == explain.text(plan, halo=(0, (1, 2), 2)) + "\n"


def test_padding_yes_and_no(capsys: pytest.CaptureFixture[str]) -> None:
    for word, padding in (("yes", True), ("no", False)):
        out = output(capsys, "plan", "9", "9", "--backend", "gtmc", "--padding", word)[1]
        assert out == explain.text(gb.plan((9, 9), backend="gtmc", padding=padding)) + "\n"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("plan 3 4 --backend gtcpu", "gtcpu"),
        ("plan 3 4 --halo 1", "halo"),
        ("plan 3 4 --dims IP", "dimensions"),
        ("plan 3 4 --byte-alignment 3", "byte_alignment"),
        ("plan 3 4 --dtype nonsense", "nonsense"),
        ("plan -- -3", "shape"),
    ],
)
def test_a_wrong_request_is_one_line_and_a_status(
    words: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = output(capsys, *words.split())
    assert status == 2 and out == ""
    assert named in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        "",
        "plan",
        "plan x",
        "plan 3 --padding maybe",
        "plan 3 --halo 1:b",
        "plan 3 --device gpu:x",
        "nothing",
    ],
)
def test_what_cannot_be_parsed_exits_with_2(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(words.split())
    assert exit_.value.code == 2
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["doctor --foo", "plan 4 --backnd C", "distributed 8 8 --rank 2 --foo 3"]
)
def test_an_unknown_option_shows_the_usage_of_its_command(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith(f"usage: gridbuf {words.split()[0]} [-h]"), (
        said
    )
    assert re.search(r"gridbuf \w+: error: unrecognized arguments: (--foo|--backnd C)", said), said


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--help"])
    assert exit_.value.code == 0
    assert {"doctor", "plan", "watch"} <= set(capsys.readouterr().out.split())


# ---- doctor ----


def test_doctor_says_what_this_machine_has(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = output(capsys, "doctor")
    found = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert status == 0
    assert gb.__version__ in found["gridbuf"]
    assert version("numpy") in found["NumPy"]
    assert sys.executable in found["Python"]
    assert found["threads"].split()[1] == str(gb.get_num_threads())
    assert "live_bytes" in found and "CUDA" in found


def test_doctor_says_what_was_found_as_the_library_was_loaded() -> None:
    found = {title: dict(entries) for title, entries in doctor.sections()}
    page, huge, boundary, copies, gufuncs = gb._core.machine()
    assert page == os.sysconf("SC_PAGE_SIZE") and boundary % page == 0 and huge >= page
    assert copies in {"plain", "sse2", "avx2", "avx512", "neon"} and gufuncs in {
        "base",
        "avx2",
        "neon",
    }
    assert found["processor"]["kernels"] == f"{copies} for copies, {gufuncs} for gufuncs"
    assert found["memory"]["page"] == explain.nbytes_text(page)


def test_doctor_names_installed_and_missing_consumers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "packages", lambda: ("numpy", "surely-not-a-package"))
    entries = dict(dict(doctor.sections())["consumers"])
    assert entries == {"numpy": version("numpy"), "not installed": "surely-not-a-package"}


def test_doctor_imports_no_consumer() -> None:
    code = (
        "import sys; from gridbuf.cli import main; main(['doctor']); print(sorted(set(sys.modules)"
        " & {'gt4py', 'jax', 'dace', 'matplotlib', 'rich', 'netCDF4', 'xarray'}))"
    )
    assert run(["-c", code]).stdout.splitlines()[-1] == "[]"


def test_doctor_says_why_there_is_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeError("there is no CUDA driver on this machine")

    monkeypatch.setattr(gb.cuda, "devices", missing)
    assert doctor.cuda_driver().startswith("none: there is no CUDA driver on this machine")


def test_doctor_asks_the_driver_that_gridbuf_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    device = gb.cuda.DeviceInfo(0, "GPU", 13010, (9, 0), True, True, True, False, 1, 1)
    monkeypatch.setattr(gb.cuda, "devices", lambda: (device, device))
    assert doctor.cuda_driver() == "13.1, 2 devices"


def test_importing_gridbuf_loads_no_cuda() -> None:
    maps = run(["-c", "import gridbuf; print('libcuda' in open('/proc/self/maps').read())"]).stdout
    assert maps.strip() == "False"


# ---- the process ----


def run(words: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=300,
    )


def test_python_dash_m(tmp_path: Path) -> None:
    done = run(["-m", "gridbuf", "plan", "4", "--backend", "none-such"])
    assert done.returncode == 2
    assert done.stderr.startswith("gridbuf plan: backend") and "Traceback" not in done.stderr
