"""The keywords of gridbuf.empty and its kin: one list in C (pyext/core/args.h), and everybody
who repeats it says the same.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from sources import ROOT

import gridbuf as gb
from gridbuf import cli

KEYWORDS = re.findall(
    r"KEYWORD\(\w+, \"(\w+)\", ([01])\)", (ROOT / "pyext/core/args.h").read_text()
)
SHARED = [name for name, shared in KEYWORDS if shared == "1"]
FIELDS = ["origin"]
OWN = {
    gb.full: ["fill_value"],
    gb.plan: ["alignment"],
    gb.Field.full: ["fill_value", *FIELDS],
    gb.Field.empty: FIELDS,
    gb.Field.zeros: FIELDS,
    gb.Field.ones: FIELDS,
}
FUNCTIONS = [
    gb.empty,
    gb.zeros,
    gb.ones,
    gb.full,
    gb.plan,
    gb.Field.empty,
    gb.Field.zeros,
    gb.Field.ones,
    gb.Field.full,
]


def compare(found: Iterable[str], wanted: Iterable[str], where: str) -> None:
    lacks, has = sorted({*wanted} - {*found}), sorted({*found} - {*wanted})
    assert not lacks, f"{where} lacks {lacks}"
    assert not has, f"{where} has {has}, which GB_PY_KEYWORDS (pyext/core/args.h) has not"


def refusal(function: Callable[..., Any], **given: Any) -> str:
    try:
        function(**given)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_the_docstring_names_what_is_taken(function: Callable[..., Any]) -> None:
    where = f"the stub of {function.__qualname__} (gridbuf/_core.pyi)"
    compare(inspect.signature(function).parameters, SHARED + OWN.get(function, []), where)


def test_the_docstring_of_empty_tells_each() -> None:
    parameters = str(gb.empty.__doc__).partition("Parameters\n")[2].partition("\nReturns\n")[0]
    told = re.findall(r"^(\w.*) : ", parameters, re.MULTILINE)
    compare(
        [name for names in told for name in names.split(", ")],
        SHARED,
        "the docstring of empty (gridbuf/_core.pyi)",
    )


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_what_is_taken(function: Callable[..., Any]) -> None:
    taken = SHARED + OWN.get(function, [])
    given = {"shape": (2, 3)} | ({"fill_value": 1.0} if "fill_value" in taken else {})
    for name, _ in KEYWORDS:
        if name in given:
            continue
        if name in taken:
            function(**given | {name: "C" if name == "backend" else None})
            said = refusal(function, **given | {name: object()})
            assert name in said, (
                f"{name}=object() is taken: gb_py_read_request (pyext/core/request.c) does not read"
                f" {name}"
            )
        else:
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
                function(**given | {name: None})


def test_the_stub_and_the_command_line_name_the_same() -> None:
    stub = (ROOT / "gridbuf/_core.pyi").read_text()
    spec, field = (
        re.findall(
            r"^    (\w+):", stub[stub.index(f"class {name}(") :].split("\n\n", 2)[1], re.MULTILINE
        )
        for name in ("Spec", "FieldSpec")
    )
    compare(["shape", "dtype", *spec], SHARED, "Spec (gridbuf/_core.pyi)")
    compare(field, FIELDS, "FieldSpec (gridbuf/_core.pyi)")
    options = re.findall(r"(?<=--)[a-z-]+", cli._parser()[1]["plan"].format_usage())
    # The first is no option, the other is --dims
    spelled = {name.replace("_", "-") for name in SHARED} - {"shape", "dimensions"}
    compare({*options} - {"help"}, spelled, "python -m gridbuf plan (gridbuf/cli.py)")


def test_what_a_call_says_besides_memory_is_there_when_the_call_is_known() -> None:
    for value in (1.0, 2.0, 1.0):
        assert (gb.full((3, 4), value, halo=(1, 1)) == value).all()
        assert (np.asarray(gb.Field.full((3, 4), fill_value=value)) == value).all()
    for _ in range(3):
        f = gb.Field.empty((3, 4), dims="IJ", halo=(1, 1), origin=(1, 2), padding=False,
        memory=None, device=None, layout=None,
                           byte_alignment=64, aligned_index=None, backend="C",
                           dtype=np.float32)  # fmt: skip
        assert (f.dims, f.halo, f.origin) == (("I", "J"), ((1, 1), (1, 1)), (1, 2))
        g = gb.Field.empty((3, 4))
        assert (g.halo, g.origin) == (None, None)


DATA = np.ones((3, 4))
DOORS: dict[str, Callable[..., Any]] = {
    "empty": lambda **k: gb.empty((3, 4), **k),
    "zeros": lambda **k: gb.zeros((3, 4), **k),
    "full": lambda **k: gb.full((3, 4), 1.0, **k),
    "plan": lambda **k: gb.plan((3, 4), **k),
    "from_array": lambda **k: gb.from_array(DATA, **k),
    "empty_like": lambda **k: gb.empty_like(DATA, **k),
    "zeros_like": lambda **k: gb.zeros_like(gb.Field(DATA), **k),
    "ones_like": lambda **k: gb.ones_like(DATA, **k),
    "full_like": lambda **k: gb.full_like(DATA, 2.0, **k),
    "Field.zeros": lambda **k: gb.Field.zeros((3, 4), **k),
    "Field.from_array": lambda **k: gb.Field.from_array(DATA, **k),
    "Field.to": lambda **k: gb.Field(DATA).to(**k),
    "Field": lambda **k: gb.Field(DATA, **k),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_misspelt_keyword_is_told_by_the_function_that_was_called(door: str) -> None:
    for word, meant in (
        ("haloo", "halo"),
        ("dim", "dims"),
        ("bakend", "backend"),
        ("layot", "layout"),
        ("defaults", "backend"),
    ):
        with pytest.raises(TypeError) as raised:
            DOORS[door](**{word: None})
        near = (
            ""
            if door == "Field" and meant not in ("halo", "dims")
            else f"; did you mean {meant!r}?"
        )
        assert str(raised.value) == f"{door}() got an unexpected keyword argument {word!r}{near}"


def test_keywords_of_new_memory_are_not_for_a_wrap() -> None:
    with pytest.raises(
        TypeError,
        match=r"^Field\(\) got an unexpected keyword argument 'backend', which is for new memory$",
    ):
        gb.Field(DATA, backend="C")  # type: ignore[call-arg]
    with pytest.raises(
        TypeError,
        match=(
            r"register_backend.. got an unexpected keyword argument 'aligment'; did you mean"
            r" 'alignment'"
        ),
    ):
        gb.register_backend("x", layout="F", aligment=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="data"):
        gb.Field()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        gb.Field(DATA, None, **{1: 2})  # type: ignore[misc]


@pytest.mark.parametrize(
    "call",
    [
        lambda name: gb.zeros((3, 4), name),
        lambda name: gb.plan((3, 4), name),
        lambda name: gb.from_array(DATA, name),
        lambda name: gb.zeros_like(DATA, name),
        lambda name: gb.ones_like(gb.Field(DATA), name),
        lambda name: gb.Field.from_array(DATA, name),
        lambda name: gb.Field(DATA).to(name),
        lambda name: gb.Field(DATA).astype(name),
    ],
)
def test_a_backend_in_the_place_of_a_dtype(call: Callable[[str], Any]) -> None:
    with pytest.raises(
        TypeError,
        match=r"^dtype: 'gt:cpu_ifirst' is a backend, which goes by name: backend='gt:cpu_ifirst'$",
    ):
        call("gt:cpu_ifirst")
    with pytest.raises(TypeError, match=r"^dtype: .*'float46'"):
        call("float46")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("gt:cpu", "gt:cpu_ifirst"), ("dace", "dace:cpu"), ("gt:cpu_ifrst", "gt:cpu_ifirst"),
    ("Numpy", "numpy"), ("GT:GPU", "gt:gpu")]
)  # fmt: skip
def test_what_begins_so_is_meant_before_what_looks_so(word: str, meant: str) -> None:
    with pytest.raises(gb.BackendError, match=f"; did you mean '{meant}'\\?$"):
        gb.empty((2, 2), backend=word)
