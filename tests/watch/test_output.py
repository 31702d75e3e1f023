"""The report's forms: table, page, JSON and live; --apply; and what is said without the libraries
that it can look into.
"""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from watched import ROOT, UNTIL_SHOWN, python, watch

from gridbuf.watch import lines
from gridbuf.watch.recommendations import advice
from gridbuf.watch.table import applied_text, page, seconds, tables, text

PLACE = {"file": "/a/model.py", "line": 41, "text": "model.py:41", "source": "u = v[<0>]"}


def field(name: str, order: str, wanted: str, calls: int = 5) -> dict[str, Any]:
    return {
        "name": name, "shape": [40, 30, 20], "strides": [4800, 160, 8], "dtype": "float64",
        "order": order, "wanted": wanted, "dims": ["I", "J", "K"],
        "aligned": 16, "wants_aligned": 64, "padding": 0.125, "calls": calls, "made_by": [PLACE],
    }  # fmt: skip


def found(**changed: Any) -> dict[str, Any]:
    stencil = {
        "kind": "gt4py.cartesian", "name": "advect<T>", "backend": "gt:cpu_ifirst",
        "defined": PLACE, "called_by": [PLACE], "calls": 5,
        "seconds": 0.5, "median": 0.1, "least": 0.09,
        "fields": [field("u", "IJK", "KJI"), field("v", "IJK", "KJI"), field("w", "KJI", "KJI")],
        "measured": {"ratio": 13.1, "seconds": 0.1, "relaid_seconds": 0.1 / 13.1, "rounds": 7,
        "fields": ["u", "v"], "saves": 0.462},
    }  # fmt: skip
    copy = {
        "kind": "numpy.asarray",
        "why": "float64 to float32",
        "line": PLACE,
        "count": 7,
        "bytes": 700_000,
        "seconds": 0.02,
        "made_by": PLACE,
    }
    block = {
        "line": PLACE, "own": False, "count": 10, "bytes": 80_000, "seconds": 0.001,
        "page_faults": 20, "sizes": [],
        "pool": {"reused": 8, "saved": 0.2, "of": 0.3, "ratio": 3.1},
    }  # fmt: skip
    message = {
        "call": "Isend",
        "what": "start",
        "line": PLACE,
        "count": 3,
        "bytes": 240,
        "derived": 3,
        "datatypes": ["vector"],
        "seconds": 0.03,
        "packing": {
            "seconds": 0.02,
            "copyto": {"of": 0.02, "seconds": 0.01, "ratio": 2.0},
            "why": "",
        },
    }
    whole = {
        "program": ["model.py", "-x"], "seconds": 2.0, "stencils": [stencil], "copies": [copy],
        "allocations": [block], "messages": [message],
        "own": {"seconds": 0.01, "part": 0.005, "calls": 9, "seconds_each_call": 2e-6, "blocks": 10,
        "seconds_each_block": 3e-7}, "children": 0, "not_seen": ["what <others> do"],
    }  # fmt: skip
    return {**whole, **changed}


def test_advice_is_sorted_by_what_it_saves() -> None:
    said = advice(found())
    assert [round(line["saves"] or 0, 3) for line in said] == [0.462, 0.2, 0.02, 0.01]
    assert (
        said[0]["text"]
        == "u, v (model.py:41) are C-ordered, gt:cpu_ifirst wants KJI: advect<T> 13.1 times as"
        " fast; gb.zeros(..., backend='gt:cpu_ifirst')"
    )
    assert (
        "8 blocks" in said[1]["text"] and "from a pool 200 ms of this run less" in said[1]["text"]
    )
    assert (
        "copied 7 times" in said[2]["text"]
        and "make it float32 in the first place" in said[2]["text"]
    )
    assert "derived datatypes" in said[3]["text"]


def test_a_copy_whose_time_is_not_known_is_no_advice() -> None:
    copies = [{**found()["copies"][0], "seconds": None}]
    assert advice(found(stencils=[], allocations=[], messages=[], copies=copies)) == []
    assert "  ?\n" in text(found(copies=copies))


