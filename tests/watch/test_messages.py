"""Messages: each call by its line, with its bytes and datatypes; and mpi4py's objects stay what
they are.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from watched import ROOT, number, watch

from gridbuf import machine

pytest.importorskip("mpi4py.MPI", exc_type=ImportError)

MODEL = """
from mpi4py import MPI
import numpy as np
import gridbuf as gb, gridbuf.interop.mpi4py as gbm
world = MPI.COMM_WORLD
a, b = np.arange(1000.0), np.zeros(1000)
for _ in range(3):
    started = [world.Irecv(b, 0),            # receives
               world.Isend(a, 0)]            # sends
    MPI.Request.Waitall(started)             # waits for both
    assert (a == b).all()
column = MPI.DOUBLE.Create_vector(10, 1, 100).Commit()
b[:] = 0
world.Sendrecv([a, 1, column], 0, recvbuf=[b, 10, MPI.DOUBLE], source=0)     # a column
assert (b[:10] == a[::100]).all()
world.Allreduce(MPI.IN_PLACE, b)             # in place
request = world.Isend([a, 50, "d"], 0)       # by a letter
world.Recv([b, (50, 0), MPI.DOUBLE], 0)      # a part
request.Wait()                               # one
kept = [world.Send_init(a, 0), world.Recv_init(b, 0)]
MPI.Prequest.Startall(kept); MPI.Request.Waitall(kept)
request = world.isend({"a": a}, 0)           # an object
assert (world.recv(source=0)["a"] == a).all()
request.wait()
ring = world.Create_cart([1], periods=[True])
f = gb.Field.from_array([0.0, 1.0, 2.0, 3.0, 0.0], dims="I", halo=(1,))
gbm.exchange_halos(ring, f, dims="I")        # gridbuf's
assert f.numpy().tolist() == [3, 1, 2, 3, 1]
ring.Dup().Barrier()                         # of a communicator made of one made of another
assert isinstance(world, MPI.Intracomm) and isinstance(ring, MPI.Cartcomm)
assert isinstance(started[0], MPI.Request)
assert world == MPI.COMM_WORLD and ring.Shift(0, 1) == (0, 0) and MPI.Request() == MPI.REQUEST_NULL
assert type(world).__name__ == "Intracomm" and world.Get_size() == 1 and world.allreduce(3) == 3
assert not world.Split(MPI.UNDEFINED)
print("right")
"""


@pytest.fixture
def begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests here may have started MPI."""
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    for name in [name for name in os.environ if name.startswith(("PMIX_", "OMPI_COMM_"))]:
        monkeypatch.delenv(name)


def test_messages_by_line(tmp_path: Path, begun_anew: None) -> None:
    found = watch(MODEL, cwd=tmp_path)
    assert found["stdout"] == "right\n"
    rows = {(m["line"]["line"], m["call"]): m for m in found["messages"]}
    for part, call, what, count, nbytes, derived, datatypes in (
        ("# receives", "Irecv", "start", 3, 24_000, 0, ["float64"]),
        ("# sends", "Isend", "start", 3, 24_000, 0, ["float64"]),
        ("# waits for both", "Waitall", "wait", 3, 0, 0, []),
        ("# a column", "Sendrecv", "start and wait", 1, 160, 1, ["DOUBLE", "vector"]),
        ("# in place", "Allreduce", "start and wait", 1, 8_000, 0, ["float64"]),
        ("# by a letter", "Isend", "start", 1, 400, 0, ["d"]),
        ("# a part", "Recv", "start and wait", 1, 400, 0, ["DOUBLE"]),
        ("# one\n", "Wait", "wait", 1, 0, 0, []),
        ("Startall(kept)", "Startall", "start", 1, 16_000, 0, ["float64"]),
        ("# an object", "isend", "start", 1, 0, 0, []),
        ("# of a communicator", "Barrier", "start and wait", 1, 0, 0, []),
    ):
        at = number(MODEL, part.rstrip()) if "\n" not in part else number(MODEL, "request.Wait()")
        row = rows[at, call]
        assert (row["what"], row["count"], row["bytes"], row["derived"]) == (
            what,
            count,
            nbytes,
            derived,
        ), part
        assert sorted(row["datatypes"]) == datatypes and row["seconds"] > 0, part
    assert any(line == number(MODEL, "# gridbuf's") for line, _ in rows)
    assert [c["line"]["line"] for c in found["copies"] if c["kind"] == "pickle.dumps"] == [
        number(MODEL, "# an object")
    ]
    assert "messages" in found["stderr"] and any(
        "other libraries than mpi4py" in words for words in found["not_seen"]
    )


