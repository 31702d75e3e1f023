"""What C asks of the Python package stands in two tables (pyext/core/upcall.h), and the package has
it.

The table is read as text and the modules are parsed, not imported: some need a library that is not
installed.
"""

import ast
import re

import pytest
from sources import ROOT, Sources, sources

PACKAGE = {
    path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "gridbuf").rglob("*.py")
}


def table(text: str) -> list[tuple[str, str, str]]:
    """(name in C, module, function) of each row."""
    return re.findall(r"X\((GB_PY_UP_\w+), \"([\w.]+)\", \"(\w+)\"\)", text)


def defined(text: str) -> set[str]:
    """The functions, classes and names of a module, and what it imports from others, at its top
    level.
    """
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def missing(rows: list[tuple[str, str, str]], package: Sources) -> list[str]:
    """Rows whose function the package lacks."""
    paths = {module: module.replace(".", "/") + ".py" for _, module, _ in rows}
    return [
        f"{module}.{name}"
        for _, module, name in rows
        if name not in defined(package.get(paths[module], ""))
    ]


def members(text: str) -> list[tuple[str, str, str, str]]:
    """(name in C, module, class, method or attribute) of each row."""
    return re.findall(r"X\((GB_PY_OF_\w+), \"([\w.]+)\", \"(\w+)\", \"(\w+)\"\)", text)


def has(text: str, cls: str, name: str) -> bool:
    """Whether a module's class defines or declares the name."""
    bodies = [
        node.body
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == cls
    ]
    return any(
        (isinstance(node, ast.FunctionDef) and node.name == name)
        or (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == name
        )
        for node in (each for body in bodies for each in body)
    )


# What C asks by name of objects that are Python's or NumPy's: their classes have it.
FOREIGN = {
    "__array_ufunc__", "__dlpack_c_exchange_api__", "__get__", "__name__", "__qualname__", "args",
    "co_filename", "descr", "dtype", "format",
    "name", "names", "register_at_fork", "run", "shape", "str", "view", "where",
}  # fmt: skip


def by_name(files: Sources) -> list[str]:
    """C files beside upcall.c that ask an object for a method or an attribute of the package's, by
    a string of their own.
    """
    asked = re.compile(
        r"\bPyObject_(?:CallMethod|(?:Get|Set|Has)AttrString)\((?:[^;\"]|\([^;]*?\))*?\"(\w+)\""
    )
    return [
        f"{path}: {m[1]} is asked for past the table of pyext/core/upcall.h"
        for path, text in files.items()
        if path != "pyext/core/upcall.c"
        for m in asked.finditer(text)
        if m[1] not in FOREIGN
    ]


def other_doors(files: Sources) -> list[str]:
    """C files beside upcall.c that import a module, other than NumPy and os, which know nothing of
    us.
    """
    return [
        f"{path}: {call}"
        for path, text in files.items()
        if path != "pyext/core/upcall.c"
        for call in re.findall(r"\bPyImport_\w+\([^)]*\)", text)
        if call not in {'PyImport_ImportModule("numpy")', 'PyImport_ImportModule("os")'}
    ]


def unused(names: list[str], files: Sources) -> list[str]:
    """Names of rows that no C file asks for."""
    asked = {
        name
        for path, text in files.items()
        if path.endswith(".c")
        for name in re.findall(r"\bGB_PY_(?:UP|OF)_\w+", text)
    }
    return [name for name in names if name not in asked]


def test_the_package_has_what_c_asks_for() -> None:
    rows = table(sources()["pyext/core/upcall.h"])
    assert ("GB_PY_UP_COPYTO", "gridbuf.copies", "_copyto_any") in rows
    assert missing(rows, PACKAGE) == []
    assert unused([row[0] for row in rows], sources()) == []


def test_the_classes_have_what_c_asks_their_objects_for() -> None:
    rows = members(sources()["pyext/core/upcall.h"])
    assert ("GB_PY_OF_GUFUNC_CHOOSE", "gridbuf.gufunc.choosing", "Choosing", "_choose") in rows
    lacks = [
        f"{module}.{cls}.{name}"
        for _, module, cls, name in rows
        if not has(PACKAGE[module.replace(".", "/") + ".py"], cls, name)
    ]
    assert not lacks, f"{lacks} of GB_PY_UPCALL_MEMBERS (pyext/core/upcall.h)"
    assert unused([row[0] for row in rows], sources()) == []


def test_there_is_one_door() -> None:
    assert other_doors(sources()) == []
    assert by_name(sources()) == []


@pytest.mark.parametrize(
    "call",
    [
        'PyImport_ImportModule("gridbuf.field")',
        "PyImport_ImportModule(name)",
        "PyImport_Import(name)",
    ],
)
def test_another_door_is_found(call: str) -> None:
    assert other_doors({"pyext/x.c": f"PyObject *module = {call};"}) == [f"pyext/x.c: {call}"]


@pytest.mark.parametrize(
    "call",
    ['PyObject_CallMethod(g, "_choose", "O", x)',
    'PyObject_CallMethod((PyObject *)v->gufunc, "_choose", NULL)',
    'PyObject_GetAttrString((PyObject *)f(g), "_choose")'],
)  # fmt: skip
def test_a_name_past_the_table_is_found(call: str) -> None:
    assert by_name({"pyext/x.c": f"PyObject *found = {call};"}) == [
        "pyext/x.c: _choose is asked for past the table of pyext/core/upcall.h"
    ]
    assert (
        by_name(
            {"pyext/x.c": 'PyObject *found = PyObject_GetAttrString(descr, "names"), *a = f("b");'}
        )
        == []
    )


def test_a_name_that_is_gone_is_found() -> None:
    rows = [
        ("GB_PY_UP_F", "gridbuf.m", "f"),
        ("GB_PY_UP_G", "gridbuf.m", "g"),
        ("GB_PY_UP_H", "gridbuf.n", "h"),
    ]
    assert missing(
        rows, {"gridbuf/m.py": "from a import b as f\ndef old() -> None:\n    def g(): pass\n"}
    ) == [
        "gridbuf.m.g",
        "gridbuf.n.h",
    ]
    assert not has("class A:\n    def g(self): pass\nclass B:\n    x: int\n", "B", "g")
    assert unused(
        [row[0] for row in rows],
        {"pyext/x.c": "gb_py_upcall_get(GB_PY_UP_F), gb_py_upcall_get(GB_PY_UP_H)"},
    ) == ["GB_PY_UP_G"]
