"""The docstrings of what Python calls in C: written once, in gridbuf/_core.pyi, from which setup.py
makes docs.h for the C.

Every function and class of the stub that has a docstring becomes a macro, GB_PY_DOC_Field_empty;
its first line is the signature that inspect and help() show, made from the stub's. "As `empty`." in
a docstring stands for what `empty` says of the parameters, results and errors that are not
described there.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator

ORDER = ("", "Parameters", "Returns", "Attributes", "Raises", "Notes", "Examples")
SPEC_DEFAULTS = {"backend": "'C'"}  # a key of a TypedDict has none; the others' is None


def header(stub: str) -> str:
    """The text of docs.h."""
    tree = ast.parse(stub)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    nodes = dict(documented(tree.body))
    told = {name: sections(str(ast.get_docstring(node))) for name, node in nodes.items()}
    text = "/* docs.h: made by pyext/docstrings.py from gridbuf/_core.pyi. */\n"
    for name, node in nodes.items():
        signature = parameters(node, classes)
        own = told[name]
        if model := re.search(r"\n\nAs `([\w.]+)`\.$", own[""]):
            told[name] = own = completed(
                own | {"": own[""][: model.start()]}, told[model[1]], signature
            )
        parts = [(title, own[title]) for title in ORDER if title in own]
        assert len(parts) == len(own), (
            f"{name}: sections of a docstring are {ORDER}, not {list(own)}"
        )
        lines = "\n\n".join(
            f"{title}\n{'-' * len(title)}\n{body}" if title else body for title, body in parts
        ).split("\n")
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
        text += f"#define GB_PY_DOC_{name.replace('.', '_')} \\\n{quoted}\n"
    return text


def documented(
    body: list[ast.stmt], prefix: str = ""
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """The functions, methods and classes that have a docstring, by the names they have in the
    module.
    """
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from documented(node.body, f"{node.name}.")


def parameters(
    node: ast.ClassDef | ast.FunctionDef, classes: dict[str, ast.ClassDef]
) -> dict[str, str] | None:
    """What inspect.signature is told, by the name of each parameter: the stub's without its types.
    None: there is no such line.
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


def sections(docstring: str) -> dict[str, str]:
    """The text under each title; what stands before the first is under ''."""
    first, *others = re.split(r"\n\n?(\w+)\n-{3,}\n", inspect.cleandoc(docstring))
    return {"": first, **dict(zip(others[::2], others[1::2], strict=True))}


def entries(section: str) -> dict[str, str]:
    """The description of each parameter by its name; `a, b : int` is that of two."""
    found = re.split(r"^(?=\S)", section, flags=re.MULTILINE)[1:]
    return {
        name: entry.rstrip("\n")
        for entry in found
        for name in re.split(r" : |\n", entry)[0].split(", ")
    }


def completed(
    own: dict[str, str], model: dict[str, str], signature: dict[str, str] | None
) -> dict[str, str]:
    """With what the model says of the parameters that are taken, of the result and of errors."""
    known = entries(model["Parameters"]) | entries(own.get("Parameters", ""))
    taken = "\n".join(dict.fromkeys(known[name] for name in signature or () if name in known))
    return (
        {title: model[title] for title in ("Returns", "Raises") if title in model}
        | own
        | {"Parameters": taken}
    )
