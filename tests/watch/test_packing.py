"""MPI's packing of derived datatypes, told apart from what sends them, and what gridbuf.copyto
takes instead.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from under_mpi import run
from watched import number

from gridbuf.watch.recommendations import advice
from gridbuf.watch.table import tables

MPI = pytest.importorskip("mpi4py.MPI", exc_type=ImportError)
from gridbuf.watch import messages as packing  # noqa: E402
from gridbuf.watch.datatypes import (  # noqa: E402
    arrays,
    buffers,
    read,
)

D = MPI.DOUBLE
DATATYPES = {
    "vector": lambda: D.Create_vector(10, 2, 7),
    "backwards": lambda: D.Create_hvector(5, 3, -40),
    "resized": lambda: D.Create_vector(10, 1, 10).Create_resized(0, 8),
    "a face": lambda: D.Create_subarray([6, 7, 8], [6, 2, 8], [0, 3, 0]),
    "a corner": lambda: D.Create_subarray([6, 7, 8], [2, 3, 4], [1, 2, 3], order=MPI.ORDER_FORTRAN),
    "every third": lambda: D.Create_indexed([2] * 9, list(range(0, 27, 3))),
    "blocks": lambda: D.Create_indexed_block(2, [0, 9, 11]),
    "bytes": lambda: D.Create_hindexed([1, 0, 3], [16, 0, 80]),
    "byte blocks": lambda: MPI.FLOAT.Create_hindexed_block(2, [12, 80]),
    "a struct": lambda: MPI.Datatype.Create_struct(
        [3, 5, 2], [0, 64, 120], [D, MPI.INT, D.Create_vector(2, 1, 3)]
    ),
    "a vector of vectors": lambda: D.Create_vector(4, 1, 3).Create_hvector(5, 2, 200),
    "contiguous": lambda: D.Create_vector(3, 1, 2).Create_contiguous(4),
    "pairs": lambda: MPI.DOUBLE_INT.Create_vector(4, 2, 3),
    "complex": lambda: MPI.C_DOUBLE_COMPLEX.Create_vector(4, 2, 3).Dup(),
}


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", DATATYPES)
def test_arrays_are_the_elements_of_a_datatype(name: str, count: int) -> None:
    datatype = DATATYPES[name]().Commit()
    size = datatype.Get_size()
    (low, reach) = datatype.Get_true_extent()
    (_, extent) = datatype.Get_extent()
    length = (count - 1) * extent + reach
    theirs, ours = np.zeros(length, "u1"), np.zeros(length, "u1")
    whole = MPI.buffer.fromaddress(theirs.ctypes.data - low, count * extent)
    datatype.Unpack(np.full(count * size, 255, "u1"), 0, whole, MPI.COMM_SELF)
    views = arrays(MPI, datatype, count, ours, low)
    for view in views:
        view[...] = np.full(1, 255, "u1").repeat(8).view(view.dtype)[0]
    assert (theirs == ours).all() and theirs.any()
    assert sum(view.nbytes for view in views) == count * size
    if len(views) == 1:  # and in their order
        theirs[:] = np.arange(length) % 251
        packed = np.zeros(count * size, "u1")
        datatype.Pack(whole, packed, 0, MPI.COMM_SELF)
        ours[:] = theirs
        assert packed.tobytes() == views[0].tobytes()
    measured = packing.measure_packing(MPI, read(MPI, [ours, count, datatype]).pieces[0])
    assert measured["why"] == "" and all(
        measured[key] > 0 for key in ("pack", "unpack", "send", "receive")
    )


@pytest.mark.parametrize(("make", "why"), [
    (lambda: D.Create_indexed([1] * 100, np.cumsum(np.arange(1, 101)).tolist()),
    "100 blocks that no loop goes through"),
    (lambda: D.Create_darray(2, 0, [10, 10], [MPI.DISTRIBUTE_BLOCK] * 2,
    [MPI.DISTRIBUTE_DFLT_DARG] * 2, [1, 2]), "a darray is not taken apart"),
])  # fmt: skip
def test_what_no_array_says_is_packed_by_mpi_alone(make: Any, why: str) -> None:
    found = packing.measure_packing(MPI, read(MPI, [np.zeros(10000), 1, make().Commit()]).pieces[0])
    assert found["why"] == why and found["pack"] > 0 and "send" not in found


def test_what_does_not_go_is_said() -> None:
    still = D.Create_vector(2, 1, 3).Create_resized(0, 0).Commit()
    assert packing.measure_packing(MPI, read(MPI, [np.zeros(9), 2, still]).pieces[0]) == {
        "why": "one begins 0 bytes after the other"
    }


def test_every_way_to_name_what_is_sent() -> None:
    a = np.zeros((10, 10))
    column = D.Create_vector(10, 1, 10).Commit()
    row = D.Create_contiguous(10).Commit()
    for name, args, kwargs, sent, received in (
        ("Send", ([a, 1, column], 0), {}, 1, 0),
        ("Isend", (), {"buf": [a, 1, column], "dest": 0}, 1, 0),
        ("Ssend", ([a, row], 0), {}, 0, 0),
        ("Irecv", ([a, (1, 3), column],), {}, 0, 1),
        ("Recv_init", ([a, column],), {}, 0, 1),
        ("Sendrecv", ([a, 1, column], 0, 0, [a, 1, column], 0), {}, 1, 1),
        ("Isendrecv", ([a, 1, column], 0), {"recvbuf": [a, 1, column]}, 1, 1),
        ("Sendrecv_replace", ([a, 1, column], 0), {}, 1, 0),
        ("Bcast", ([a, 1, column],), {}, 1, 0),
        (
            "Neighbor_alltoallw",
            ([a, ([1, 1], [0, 8]), [column, column]], [a, [1, 2], [0, 8], [row, column]]),
            {},
            2,
            1,
        ),
        ("Ialltoallw", ([a, [column]], None), {}, 1, 0),
        ("Alltoallw_init", ([a, [1, 0], [0, 0], [column, column]], [a, [row]]), {}, 1, 0),
        ("Gatherv", (None, [a, ([1, 1], [0, 1]), column]), {}, 0, 1),
        ("Put", ([a, 1, row], 0, [0, 1, column]), {}, 0, 1),
        ("Rget", ([a, 1, column], 0, (0, 1, column)), {}, 1, 1),
        ("Get_accumulate", ([a, 1, column], [a, 1, column], 0), {"target": [0, 1, column]}, 2, 1),
        ("send", ([a, 1, column], 0), {}, 0, 0),
        ("Barrier", (), {}, 0, 0),
    ):
        pieces = [piece for buffer in buffers(MPI, name, args, kwargs) for piece in buffer.pieces]
        assert (sum(not p.receives for p in pieces), sum(p.receives for p in pieces)) == (
            sent,
            received,
        ), name
        assert all(piece.size == 80 for piece in pieces), name


MODEL = """
from mpi4py import MPI
import numpy as np
world = MPI.COMM_WORLD
ring = world.Create_cart([world.size], periods=[True])
below, above = ring.Shift(0, 1)
n = 60
a = np.arange(n**3, dtype=float).reshape(n, n, n) + world.rank
first, last = (MPI.DOUBLE.Create_subarray([n] * 3, [n, n, 1], [0, 0, at]).Commit()
    for at in (1, n - 1))
