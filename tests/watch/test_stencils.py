"""Calls of gt4py.cartesian's stencils: how often, with which fields, how they lie, who made them;
and that data stay as they are.
"""

import gc
import inspect
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from watched import number, told, watch, watching

from gridbuf.watch.records import Book
from gridbuf.watch.stencils import watch_class

pytest.importorskip("gt4py.cartesian")
pytestmark = pytest.mark.slow  # each runs a program that imports it

HEAD = """
import numpy as np
from gt4py import storage
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval
import gridbuf as gb
"""

MODEL = (
    HEAD
    + """
@gtscript.stencil(backend="numpy")
def smooth(u: Field[np.float64], out: Field[np.float64], w: Field[gtscript.K, np.float32],
    c: float):
    with computation(PARALLEL), interval(...):
        out = u + c * (u[1, 0, 0] + u[-1, 0, 0]) * w

u = np.zeros((34, 32, 10), order="F")                                      # u is made here
out = storage.zeros((34, 32, 10), backend="numpy", aligned_index=(1, 0, 0))    # out is made here
# too small to be looked at
w = np.ones(10, "f4")
u[...] = np.arange(u.size).reshape(u.shape)
before = u.copy()
for _ in range(5):
    smooth(u, out, w, 0.5, origin=(1, 0, 0), domain=(32, 32, 10))          # five calls
frozen = smooth.freeze(origin={"u": (1, 0, 0), "out": (1, 0, 0), "w": (0,)}, domain=(32, 32, 10))
for _ in range(3):
    frozen(u=u, out=out, w=w, c=0.5)                                       # three calls
f = gb.Field.zeros((34, 32, 10), backend="numpy", dims="IJK", halo=(1, 0, 0))   # a Field
smooth(f, out, w, c=0.5, domain=(32, 32, 10))                              # one
try:
    smooth(u[:, :, :3], out, w, 0.5, domain=(32, 32, 10))                  # one that fails
except ValueError:
    print("refused")
assert (u == before).all()
print(float(out.sum()), type(smooth).__name__, smooth.run.__name__)
"""
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: Any) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("watch")
    found = watch(MODEL, "--measure", cwd=folder)
    found["folder"] = folder
    return found


def test_calls(found: dict[str, Any]) -> None:
    (smooth,) = found["stencils"]
    assert (smooth["kind"], smooth["name"], smooth["backend"]) == (
        "gt4py.cartesian",
        "smooth",
        "numpy",
    )
    assert smooth["calls"] == 10  # the one that fails is a call
    assert smooth["defined"]["line"] == number(MODEL, "@gtscript.stencil")
    assert smooth["least"] <= smooth["median"] <= smooth["seconds"]
    called = {line["line"] for line in smooth["called_by"]}
    assert {
        number(MODEL, "# five calls"),
        number(MODEL, "# three calls"),
        number(MODEL, "w, c=0.5, domain"),
    } <= called


def test_fields(found: dict[str, Any]) -> None:
    (smooth,) = found["stencils"]
    fields = {(f["name"], f["order"]): f for f in smooth["fields"]}
    assert set(fields) == {("u", "KJI"), ("u", "IJK"), ("out", "IJK"), ("w", "K")}
    u, field, out, w = (
        fields[key] for key in (("u", "KJI"), ("u", "IJK"), ("out", "IJK"), ("w", "K"))
    )
    assert (u["calls"], field["calls"], out["calls"], w["calls"]) == (8, 1, 9, 9)
    assert (
        u["shape"] == [34, 32, 10]
        and u["strides"] == [8, 272, 8704]
        and u["wanted"] == "IJK"
        and u["padding"] == 0
    )
    assert [line["line"] for line in u["made_by"]] == [number(MODEL, "# u is made here")]
    assert [line["line"] for line in out["made_by"]] == [number(MODEL, "# out is made here")]
    assert [line["line"] for line in field["made_by"]] == [number(MODEL, "# a Field")]
    assert w["made_by"] == [] and w["dtype"] == "float32"
    assert field["aligned"] >= field["wants_aligned"] > 8
    # Of the domain's first element: NumPy's boundary of 16 or more, and one element on
    assert u["aligned"] == 8


