"""Hidden copies: exactly those that were made, with their bytes and lines, and none that was
not.
"""

import copy
import inspect
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from watched import number, told, watch, watching

import gridbuf as gb
from gridbuf.watch.recommendations import advice

SEVEN = """
import pickle
import numpy as np
a = np.zeros((100, 200))
b = a.T
for _ in range(3):
    np.ascontiguousarray(b)              # three: 160 000 bytes each
    np.ascontiguousarray(a)
np.asarray(a, "f4")                      # one: 80 000
np.array(a)                              # one: 160 000
np.ascontiguousarray(a[:, :50])          # one: 40 000
pickle.dumps(a[:10])                     # one: more than 16 000
np.asarray(a); np.array(a, copy=None); np.asarray([1.0] * 5000)
np.ravel(a); np.asarray(b); np.asfortranarray(b)
"""


def test_seven_copies_of_known_bytes_at_known_lines(tmp_path: Path) -> None:
    found = watch(SEVEN, cwd=tmp_path)
    assert sum(c["count"] for c in found["copies"]) == 7
    assert {c["line"]["file"] for c in found["copies"]} == {str(tmp_path / "model.py")}
    by_line = {c["line"]["line"]: c for c in found["copies"]}
    expected = [
        ("three", "numpy.ascontiguousarray", 3, 480_000, "Fortran order to C"),
        ("np.asarray(a, ", "numpy.asarray", 1, 80_000, "float64 to float32"),
        ("160 000\n", "numpy.array", 1, 160_000, "same layout"),
        ("40 000", "numpy.ascontiguousarray", 1, 40_000, "rows apart to rows together"),
    ]
    for part, kind, count, nbytes, why in expected:
        row = by_line.pop(
            number(SEVEN, part) if "\n" not in part else number(SEVEN, "np.array(a)  ")
        )
        assert (row["kind"], row["count"], row["bytes"], row["why"]) == (kind, count, nbytes, why)
        assert row["made_by"]["line"] == number(SEVEN, "a = np.zeros")
        assert row["seconds"] > 0
    ((line, row),) = by_line.items()
    assert (line, row["kind"], row["count"]) == (number(SEVEN, "pickle.dumps"), "pickle.dumps", 1)
    assert 16_000 < row["bytes"] < 17_000
    assert "hidden copies" in found["stderr"] and "numpy.ascontiguousarray" in found["stderr"]


A, F = np.zeros((40, 50)), gb.Field.zeros((40, 50), dims="IJ")


