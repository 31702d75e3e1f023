"""Large blocks: zero pages, filling again and again, and temporaries that come and go, also beside
glibc's malloc with thresholds that keep them; and what blocks of mixed sizes take.
"""

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import glibc_peer
from measure import Case

SETUP = """
import numpy as np, gridbuf as gb
from gridbuf.interop.numpy import memory

n = (256, 256, 80)   # 42 MB of float64
big = (512, 512, 80)   # 168 MB

def ours(shape=n):
    a = gb.empty(shape)
    a[...] = 1.5

def numpys(shape=n):
    a = np.empty(shape)
    a[...] = 1.5

@memory()
def handled(shape=n):
    a = np.empty(shape)
    a[...] = 1.5

def expression(a=np.ones(n)):
    return ((a + 1.0) * 0.5 - a).ravel()[0]

in_our_memory = memory()(expression)
"""

CASES = [
    Case("zeros 42 MB, untouched / np.zeros", "gb.zeros(n)", "np.zeros(n)", SETUP, 1.2),
    Case(
        "np.ones / ones 42 MB",
        "gb.ones(n)",
        "np.ones(n)",
        SETUP,
        3.0,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "np.full / full 168 MB",
        "gb.full(big, 2.5)",
        "np.full(big, 2.5)",
        SETUP,
        3.0,
        faster=True,
        rounds=7,
        number=1,
    ),
    Case(
        "np.empty, write, drop / gb.empty 42 MB",
        "ours()",
        "numpys()",
        SETUP,
        2.0,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "the same, NumPy's handler / ours",
        "handled()",
        "numpys()",
        SETUP,
        2.0,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "(a + 1) * 0.5 - a, NumPy's handler / ours",
        "in_our_memory()",
        "expression()",
        SETUP,
        1.5,
        faster=True,
        rounds=9,
        number=1,
    ),
    Case(
        "zeros 42 MB of a used block, then written / np",
        "gb.zeros(n)[...] = 1.5",
        "np.zeros(n)[...] = 1.5",
        SETUP,
        1.2,
        rounds=9,
        number=1,
    ),
]

# Rows whose gain is page faults, of which glibc's variables save as many
KEPT = {
    "ones 42 MB": CASES[1],
    "full 168 MB": CASES[2],
    "empty, write, drop 42 MB": CASES[3],
    "(a + 1) * 0.5 - a, NumPy's handler": CASES[5],
}

# Blocks of mixed sizes, in processes of their own: two ranges and what seeds draw (mixed_sizes.py).
MIXTURES = ["1 256 4194304", "1 1048576 33554432", *map(str, range(6))]
WAYS = {"NumPy's": ("np", {}), "ours": ("gb", {}), "64M": ("gb", {"GRIDBUF_CACHE": "64M"})}
ROUNDS = 3


def _churn(way: str, mixture: str) -> dict[str, float]:
    which, setting = WAYS[way]
    script = Path(__file__).with_name("mixed_sizes.py")
    out = subprocess.run(
        [sys.executable, str(script), which, *mixture.split()],
        env=os.environ | setting,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(out.stdout)


def _ratios(mixture: str) -> dict[tuple[str, str], float]:
    """Of peak and processor time to NumPy's: minima of rounds whose order is drawn, since a process
    pays for the state in which the one before it left the machine's pages.
    """
    least: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        for way in random.sample(list(WAYS), len(WAYS)):
            for what, value in _churn(way, mixture).items():
                least[way, what] = min(least.get((way, what), math.inf), value)
    return {
        (way, what): least[way, what] / least["NumPy's", what]
        for way in ("ours", "64M")
        for what in ("peak", "cpu")
    }


def facts() -> list[tuple[str, float, float, str]]:
    """The worst mixture decides."""
    ratios = [_ratios(mixture) for mixture in MIXTURES]
    rows = [("ours", "peak", 1.5), ("ours", "cpu", 1.3), ("64M", "peak", 1.5), ("64M", "cpu", 1.3)]
    texts = {"peak": "most memory resident", "cpu": "processor time"}
    names = {"ours": "", "64M": ", GRIDBUF_CACHE=64M"}
    return [
        (
            f"mixed sizes, {texts[what]}, worst of {len(MIXTURES)} mixtures / malloc{names[way]}",
            max(ratio[way, what] for ratio in ratios),
            target,
            "",
        )
        for way, what, target in rows
    ] + glibc_peer.facts(KEPT)