def test_the_program_s_data_are_its_own(found: dict[str, Any]) -> None:
    (smooth,) = found["stencils"]
    assert smooth["measured"]["ratio"] > 0 and smooth["measured"]["fields"] == ["u"]
    # The stencil's temporaries
    assert any(row["line"]["line"] == number(MODEL, "# five calls") for row in found["allocations"])
    plain = watch(MODEL, cwd=found["folder"])
    assert plain["stdout"] == found["stdout"] and "refused" in plain["stdout"]
    assert plain["stencils"][0]["measured"] is None
    made = {
        row["line"]["line"] for row in found["allocations"] if "copy" not in row["line"]["source"]
    }
    assert made == {
        row["line"]["line"] for row in plain["allocations"] if "copy" not in row["line"]["source"]
    }


def test_advice(found: dict[str, Any]) -> None:
    line = next(a["text"] for a in found["advice"] if "smooth" in a["text"])
    assert (
        f"u (model.py:{number(MODEL, '# u is made here')}) is in the order KJI, numpy wants IJK"
        in line
    )
    assert (
        "times as fast" in line or "a noisy machine" in line
    ) and "gb.zeros(..., backend='numpy')" in line
    # There in lines of 100 columns
    assert " ".join(line.split()) in " ".join(found["stderr"].split())
    advised = found["stderr"].partition("what to change\n")[2].splitlines()
    assert all(len(each) <= 100 for each in advised) and any(
        each.startswith("     ") for each in advised
    )


def test_fifty_fields(tmp_path: Path) -> None:
    names = [f"f{i}" for i in range(49)]
    source = (
        HEAD
        + f"""
@gtscript.stencil(backend="numpy")
def many({", ".join(f"{name}: Field[np.float64]" for name in names)}, out: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        out = {" + ".join(names)}

fields = dict({", ".join(f"{name}=np.zeros((20, 20, 10))" for name in names)})
out = storage.zeros((20, 20, 10), backend="numpy")
fields["f7"] = np.asfortranarray(fields["f7"])   # the odd one
fields["f8"] = fields["f8"][::-1]
for _ in range(4):
    many(**fields, out=out)
"""
    )
    found = watch(source, cwd=tmp_path)
    (many,) = found["stencils"]
    assert (
        many["calls"] == 4
        and len(many["fields"]) == 50
        and all(f["calls"] == 4 for f in many["fields"])
    )
    odd = [f for f in many["fields"] if f["order"] != f["wanted"]]
    assert [f["name"] for f in odd] == ["f7"] and odd[0]["made_by"][0]["line"] == number(
        source, "# the odd one"
    )
    made = number(source, "fields = dict")
    assert all(
        [line["line"] for line in f["made_by"]] == [made]
        for f in many["fields"]
        if f["name"] not in ("f7", "out")
    )
    own = found["own"]
    # Fifty fields, cold
    assert (
        own["calls"] >= 4
        and own["seconds_each_call"] >= 0
        and own["seconds"] > 4 * own["seconds_each_call"]
    )
    told = " ".join(found["stderr"].split())
    assert "f7 (model.py:" in told and "--measure shows the gain" in told


class Still:
    """A stencil of gt4py's that does nothing but fail where it is told to."""

    options, backend = {"name": "still"}, "numpy"
    field_info = dict.fromkeys(
        ("a", "b"), SimpleNamespace(axes=("I", "J", "K"), data_dims=(), dtype=np.float64)
    )

    def __call__(self, a: Any, b: Any, fail: bool = False) -> str:
        self.run(a=a, b=b, fail=fail)
        return "done"

    def run(self, *, a: Any, b: Any, fail: bool = False) -> None:
        """Do nothing."""
        if fail:
            raise ValueError("told to")


