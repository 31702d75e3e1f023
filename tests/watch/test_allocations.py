"""Allocations: how many, how large, and by which line of the program."""

import mmap
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_child import python
from resident import small_pages
from watched import number, told, watch, watching

import gridbuf as gb
from gridbuf.watch import benchmark as pool

MODEL = """
import numpy as np
import gridbuf as gb
a = np.zeros((100, 100))                 # 80 000
b = np.ones((100, 100))                  # 80 000, by a function of NumPy's in Python
for _ in range(10):
    c = a + b                            # ten times 80 000, two at once
small = np.zeros(100)
f = gb.zeros((64, 64), backend="gt:cpu_ifirst")   # gridbuf's own
g = a[::2]
a.resize((200, 100))                     # 160 000
"""


def by_line(found: dict[str, Any], source: str, file: str) -> dict[int, Any]:
    return {row["line"]["line"]: row for row in found["allocations"] if row["line"]["file"] == file}


def test_a_program_s_allocations(tmp_path: Path) -> None:
    source = MODEL.replace("g = a[::2]\n", "")
    found = watch(source, cwd=tmp_path)
    rows = by_line(found, source, str(tmp_path / "model.py"))
    for part, count, nbytes in (
        ("a = np.zeros", 1, 80_000),
        ("b = np.ones", 1, 80_000),
        ("c = a + b", 10, 800_000),
        ("a.resize", 1, 160_000),
    ):
        row = rows.pop(number(source, part))
        assert (row["count"], row["bytes"], row["own"]) == (count, nbytes, False), part
        assert row["line"]["source"].startswith(part)
        if part == "c = a + b":
            assert row["sizes"] == [
                {"bytes": 80_000, "count": 10, "most_at_once": 2, "zeros": False}
            ]
            assert row["pool"]["reused"] == 8
    row = rows.pop(number(source, "gb.zeros"))
    assert row["own"] and row["count"] == 1 and row["bytes"] >= 64 * 64 * 8
    assert rows == {}
    assert found["own"]["blocks"] == 14 and found["own"]["seconds"] > 0


def test_page_faults_belong_to_the_line_whose_memory_was_touched(tmp_path: Path) -> None:
    source = (
        "import numpy as np\na = np.empty(50_000_000, 'u1')\na[:] = 1\nb = np.empty(50_000_000,"
        " 'u1')\nc = np.empty(10_000_000, 'u1')\nc[:] = 1\n"
    )
    found = watch(source, cwd=tmp_path)
    faults = {row["line"]["line"]: row["page_faults"] for row in found["allocations"]}
    most = 50_000_000 // 4096 + 2
    assert 20 < faults[2] <= most  # huge pages: one fault for 512 pages


def test_a_line_of_a_library_is_the_program_s_that_called_it(tmp_path: Path) -> None:
    source = (
        "import numpy as np\nx = np.linspace(0, 1, 5000)\ny = np.roll(x, 3)\nz = np.full((30, 30),"
        " 2.0)\n"
    )
    found = watch(source, cwd=tmp_path)
    assert {row["line"]["line"] for row in found["allocations"]} == {2, 3, 4}


def test_threads_that_are_started_later() -> None:
    def work() -> None:
        np.zeros(10_000)

    with watching() as book:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        found = told(book)
    assert [
        (row["count"], row["line"]["line"])
        for row in found["allocations"]
        if row["line"]["file"] == __file__
    ][-1:] == [(1, work.__code__.co_firstlineno + 1)]


def test_the_maker_of_a_view_is_found() -> None:
    from gridbuf.watch.allocations import maker
    from gridbuf.watch.records import address

    with watching():
        a = np.zeros((100, 100))
        line = sys._getframe().f_lineno - 1
        assert maker(address(a)) == (__file__, line) == maker(address(a[50:, ::-1]))
        f = gb.Field.zeros((100, 100))
        assert maker(address(f)) == (__file__, line + 3)


def test_blocks_of_many_sizes_are_told_apart_and_forgotten() -> None:
    rng = np.random.default_rng(1)
    sizes = [int(n) for n in rng.integers(4096, 9000, 3000)]
    with watching() as book:
        before = {tuple(row[:4]): row for row in _lines()}
        kept = [np.empty(n, "u1") for n in sizes]
        del kept[::2]
        kept += [np.empty(n, "u1") for n in sizes]
        rows = [
            row for row in _lines() if tuple(row[:4]) not in before or before[tuple(row[:4])] != row
        ]
        assert sum(row[4] for row in rows) == 2 * len(sizes) and sum(row[7] for row in rows) == len(
            kept
        )
        assert {row[2] for row in rows} == set(sizes)
        for array in kept:
            assert _block(array)[2] == array.nbytes
        del kept, array
        assert sum(row[7] for row in _lines() if row[0] == __file__ and row[2] in set(sizes)) == 0
    assert book.on is False


def _lines() -> list[Any]:
    from gridbuf import _core

    return _core.watch_lines()


def _block(array: Any) -> Any:
    from gridbuf import _core

    return _core.watch_block(array.__array_interface__["data"][0])


def test_what_a_pool_gives_out_again() -> None:
    sizes = [
        {"bytes": 8, "count": 10, "most_at_once": 2},
        {"bytes": 16, "count": 3, "most_at_once": 3},
    ]
    assert pool.reused(sizes) == [(sizes[0], 8)]


