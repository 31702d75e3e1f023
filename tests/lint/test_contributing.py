"""The recipes of CONTRIBUTING.md: a step that was forgotten is told, by the file that lacks it.

Here are those that nothing else tells: array/test_presets.py, array/test_keywords.py,
copies/test_elements.py, gufunc/test_shipped.py, consumers/test_recipes.py and the compilers have
the others.
"""

import re
import shutil
import subprocess

import pytest
from sources import ROOT, Sources, sources

LOOPS = "gufunc/kernels/internal/loops"


def defined_loops(preprocessed: str) -> set[str]:
    """The loops for float64 on every machine that a translation unit gives to others."""
    found = re.findall(
        r"(?<!static )\b(?:void|int|intptr_t) gb_gu_k_(\w+)_f64_base\([^;{]*\)\s*\{", preprocessed
    )
    return {re.sub(r"_(step|merge|final|rows)$", "", name) for name in found}


def listed_loops(text: str) -> set[str]:
    return set(re.findall(r"\bX\(S, (\w+), ", text))


def test_every_loop_of_c_is_in_the_list() -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no compiler")
    units = [path for path in (ROOT / LOOPS).glob("*f64*.c") if "avx2" not in path.name]
    ran = [
        subprocess.run([compiler, "-E", "-P", path], capture_output=True, text=True, check=True)
        for path in units
    ]
    loops = defined_loops("\n".join(each.stdout for each in ran))
    listed = listed_loops((ROOT / LOOPS / "list.h").read_text())
    assert len(loops) > 10 and not loops - listed, (
        f"{LOOPS}/list.h lacks a line for {sorted(loops - listed)}"
    )


def given_to_nobody(files: Sources) -> list[str]:
    """Functions for Python that are neither in GB_PY_FUNCTIONS nor in a header, whose type has them
    as a method.
    """
    listed = set(re.findall(r"\b[XD]\(\w+, (\w+)\)", files["pyext/core/functions.h"]))
    declared = set(
        re.findall(
            r"\bgb_py_(\w+) GB_PY_GIVEN_\w+[;,]",
            "".join(t for p, t in files.items() if p.endswith(".h")),
        )
    )
    return [
        f"{path}: {name} is not in GB_PY_FUNCTIONS (pyext/core/functions.h), so Python lacks it"
        for path, text in files.items()
        if path.startswith("pyext/") and path.endswith(".c")
        for name in re.findall(
            r"^PyObject \*gb_py_(\w+)(?: GB_PY_GIVEN_\w+"
            r"|\(PyObject \*self, PyObject \*(?:const \*)?args[^)]*\)) \{", text, re.M
        )
        if name not in listed | declared and not re.search(rf"\bgb_py_{name}\(PyObject",
        "".join(t for p, t in files.items() if p.endswith(".h")))
    ]  # fmt: skip


def body(text: str, function: str) -> str:
    found = re.search(rf"^[^\n;]*\b{function}\([^;{{]*\) \{{\n(.*?)^\}}", text, re.M | re.S)
    assert found is not None, function
    return found[1]


# Each Field makes its own; geometry is of its shape
OWN = {"geometry", "data", "plan", "lists", "cupy", "weakrefs", "room"}
ENDS_WITH = {"data": "block", "geometry": "lists", "weakrefs": "weakrefs"}  # whose memory it is


def lost_attributes(header: str, core: str) -> list[str]:
    """Members of a Field that no copy and no view gets, and pointers that are never let go."""
    members = re.search(r"typedef struct gb_py_field \{(.*?)\} gb_py_field;", header, re.S)
    assert members is not None
    shared = "".join(
        body(core, name) for name in ("gb_py_field_share", "gb_py_field_copy_meta", "set_lists")
    )
    end = body(core, "gb_py_field_dealloc")
    wrong = []
    for kind, names in re.findall(r"^\s+(\w+) ([^;(]+);", members[1], re.M):
        for name in names.split(","):
            plain = re.sub(r"\[.*|\W", "", name)
            if plain not in OWN and f"f->{plain}" not in shared:
                wrong.append(f"gb_py_field_share or gb_py_field_copy_meta lacks {plain} ({kind})")
            if "*" in name and f"f->{ENDS_WITH.get(plain, plain)}" not in end:
                wrong.append(f"gb_py_field_dealloc lacks {plain} ({kind})")
    return [f"pyext/field/record.c: {each}" for each in wrong]


def uncleared(header: str) -> list[str]:
    """Members of gb_py_meta that a call which says nothing leaves as they are, besides the
    lists.
    """
    tail = re.search(r"struct gb_py_meta \{.*?(\bint64_t halo\[.*?)\}", header, re.S)
    assert tail is not None
    found = set(re.findall(r"\b(\w+)\s*[\[;,](?!\s*\d)", re.sub(r"\[[^\]]*\]", "", tail[1]))) - {
        "halo",
        "origin",
    }
    return [
        f"pyext/core/args.h: {name} of gb_py_meta stands behind halo, where nothing clears it"
        for name in sorted(found)
    ]


def test_functions_of_pyext_reach_python() -> None:
    assert given_to_nobody(sources()) == []


def test_attributes_of_fields_are_handed_on_and_let_go() -> None:
    files = sources()
    assert lost_attributes(files["pyext/field/field.h"], files["pyext/field/record.c"]) == []
    assert uncleared(files["pyext/core/args.h"]) == []


def test_what_was_forgotten_is_told() -> None:
    files = sources()
    assert defined_loops(
        "void gb_gu_k_forgotten_f64_base(char **args) {\n}\nstatic void gb_gu_k_row_f64_base(int n)"
        " {\n}\n"
    ) == {"forgotten"}
    assert "forgotten" not in listed_loops(files[f"{LOOPS}/list.h"])
    for text in (
        "PyObject *gb_py_mine GB_PY_GIVEN_O {\n",
        "PyObject *gb_py_mine(PyObject *self, PyObject *args) {\n",
    ):
        assert len(given_to_nobody({**files, "pyext/mine.c": text})) == 1
    header, core = files["pyext/field/field.h"], files["pyext/field/record.c"]
    for line, lacks in (
        ("PyObject *units;", 2),
        ("uint8_t packed, other;", 2),
        ("int64_t *units;", 2),
    ):
        assert (
            len(
                lost_attributes(
                    header.replace(
                        "    PyObject *weakrefs;", f"    {line}\n    PyObject *weakrefs;"
                    ),
                    core,
                )
            )
            == lacks
        )
    keywords = files["pyext/core/args.h"]
    assert (
        len(
            uncleared(
                keywords.replace("int64_t halo[", "int64_t halo[2]; int has_units; int64_t twice[")
            )
        )
        == 2
    )