@pytest.mark.parametrize(
    ("spec", "nbytes", "derived"),
    [
        (lambda mpi, a: a, 8000, False),
        (lambda mpi, a: [a, mpi.DOUBLE], 8000, False),
        (lambda mpi, a: [a, 7], 56, False),
        (lambda mpi, a: [a, 7, mpi.DOUBLE], 56, False),
        (lambda mpi, a: (a, (7, 2), mpi.DOUBLE), 56, False),
        (lambda mpi, a: (a, (7, 2), [0, 9], mpi.DOUBLE), 56 + 16, False),
        (lambda mpi, a: [a, (None, [0]), mpi.DOUBLE], 8000, False),
        (lambda mpi, a: [a, (4, [0]), mpi.DOUBLE], 32, False),
        (lambda mpi, a: [a, (4, 0)], 32, False),
        (lambda mpi, a: [a, (4, None)], 32, False),
        (lambda mpi, a: [a, (None, None), mpi.DOUBLE], 8000, False),
        (lambda mpi, a: [a, None, [0], mpi.DOUBLE], 8000, False),
        (lambda mpi, a: [a, [1, 2, 3], mpi.DOUBLE], 48, False),
        (lambda mpi, a: [a, ([1, 2, 3], [0, 9, 20]), mpi.DOUBLE], 48, False),
        (lambda mpi, a: [a, ([1, 2, 3], [0, 9, 20]), "d"], 48, False),
        (lambda mpi, a: [a, np.array([4, 4]), "f8"], 64, False),
        (lambda mpi, a: [a, 2, mpi.DOUBLE.Create_contiguous(5)], 80, True),
        (lambda mpi, a: [a, mpi.DOUBLE.Create_contiguous(5)], 8000, True),
        (lambda mpi, a: bytearray(9), 9, False),
        (lambda mpi, a: [bytearray(9), mpi.BYTE], 9, False),
        (lambda mpi, a: mpi.IN_PLACE, 0, False),
        (lambda mpi, a: None, 0, False),
        (lambda mpi, a: [mpi.BOTTOM, 1, mpi.INT], 4, False),
    ],
)
def test_specifications(spec: Any, nbytes: int, derived: bool) -> None:
    from mpi4py import MPI

    from gridbuf.watch.datatypes import read

    found = read(MPI, spec(MPI, np.zeros(1000)))
    assert (found.nbytes, found.derived) == (nbytes, derived)


def test_calls_that_go_well_go_well(tmp_path: Path, begun_anew: None) -> None:
    """Whatever is made of their buffers."""
    found = watch(
        """
from mpi4py import MPI
import numpy as np
from gridbuf.watch import messages
c, a, b = MPI.COMM_WORLD, np.arange(4.0), np.zeros(4)
c.Allgatherv(a, [b, (None, [0]), MPI.DOUBLE])
c.Allgatherv(a, [b, (4, [0]), MPI.DOUBLE])
c.Alltoallv([a, (4, 0)], [b, (4, None)])
c.Scatterv([a, (None, None), MPI.DOUBLE], b)
messages.buffers = None
c.Bcast(b)
print(b)
""",
        cwd=tmp_path,
    )
    assert found["stdout"] == "[0. 1. 2. 3.]\n"
    assert [m["bytes"] for m in found["messages"]] == [64] * 4
    assert (
        found["not_seen"][-1] == "Bcast of mpi4py where its buffers were not understood: TypeError"
    )


@pytest.mark.slow
def test_each_rank_has_its_files(tmp_path: Path) -> None:
    if why := machine.missing_for_mpi():
        pytest.skip(why)
    (tmp_path / "model.py").write_text(
        "from mpi4py import MPI\nimport sys\nsys.exit(MPI.COMM_WORLD.rank > 1)\n"
    )
    words = [
        sys.executable,
        "-m",
        "gridbuf",
        "watch",
        "--apply",
        "--json",
        "o.json",
        "--html",
        "o.html",
        "model.py",
    ]
    done = subprocess.run(
        [*machine.mpirun_command(2), *words], cwd=tmp_path,
        env=machine.mpi_environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for rank, name in enumerate(("o.json", "o.1.json")):
        found = json.loads((tmp_path / name).read_text())
        assert found["rank"] == [rank, 2]
        assert found["applied"] == {
            "why": (
                "--apply is for one process, and these are 2: compare mpirun with and without"
                " `python -m gridbuf run`"
            )
        }
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.py",
        "o.json",
        "o.1.json",
        "o.html",
        "o.1.html",
    }


@pytest.mark.slow
def test_one_process_of_a_job_is_run_again_by_itself(tmp_path: Path) -> None:
    if why := machine.missing_for_mpi():
        pytest.skip(why)
    words = [
        sys.executable,
        "-m",
        "gridbuf",
        "watch",
        "--apply",
        "--json",
        "o.json",
        "-c",
        "from mpi4py import MPI",
    ]
    done = subprocess.run(
        [*machine.mpirun_command(1), *words], cwd=tmp_path,
        env=machine.mpi_environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0 and json.loads((tmp_path / "o.json").read_text())["applied"][
        "status"
    ] == [0, 0], done.stderr
