"""gt4py's own examples in our own words, under watch: they print what they print, and their
stencils, fields and lines are told.
"""

import json
import runpy
import shutil
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from watched import number, python

PROGRAMS = Path(__file__).parent / "programs"


def printed(program: Path, backend: str) -> str:
    """What a program prints here, where gt4py has been imported."""
    with (
        redirect_stdout(StringIO()) as said,
        warnings.catch_warnings(),
        pytest.MonkeyPatch.context() as patch,
    ):
        warnings.simplefilter("ignore")
        patch.setattr(sys, "argv", [str(program), backend])
        runpy.run_path(str(program), run_name="__main__")
    return said.getvalue()


def both(folder: Path, name: str, backend: str, *options: str) -> dict[str, Any]:
    """The report, after the program has printed under watch what it prints without."""
    program = PROGRAMS / f"{name}.py"
    plain = printed(program, backend)
    command = (
        "-W",
        "ignore",
        "-m",
        "gridbuf",
        "watch",
        *options,
        "--json",
        "report.json",
        program,
        backend,
    )
    ours = python(*command, cwd=folder, timeout=300)
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == plain and plain.count("e+") + plain.count("e-") > 0
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    found["source"] = program.read_text()
    return found


def made(found: dict[str, Any], stencil: str, field: str) -> set[int]:
    """The lines that allocated a field of a stencil."""
    (row,) = [s for s in found["stencils"] if s["name"] == stencil]
    return {line["line"] for f in row["fields"] if f["name"] == field for line in f["made_by"]}


@pytest.mark.parametrize(
    "backend", ["numpy", pytest.param("gt:cpu_ifirst", marks=pytest.mark.slow)]
)
def test_horizontal_diffusion(tmp_path: Path, backend: str) -> None:
    pytest.importorskip("gt4py.cartesian")
    if backend != "numpy" and shutil.which("g++") is None:
        pytest.skip("no C++ compiler")
    found = both(tmp_path, "horizontal_diffusion", backend, "--measure")
    (row,) = found["stencils"]
    assert (row["name"], row["backend"], row["calls"]) == ("horizontal_diffusion", backend, 6)
    assert {(f["name"], tuple(f["dims"])) for f in row["fields"]} == {
        ("phi", (*"IJK",)),
        ("alpha", (*"IJ",)),
        ("out", (*"IJK",)),
    }
    wrong = {
        (f["name"], f["order"], f["wanted"]) for f in row["fields"] if f["order"] != f["wanted"]
    }
    assert wrong == (set() if backend == "numpy" else {("phi", "IJK", "KJI")})
    assert {
        number(found["source"], part) for part in ("# C-ordered", "phi = gt4py", "out = gt4py")
    } == made(found, "horizontal_diffusion", "phi")
    if wrong:
        assert row["measured"]["fields"] == ["phi"] and row["measured"]["ratio"] > 0


def test_a_tridiagonal_solver_and_vertical_advection(tmp_path: Path) -> None:
    pytest.importorskip("gt4py.cartesian")
    found = both(tmp_path, "vertical_solvers", "numpy")
    assert {s["name"]: (s["calls"], len(s["fields"])) for s in found["stencils"]} == {
        "tridiagonal": (1, 5),
        "vertical_advection": (3, 3),
    }
    assert made(found, "tridiagonal", "rhs") == {
        number(found["source"], "return gt4py.storage.from_array")
    }
    temporaries = {
        number(found["source"], "vertical_advection(tendency, w, u, dt"),
        number(found["source"], "tridiagonal(low, mid"),
    }
    assert temporaries <= {row["line"]["line"] for row in found["allocations"]}


def test_burgers_equation(tmp_path: Path) -> None:
    pytest.importorskip("gt4py.cartesian")
    found = both(tmp_path, "burgers", "numpy")
    assert {s["name"]: (s["calls"], len(s["called_by"])) for s in found["stencils"]} == {
        "stage": (12, 1),
        "copy": (16, 2),
    }
    assert made(found, "stage", "u_new") == {number(found["source"], "gt4py.storage.zeros(shape")}


def test_a_mesh_of_triangles(tmp_path: Path) -> None:
    pytest.importorskip("gt4py.next")
    found = both(tmp_path, "unstructured", "")
    assert {s["name"]: s["calls"] for s in found["stencils"]} == {"step": 3, "over_edges": 1}
    assert made(found, "step", "cells") == {number(found["source"], "cells = gtx.as_field")}
    assert (
        made(found, "step", "out")
        == made(found, "over_edges", "out")
        == {number(found["source"], "gtx.zeros")}
    )
