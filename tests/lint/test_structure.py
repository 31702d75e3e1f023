"""No circles: within a room files of C call and include, and modules of Python import, in one
direction only.

Whoever reads from the ground up then never meets what is not explained yet, and what lies below a
file can be tried without it. Imports inside functions and for type checkers alone count, modules
asked for by a string, and so do functions named in tables and data of others. A header that has a
file of its name counts as one with it: whoever includes the one stands above the other.
"""

import ast
import os
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from sources import ROOT, Sources, sources

Graph = dict[str, set[str]]


def circle(graph: Graph) -> list[str]:
    """The nodes of a circle; [] where there is none."""
    try:
        TopologicalSorter({node: targets - {node} for node, targets in graph.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


DEFINED = re.compile(
    r"^(?!static|typedef|struct|enum|#|return|else)[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{",
    flags=re.MULTILINE,
)

DATA = re.compile(
    r"^(?!static|extern|typedef|#|return|goto)[A-Za-z_][^(){}=;\n]*?\b(\w+)(?:\[[^\]\n]*\])*(?:"
    r" =|;)",
    re.MULTILINE,
)


# On a line of its own, or on several
INLINE = re.compile(
    r"^static inline\b[^;{]*\{(?:([^\n]*)\}[ \t]*\n|\n(.*?)^\})", re.MULTILINE | re.DOTALL
)
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def room(path: str) -> str:
    return path.split("/")[0]


def calls(files: Sources) -> Graph:
    """Which C file names functions or data that another C file of the same room defines; of a
    header only inlines count.
    """
    home = {
        (room(path), match[1]): path
        for path, text in files.items()
        for defined in (DATA, DEFINED)
        for match in defined.finditer(ATTRIBUTE.sub("", text))
        if path.endswith(".c")
    }
    bodies = {
        path: (
            text
            if path.endswith(".c")
            else "\n".join(match[1] or match[2] or "" for match in INLINE.finditer(text))
        )
        for path, text in files.items()
    }
    return {
        path: {
            home[room(path), name]
            for name in re.findall(r"\b\w+\b", STRING.sub("", text))
            if (room(path), name) in home
        }
        for path, text in bodies.items()
    }


def included(path: str, text: str) -> Iterator[str]:
    """The headers of ours that a file includes."""
    for name in re.findall(r'#include "([^"]+)"', text):
        yield os.path.normpath(Path(path).parent / name)


def with_headers(files: Sources) -> Graph:
    """Which files of C, each one with the header of its name, name functions of others or include
    their headers.
    """
    graph: Graph = {path[:-2]: set() for path in files}
    for path, called in calls(files).items():
        graph[path[:-2]] |= {each[:-2] for each in called}
    for path, text in files.items():
        graph[path[:-2]] |= {header[:-2] for header in included(path, text) if header in files}
    return graph


def c_files(*endings: str) -> Sources:
    return {
        path: text
        for path, text in sources().items()
        if path.endswith(endings or ".c")
        and room(path) not in ("bench", "tests")
        and "fake" not in path
    }


ASKERS = {
    "sys.modules",
    "sys.modules.get",
    "importlib.import_module",
    "import_module",
    "__import__",
}


def looked_up(node: ast.Call | ast.Subscript) -> Iterator[tuple[str, list[str]]]:
    """The module that a call or an entry of sys.modules asks for by its name."""
    asker, given = (
        (node.func, node.args) if isinstance(node, ast.Call) else (node.value, [node.slice])
    )
    if given and isinstance(given[0], ast.Constant) and ast.unparse(asker) in ASKERS:
        yield str(given[0].value), []


def imported(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """(module, names taken from it), at any depth."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.Call | ast.Subscript):
            yield from looked_up(node)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.count(".") > 1
        ):
            yield node.value, []  # an entry of a table, or a word that is no module
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            yield str(node.module), [alias.name for alias in node.names]
        yield from imported(node)


def imports(files: Sources) -> Graph:
    """Which module of the package imports which. The compiled module imports none."""
    modules = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in files
    }
    graph: Graph = {path: set() for path in files}
    for path, text in files.items():
        for module, names in imported(ast.parse(text)):
            inner = {f"{module}.{name}" for name in names}
            wanted = inner & set(modules) | (
                {module} if inner - set(modules) - {"gridbuf._core"} or not names else set()
            )
            graph[path] |= {modules[each] for each in wanted & set(modules)}
    return graph


def test_no_c_file_calls_in_a_circle() -> None:
    graph = calls(c_files())
    assert "pyext/field/type.c" in graph["pyext/module.c"]
    assert calls({"gufunc/a.c": "__attribute__((cold)) int f(int x) {", "gufunc/b.c": "f(1)"})[
        "gufunc/b.c"
    ] == {"gufunc/a.c"}
    assert {
        "alloc",
        "arrayinterface",
        "cuda",
        "dlpack",
        "exact",
        "gufunc",
        "pyext",
        "transfer",
    } <= {room(path) for path in graph}
    assert circle(graph) == []


def test_no_header_is_above_what_includes_it() -> None:
    graph = with_headers(c_files(".c", ".h"))
    assert "alloc/slab" in graph["alloc/heap"]
    assert "transfer/axes" in graph["cuda/moves"]
    assert circle(graph) == []


PROTOTYPE = re.compile(
    r"^(?!static|typedef|#|return)[A-Za-z_][\w \t*]*?\b(gb_\w+)\([^;{}]*\);", re.MULTILINE
)


def of_one_file(files: Sources) -> list[str]:
    """Functions that a header declares and nothing but the file that defines them names."""
    texts = {path: ATTRIBUTE.sub("", text) for path, text in files.items()}
    home = {
        match[1]: path
        for path, text in texts.items()
        if path.endswith(".c")
        for match in DEFINED.finditer(text)
    }
    declared = {
        match[1]: path
        for path, text in texts.items()
        if path.endswith(".h")
        for match in PROTOTYPE.finditer(text)
    }
    words = {
        path: set(re.findall(r"\w+", PROTOTYPE.sub("", text) if path.endswith(".h") else text))
        for path, text in texts.items()
    }
    return [
        f"{header}: {name} is for {home[name]} alone"
        for name, header in declared.items()
        if name in home and not any(name in words[path] for path in words if path != home[name])
    ]


def test_headers_declare_what_other_files_call() -> None:
    a = {"a/x.c": "int gb_x(void) {\n", "a/x.h": "int gb_x(void);\n", "a/y.c": ""}
    assert of_one_file(a) == ["a/x.h: gb_x is for a/x.c alone"]
    assert of_one_file({**a, "a/y.c": "gb_x()"}) == []
    assert of_one_file({**a, "a/x.go": "C.gb_x()"}) == []
    assert of_one_file({**a, "a/y.h": "static inline int y(void) { return gb_x(); }\n"}) == []
    named = {path: text for path, text in sources().items() if path.endswith((".c", ".h", ".go"))}
    assert of_one_file(named) == []


def test_the_fake_driver_has_no_circle_either() -> None:
    fake = {
        path: text
        for path, text in sources().items()
        if path.startswith("cuda/fake/") and path.endswith((".c", ".h"))
    }
    graph = with_headers(fake)
    assert "cuda/fake/queue" in graph["cuda/fake/memory"]
    assert circle(graph) == []


def test_no_module_imports_in_a_circle() -> None:
    graph = imports(
        {
            path.relative_to(ROOT).as_posix(): path.read_text()
            for path in (ROOT / "gridbuf").rglob("*.py")
        }
    )
    assert "gridbuf/arrays.py" in graph["gridbuf/__init__.py"]
    assert "gridbuf/interop/gt4py.py" in graph["gridbuf/startup.py"]  # named in its table
    assert circle(graph) == []


# The folders of gridbuf/distributed, in this order
READ = ("geometry", "plans", "ranks", "whole_fields", "files")


def test_folders_of_distributed_import_what_is_read_before_them() -> None:
    graph = imports(
        {
            path.relative_to(ROOT).as_posix(): path.read_text()
            for path in (ROOT / "gridbuf").rglob("*.py")
        }
    )
    place = {
        path: READ.index(path.split("/")[2])
        for path in graph
        if path.split("/")[1:2] == ["distributed"] and path.count("/") > 2
    }
    assert {*place.values()} == {*range(len(READ))}
    assert [
        (path, each) for path in place for each in graph[path] if place.get(each, -1) > place[path]
    ] == []


C = {"a/x.c": "int x(void) {\n    return y();\n}\n", "a/y.c": "int y(void) {\n    return x();\n}\n"}
PYTHON = {"p/a.py": "import p.b\n", "p/b.py": "from p.a import a\n"}


@pytest.mark.parametrize(
    ("found", "changed"),
    [
        (True, {}),
        (True, {"a/y.c": "int y(void) { return 1; }\nint (*table[])(void) = {x};\n"}),
        (
            True,
            {"a/x.c": "int z[2] = {0};\n" + C["a/x.c"], "a/y.c": "int y(void) { return z[1]; }\n"},
        ),
        (False, {"a/y.c": "int y(void) { return 1; }\n"}),
        (False, {"a/y.c": "static int y(void) {\n    return x();\n}\n"}),
        (False, {"a/y.c": "", "b/y.c": C["a/y.c"]}),
        (False, {"a/y.c": 'const char *y(void) { return "x"; }\n'}),
    ],
    ids=[
        "calls",
        "named in a table",
        "data",
        "one way",
        "a function of its own",
        "another room",
        "in a string",
    ],
)
def test_circles_of_c_are_found(found: bool, changed: Sources) -> None:
    assert (sorted(set(circle(calls({**C, **changed})))) == ["a/x.c", "a/y.c"]) == found


@pytest.mark.parametrize(
    ("found", "header", "y"),
    [
        (True, "a/x.h", '#include "x.h"\nint y(void) { return 1; }\n'),
        (False, "a/z.h", '#include "z.h"\nint y(void) { return 1; }\n'),
        (False, "a/x.h", "int y(void) { return 1; }\n"),
    ],
    ids=["its caller's", "one of nobody's", "none"],
)
def test_circles_through_headers_are_found(found: bool, header: str, y: str) -> None:
    files = {"a/x.c": C["a/x.c"], header: "int y(void);\n", "a/y.c": y}
    assert (sorted(set(circle(with_headers(files)))) == ["a/x", "a/y"]) == found


@pytest.mark.parametrize(
    "inline",
    [
        "static inline int z(void) { return y(); }\n",
        "static inline int z(void) {\n    return y();\n}\n",
    ],
)
@pytest.mark.parametrize("found", [True, False])
def test_an_inline_of_a_header_calls(inline: str, found: bool) -> None:
    files = {
        "a/z.h": "int y(void);\n" + inline * found,
        "a/y.c": '#include "z.h"\nint y(void) {\n    return 1;\n}\n',
    }
    assert (sorted(set(circle(with_headers(files)))) == ["a/y", "a/z"]) == found


@pytest.mark.parametrize(
    ("found", "b"),
    [
        (True, PYTHON["p/b.py"]),
        (True, "from p import a\n"),
        (True, "def f():\n    from p import a\n"),
        (True, "if not TYPE_CHECKING:\n    pass\nimport p.a\n"),
        (True, "if TYPE_CHECKING:\n    from p import a\n"),
        (True, "def f():\n    return sys.modules.get('p.a')\n"),
        (True, "a = sys.modules['p.a'].a\n"),
        (True, "a = importlib.import_module('p.a')\n"),
        (False, "import q.a\n"),
    ],
    ids=[
        "a name",
        "a module",
        "inside a function",
        "beside TYPE_CHECKING",
        "for type checkers",
        "if it is there",
        "that is there",
        "by a string",
        "another package",
    ],
)
def test_circles_of_python_are_found(found: bool, b: str) -> None:
    assert (sorted(set(circle(imports({**PYTHON, "p/b.py": b})))) == ["p/a.py", "p/b.py"]) == found


# ---- what docs/architecture.md says that a room may import ----


def rooms_imported(room: str, files: Sources) -> set[str]:
    """The other rooms whose Go or headers a room's files name; tests and the fake driver aside."""
    found: set[str] = set()
    for path, text in files.items():
        if (
            path.startswith(f"{room}/")
            and not path.endswith("_test.go")
            and not {"fake", "internal"} & set(path.split("/")[1:-1])
        ):
            names = (
                re.findall(r'^(?:\t|import )_? ?"gridbuf/(\w+)', text, re.MULTILINE)
                if path.endswith(".go")
                else included(path, text)
            )
            found |= {name.split("/")[0] for name in names if (ROOT / name.split("/")[0]).is_dir()}
    return found - {room}


def test_rooms_import_what_the_page_says() -> None:
    rows = [
        line.strip("| ").split(" | ")
        for line in (ROOT / "docs/architecture.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    told = {
        tuple(re.findall(r"`(\w+)/`", row[0])): set(re.findall(r"\w+", row[-1]))
        for row in rows
        if len(row) == 3
    }
    told = {
        rooms: names
        for rooms, names in told.items()
        if not {"bridge", "pyext", "gridbuf", "tests"} & set(rooms)
    }
    files = sources()
    assert len(told) == 9
    for rooms, names in told.items():
        assert set().union(*(rooms_imported(room, files) for room in rooms)) - set(rooms) == {
            name for name in names if (ROOT / name).is_dir()
        }, rooms


# ---- the order that pyext/module.c tells newcomers to read in ----


def reading_order(text: str) -> list[str]:
    """The files that the comment on top names, folder by folder, in its order."""
    order, folder = [], ""
    for line in text[: text.index("*/")].split("\n")[2:]:
        if begins := re.match(r" \* (\w+)(/?) ", line):
            folder = f"{begins[1]}/" if begins[2] else ""
        order += [f"pyext/{folder}{name}" for name in re.findall(r"\b\w+\.c\b", line)]
    return order


def out_of_order(order: list[str], graph: Graph) -> list[str]:
    """Files that call one which is read later."""
    return [
        f"{name} calls {later}, which is read later"
        for i, name in enumerate(order)
        for later in order[i + 1 :]
        if later in graph[name]
    ]


def headers_of(path: str, files: Sources) -> set[str]:
    """The headers of pyext that a file includes, through others too."""
    found: set[str] = set()
    new = {path}
    while new:
        new = {
            target
            for name in new
            for target in included(name, files.get(name, ""))
            if target.startswith("pyext/")
        } - found
        found |= new
    return found


def climbs(order: list[str], files: Sources) -> list[str]:
    """Files that include a header of a folder which begins later."""
    folders = [str(Path(name).parent) for name in order]
    return [
        f"{path} includes {target}"
        for i, path in enumerate(order)
        for target in sorted(headers_of(path, files))
        if folders.index(str(Path(target).parent)) > i
    ]


def test_files_are_read_before_those_that_call_them() -> None:
    order, graph = reading_order((ROOT / "pyext/module.c").read_text()), calls(c_files())
    missing = (
        {path for path in graph if path.startswith("pyext/")} - set(order) - {"pyext/module.c"}
    )
    assert not missing, f"module.c does not say when to read {sorted(missing)}"
    assert out_of_order(order, graph) == []
    assert out_of_order(list(reversed(order)), graph) != []


def test_headers_come_from_folders_that_are_read_before() -> None:
    order = reading_order((ROOT / "pyext/module.c").read_text())
    files = {
        path: text
        for path, text in sources().items()
        if path.startswith("pyext/") and path.endswith((".c", ".h"))
    }
    assert climbs(order, files) == []
    text = '#include "../exchange/exchange.h"\n'
    assert climbs(["pyext/core/x.c", "pyext/exchange/y.c"], {"pyext/core/x.c": text}) == [
        "pyext/core/x.c includes pyext/exchange/exchange.h"
    ]