class Given:
    """What has its memory from somewhere else."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array if dtype is None else self.array.astype(dtype)


@pytest.mark.parametrize(
    ("call", "nbytes"),
    [
        (lambda: np.asarray(A), 0),
        (lambda: np.asarray(F), 0),
        (lambda: np.asarray(Given(A)), 0),
        (lambda: np.asarray(memoryview(A)), 0),
        (lambda: np.asarray(range(1000)), 0),
        (lambda: np.reshape(A, -1), 0),
        (lambda: np.from_dlpack(A), 0),
        (lambda: np.asarray(A[:1, :9], "f4"), 0),  # less than anybody waits for
        (lambda: np.asarray(Given(A), "f4"), 8000),
        (lambda: np.array(Given(A)), 0),  # NumPy leaves it to the object
        (lambda: np.array(memoryview(A)), 16000),
        (lambda: np.array(F), 16000),
        (lambda: np.asarray(F, "f4"), 8000),
        (lambda: np.reshape(A.T, -1), 16000),
        (lambda: np.ravel(A[:, ::2]), 8000),
        (lambda: np.asfortranarray(A), 16000),
        (lambda: np.ascontiguousarray(a=A.T), 16000),
        (lambda: np.asarray(a=A, dtype="f4"), 8000),
        (lambda: np.asarray(dtype=float, a=A), 0),
        (lambda: np.array(object=A), 16000),
        (lambda: np.ravel(a=A.T), 16000),
        (lambda: np.require(A, "i2", "C"), 4000),
        (lambda: np.from_dlpack(A, copy=True), 16000),
        (lambda: copy.deepcopy(A), 16000),
        (lambda: copy.deepcopy({"a": [A, A[:, :20]]}), 16000 + 6400),
    ],
)
def test_what_is_a_copy(call: Any, nbytes: int) -> None:
    if "from_dlpack" in call.__code__.co_names and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("from_dlpack has no copy before NumPy 2.1")
    with watching() as book:
        call()
    assert [(row.count, row.bytes) for row in book.copies.values()] == (
        [(1, nbytes)] if nbytes else []
    )
    assert all(key[2] == (__file__, call.__code__.co_firstlineno) for key in book.copies)


def test_results_are_what_they_are_without_us() -> None:
    plain = (
        {name: getattr(np, name) for name in ("asarray", "array", "ascontiguousarray")},
        pickle.dumps,
        copy.deepcopy,
    )
    with watching():
        assert np.asarray is not plain[0]["asarray"] and np.asarray.__name__ == "asarray"
        assert pickle.loads(pickle.dumps(np.asarray)) is np.asarray
        assert np.array_equal(
            np.array(A.T, "f4", order="F", ndmin=3),
            plain[0]["array"](A.T, "f4", order="F", ndmin=3),
        )
        with pytest.raises(ValueError, match="x"):
            np.asarray("x", float)
    assert ({name: getattr(np, name) for name in plain[0]}, pickle.dumps, copy.deepcopy) == plain


NAMES = ("array", "asarray", "asfortranarray", "require", "ravel", "reshape", "from_dlpack")


class Mine:
    """What NumPy asks first, with the function that was called."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_a_function_as_before(name: str) -> None:
    plain = getattr(np, name)
    with watching():
        ours = getattr(np, name)
        assert pickle.loads(pickle.dumps(ours)) is ours is copy.deepcopy(ours) and hash(ours)
        assert repr(ours).split(" at ")[0] == repr(plain).split(" at ")[0]
        assert (
            isinstance(ours, type(plain))
            and ours.__doc__ == plain.__doc__
            and ours.__module__ == "numpy"
        )
        # Some are methods where a class has them
        assert ("__get__" in dir(plain)) == (type("A", (), {"f": ours})().f is not ours)
        try:
            signature = inspect.signature(plain)
        except ValueError:
            pass
        else:
            assert inspect.signature(ours) == signature
        if name not in ("ravel", "reshape"):
            assert weakref.ref(ours)() is ours
        if name != "from_dlpack" and name != "require":
            called = (
                ours(Mine())
                if name == "ravel"
                else ours(Mine(), 1)
                if name == "reshape"
                else ours([1], like=Mine())
            )
            assert called is ours
        for args in ((), ([1.0], "no", "such", "call", 1, 2)):
            with pytest.raises(TypeError) as theirs:
                plain(*args)
            with pytest.raises(TypeError) as same:
                ours(*args)
            assert str(same.value) == str(theirs.value)
    assert getattr(np, name) is plain


def test_attributes_are_those_of_the_function() -> None:
    plain: Any = np.require
    with watching():
        ours: Any = np.require
        ours.mine = 1
        assert ours is not plain and plain.mine == 1
        del ours.mine
        with pytest.raises(AttributeError):
            _ = ours.mine
        with pytest.raises(AttributeError):
            np.from_dlpack.mine = 1  # type: ignore[attr-defined]
    assert not hasattr(plain, "mine")


def test_what_c_counted_is_told() -> None:
    n = 200
    with watching() as book:
        for i in range(n):
            np.array(A)
            np.ascontiguousarray(A.T)
            np.ravel(A[:, : 5 + i % 40])  # strides alone tell layouts apart
            np.asarray(A, A.dtype)
        seen = {row["kind"]: (row["count"], row["bytes"]) for row in told(book)["copies"]}
        assert told(book)["copies"] and book.events == 4 * n
    ravelled = sum(40 * 8 * (5 + i % 40) for i in range(n))
    assert seen == {
        "numpy.array": (n, n * A.nbytes),
        "numpy.ascontiguousarray": (n, n * A.nbytes),
        "numpy.ravel": (n, ravelled),
    }


