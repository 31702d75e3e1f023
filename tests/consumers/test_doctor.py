"""`python -m gridbuf doctor --consumers`, as a user types it."""

import sys

import pytest

from gridbuf import consumers
from gridbuf.cli import main
from gridbuf.consumers import report
from gridbuf.consumers.report import expected, tabulate


def test_it_prints_what_the_documentation_says(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numpy", minversion="2.1")
    assert main(["doctor", "--consumers", "numpy dlpack", "CTypes"]) == 0
    captured = capsys.readouterr()
    for row in tabulate(answer for answer in expected() if answer.name == "NumPy DLPack").rows:
        assert any(
            line.split()[:3] == ["NumPy", "DLPack", row[1]] and line.count("yes") >= 9
            for line in captured.out.splitlines()
        )
    assert f"tried: NumPy DLPack {consumers.load('NumPy DLPack').version()}, ctypes" in captured.out
    assert "[1] NumPy's DLPack has no bfloat16; `field.numpy()`" in captured.out
    assert captured.err.splitlines()[0] == "NumPy DLPack: 44 of 48 cells shared without a copy"


def test_what_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        consumers.load("CuPy").start()
    except consumers.Missing as error:
        assert main(["doctor", "--consumers", "CuPy"]) == 0
        assert f"skipped: CuPy: {error}" in capsys.readouterr().out
    else:
        pytest.skip("CuPy works here")


def test_an_unknown_name_is_a_wrong_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--consumers", "TensorFlow"]) == 2
    assert "--consumers: 'TensorFlow' is not among NumPy, " in capsys.readouterr().err


def test_a_crash_over_there_is_a_line_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert main(["doctor", "--consumers", "NumPy"]) == 1
    out = capsys.readouterr().out
    assert (
        "WRONG [1]" in out
        and "[1] unexpected: its process ended with status 1: it said nothing" in out
    )


def test_a_surprise_is_one() -> None:
    numpy = consumers.load("NumPy DLPack")
    cell = consumers.Cell("take", "C", "bfloat16")
    for result in (
        consumers.Result("yes"),
        consumers.Result("no", "another reason"),
        consumers.Result("wrong", "a copy"),
    ):
        assert report.surprising([report._answer(numpy, cell, result)])
    assert not report.surprising(
        [report._answer(numpy, cell, consumers.Result("no", "Unsupported dtype"))]
    )