def test_a_name_is_told_once() -> None:
    """Of one that came from a line that is known, and from one that is not."""
    stencil = {
        **found()["stencils"][0],
        "fields": [
            {**field("u", "IJK", "KJI"), "made_by": []},
            field("u", "IJK", "KJI"),
            {**field("v", "IJK", "KJI"), "made_by": []},
        ],
    }
    (line,) = advice(found(stencils=[stencil], allocations=[], messages=[], copies=[]))
    assert line["text"].startswith("v; u (model.py:41) are C-ordered, ")


def test_at_most_ten_lines_and_none_that_is_not_worth_it() -> None:
    copies = [{**found()["copies"][0], "seconds": 0.001 * n} for n in range(1, 31)]
    said = advice(found(copies=copies))
    assert len(said) == 10
    assert advice(found(stencils=[], copies=copies[:2], allocations=[], messages=[])) == []
    slower = {
        **found()["stencils"][0],
        "measured": {"ratio": 0.9, "seconds": 0.1, "relaid_seconds": 0.11},
    }
    assert not any("advect" in line["text"] for line in advice(found(stencils=[slower])))
    no_faster = {
        **found()["stencils"][0],
        "measured": {"ratio": 1.04, "seconds": 1.04, "relaid_seconds": 1.0},
    }
    assert not any("advect" in line["text"] for line in advice(found(stencils=[no_faster])))
    right = {**found()["stencils"][0], "fields": [field("w", "KJI", "KJI")]}
    assert not any("advect" in line["text"] for line in advice(found(stencils=[right])))


@pytest.mark.parametrize(
    ("why", "kind", "told"),
    [
        (
            "aligned to 8 of 64 bytes",
            "jax.numpy.asarray",
            "copied 7 times.*gb.empty aligns what it makes$",
        ),
        (
            "asked for, aligned to 8 of 64 bytes",
            "jax.numpy.array",
            "gb.empty aligns what it makes, and jax.numpy.asarray shares that",
        ),
        ("Fortran order to C", "jax.numpy.asarray", "allocate it in the order"),
        ("copied", "torch.tensor", "torch.as_tensor, or torch.from_dlpack, shares it"),
        ("copied", "numpy.asarray", "no memory to share as it is: keep the result"),
        ("same layout", "numpy.array", "np.asarray, or copy=None, shares it"),
        ("Fortran order to C", "numpy.ravel", "allocate it in the order"),
        ("pickled", "pickle.dumps", "shared memory"),
    ],
)
def test_each_copy_has_its_own_remedy(why: str, kind: str, told: str) -> None:
    (line,) = advice(
        found(
            stencils=[],
            allocations=[],
            messages=[],
            copies=[{**found()["copies"][0], "why": why, "kind": kind}],
        )
    )
    assert re.search(told, line["text"]), line["text"]


@pytest.mark.parametrize(
    ("measured", "kind", "told"),
    [
        (
            None,
            "gt4py.next",
            (
                r"takes 500 ms; --measure shows the gain; gtx.zeros\(..., allocator=...\) of its"
                r" backend"
            ),
        ),
        (
            {"why": "u and v share memory"},
            "dace",
            "the gain was not measured: u and v share memory; np.ascontiguousarray once",
        ),
        (
            {"ratio": 1.2, "seconds": 1.2, "relaid_seconds": 1.0},
            "numba gufunc",
            "1.2 times as fast; np.ascontiguousarray once",
        ),
    ],
)
def test_each_stencil_has_its_own_remedy(measured: Any, kind: str, told: str) -> None:
    stencil = {**found()["stencils"][0], "measured": measured, "kind": kind}
    (line,) = advice(found(stencils=[stencil], allocations=[], messages=[], copies=[]))
    assert re.search(told, line["text"]), line["text"]


def test_the_table() -> None:
    whole = found()
    whole["advice"] = advice(whole)
    said = text(whole)
    assert said.startswith("gridbuf watch: model.py -x: 2 s\nwatching cost 0.5% of that: 10 ms")
    for words in (
        "advect<T>",
        "13.10 times as fast relaid",
        "40 x 30 x 20",
        "16 B of 64",
        "12.5%",
        "u = v[<0>]",
        "vector",
        "  1. u, v",
        "not seen: what <others> do",
    ):
        assert words in said, words
    many = found(copies=whole["copies"] * 30)
    assert "... and 18 more (--json has all)" in text(many)
    assert [title for title, *_ in tables(found(stencils=[], messages=[]))] == [
        "allocations",
        "hidden copies",
    ]


