"""What C asks of the Python package stands in one table (pyext/core/upcall.h), and the package has it.

The table is read as text and the modules are parsed, not imported: some need a library that is not installed.
"""

import ast
import re

import pytest
from test_lint import ROOT, Sources, sources

PACKAGE = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "gridbuf").rglob("*.py")}


def table(text: str) -> list[tuple[str, str, str]]:
    """(name in C, module, function) of each row."""
    return re.findall(r"X\((GB_PY_UP_\w+), \"([\w.]+)\", \"(\w+)\"\)", text)


def defined(text: str) -> set[str]:
    """The functions, classes and names of a module, and what it imports from others, at its top level."""
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
    return [f"{module}.{name}" for _, module, name in rows if name not in defined(package.get(paths[module], ""))]


def other_doors(files: Sources) -> list[str]:
    """C files beside upcall.c that import a module, other than NumPy and os, which know nothing of us."""
    return [
        f"{path}: {call}"
        for path, text in files.items()
        if path != "pyext/core/upcall.c"
        for call in re.findall(r"\bPyImport_\w+\([^)]*\)", text)
        if call not in {'PyImport_ImportModule("numpy")', 'PyImport_ImportModule("os")'}
    ]


def unused(rows: list[tuple[str, str, str]], files: Sources) -> list[str]:
    """Rows that no C file asks for."""
    asked = {name for path, text in files.items() if path.endswith(".c") for name in re.findall(r"\bGB_PY_UP_\w+", text)}
    return [name for name, _, _ in rows if name not in asked]


def test_the_package_has_what_c_asks_for() -> None:
    rows = table(sources()["pyext/core/upcall.h"])
    assert ("GB_PY_UP_COPYTO", "gridbuf.numpy_copies", "_copyto_any") in rows
    assert missing(rows, PACKAGE) == []
    assert unused(rows, sources()) == []


def test_there_is_one_door() -> None:
    assert other_doors(sources()) == []


@pytest.mark.parametrize(
    "call", ['PyImport_ImportModule("gridbuf.field")', "PyImport_ImportModule(name)", "PyImport_Import(name)"]
)
def test_another_door_is_found(call: str) -> None:
    assert other_doors({"pyext/x.c": f"PyObject *module = {call};"}) == [f"pyext/x.c: {call}"]


def test_a_name_that_is_gone_is_found() -> None:
    rows = [("GB_PY_UP_F", "gridbuf.m", "f"), ("GB_PY_UP_G", "gridbuf.m", "g"), ("GB_PY_UP_H", "gridbuf.n", "h")]
    assert missing(rows, {"gridbuf/m.py": "from a import b as f\ndef old() -> None:\n    def g(): pass\n"}) == [
        "gridbuf.m.g",
        "gridbuf.n.h",
    ]
    assert unused(rows, {"pyext/x.c": "gb_py_upcall_get(GB_PY_UP_F), gb_py_upcall_get(GB_PY_UP_H)"}) == ["GB_PY_UP_G"]
