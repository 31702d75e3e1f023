"""JAX's and PyTorch's copies; calls of gufuncs, Numba's functions, DaCe's and gt4py.next's
programs: each where it is installed.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from watched import number, told, watch, watching

import gridbuf as gb
from gridbuf.explain import nbytes_text
from gridbuf.watch.table import text


def test_jax_s_copies(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    source = """
import numpy as np
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
memory = np.zeros(1000 * 8 + 128, "u1")
start = -memory.ctypes.data % 64
aligned = memory[start : start + 8000].view("f8")
unaligned = memory[start + 8 : start + 8008].view("f8")
jax.device_put(aligned)                          # shared
jax.device_put(unaligned)                        # for its boundary
jax.device_put(aligned[::2])                     # every second
jnp.array(aligned)                               # asked for
jnp.array(unaligned)                             # asked, too
for _ in range(3):
    jnp.asarray(aligned, "f4")                   # cast
jnp.asarray(unaligned.reshape(20, 50).T)         # transposed
jnp.asarray(unaligned, "f2")                     # cast by NumPy inside of JAX
x = jnp.zeros(3000)
jnp.asarray(x)                                   # JAX's own
"""
    found = watch(source, cwd=tmp_path)
    rows = {c["line"]["line"]: c for c in found["copies"] if c["kind"].startswith("jax")}
    assert {line: (row["kind"], row["bytes"], row["count"]) for line, row in rows.items()} == {
        number(source, "# for its boundary"): ("jax.device_put", 8000, 1),
        number(source, "# every second"): ("jax.device_put", 4000, 1),
        number(source, "# asked for"): ("jax.numpy.array", 8000, 1),
        number(source, "# asked, too"): ("jax.numpy.array", 8000, 1),
        number(source, '"f4")'): ("jax.numpy.asarray", 12000, 3),
        number(source, "# transposed"): ("jax.numpy.asarray", 8000, 1),
        number(source, "# cast by NumPy"): ("jax.numpy.asarray", 2000, 1),
    }
    assert len(rows) == len(found["copies"])  # each is told once, by what the program called
    why = {
        "# for its boundary": "aligned to 8 of 64 bytes",
        "# every second": "rows apart to rows together", "# asked for": "same layout",
        "# asked, too": "asked for, aligned to 8 of 64 bytes", '"f4")': "float64 to float32",
        "# transposed": "Fortran order to C",
        "# cast by NumPy": "float64 to float16",
    }  # fmt: skip
    assert {part: rows[number(source, part)]["why"] for part in why} == why
    assert rows[number(source, "# asked for")]["seconds"] is None  # JAX compiles in a first call
    assert rows[number(source, '"f4")')]["seconds"] > 0
    assert any("compiled functions" in words for words in found["not_seen"])


@pytest.mark.slow
def test_torch_s_copies(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    source = """
import numpy as np
import torch
a = np.zeros((40, 50))
torch.from_numpy(a); torch.as_tensor(a); torch.asarray(a)    # shared
torch.tensor(a)                                              # copies
torch.as_tensor(a, dtype=torch.float32)                      # casts
torch.asarray(a, copy=True)                                  # asks for it
"""
    found = watch(source, cwd=tmp_path)
    rows = {
        c["line"]["line"]: (c["kind"], c["bytes"])
        for c in found["copies"]
        if c["kind"].startswith("torch")
    }
    assert all(c["seconds"] is None for c in found["copies"])  # PyTorch begins in a first call
    assert [c["why"] for c in found["copies"] if c["kind"] == "torch.tensor"] == ["copied"]
    assert {c["why"] for c in found["copies"] if c["kind"] == "torch.as_tensor"} == {
        "float64 to float32"
    }
    assert rows == {
        number(source, "# copies"): ("torch.tensor", 16_000),
        number(source, "# casts"): ("torch.as_tensor", 8_000),
        number(source, "# asks for it"): ("torch.asarray", 16_000),
    }


def test_gridbuf_s_gufuncs() -> None:
    add = gb.gufunc.adopt(np.add)
    a, b, out = np.zeros((30, 40), order="F"), gb.Field.ones((30, 40)), np.zeros((30, 40))
    plain = gb.gufunc.GUFunc.__call__
    with watching() as book:
        for _ in range(3):
            add(a, b, out=out)
        assert (add(a, b) == 1).all()
    assert gb.gufunc.GUFunc.__call__ is plain and (add(a, b) == 1).all()
    (row,) = told(book)["stencils"]
    assert (row["kind"], row["name"], row["calls"]) == ("gridbuf gufunc", "add", 4)
    fields = {(f["name"], f["order"]): f["calls"] for f in row["fields"]}
    assert fields == {("operand 0", "10"): 4, ("operand 1", "01"): 4, ("out", "01"): 3}


def test_fused_functions() -> None:
    @gb.fused
    def smoothed(u: Any) -> Any:
        return u[1:-1] + 0.5 * (u[2:] - u[1:-1])

    u = gb.Field.ones((102, 50), dims="IJ")
    smoothed(u)
    with watching() as book:
        for _ in range(3):
            smoothed(u)
    (row,) = told(book)["stencils"]
    assert (row["kind"], row["name"], row["calls"]) == ("gridbuf fused", "smoothed", 3)
    assert row["saved"] == 3 * 2 * 2 * 100 * 50 * 8  # two temporaries, written and read
    (line,) = row["called_by"]
    assert line["source"].strip() == "smoothed(u)"
    found = text(told(book))
    assert f"{nbytes_text(row['saved'])} of temporaries" in " ".join(found.split())
    assert line["text"] in found


def test_numba_s_functions(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    source = """
import numpy as np
import numba
@numba.guvectorize("(n),(n)->(n)")
def add(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y[i]
@numba.vectorize
def double(x):
    return 2 * x
a, out = np.ones((30, 40)), np.zeros((30, 40))
add(a, a, out)
print((double(a) == out).all(), (out == 2).all())
"""
    found = watch(source, cwd=tmp_path)
    assert found["stdout"] == "True True\n"
    assert {(s["kind"], s["name"], s["calls"]) for s in found["stencils"]} == {
        ("numba gufunc", "add", 1),
        ("numba ufunc", "double", 1),
    }


def test_numba_s_functions_are_measured_where_they_only_compute(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    source = """
import numpy as np
import numba
@numba.njit
def draw():
    return np.random.random()
@numba.guvectorize("(n),(n)->(n)")
def add(x, y, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + y[i]
@numba.guvectorize("(n)->(n)")
def noise(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] + draw()
@numba.vectorize
def product(x, y):
    return x * y
a, b, out = np.ones((300, 200)), np.ones((300, 200), order="F"), np.zeros((300, 200))
before = a.copy(), b.copy()
for _ in range(3):
    add(b, b, out)
noise(b, out)
x, y = np.ones((300, 200)), product(a, product(a, b))
print((a == before[0]).all(), (b == before[1]).all(), y.sum(), add.types == [], out.shape)
"""
    found = watch(source, "--measure", cwd=tmp_path)
    assert found["stdout"].startswith("True True 60000.0 ")
    rows = {s["name"]: s for s in found["stencils"]}
    assert {(f["name"], f["order"], f["wanted"]) for f in rows["add"]["fields"]} == {
        ("operand 0", "10", "01"), ("operand 1", "10", "01"), ("operand 2", "01", "01"),
    }  # fmt: skip
    assert rows["add"]["calls"] == 3 and rows["add"]["measured"]["fields"] == [
        "operand 0",
        "operand 1",
    ]
    assert (
        rows["product"]["measured"]["fields"] == ["operand 1"]
        and rows["product"]["measured"]["ratio"] > 0
    )
    assert rows["noise"]["measured"] == {"why": "its kernel does more than compute"}


def test_gufuncs_are_measured() -> None:
    add = gb.gufunc.adopt(np.add)
    a, b, out = np.ones((90, 80), order="F"), gb.Field.ones((90, 80)), np.zeros((90, 80))
    with watching(measure=True) as book:
        add(a, b, out=out)
        add(a, b, out=out, axes=[(), (), ()])
    (row,) = told(book)["stencils"]
    assert row["measured"]["fields"] == ["operand 0"] and (a == 1).all() and (out == 2).all()


def test_what_fails_in_measuring_is_not_the_program_s_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gridbuf.watch.stencils.compare", lambda *_: 1 / 0)
    with watching(measure=True) as book:
        assert (
            gb.gufunc.adopt(np.add)(
                np.ones((40, 30), order="F"), np.ones((40, 30)), out=np.zeros((40, 30))
            )
            == 2
        ).all()
    assert told(book)["stencils"][0]["measured"] == {"why": "ZeroDivisionError: division by zero"}


def test_numba_compiles_what_calls_numpy_s_functions(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    source = """
import numpy as np
from numpy import asarray
import numba
@numba.njit
def f(x):
    y = np.ascontiguousarray(x.T)
    z = asarray(y).sum() + np.array([1.0, 2.0])[1] + np.asarray(y)[0, 0]
    return z + np.ravel(y)[0] + np.reshape(y, -1)[1]
print(f(np.ones((3, 4))))
"""
    assert watch(source, cwd=tmp_path)["stdout"] == "17.0\n"


@pytest.mark.slow
def test_dace_s_programs(tmp_path: Path) -> None:
    pytest.importorskip("dace")
    source = """
import dace
import numpy as np
@dace.program
def add(a: dace.float64[20, 30], b: dace.float64[20, 30], out: dace.float64[20, 30]):
    out[:] = a + b
a, b, out = np.ones((20, 30)), np.ones((20, 30)), np.zeros((20, 30))     # made
run = add.compile()
for _ in range(3):
    run(a=a, b=b, out=out)
print(out.sum())
"""
    found = watch(source, cwd=tmp_path)
    assert found["stdout"] == "1200.0\n"
    (row,) = [s for s in found["stencils"] if s["kind"] == "dace"]
    assert row["calls"] == 3 and row["name"].endswith("add")
    assert {(f["name"], f["order"], f["wanted"], f["calls"]) for f in row["fields"]} == {
        (name, "01", "01", 3) for name in ("a", "b", "out")
    }
    assert {line["line"] for f in row["fields"] for line in f["made_by"]} == {
        number(source, "# made")
    }


@pytest.mark.slow
def test_dace_s_programs_are_measured_where_a_call_can_be_repeated(tmp_path: Path) -> None:
    pytest.importorskip("dace")
    source = """
import dace
import numpy as np
N, M, S, T = (dace.symbol(name) for name in "NMST")
any_strides = dace.data.Array(dace.float64, (N, M), strides=(S, T))
@dace.program
def double(a: any_strides, out: dace.float64[N, M]):
    for i, j in dace.map[0:N, 0:M]:
        out[i, j] = 2 * a[i, j]
@dace.program
def returns(a: dace.float64[20, 30]):
    return a + 1
n, m = 200, 300
a, out = np.asfortranarray(np.random.default_rng(0).random((n, m))), np.zeros((n, m))
before = a.copy()
run = double.compile()
for _ in range(2):
    run(a=a, out=out, N=n, M=m, S=1, T=n)
print((a == before).all(), (out == 2 * a).all())
made = returns.compile()(a=np.ones((20, 30), order="F"))
print(made.sum())
"""
    found = watch(source, "--measure", cwd=tmp_path)
    assert found["stdout"] == "True True\n1200.0\n"
    rows = {s["name"].split("_")[-1]: s for s in found["stencils"]}
    assert rows["double"]["calls"] == 2 and rows["double"]["measured"]["fields"] == ["a"]
    assert rows["double"]["measured"]["ratio"] > 0
    assert rows["returns"]["measured"] == {"why": "compiled for other strides, which it reads"}


@pytest.mark.slow
def test_gt4py_next_s_programs(tmp_path: Path) -> None:
    pytest.importorskip("gt4py.next")
    source = """
import gt4py.next as gtx
import numpy as np
I, J = gtx.Dimension("I"), gtx.Dimension("J")
K = gtx.Dimension("K", kind=gtx.DimensionKind.VERTICAL)
@gtx.field_operator
def twice(u: gtx.Field[[I, J, K], float], v: gtx.Field[[I, J, K], float]) -> gtx.Field[[I, J, K],
    float]:
    return u + 2.0 * v
@gtx.program
def step(u: gtx.Field[[I, J, K], float], v: gtx.Field[[I, J, K], float],
    out: gtx.Field[[I, J, K], float]):
    twice(u, v, out=out)
domain = {I: 20, J: 10, K: 8}
u = gtx.ones(domain)                                                             # by gt4py
out = gtx.zeros(domain)
v = gtx.common._field(np.ones((20, 10, 8), order="C"), domain=gtx.domain(domain))    # by NumPy
for _ in range(4):
    step(u, v, out)
twice(u, v, out=out, offset_provider={})
print(out.asnumpy().sum())
"""
    found = watch(source, "--measure", cwd=tmp_path)
    assert found["stdout"] == "4800.0\n"
    rows = {s["name"]: s for s in found["stencils"]}
    assert (
        rows["step"]["calls"] == 4
        and rows["twice"]["calls"] == 1
        and rows["step"]["backend"] == "embedded"
    )
    fields = {f["name"]: f for f in rows["step"]["fields"]}
    assert set(fields) == {"u", "v", "out"} and all(f["calls"] == 4 for f in fields.values())
    assert fields["u"]["order"] == fields["u"]["wanted"]
    assert fields["v"]["order"] == "IJK" and fields["v"]["wanted"] == fields["u"]["order"] != "IJK"
    assert [line["line"] for line in fields["u"]["made_by"]] == [number(source, "# by gt4py")]
    assert [line["line"] for line in fields["v"]["made_by"]] == [number(source, "# by NumPy")]
    assert rows["step"]["measured"]["fields"] == ["v"] and rows["step"]["measured"]["ratio"] > 0