def test_the_table_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")  # one that has colours
    monkeypatch.delenv("NO_COLOR", raising=False)
    said = text(found(), color=True, width=200)
    assert "\x1b[" in said and "u = v[<0>]" in said and "┃" in said


@pytest.mark.parametrize(
    ("s", "words"),
    [
        (0, "0"),
        (2.5e-9, "2 ns"),
        (1.5e-6, "1.5 us"),
        (0.0123, "12.3 ms"),
        (1234.5, "1,234 s"),
        (-0.5, "-500 ms"),
    ],
)
def test_seconds(s: float, words: str) -> None:
    assert seconds(s) == words


def test_the_page_is_whole_and_nothing_in_it_is_markup() -> None:
    whole = found()
    whole["advice"] = advice(whole)
    said = page(whole)
    assert (
        said.startswith("<!doctype html>")
        and "<script" not in said
        and "http://" not in said.replace("http://www.w3.org", "")
    )
    assert "advect&lt;T&gt;" in said and "advect<T>" not in said and "u = v[&lt;0&gt;]" in said
    # Three rows of bars; of u and of v as it is and as it should be
    assert said.count("<svg") == 3 + 2 * 2
    assert "as it lies: IJK" in said and "wants it: KJI" in said


SOURCE = (
    "import sys\nimport numpy as np\na = np.zeros((200, 300))\nfor _ in range(5):\n    b ="
    " np.ascontiguousarray(a.T)\nprint('out', sys.argv[1:])\n"
)


def test_json_and_page_of_a_program(tmp_path: Path) -> None:
    seen = watch(SOURCE, "--html", "page.html", cwd=tmp_path, arguments=("--html", "x"))
    assert seen["stdout"] == "out ['--html', 'x']\n"
    said = (tmp_path / "page.html").read_text()
    assert "model.py:5" in said and "numpy.ascontiguousarray" in said
    assert (
        seen["program"] == ["model.py", "--html", "x"]
        and seen["seconds"] > 0
        and "messages" in seen
    )


@pytest.mark.slow
def test_live_without_a_terminal(tmp_path: Path) -> None:
    seen = watch("import numpy as np\na = np.zeros(9000)\n" + UNTIL_SHOWN, "--live", cwd=tmp_path)
    assert re.search(
        r"^gridbuf watch: \d+ s: 0 stencil calls, 1 blocks, 0 hidden copies$",
        seen["stderr"],
        flags=re.M,
    )


def test_apply(tmp_path: Path) -> None:
    seen = watch(
        "import numpy as np\na = np.ones((300, 300)) + 1\nprint(a.sum())\n", "--apply", cwd=tmp_path
    )
    applied = seen["applied"]
    assert applied["status"] == [0, 0] and applied["same_output"] and 2 <= applied["rounds"] <= 5
    assert applied["ratio"] == applied["seconds"] / applied["installed_seconds"] > 0
    assert 0 < applied["low"] <= applied["ratio"] * applied["rounds"] and applied["cpu"] > 0
    assert (
        "`gridbuf run --install numpy,gt4py`" in seen["stderr"] and seen["stdout"] == "180000.0\n"
    )


