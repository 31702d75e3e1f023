"""Every parameter that a signature calls a bool refuses what is none, in the call that its
docstring shows.
"""

import ast
import contextlib
import copy
import doctest
import inspect
import io
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from described import PACKAGES, Documented, documented, installed, public

# Whose rule is ours: anything is true or false
NUMPYS = {("Field.astype", "copy"), ("storage.Storage.astype", "copy")}


def shown(each: Documented) -> tuple[ast.Call | None, dict[str, Any]]:
    """The call of itself that a docstring shows, and the names that it is made with."""
    names = dict(
        vars(sys.modules.get(getattr(each.obj, "__module__", None) or "", object()))
        if hasattr(each.obj, "__module__")
        else {}
    )
    leaf = each.name.rsplit(".", 1)[-1]
    for example in doctest.DocTestParser().get_examples(documented(each.obj)):
        if doctest.SKIP in example.options:
            continue
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Call) and leaf in (
                getattr(node.func, "attr", None),
                getattr(node.func, "id", None),
            ):
                return node, names
        with contextlib.redirect_stdout(io.StringIO()):
            exec(example.source, names)
    return None, names


def flags(each: Documented) -> Iterator[str]:
    with contextlib.suppress(ValueError, TypeError):
        for parameter in inspect.signature(each.obj).parameters.values():
            said = str(parameter.annotation).removeprefix("<class '").removesuffix("'>")
            if {*said.split(" | ")} - {"None"} == {"bool"} and (
                each.name,
                parameter.name,
            ) not in NUMPYS:
                yield parameter.name


def called(call: ast.Call, names: dict[str, Any], flag: str, value: Any) -> Any:
    tree = copy.deepcopy(call)
    tree.keywords = [k for k in tree.keywords if k.arg != flag] + [
        ast.keyword(flag, ast.Name("junk_", ast.Load()))
    ]
    return eval(
        compile(ast.fix_missing_locations(ast.Expression(tree)), "example", "eval"),
        {**names, "junk_": value},
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_no_bool_is_refused_by_name(package: str) -> None:
    taken = []
    for each in installed(package):
        for flag in flags(each):
            call, names = shown(each)
            if call is None:
                continue
            for junk in ("x", "", 1.5, [], object(), np.ones(2)):
                try:
                    called(call, names, flag, junk)
                    taken.append(f"{each.name}({flag}={junk!r}) is taken")
                except NameError:  # it stands in a block, with names of that block
                    break
                except (TypeError, ValueError) as error:
                    if not str(error).startswith(f"{flag}: expected "):
                        taken.append(f"{each.name}({flag}={junk!r}): {error}")
    assert not taken, "\n".join(taken)


def test_it_looks_at_what_it_should() -> None:
    looked = {
        (each.name, flag)
        for package in ("storage", "distributed", "gufunc")
        for each in public(package)
        for flag in flags(each)
        if shown(each)[0]
    }
    assert looked >= {
        ("storage.SyncState.to_host", "force"),
        ("storage.storage", "copy"),
        ("distributed.Grid.plan", "corners"),
    }