mixed = MPI.Datatype.Create_struct([1, 4], [0, 160], [first, MPI.INT]).Commit()
kept = [ring.Send_init([a, 1, first], below), ring.Recv_init([a, 1, last], above)]   # described
window = MPI.Win.Create(a, 8, comm=world)
assert isinstance(window, MPI.Win) and not isinstance(window, MPI.Request)
assert issubclass(MPI.Prequest, MPI.Request)
class Mine(MPI.Request): pass
assert isinstance(MPI.REQUEST_NULL, MPI.Request) and not isinstance(MPI.REQUEST_NULL, Mine)
assert issubclass(Mine, MPI.Request)
for _ in range(4):
    ring.Sendrecv([a, 1, first], below, 0, [a, 1, last], above)             # both ways
    arrives = ring.Irecv([a, 1, last], above)                               # later
    ring.Send([a, first], below)                                            # one way
    arrives.Wait()
    MPI.Prequest.Startall(kept)                                             # starts
    MPI.Prequest.Waitall(kept)
    kept[1].Start(); kept[0].Start()                                        # one by one
    kept[0].Wait(); kept[1].Wait()
    sent, got = [a, [1, 1], [0, 0], [first, first]], [a, ([1, 1], [0, 0]), [last, mixed]]
    ring.Neighbor_alltoallw(sent, got)                                      # of each its own
    window.Fence()
    window.Put(np.ones(n * n), above, [0, 1, first])                        # scattered there
    window.Fence()
