"""The command in Go, cmd/gridbuf: what it prints is what `python -m gridbuf` prints."""

import os
import subprocess

import pytest
from share_server import command

import gridbuf as gb
from gridbuf.cli import main

PLANS = [
    "128 128 80 --backend gt:cpu_ifirst --halo 3 3 0",
    "12 --dtype int8",
    "12 12 7 2 --layout 0 K J I --halo 1 1:2 0 0",
    "12 12 7 2 --layout 3 1 2 0",
    "12 12 --layout 4294967296 1",
    "5 6 7 --device gpu --backend gt:gpu",
    "5 6 7 --device gpu:1 --memory managed",
    "5 6 7 --axes KJI --layout 2 1 0 --padding yes",
    "5 6 7 --dims=KJ0 --padding no --backend gtmc",
    "5 6 7 --memory pinned --padding 16",
    "5 6 --aligned-index 1 2 --byte-alignment 128 --dtype f4",
    "4 5 6 --dimensions IJK --dtype complex128 --backend F",
    "0 3",
    "-1",
]


@pytest.fixture(scope="module", autouse=True)
def program() -> None:
    """The program is built before the first test is timed."""
    command()


def go(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [command(), *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("words", PLANS)
def test_plans_are_those_of_python(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["plan", *words.split()])
    python, ours = capsys.readouterr(), go("plan", *words.split())
    assert (ours.stdout, ours.stderr, ours.returncode) == (python.out, python.err, status)


def test_the_standing_backend(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("4 5 6", "4 5 6 --layout KIJ"):
        ours = go("plan", *words.split(), GRIDBUF_BACKEND="gtmc")
        if "--layout" not in words:
            words += " --backend gtmc"
        main(["plan", *words.split()])
        assert ours.stdout == capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plan", "shape: none was given"),
        ("plan 5 x", 'shape: "x" is not a number'),
        ("plan 5 --halo 1 2", "--halo: 2 entries for 1 indices"),
        ("plan 5 --halo x", '--halo: "x" is not'),
        ("plan 5 --halo -1", '--halo: "-1" is not'),
        ("plan 5 --dtype x", '--dtype: "x" is not known'),
        ("plan 5 --padding x", '--padding: "x" is not'),
        ("plan 5 --device tpu", '--device: "tpu" is not'),
        ("plan 5 --device gpu:", '--device: "gpu:" is not'),
        ("plan 5 --memory x", '--memory: "x" is not'),
        ("plan 5 6 --layout IK", '--layout: "IK" does not name the indices IJ'),
        ("plan 5 6 --layout IX", '--layout: dimensions: "X" is not a dimension'),
        ("plan 5 --aligned-index x", '--aligned-index: "x" is not a number'),
        ("plan 5 --backend x", 'backend: "x" is not known; known are C, F,'),
        ("plan 5 --byte-alignment 3", "byte_alignment: 3 is not allowed"),
        ("plan 5 --nonsense", "flag provided but not defined: -nonsense"),
        ("presets x", '"x": no arguments are expected'),
        ("share unix:/tmp/x", "address, name: expected"),
        ("share /tmp/x T 4", 'address: "/tmp/x"; give "unix:"'),
        ("share unix:/tmp/no/such/x T 4", "no such file or directory"),
        ("share unix:/tmp/x T 4 --mode 8", '--mode: "8" is not an octal number'),
        ("share unix:/tmp/x T 4 --device gpu", "processes share plain memory of the host"),
        ("nonsense", '"nonsense" is no command'),
        ("", "usage: gridbuf COMMAND"),
    ],
)
def test_wrong_words(words: str, said: str) -> None:
    done = go(*words.split())
    assert done.returncode == 2 and said in done.stderr and not done.stdout


def test_presets_devices_and_help() -> None:
    presets = go("presets").stdout
    names = [line.split()[0] for line in presets.splitlines()]
    assert {"C", "gtmc"} < set(names) <= set(gb.backends())  # other tests register theirs
    assert "gtmc                 JKI, the largest stride first rows of 8 items on cpu" in presets
    devices = go("devices", GRIDBUF_LIBCUDA="/no/such/library", GRIDBUF_NUM_THREADS="3").stdout
    assert "3 threads share large work" in devices and "gpu    none: " in devices
    for words in (["--help"], ["plan", "--help"], ["share", "-h"], ["presets", "--help"]):
        done = go(*words)
        assert done.returncode == 0 and done.stdout.startswith("usage: gridbuf"), words
