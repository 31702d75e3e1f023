"""The docstrings of functions and classes in C: written once, in gridbuf/_core.pyi, of which
setup.py makes docs.h.

Every function and class of the stub that has a docstring becomes a macro, GB_PY_DOC_Field_empty;
its first line is the signature that inspect and help() show, made from the stub's. "As `empty`." in
a docstring stands for the parameters, results and errors of `empty` that are not described there.
"""

import ast
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SPEC_DEFAULTS = {"backend": "'C'"}  # a key of a TypedDict has none; the others' is None


def shared() -> Any:
    """gridbuf/docstrings.py by its path: the package cannot be imported before it is built."""
    path = Path(__file__).parents[1] / "gridbuf/docstrings.py"
    spec = importlib.util.spec_from_file_location("gridbuf_docstrings", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def header(stub: str) -> str:
    """The text of docs.h."""
    text = shared()
    tree = ast.parse(stub)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    nodes = dict(documented(tree.body))
    found = {name: text.sections(str(ast.get_docstring(node))) for name, node in nodes.items()}
    made = "/* docs.h: made by pyext/docstrings.py from gridbuf/_core.pyi. */\n"
    for name, node in nodes.items():
        signature = parameters(node, classes)
        own = found[name]
        if model := re.search(r"\n\nAs `([\w.]+)`\.\n*$", own[""]):
            own = text.completed(
                own | {"": own[""][: model.start()]},
                found[model[1]],
                signature or (),
                ("Returns", "Raises"),
            )
            found[name] = own
        unknown = set(own) - set(text.ORDER)
        assert not unknown, f"{name}: sections of a docstring are {text.ORDER}, not {unknown}"
        lines = text.joined(own).split("\n")
        if signature is not None:
            lines = [
                f"{name.rpartition('.')[2]}({', '.join(signature.values())})",
                "--",
                "",
                *lines,
            ]
        if "Examples" in own:
            lines[-1] += "\n"
        quoted = " \\\n".join("    " + json.dumps(f"{line}\n") for line in lines[:-1])
        quoted += (" \\\n" if quoted else "") + "    " + json.dumps(lines[-1])
        made += f"#define GB_PY_DOC_{name.replace('.', '_')} \\\n{quoted}\n"
    return made


def documented(
    body: list[ast.stmt], prefix: str = ""
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """The functions, methods and classes that have a docstring, by their names in the module."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from documented(node.body, f"{node.name}.")


def parameters(
    node: ast.ClassDef | ast.FunctionDef, classes: dict[str, ast.ClassDef]
) -> dict[str, str] | None:
    """The text of each parameter for inspect.signature, by its name: the stub's without types.
    None: no signature.
    """
    if isinstance(node, ast.ClassDef):
        made = [
            each
            for each in node.body
            if isinstance(each, ast.FunctionDef) and each.name == "__new__"
        ]
        found = parameters(made[0], classes) if made else None
        return {name: text for name, text in found.items() if name != "cls"} if found else None
    a = node.args
    found = {}
    plain = [*a.posonlyargs, *a.args]
    defaults = [*([None] * (len(plain) - len(a.defaults))), *a.defaults]
    for arg, default in zip(plain, defaults, strict=True):
        found[arg.arg] = arg.arg.replace("self", "$self") + (
            f"={ast.unparse(default)}" if default else ""
        )
        if arg is (a.posonlyargs[-1] if a.posonlyargs else None) or (
            arg.arg == "self" and not a.posonlyargs
        ):
            found["/"] = "/"
    spec = ast.unparse(a.kwarg.annotation) if a.kwarg and a.kwarg.annotation else ""
    if a.vararg or a.kwonlyargs or "Unpack" in spec:
        found[a.vararg.arg if a.vararg else "*"] = f"*{a.vararg.arg if a.vararg else ''}"
    for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        found[arg.arg] = arg.arg + (f"={ast.unparse(default)}" if default else "")
    if match := re.fullmatch(r"Unpack\[(\w+)\]", spec):
        found |= {
            key: f"{key}={SPEC_DEFAULTS.get(key)}" for key in keys(classes[match[1]], classes)
        }
    elif a.kwarg:
        found[a.kwarg.arg] = f"**{a.kwarg.arg}"
    return found


def keys(spec: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[str]:
    """The keys of a TypedDict, its own before those of the one that it extends."""
    own = [
        str(each.target.id)
        for each in spec.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    base = spec.bases[0]
    return own + (
        keys(classes[base.id], classes) if isinstance(base, ast.Name) and base.id in classes else []
    )
