"""Invariant 12: what is borrowed from an array is not used after Python code could run, which may
have changed the array.

The rule reads the C of pyext/: where a gb_py_memory or an array's shape, strides or dtype is taken,
and whether it is used after a call that can run Python code. Which of our functions can, it works
out itself.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from sources import Sources, sources, without_comments

# Functions of Python's and NumPy's that call what users write: conversions, attributes,
# comparisons, signals.
RUNS = re.compile(
    r"\b(?:PyObject_(?:Call\w*|Get\w+|Set\w+|Str|Repr|IsTrue|RichCompare\w*)|PyNumber_\w+|PyImport_\w+|PySequence_\w+|PyIter_Next"
    r"|PyDict_(?:GetItem\w*|SetItem\w*)|PySlice_Unpack|PyErr_CheckSignals|PyErr_WarnEx|PyEval_SaveThread|PyType_GenericAlloc"
    r"|PyArray_(?:CopyObject|FromAny|DescrConverter|EquivTypes|CanCastTypeTo|CastToType|CastingConverter)|vectorcall|lookup)\("
)
FUNCTION = re.compile(
    r"^(static )?[\w][\w *]*?\b(\w+)\(([^;{}]*)\) \{\n(.*?)^\}", flags=re.MULTILINE | re.DOTALL
)
BORROWS = re.compile(
    r"\bgb_py_memory_of\([^;]*?, &?(\w+)\)|\b(\w+) = (?:\{[^;]*?|[^;=]*?)(?<!Py_NewRef\(\(PyObject"
    r" \*\))PyArray_(?:DIMS|SHAPE|STRIDES|DESCR)\([^;]*"
)
GIVEN = re.compile(r"\bgb_py_memory \*(\w+)")  # a parameter, taken by the caller
KEEPS = re.compile(r"\bgb_py_imported \w+ = \{[^;]*?PyArray_(?:DIMS|SHAPE|STRIDES)\(")


class Functions:
    """The functions of pyext/ by file and name, and which of them can run Python code."""

    def __init__(self, files: Sources) -> None:
        self.bodies: dict[tuple[str, str], str] = {}
        for path, text in files.items():
            for match in FUNCTION.finditer(text) if path.startswith("pyext/") else ():
                self.bodies[path if match[1] else "", match[2]] = match[4]
        self.running = {key for key, body in self.bodies.items() if RUNS.search(body)}
        grown = True
        while grown:
            more = {
                key
                for key, body in self.bodies.items()
                if key not in self.running and any(self.calls(key[0], body))
            }
            self.running |= more
            grown = bool(more)

    def calls(self, path: str, body: str) -> Iterator["re.Match[str]"]:
        """The calls that can run Python code."""
        for match in re.finditer(r"\b(\w+)\(", body):
            name = match[1]
            ours = next((key for key in ((path, name), ("", name)) if key in self.bodies), None)
            if ours in self.running if ours else RUNS.match(match[0]):
                yield match

    def ends(self, path: str, body: str) -> list[int]:
        """Where they end; but for those of a return statement, after which nothing is used."""
        found = []
        for match in self.calls(path, body):
            start = max(body.rfind(c, 0, match.start()) for c in ";{}") + 1
            if not re.search(r"\breturn\b", body[start : match.start()]):
                found.append(closing(body, match.end()))
        return found


def closing(text: str, at: int) -> int:
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def borrowed(files: Sources) -> list[str]:
    """Nothing borrowed from an array is used after a call that can run Python code."""
    functions, wrong = Functions(files), []
    for path, text in files.items():
        for match in FUNCTION.finditer(text) if path.startswith("pyext/") else ():
            body = match[4]
            taken = [(m.end(), m[1] or m[2], m.start()) for m in BORROWS.finditer(body)]
            taken += [(0, m[1], 0) for m in GIVEN.finditer(match[3])]
            runs = functions.ends(path, body)
            if KEEPS.search(body):
                wrong.append(
                    f"{path}: {match[2]} uses an array's own lists in a gb_py_imported, which"
                    " outlives Python code"
                )
            for name in {name for _, name, _ in taken}:
                spans = [(start, end) for end, other, start in taken if other == name]
                for use in re.finditer(rf"\b{name}\b", body):
                    last = max((end for start, end in spans if end <= use.start()), default=None)
                    inside = any(start <= use.start() < end for start, end in spans)
                    if (
                        last is not None
                        and not inside
                        and any(last < run <= use.start() for run in runs)
                    ):
                        wrong.append(
                            f"{path}: {match[2]} uses {name} after Python code could change it"
                        )
                        break
    return wrong


@pytest.mark.parametrize("rule", [borrowed], ids=lambda rule: rule.__name__)
def test_the_sources_keep(rule: Callable[[Sources], list[str]]) -> None:
    files = sources()
    assert len(Functions(files).running) > 100
    assert rule(files) == []


RUNNING = "static int convert(PyObject *o) {\n    return PyNumber_Index(o) ? 1 : 0;\n}\n"
WRONG = [
    (
        "int f(PyObject *a, PyObject *v) {\n    gb_py_memory m;\n    gb_py_memory_of(a, &m);\n   "
        " PyNumber_Float(v);\n    write(m.view.data);\n}\n"
    ),
    RUNNING
    + "int f(PyObject *a, PyObject *v) {\n    gb_py_memory m;\n    gb_py_memory_of(a, &m);\n    if"
    " (convert(v)) write(&m);\n}\n",
    RUNNING + "static int g(PyObject *o) {\n    return convert(o);\n}\nint f(PyArrayObject *a) {\n"
    "    npy_intp *dims = PyArray_DIMS(a);\n    g(x);\n    return dims[0];\n}\n",
    (
        "int f(PyArrayObject *a) {\n    gb_py_imported m = {.shape = PyArray_DIMS(a)};\n    return"
        " over(&m);\n}\n"
    ),
    "int f(gb_py_memory *m, PyObject *v) {\n    PyNumber_Float(v);\n    return write(m);\n}\n",
    (
        "int f(PyArrayObject *a) {\n    PyArray_Descr *d = PyArray_DESCR(a);\n   "
        " PyErr_CheckSignals();\n    return d->type_num;\n}\n"
    ),
]
RIGHT = [
    (
        "int f(PyObject *a, PyObject *v) {\n    gb_py_memory m;\n    gb_py_memory_of(a, &m);\n   "
        " PyNumber_Float(v);\n    if (gb_py_memory_of(a, &m)) write(m.view.data);\n}\n"
    ),
    (
        "int f(PyObject *a) {\n    gb_py_memory m;\n    if (!gb_py_memory_of(a, &m)) return"
        " PyObject_IsTrue(a);\n    return write(&m);\n}\n"
    ),
    (
        "int f(PyArrayObject *a) {\n    int64_t shape[32];\n    memcpy(shape, PyArray_DIMS(a),"
        " 8);\n    PyObject_Str(x);\n    return shape[0];\n}\n"
    ),
    (
        "int f(PyArrayObject *a) {\n    PyArray_Descr *d = (PyArray_Descr *)Py_NewRef((PyObject"
        " *)PyArray_DESCR(a));\n    PyErr_CheckSignals();\n    return d->type_num;\n}\n"
    ),
    (
        "int f(PyObject *a) {\n    gb_py_memory m;\n    gb_py_memory_of(a, &m);\n    return"
        " gb_py_copy_finish(plan(&m), PyObject_Str(a));\n}\n"
    ),
]


@pytest.mark.parametrize("text", WRONG)
def test_a_violation_is_found(text: str) -> None:
    found = borrowed({"pyext/a.c": without_comments(text)})
    assert len(found) == 1 and found[0].startswith("pyext/a.c: f uses")


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right_is_left_alone(text: str) -> None:
    assert borrowed({"pyext/a.c": without_comments(text)}) == []
