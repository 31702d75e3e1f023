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
    done = subprocess.run([sys.executable, "-c", POKE + code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("shape", ["(3,)", "(10, 10, 10)", "(300, 300)"])
@pytest.mark.parametrize("maker", ["gb.empty", "gb.zeros", "gb.Field.zeros"])
def test_a_write_past_the_end(maker: str, shape: str) -> None:
    code = f"a = {maker}({shape}, np.float32)\nnumber = gb.memory.buffer_id(a)\npoke(np.asarray(a).ctypes.data + a.nbytes)\ndel a"
    told = run(code)
    assert "write past the end of buffer #" in told and "it was made at <string>:5" in told
    assert run(code, debug=False) == ""


def test_a_write_into_freed_memory() -> None:
    code = "a = gb.empty((40, 40))\naddress = a.ctypes.data\ndel a\npoke(address + 800)\nb = gb.empty((40, 40))"
    told = run(code)
    assert "write into freed buffer #" in told and "of 12800 bytes" in told and "it was made at <string>:5" in told


def test_correct_programs_hear_nothing() -> None:
    code = """
import itertools, random
random.seed(3)
held = []
for i in range(3000):
    shape = tuple(random.choice([0, 1, 3, 17, 60]) for _ in range(random.randint(0, 3)))
    make = random.choice([gb.zeros, gb.empty, gb.Field.zeros, gb.ones])
    x = make(shape, random.choice([np.float64, np.int16, 'S3']), backend=random.choice(["C", "F", "gtmc", "dace:cpu"]))
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