def test_pickles_are_counted_by_what_is_written(tmp_path: Path) -> None:
    with watching() as book, (tmp_path / "a").open("wb") as file:
        pickle.dump(A, file)
    assert [row.bytes for row in book.copies.values()] == [(tmp_path / "a").stat().st_size]


def test_nothing_is_written_afterwards() -> None:
    with watching() as book:
        pass
    np.ascontiguousarray(A.T)
    assert told(book)["copies"] == []


# ---- copies of gridbuf's own ----


def inside_gridbuf(text: str) -> Any:
    """A function as a file of gridbuf's has it."""
    names = {"np": np, "pickle": pickle, "copy": copy}
    exec(compile(text, str(Path(gb.__file__).parent / "distributed" / "made_up.py"), "exec"), names)
    return names["f"]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("np.ascontiguousarray(a.T)", "numpy.ascontiguousarray"),
        ("np.array(a)", "numpy.array"),
        ("np.ravel(a.T)", "numpy.ravel"),
        ("pickle.dumps(a)", "pickle.dumps"),
        ("copy.deepcopy(a)", "copy.deepcopy"),
    ],
)
def test_a_copy_inside_of_gridbuf_is_told_apart_and_no_advice(call: str, kind: str) -> None:
    """The program's line called gridbuf; the copy that gridbuf then made is nothing that the line
    could do without.
    """
    ours = inside_gridbuf(f"def f(a):\n    return {call}\n")
    mine = eval(f"lambda a: {call}", vars(inspect.getmodule(Given)))
    with watching() as book:
        for function in (ours, mine):
            function(A)
        rows = {row["kind"]: row for row in told(book)["copies"]}
    assert {name: row["own"] for name, row in rows.items()} == {
        kind: False,
        f"{kind}, in gridbuf": True,
    }
    assert rows[kind]["line"]["file"] == rows[f"{kind}, in gridbuf"]["line"]["file"].replace(
        __file__, "<string>"
    )
    found = {
        "stencils": [],
        "allocations": [],
        "messages": [],
        "copies": [*rows.values()],
        "seconds": 0.0,
    }
    (line,) = advice({**found, "copies": [{**row, "seconds": 1.0} for row in rows.values()]})
    assert "in gridbuf" not in line["text"]


def test_the_layout_that_gridbuf_gave_is_not_advised_against() -> None:
    given, plain = gb.zeros((40, 50, 8), backend="gt:cpu_ifirst"), np.zeros((40, 50, 8), order="F")
    with watching() as book:
        given = gb.zeros((40, 50, 8), backend="gt:cpu_ifirst")
        plain = np.zeros((40, 50, 8), order="F")
        np.ascontiguousarray(given)
        np.ascontiguousarray(plain)
        rows = told(book)["copies"]
    assert [row["of_gridbuf"] for row in rows] == [True, False]
    found = {"stencils": [], "allocations": [], "messages": [], "seconds": 0.0}
    said = [advice({**found, "copies": [{**row, "seconds": 1.0}]})[0]["text"] for row in rows]
    assert (
        "keep its layout, and take any strides" in said[0] and "allocate it in the order" in said[1]
    )


@pytest.mark.slow
def test_checksums_of_fields_are_no_copies_of_the_program_s(tmp_path: Path) -> None:
    source = (
        "import numpy as np\nimport gridbuf.distributed as gbd\n"
        'grid = gbd.grid((64, 64), "IJ", halo=1)\n'
        'T = grid.zeros("IJK", sizes={"K": 20}, backend="gt:cpu_ifirst")\n'
        "for _ in range(20):\n    grid.checksum(T)\n"
    )
    found = watch(source, cwd=tmp_path)
    assert all(row["own"] for row in found["copies"])
    assert not any("copied" in line["text"] for line in found["advice"])