@pytest.mark.slow
def test_apply_leaves_out_imports_and_names_the_line_that_differs(tmp_path: Path) -> None:
    """A program whose library takes longer to import than its step, and that prints its memory
    handler.
    """
    library = tmp_path / "site"
    library.mkdir()
    (library / "slow_library.py").write_text("import time\ntime.sleep(0.5)\n")
    (tmp_path / "model.py").write_text(
        "import slow_library\nimport time\nimport numpy as"
        " np\nprint('first')\nprint(np._core.multiarray.get_handler_name())\ntime.sleep(0.1)\n"
    )
    # What is installed lies in a folder of the interpreter's: here that is this one.
    (tmp_path / "run.py").write_text(
        "import gridbuf.watch.benchmark as b, json, os, sys\n"
        "print(json.dumps(b.applied(['model.py'], '.', dict(os.environ), 0)))\n"
    )
    flag = "import sysconfig; plain = sysconfig.get_path; sysconfig.get_path = lambda n, *a, **k: "
    (tmp_path / "sitecustomize.py").write_text(
        f"{flag}{str(library)!r} if n == 'platlib' else plain(n, *a, **k)\n"
    )
    done = python(
        "run.py", cwd=tmp_path, PYTHONPATH=os.pathsep.join([str(tmp_path), str(library), str(ROOT)])
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0.1 <= found["seconds"] < 0.5 <= found["importing"], found
    assert not found["same_output"] and found["differs"][0] == 2 and found["status"] == [0, 0]


@pytest.mark.slow
def test_apply_is_of_the_program_that_was_watched(tmp_path: Path) -> None:
    """It begins with the environment and in the folder where the program began, and a run that ends
    otherwise says nothing of it.
    """
    source = (
        "import os, sys\nassert os.environ.get('GRIDBUF_TEST') is None\nos.environ['GRIDBUF_TEST']"
        " = '1'\nos.chdir('/')\n"
    )
    assert watch(source, "--apply", cwd=tmp_path)["applied"]["status"] == [0, 0]
    for end, status in (("len(sys.stdin.read())", 3), ("'why'", 1), ("None", 0), ("259", 3)):
        code = f"import sys\nsys.exit({end})"
        done = python("-m", "gridbuf", "watch", "--apply", "-c", code, cwd=tmp_path, stdin="abc")
        assert done.returncode == status
        assert (
            "it ends with 0 instead of 3" if "stdin" in end else "too short for a ratio"
        ) in done.stderr


@pytest.mark.slow
def test_who_interrupts_a_program_does_not_wait_for_it_again(tmp_path: Path) -> None:
    done = python(
        "-m",
        "gridbuf",
        "watch",
        "--apply",
        "--json",
        "o.json",
        "-c",
        "raise KeyboardInterrupt",
        cwd=tmp_path,
    )
    assert done.returncode == -signal.SIGINT and "applied" not in json.loads(
        (tmp_path / "o.json").read_text()
    )


def test_ctrl_c_while_it_is_measured_leaves_the_report(tmp_path: Path) -> None:
    code = (
        "import gridbuf.watch.benchmark as p\ndef f(*_): raise KeyboardInterrupt\np.add_savings = f"
    )
    done = python("-m", "gridbuf", "watch", "--json", "o.json", "-c", code, cwd=tmp_path)
    assert done.returncode == 0 and "the measurements at the end: interrupted" in done.stderr
    assert json.loads((tmp_path / "o.json").read_text())["seconds"] > 0


def test_what_fails_in_one_place_leaves_the_others(tmp_path: Path) -> None:
    code = "import gridbuf.watch.output as o\ndef f(*_, **__): return 1 / 0\no.text = f"
    done = python(
        "-m", "gridbuf", "watch", "--json", "o.json", "--html", "o.html", "-c", code, cwd=tmp_path
    )
    assert done.returncode == 0 and "gridbuf watch: the table failed:\nTraceback" in done.stderr
    assert (
        json.loads((tmp_path / "o.json").read_text())["seconds"] > 0
        and "</html>" in (tmp_path / "o.html").read_text()
    )


def again(**changed: Any) -> dict[str, Any]:
    """What --apply measured."""
    usual = {
        "installed": "numpy", "ratio": 2.0, "low": 1.9, "high": 2.1, "rounds": 3, "noisy": False,
        "seconds": 2.0, "installed_seconds": 1.0,
        "cpu": 1.9, "installed_cpu": 0.9, "page_faults": [74_000, 180], "importing": 3.2,
        "status": [0, 0], "same_output": True, "differs": None,
    }  # fmt: skip
    return {**usual, **changed}


def test_apply_says_how_far_to_trust_it_and_what_differs() -> None:
    assert (
        applied_text(again())
        == "2.00 times as fast with `gridbuf run --install numpy`, 1.90 to 2.10 in 3 rounds: 1 s"
        " against 2 s, without 3.2 s of imports, the least of 3; 900 ms of processor time"
        " against 1.9 s; 180 page faults against 74,000"
    )
    assert "rounds: a noisy machine: 1 s" in applied_text(again(noisy=True))
    said = applied_text(again(status=[0, 1], same_output=False, differs=[3, "time 1.23", None]))
    assert said.endswith(
        "they end with 1 and 0; their outputs differ, first in line 3: 'time 1.23' and no line"
    )
    assert "too short for a ratio" in applied_text(again(seconds=0.01, installed_seconds=0.005))
    assert applied_text({"why": "so"}) == "so"


@pytest.mark.parametrize(
    ("changed", "told", "saves"),
    [
        ({}, "from a pool 1 s of 2 s less by --apply, 200 ms of this run by estimate; ", 1.0),
        (
            {"low": 0.9, "high": 1.2},
            "less by estimate, which --apply neither shows nor denies (0.90 to 1.20 in 3 rounds); ",
            0.2,
        ),
        (
            {"noisy": True},
            "neither shows nor denies (1.90 to 2.10 in 3 rounds: a noisy machine); ",
            0.2,
        ),
        ({"seconds": 0.01}, "from a pool 200 ms of this run less; ", 0.2),
    ],
)
def test_the_advice_on_pools_agrees_with_apply(
    changed: dict[str, Any], told: str, saves: float
) -> None:
    """It is one gain, told once: --apply's, where that can be told from noise."""
    line = advice(found(applied=again(**changed), stencils=[], copies=[], messages=[]))[0]
    assert told in line["text"] and line["saves"] == pytest.approx(saves)


def test_what_apply_denies_is_no_advice() -> None:
    slower = again(ratio=0.8, low=0.78, high=0.83, seconds=1.0, installed_seconds=1.25)
    assert advice(found(applied=slower, stencils=[], copies=[], messages=[])) == []


def test_without_the_libraries_it_shows_numpy_s_part(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nclass No:\n    def find_spec(self, name, path=None, target=None):\n        if"
        " name.split('.')[0] in ('gt4py', 'jax', 'torch', 'mpi4py', 'dace', 'numba', 'rich'):\n    "
        "        raise ModuleNotFoundError(name)\nsys.meta_path.insert(0, No())\n"
    )
    (tmp_path / "model.py").write_text(SOURCE)
    done = python(
        "-m",
        "gridbuf",
        "watch",
        "--json",
        "o.json",
        "model.py",
        cwd=tmp_path,
        PYTHONPATH=f"{tmp_path}:{ROOT}",
    )
    assert done.returncode == 0 and done.stdout == "out []\n"
    assert (
        json.loads((tmp_path / "o.json").read_text())["copies"][0]["count"] == 5
        and "model.py:5" in done.stderr
    )


def test_libraries_that_nobody_imports_are_not_imported(tmp_path: Path) -> None:
    source = (
        "import sys\nprint(sorted({'gt4py', 'jax', 'torch', 'mpi4py', 'dace', 'numba', 'rich'} &"
        " set(sys.modules)))"
    )
    assert watch(source, cwd=tmp_path)["stdout"] == "[]\n"


def test_places_are_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lines.text((str(tmp_path / "a" / "b.py"), 3)) == "a/b.py:3"
    assert lines.text(("/usr/lib/x.py", 3)) == "/usr/lib/x.py:3"
    assert lines.text(("<stdin>", 1)) == "<stdin>:1" and lines.text(None) == "?"


@pytest.mark.slow
def test_the_demo(tmp_path: Path) -> None:
    for package in ("gt4py", "netCDF4", "iris_sample_data", "matplotlib", "rich"):
        pytest.importorskip(package)
    words = [
        "demo",
        "--backend",
        "numpy",
        "--steps",
        "4",
        "--size",
        "20",
        "20",
        "10",
        "--ranks",
        "0",
        "--output",
        str(tmp_path / "demo"),
    ]
    done = python(
        "-m",
        "gridbuf",
        "watch",
        "--json",
        "o.json",
        "-m",
        *words,
        cwd=tmp_path,
        timeout=300,
        PYTHONPATH=os.pathsep.join([str(Path(__file__).parents[2] / "examples"), str(ROOT)]),
    )
    assert done.returncode == 0 and "diffusion steps" in done.stdout, done.stderr
    (row,) = [
        s
        for s in json.loads((tmp_path / "o.json").read_text())["stencils"]
        if s["kind"] == "gt4py.cartesian"
    ]
    assert row["name"] == "diffusion" and {f["name"] for f in row["fields"]} == {"inp", "out"}
    assert any(
        Path(line["file"]).name == "measure.py" for f in row["fields"] for line in f["made_by"]
    )
