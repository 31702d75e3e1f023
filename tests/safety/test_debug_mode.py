"""GRIDBUF_DEBUG=1: a write past the end or into freed memory is told with the buffer's origin."""

import os
import subprocess
import sys

import pytest

POKE = """
import ctypes, numpy as np, gridbuf as gb
def poke(address):
    ctypes.memset(address, 1, 1)
"""


def run(code: str, debug: bool = True) -> str:
    env = {**os.environ, "GRIDBUF_DEBUG": "1" if debug else "0"}
    done = subprocess.run(
        [sys.executable, "-c", POKE + code], env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("shape", ["(3,)", "(10, 10, 10)", "(300, 300)"])
@pytest.mark.parametrize("maker", ["gb.empty", "gb.zeros", "gb.Field.zeros"])
def test_a_write_past_the_end(maker: str, shape: str) -> None:
    code = (
        f"a = {maker}({shape}, np.float32)\nnumber ="
        " gb.memory.buffer_id(a)\npoke(np.asarray(a).ctypes.data + a.nbytes)\ndel a"
    )
    told = run(code)
    assert "write past the end of buffer #" in told and "it was made at <string>:5" in told
    assert run(code, debug=False) == ""


def test_a_write_into_freed_memory() -> None:
    code = (
        "a = gb.empty((40, 40))\naddress = a.ctypes.data\ndel a\npoke(address + 800)\nb ="
        " gb.empty((40, 40))"
    )
    told = run(code)
    assert (
        "write into freed buffer #" in told
        and "of 12800 bytes" in told
        and "it was made at <string>:5" in told
    )


def test_the_report_names_the_shape_of_a_plan_of_ours() -> None:
    told = run(
        "a = gb.Field.zeros((7, 30), np.int32, dims='JI')\npoke(np.asarray(a).ctypes.data + 840 +"
        " 5)\ndel a"
    )
    assert (
        "of 840 bytes, at byte 845: " in told
        and "(7, 30)" in told
        and "int32" in told
        and "JI" in told
    )
    told = run(
        "a = gb.empty((40, 41), 'i2')\naddress = a.ctypes.data\ndel a\npoke(address + 800)\nb ="
        " gb.empty((40, 41), 'i2')"
    )
    assert "write into freed buffer #" in told and "(40, 41)" in told and "int16" in told
    assert told.count("\n") == 1


def test_numpy_s_arrays_are_guarded_too() -> None:
    code = (
        "from gridbuf.interop.numpy import memory\nwith memory():\n    a = np.zeros(100,"
        " 'f4')\n{}poke(a.ctypes.data + {})\ndel a"
    )
    told = run(code.format("", 400))
    assert (
        "write past the end of buffer #" in told
        and "of 400 bytes, at byte 400" in told
        and "<string>:7" in told
    )
    assert (
        run(code.format("a.resize(50, refcheck=False)\na.resize(101, refcheck=False)\n", 400)) == ""
    )
    assert "of 404 bytes, at byte 404" in run(code.format("a.resize(101, refcheck=False)\n", 404))


@pytest.mark.parametrize("end", ["gb.memory.trim()", "pass"], ids=["given back", "at the end"])
@pytest.mark.parametrize("shape", ["(40, 41)", "(400, 410)"])
def test_a_write_into_memory_that_nobody_takes_again(shape: str, end: str) -> None:
    told = run(f"a = gb.empty({shape})\naddress = a.ctypes.data\ndel a\npoke(address + 800)\n{end}")
    assert (
        told.count("\n") == 1
        and "write into freed buffer #" in told
        and "at byte 800: " in told
        and shape in told
    )


def test_a_write_past_the_end_of_a_buffer_that_lives_to_the_end() -> None:
    told = run("import sys\nsys.kept = a = gb.empty((40,))\npoke(a.ctypes.data + 321)")
    assert (
        told.count("\n") == 1
        and "write past the end of buffer #" in told
        and "at byte 321: " in told
    )


def test_correct_programs_hear_nothing() -> None:
    code = """
import itertools, random
random.seed(3)
held = []
for i in range(3000):
    shape = tuple(random.choice([0, 1, 3, 17, 60]) for _ in range(random.randint(0, 3)))
    make = random.choice([gb.zeros, gb.empty, gb.Field.zeros, gb.ones])
    x = make(shape, random.choice([np.float64, np.int16, 'S3']),
        backend=random.choice(["C", "F", "gtmc", "dace:cpu"]))
    np.asarray(x)[...] = b"ab" if np.asarray(x).dtype.kind == "S" else 7
    held.append(x)
    if len(held) > 30: held.pop(random.randrange(30))
big = gb.zeros((3000, 3000)); assert not big.any(); big[...] = 1; del big
assert not gb.zeros((3000, 3000)).any()
held.clear()
"""
    assert run(code) == ""


def test_memory_that_was_never_written_is_poisoned() -> None:
    run("a = gb.ones((50, 50))\ndel a\nassert (gb.empty((50, 50)).view(np.uint8) == 0xDB).all()")