face = MPI.DOUBLE.Create_vector(n * n, 1, n).Commit()
for _ in range(2):
    other = MPI.DOUBLE.Create_vector(n * n, 1, n).Commit()                  # a new handle
    ring.Sendrecv_replace([a, 1, other], below, source=above)               # of the same elements
    other.Free()
open(f"{world.rank}.sum", "w").write(repr(float(a.sum())))
window.Free()
"""


@pytest.mark.slow
def test_two_ranks(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "watched.py").write_text(
        "import runpy, sys\nsys.argv = ['gridbuf', 'watch', '--json', 'o.json', '--html', 'o.html',"
        " 'model.py']\nrunpy.run_module('gridbuf', run_name='__main__')\n"
    )
    path = os.pathsep.join(
        [str(Path(packing.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    )
    monkeypatch.chdir(tmp_path)
    sums = []
    for program in ("model.py", "watched.py"):
        ours = run(2, program, PYTHONPATH=path)
        if program == "model.py" and (
            why := re.search(r"MPI\.Win\..*?(MPI_ERR_\w+)", ours.stderr, flags=re.DOTALL)
        ):
            # Nothing of ours is in it; process_vm_readv may be refused
            pytest.skip(f"this MPI has no windows here: {why[1]}")
        assert ours.returncode == 0, ours.stderr
        sums.append([(tmp_path / f"{rank}.sum").read_text() for rank in range(2)])
    assert sums[0] == sums[1]
    for name in ("o", "o.1"):  # ranks but the first write beside it
        found = json.loads((tmp_path / f"{name}.json").read_text())
        rows = {
            m["line"]["line"]: m
            for m in found["messages"]
            if m["derived"] or m["call"].endswith("_init")
        }
        face = 60 * 60 * 8
        for part, count, nbytes in (
            ("# both ways", 4, 8 * face), ("# later", 4, 4 * face), ("# one way", 4, 4 * face),
            ("# starts", 4, 8 * face),
            ("# one by one", 8, 8 * face), ("# of each its own", 4, 16 * face + 4 * 16),
            ("# scattered there", 4, 4 * face),
            ("# of the same elements", 2, 2 * face),
        ):  # fmt: skip
            row = rows.pop(number(MODEL, part))
            assert (row["count"], row["bytes"]) == (count, nbytes), part
            assert (
                row["packing"]["seconds"] > 0
                and row["packing"]["why"] == ""
                and row["packing"]["copyto"]["ratio"] > 0
            ), part
            assert row["packing"]["copyto"]["of"] == pytest.approx(row["packing"]["seconds"]), part
        ((line, described),) = rows.items()
        assert line == number(MODEL, "# described") and (
            described["bytes"],
            described["packing"],
        ) == (0, None)
        assert "packing, measured" in (tmp_path / f"{name}.html").read_text()
    assert "packing, measured" in ours.stderr and "copyto" in ours.stderr


PLACE = {"file": "/a/model.py", "line": 41, "text": "model.py:41", "source": "send()"}


def message(**packing: Any) -> dict[str, Any]:
    return {
        "call": "Isend", "what": "start", "line": PLACE, "count": 3, "bytes": 240, "derived": 3,
        "datatypes": ["vector"], "seconds": 0.03,
        "packing": {"seconds": 0.02, "copyto": None, "why": "", **packing},
    }  # fmt: skip


@pytest.mark.parametrize(("packing", "cell", "saves"), [
    ({"copyto": {"of": 0.02, "seconds": 0.005, "ratio": 4.0}}, "20 ms; copyto 4.0 times as fast",
    0.015),
    ({"copyto": {"of": 0.02, "seconds": 0.0199, "ratio": 1.005}}, "20 ms; copyto no faster", None),
    ({"why": "5000 blocks"}, "20 ms (5000 blocks)", None),
])  # fmt: skip
def test_what_is_said(packing: dict[str, Any], cell: str, saves: float | None) -> None:
    found = {
        "stencils": [],
        "allocations": [],
        "copies": [],
        "messages": [message(**packing)],
        "seconds": 2.0,
    }
    ((_, _, ((*_, said),), _),) = tables(found)
    assert said == cell
    lines = advice(found)
    assert [line["saves"] for line in lines] == ([] if saves is None else [pytest.approx(saves)])
    assert all(
        "model.py:41: Isend of derived datatypes: 4.0 times as fast" in line["text"]
        and "15 ms" in line["text"]
        for line in lines
    )
