"""What is public, and what its docstring lacks."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest
from pages_of_docs import REFERENCE

import gridbuf

PACKAGES = [name.removeprefix("gridbuf").lstrip(".") for name in REFERENCE]
SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "See Also",
    "Notes",
    "References",
    "Examples",
)
STUBS = ast.parse((Path(gridbuf.__file__).parent / "_core.pyi").read_text())


class Documented(NamedTuple):
    """What is public under a name, and whether it is called with a `self`."""

    name: str
    obj: Any
    bound: bool


def members(name: str, cls: type) -> Iterator[Documented]:
    """The public methods that this project wrote; those that another library asks of its subclasses
    are described there.
    """
    ours = [base for base in cls.__mro__ if base.__module__.startswith("gridbuf")]
    theirs = {key for base in cls.__mro__ if base not in ours for key in vars(base)}
    for each in sorted({key for base in ours for key in vars(base)} - theirs):
        found = inspect.getattr_static(cls, each)
        plain = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        if plain.__doc__ is None and any(
            getattr(base.__dict__.get(each), "__doc__", None) for base in ours
        ):
            continue  # it does what its base says
        # Data, as a property is: its class's Attributes say what it holds
        if isinstance(plain, cached_property):
            continue
        if not each.startswith("_") and (
            inspect.isroutine(plain) or inspect.ismethoddescriptor(plain)
        ):
            yield Documented(
                f"{name}.{each}",
                plain,
                not isinstance(found, staticmethod) and not inspect.isbuiltin(found),
            )


def undescribed(cls: type) -> list[str]:
    """The data of a class that neither its sections nor a docstring of their own, or of a base's,
    describes.
    """
    ours = [base for base in cls.__mro__ if base.__module__.startswith("gridbuf")]
    theirs = {key for base in cls.__mro__ if base not in ours for key in vars(base)}
    found = sections(documented(cls))
    told = {*named(found.get("Attributes", "")), *named(found.get("Parameters", ""))}
    return [
        key
        for key in sorted({key for base in ours for key in vars(base)} - theirs - told)
        if not key.startswith("_")
        and inspect.isdatadescriptor(inspect.getattr_static(cls, key))
        and not any(getattr(vars(base).get(key), "__doc__", None) for base in ours)
    ]


def public(package: str) -> list[Documented]:
    """The functions, classes and methods of a package's `__all__`, each object once, under its
    base's name.
    """
    module = importlib.import_module(f"gridbuf.{package}".rstrip("."))
    found = [(f"{package}.{each}".lstrip("."), getattr(module, each)) for each in module.__all__]
    if not package:  # what copy_async returns is made by nobody else, and has no name here
        found.append(("Copy", inspect.get_annotations(gridbuf.copy_async)["return"]))
    types = sorted(
        (pair for pair in found if isinstance(pair[1], type)), key=lambda pair: len(pair[1].__mro__)
    )
    each = [Documented(name, obj, False) for name, obj in found if not inspect.ismodule(obj)]
    each += [member for name, obj in types for member in members(name, obj)]
    return list({id(one.obj): one for one in reversed(each)}.values())[::-1]


def documented(obj: Any) -> str:
    """The docstring of an object itself, without those of the classes that it comes from."""
    return inspect.cleandoc(obj.__doc__ or "")


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring by their titles; what stands before the first is under ''."""
    parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def named(section: str) -> list[str]:
    """The names that a section describes: `a, b : int` are two."""
    heads = [line.split(" : ")[0] for line in section.strip("\n").splitlines() if line[:1].strip()]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def taken(each: Documented) -> list[str]:
    """The names of the parameters, in order, without self."""
    try:
        names = list(inspect.signature(each.obj).parameters)
    except ValueError as error:
        raise AssertionError(
            f"{each.name}: the first line of its docstring in C is not its signature"
        ) from error
    return names[1:] if each.bound or names[:1] in (["self"], ["$self"]) else names


def stub(qualname: str) -> ast.FunctionDef | None:
    """What _core.pyi says of a function of C."""
    scope: Any = STUBS
    for part in qualname.split("."):
        scope = next(
            (
                n
                for n in scope.body
                if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == part
            ),
            None,
        )
        if scope is None:
            return None
    return scope if isinstance(scope, ast.FunctionDef) else None


def gives(each: Documented) -> bool:
    """Whether a call returns something, as its annotation says."""
    annotations = getattr(each.obj, "__annotations__", {})
    if "return" in annotations:
        return annotations["return"] not in (None, NoReturn, "None", "NoReturn")
    found = stub(each.obj.__qualname__)
    assert found is not None and found.returns is not None, (
        f"{each.name}: no annotation says what it returns"
    )
    return ast.unparse(found.returns) != "None"


def raises(function: Any) -> bool:
    """Whether the body of a Python function raises an error by itself."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return False
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def faults(each: Documented) -> Iterator[str]:
    """What is missing or wrong in a docstring."""
    text = documented(each.obj)
    found = sections(text)
    first = found[""].partition("\n\n")[0]
    if not first.endswith(".") or len(first.splitlines()) > 2:
        yield "the summary is not one sentence of at most two lines that ends in a stop"
    if (
        list(found)[1:] != [title for title in SECTIONS if title in found]
        or text.count("\n---") != len(found) - 1
    ):
        yield f"sections are not NumPy's, each once and in its order: {list(found)[1:]}"
    if isinstance(each.obj, type):
        if "Parameters" in found and named(found["Parameters"]) != taken(each):
            yield f"Parameters are {named(found['Parameters'])}, the signature has {taken(each)}"
        code = getattr(each.obj.__init__, "__code__", None)
        known = {
            *dir(each.obj),
            *getattr(each.obj, "__annotations__", {}),
            *(code.co_names if code else ()),
        }
        if unknown := set(named(found.get("Attributes", ""))) - known:
            yield f"Attributes has {', '.join(sorted(unknown))}, which it has not"
        if data := undescribed(each.obj):
            yield f"nothing says what {', '.join(data)} is"
        return
    if named(found.get("Parameters", "")) != taken(each):
        yield (
            f"Parameters are {named(found.get('Parameters', ''))}, the signature has {taken(each)}"
        )
    if gives(each) != ("Returns" in found or "Yields" in found):
        yield "no Returns" if gives(each) else "Returns, and it returns nothing"
    if raises(each.obj) and "Raises" not in found:
        yield "no Raises"
    if ">>> " not in found.get("Examples", ""):
        yield "no example"


def installed(package: str) -> list[Documented]:
    """What is public in a package; a skip without the library that it is for."""
    try:
        return public(package)
    except ImportError as error:
        pytest.skip(str(error))