@pytest.mark.slow
def test_a_pool_is_measured_and_leaves_numpy_s_memory_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gridbuf import _core

    wall = iter(range(0, 10**9, 1000))  # other programs have the cores between two looks
    monkeypatch.setattr(pool, "clock", lambda: float(next(wall)))
    before = _core.numpy_handler()
    size = {"bytes": 33 << 20, "count": 10, "most_at_once": 2}  # more than malloc keeps
    faults = {"touched": 330 << 8, "half": 165 << 8, "untouched": 10}
    rows: dict[Any, Any] = {
        (kind, zeros): {
            "own": False,
            "bytes": 330 << 20,
            "page_faults": n,
            "sizes": [{**size, "zeros": zeros}],
        }
        for kind, n in faults.items()
        for zeros in (True, False)
    }
    with small_pages():
        pool.add_savings([*rows.values(), own := {"own": True, "sizes": []}], before[0])
    assert _core.numpy_handler() == before and "pool" not in own
    saved = {kind: row["pool"]["saved"] for kind, row in rows.items()}
    assert all(row["pool"]["of"] < 1000 for row in rows.values())
    assert all(row["pool"]["reused"] == 8 for row in rows.values())
    assert all(
        row["pool"]["ratio"] == row["pool"]["of"] / (row["pool"]["of"] - row["pool"]["saved"])
        for row in rows.values()
        if row["pool"]["saved"]
    )
    # A pool saves nothing where the program touches no page
    assert saved["untouched", True] == saved["untouched", False] == 0
    # It has to clear what it gives out as zeros
    assert saved["touched", False] > saved["touched", True]


def test_pages_that_the_heap_keeps_by_now_were_made_by_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from gridbuf import _core

    with small_pages():
        blocks = {
            fresh: pool.seconds_of(1_000_000, 4, False, _core.numpy_handler()[0], fresh)
            for fresh in (False, True)
        }
        before = pool._faults()
        with mmap.mmap(-1, 1_000_000) as fresh:
            np.frombuffer(fresh, np.uint8)[:: pool.PAGE] = 1
        made = pool._faults() - before
    assert blocks[True].faults > 0.7 * made and blocks[True].faults >= blocks[False].faults
    kept, given_back = pool.Block(2.0, 1.0, 0.5), pool.Block(5.0, 1.0, 200.0)
    monkeypatch.setattr(pool, "seconds_of", lambda *what: given_back if what[-1] else kept)
    sizes = [{"bytes": 1_000_000, "count": 14, "most_at_once": 4, "zeros": False}]
    for faults, saved in ((7, 10.0), (14 * 200, 40.0), (14 * 50, 10.0)):
        row: dict[str, Any] = {
            "own": False,
            "bytes": 14_000_000,
            "page_faults": faults,
            "sizes": sizes,
        }
        pool.add_savings([row], None)
        assert row["pool"]["saved"] == saved


@pytest.mark.parametrize(("faults", "part"), [(1000, 1.0), (500, 0.5), (3000, 1.0), (20, 0.0)])
def test_the_part_that_was_touched(faults: int, part: float) -> None:
    row = {"page_faults": faults, "bytes": 4_000_000}
    assert pool.touched(row, 4_000_000, 1000) == part
    assert pool.touched(row, 2_000_000, 500) == part and pool.touched(row, 4_000_000, 0) == 1.0


def test_zeros_are_told_apart() -> None:
    with watching() as book:
        _ = np.zeros(9001), np.empty(9001), np.zeros(9001)
        (row,) = [
            row
            for row in told(book)["allocations"]
            if row["line"]["source"].startswith("_ = np.zeros(9001)")
        ]
    assert {(size["count"], size["zeros"]) for size in row["sizes"]} == {
        (2, True),
        (1, False),
    } and row["count"] == 3


def test_numpy_s_handler_is_put_back() -> None:
    from gridbuf import _core

    before, start = _core.numpy_handler(), threading.Thread.start
    with watching():
        assert _core.numpy_handler()[0] is not before[0] and threading.Thread.start is not start
        kept = np.zeros(10_000)
    assert _core.numpy_handler() == before and threading.Thread.start is start
    kept.resize(20_000, refcheck=False)  # it keeps the handler it was made with
    assert kept.sum() == 0


def test_lines_of_a_large_function(tmp_path: Path) -> None:
    """Whose table of lines is not read each time."""
    source = "import numpy as np\ndef large():\n" + "".join(
        f"    x = np.empty({5000 + i}, 'u1')\n" for i in range(300)
    )
    found = watch(source + "for _ in range(3):\n    large()\n", cwd=tmp_path)
    assert {row["line"]["line"]: (row["count"], row["bytes"]) for row in found["allocations"]} == {
        3 + i: (3, 3 * (5000 + i)) for i in range(300)
    }


FORGOTTEN = """
import gc
import weakref
import numpy as np
from gridbuf import _core

def made(number):
    names = {}
    exec(compile("def f(np):\\n    return np.empty(1000)", f"made{number}.py", "exec"), names)
    return names["f"]

def gone(_):  # a line is looked for, and may take the place of the one that goes
    made(0)(np)

_core.set_numpy_handler(_core.watch_start((), 1))
functions = [made(number) for number in range(300)]
for function in functions:
    function(np)
references = [weakref.ref(function.__code__, gone) for function in functions]
del function, functions
gc.collect()
_core.watch_start(("nothing",), 1)
gc.collect()  # a free-threaded Python counts references to code objects only here
assert all(reference() is None for reference in references)
made(0)(np)
print(_core.watch_lines()[-1][:3])
"""


def test_code_that_goes_when_a_watch_begins_may_allocate() -> None:
    assert python(FORGOTTEN).endswith("', 2, 8000)")