def test_every_call_is_counted_and_a_layout_that_comes_late_is_told() -> None:
    cls = type("Still", (Still,), {"__call__": Still.__call__, "run": Still.run})
    book = Book()
    undo = watch_class(cls, book, measure=False)
    still, c, f = cls(), np.zeros((4, 5, 6)), np.zeros((4, 5, 6), order="F")
    lines = set()
    for i in range(300):
        a, b = (c, f) if i % 2 else (f, c)  # time levels take turns
        assert still(a, b) == "done"
        lines.add(still.__call__.__name__)
    assert still(c[1:], b=f[::-1]) == "done"
    for _ in range(100):
        still.run(a=c[..., :4], b=f)  # as a frozen stencil's
    for _ in range(70):
        with pytest.raises(ValueError, match="told to"):
            still(c, f, fail=True)
    with pytest.raises(TypeError, match="missing"):
        still(c)
    (found,) = told(book)["stencils"]
    assert (
        found["calls"] == 300 + 1 + 100 + 70 + 1
        and found["least"] <= found["median"] <= found["seconds"]
    )
    calls = {
        (each["name"], tuple(each["strides"]), tuple(each["shape"])): each["calls"]
        for each in found["fields"]
    }
    assert calls["a", c.strides, (4, 5, 6)] == 150 + 70 and calls["a", c.strides, (4, 5, 4)] == 100
    assert calls["a", f.strides, (4, 5, 6)] == 150 and calls["b", f[::-1].strides, (4, 5, 6)] == 1
    # The one without b has not come so far
    assert sum(n for (name, *_), n in calls.items() if name == "a") == 471
    for _ in range(100):
        still(c, f)
    assert told(book)["stencils"][0]["calls"] == 572 and told(book)["stencils"][0]["calls"] == 572
    undo()
    assert lines == {"__call__"} and vars(cls)["run"] is Still.run and still(c, f) == "done"
    assert told(book)["stencils"][0]["calls"] == 572


def test_what_is_saved_is_of_the_layouts_that_were_measured() -> None:
    """A first call with little fields says nothing of those that follow."""
    cls = type("Still", (Still,), {"__call__": Still.__call__, "run": Still.run})
    book = Book()
    undo = watch_class(cls, book, measure=True)
    still = cls()
    for n, calls in ((2, 1), (20, 30), (30, 50)):
        for _ in range(calls):
            still(np.zeros((n, n, n), order="F"), np.zeros((n, n, n)))
    undo()
    assert told(book)["stencils"][0]["calls"] == 81
    (record,) = book.stencils.values()
    assert [each.calls for each, _ in record.measured] == [1, 30, 50] and all(
        "ratio" in found for _, found in record.measured
    )
    times = [(1.0, 0.5), (2.0, 1.0), (3.0, 1.0)]
    for (_, found), (before, after) in zip(record.measured, times, strict=True):
        found |= {"seconds": before, "relaid_seconds": after, "ratio": before / after}
    record.times.total = 1e3
    (row,) = told(book)["stencils"]
    assert (row["measured"]["ratio"], row["measured"]["saves"]) == (3.0, 1 * 0.5 + 30 * 1 + 50 * 2)
    record.times.total = 1.0  # most calls had smaller domains than the one that was measured
    assert told(book)["stencils"][0]["measured"]["saves"] == pytest.approx(1 - 80.5 / 211)


def test_the_boundary_is_the_least_of_what_came() -> None:
    memory = np.zeros(4096 + 64, "u1")
    start = -memory.ctypes.data % 64
    whole = memory[start : start + 1920].view("f8")
    odd = memory[start + 1928 : start + 1928 + 960].view("f8").reshape(4, 5, 6)
    arrays = [whole[:120].reshape(4, 5, 6), whole[120:].reshape(4, 5, 6), odd]
    cls = type("Still", (Still,), {"__call__": Still.__call__, "run": Still.run})
    book = Book()
    undo = watch_class(cls, book, measure=False)
    for array in arrays:
        cls()(array, arrays[0])
    undo()
    aligned = {f["name"]: f["aligned"] for f in told(book)["stencils"][0]["fields"]}
    assert aligned["a"] == 8 and aligned["b"] >= 64


