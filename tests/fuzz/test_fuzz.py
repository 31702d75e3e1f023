"""Every fuzzer's corpus, and some cases of its own from a fixed seed; that a failure is found, told
and can be repeated.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from in_child import python

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.py"))


def fuzz(*options: str, folder: Path = HERE) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(folder), *options], capture_output=True, text=True)


SLOW = {"programs": 12}  # a process for each case


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in NAMES]
)
def test_the_corpus_and_some_cases(name: str) -> None:
    done = fuzz(name, "--seed=1", f"--cases={SLOW.get(name, 150)}")
    assert done.returncode == 0, done.stdout[-8000:]


CRASHING = """
import os

def draw(rng):
    return {"n": rng.randrange(50), "big": rng.random()}

def check(case):
    if case["n"] == 7:
        FAILURE
"""


@pytest.mark.parametrize("failure", ["assert case['n'] != 7", "os.abort()"])
def test_a_failure_is_told_with_the_command_that_repeats_it(tmp_path: Path, failure: str) -> None:
    for name in ("__main__.py", "cases.py", "child.py", "parent.py"):
        (tmp_path / name).write_text((HERE / name).read_text())
    (tmp_path / "fuzz_sevens.py").write_text(CRASHING.replace("FAILURE", failure))
    done = fuzz("sevens", "--seed=3", "--cases=1000", "--failures=2", folder=tmp_path)
    assert done.returncode == 1 and done.stdout.count("FAILED sevens") == 2
    seed, case = re.search(r"--seed (\d+) --case (\d+)\n", done.stdout).groups()
    assert fuzz("sevens", f"--seed={seed}", f"--case={case}", folder=tmp_path).returncode == 1
    assert (
        fuzz("sevens", f"--seed={seed}", f"--case={int(case) - 1}", folder=tmp_path).returncode == 0
    )
    line = re.search(r"jsonl: (.*)\n", done.stdout)[1]
    assert '"n": 7' in line and fuzz("sevens", "--json", line, folder=tmp_path).returncode == 1
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "sevens.jsonl").write_text('{"n": 1}\n' + line + "\n")
    done = fuzz("sevens", "--cases=0", folder=tmp_path)
    assert done.returncode == 1 and "--corpus 2" in done.stdout


def test_a_case_depends_on_its_seed_and_number_alone() -> None:
    code = (
        "import sys, importlib; sys.path.insert(0, sys.argv[1]); import cases\n"
        "for name in cases.NAMES:\n"
        "    fuzzer = importlib.import_module('fuzz_' + name)\n"
        "    drawn = [cases.drawn(fuzzer, 5, n) for n in range(20)]\n"
        "    assert drawn[::-1] == [cases.drawn(fuzzer, 5, n) for n in reversed(range(20))], name\n"
        "    assert drawn != [cases.drawn(fuzzer, 6, n) for n in range(20)], name\n"
    )
    python(code, str(HERE))