def test_methods_are_methods() -> None:
    cls = type("Still", (Still,), {"__call__": Still.__call__, "run": Still.run})
    undo = watch_class(cls, Book(), measure=False)
    still = cls()
    assert still.run.__self__ is still and still.run == still.run
    assert inspect.signature(still.run) == inspect.signature(Still().run)
    still.step, gone, method = still.run, weakref.ref(still), weakref.WeakMethod(still.run)
    assert method() == still.run
    undo()
    del still
    gc.collect()
    assert gone() is None and method() is None


def test_more_layouts_than_are_kept_in_c() -> None:
    cls = type("Still", (Still,), {"__call__": Still.__call__, "run": Still.run})
    other = type("Other", (cls,), {})  # has the methods of another class, and is counted as itself
    book = Book()
    undo = watch_class(cls, book, measure=False)
    arrays = [np.zeros((4, 5, 6 + n)) for n in range(40)]
    for _ in range(5):
        for array in arrays:
            cls()(array, array)
            other()(array, array)
    rows = told(book)["stencils"]
    undo()
    assert [row["calls"] for row in rows] == [200, 200]
    for row in rows:
        assert {each["calls"] for each in row["fields"]} == {5} and len(row["fields"]) == 80


GENERATED = """
import numpy as np
class Made(Base):
    def __call__(self, a, b):
        self.run(a=a, b=b)
    def run(self, a, b):
        self.kept = np.ones((300, 300))
"""


@pytest.mark.parametrize("folder", [".gt_cache", ".gt_cache_000003", "stencils of mine"])
def test_generated_code_is_no_line_of_the_program_in_any_folder(
    tmp_path: Path, folder: str
) -> None:
    """NDSL has a cache for each rank; a program may call it as it likes."""
    file = tmp_path / folder / "py312_1013" / "numpy" / "m_step.py"
    file.parent.mkdir(parents=True)
    file.write_text(GENERATED)
    names: dict[str, Any] = {"Base": Still, "__name__": "_GT_.model.step.m_step"}
    exec(compile(GENERATED, str(file), "exec"), names)
    with watching() as book:
        undo = watch_class(names["Made"], book, measure=False)
        made = names["Made"]()
        made.run(a=np.zeros((2, 2, 2)), b=np.zeros((2, 2, 2)))  # timed as a call of this line
        undo()
        made.run(a=None, b=None)  # without a watched call the frames tell
        rows = told(book)["allocations"]
    lines = {row["line"]["file"] for row in rows if row["bytes"] >= 720_000}
    assert str(file) not in lines and __file__ in lines


def test_a_version_that_cannot_be_watched_is_named(tmp_path: Path) -> None:
    """Its import goes on, and the report says whose calls are missing from it."""
    package = tmp_path / "gt4py" / "cartesian"
    package.mkdir(parents=True)
    for path in (package.parent, package):
        (path / "__init__.py").touch()
    (package / "stencil_object.py").write_text("class Other: pass\n")
    (tmp_path / "gt4py-0.9.dist-info").mkdir()
    (tmp_path / "gt4py-0.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: gt4py\nVersion: 0.9\n"
    )
    found = watch("import gt4py.cartesian.stencil_object as s\nprint(s.Other)\n", cwd=tmp_path)
    assert "stencil_object.Other" in found["stdout"]
    (said,) = [each for each in found["not_seen"] if "gt4py" in each]
    assert (
        said.startswith("calls of gt4py.cartesian.stencil_object (gt4py 0.9): AttributeError: ")
        and "StencilObject" in said
    )
    assert said in found["stderr"]
