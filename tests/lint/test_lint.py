"""What a reviewer would otherwise have to look for in Go and C: the borders between Python, C and
Go.

Every rule takes the sources as {path: text} and returns "path: what is wrong"; each is shown a
violation, too.
"""

import re
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest
from sources import ROOT, Sources, sources, without_comments


def exports(files: Sources) -> list[str]:
    """Every //export lies in bridge/ and its body is one call of the guard; the loop of Go kernels
    is gufunc's own.
    """
    wrong = []
    for path, text in files.items():
        for match in re.finditer(
            r"^//export (\w+)\n(.*?)^(?=//export|\Z)", text + "\n", flags=re.MULTILINE | re.DOTALL
        ):
            name, body = match[1], match[2]
            if path == "gufunc/kernel.go":
                if not re.match(
                    rf"func {name}\([^{{]*\{{\s*defer func\(\) \{{\s*if r := recover\(\)", body
                ):
                    wrong.append(f"{path}: {name} does not recover first")
                continue
            if not path.startswith("bridge/"):
                wrong.append(f"{path}: {name} is exported outside bridge/")
            if not re.match(
                rf"func {name}\(.*?\) C\.int \{{\s*return guard\(e, ", body, flags=re.DOTALL
            ):
                wrong.append(f"{path}: {name} does not enter the guard first")
    return wrong


def python_header(files: Sources) -> list[str]:
    """Python.h and NumPy's headers are included under pyext/ only: nothing else could be linked
    without Python.
    """
    include = re.compile(r"#\s*include\s*[<\"](Python\.h|numpy/)")
    return [
        f"{path}: includes {m[1]}"
        for path, text in files.items()
        if not path.startswith("pyext/")
        for m in include.finditer(text)
    ]


def entries(files: Sources) -> list[str]:
    """pyext/ names a bridge function only as the call inside GB_PY_ENTER_GO, which checks for a
    forked child.
    """
    wrong = []
    for path, text in files.items():
        for match in re.finditer(r"\bgb_py_go->\w+", text if path.startswith("pyext/") else ""):
            if not re.search(
                r"GB_PY_ENTER_GO(?:_UNLOCKED|_DETACHED)?\(\s*[&\w>.-]+\s*,\s*$",
                text[: match.start()],
            ):
                wrong.append(f"{path}: {match[0]} is not called through GB_PY_ENTER_GO")
    return wrong


def signals(files: Sources) -> list[str]:
    """Nothing imports os/signal, which would take signals away from Python; the commands in cmd/
    are programs of their own.
    """
    return [
        f"{path}: imports os/signal"
        for path, text in files.items()
        if path.endswith(".go") and not path.startswith("cmd/") and '"os/signal"' in text
    ]


STARTS = re.compile(
    r"(?:^\s*go |\.Go\(|\bAfterFunc\([^\n]*?, )(?:func\b[^{]*\{|[\w.]*?(\w+)[()])",
    flags=re.MULTILINE,
)


def goroutines(files: Sources) -> list[str]:
    """Every goroutine starts with a deferred recover: a panic in one ends the process."""
    code = {path: text for path, text in files.items() if path.endswith(".go")}
    bodies = {
        m[1]: m[2]
        for text in code.values()
        for m in re.finditer(r"^func (?:\([^)]*\) )?(\w+)\(.*?\{(.*?)^\}", text, re.M | re.S)
    }
    bodies |= {
        m[1]: m[2]
        for text in code.values()
        for m in re.finditer(r"^func (?:\([^)]*\) )?(\w+)\([^\n]*\{(.*)\}$", text, re.M)
    }

    def recovers(body: str) -> bool:
        deferred = re.match(
            r"\s*defer (?:func\(\) \{(.*?\brecover\(\))|[\w.]*?(\w+)\()", body, flags=re.DOTALL
        )
        return deferred is not None and (
            deferred[1] is not None or "recover()" in bodies.get(deferred[2], "")
        )

    wrong = []
    for path, text in code.items():
        for match in STARTS.finditer(text):
            if not recovers(bodies.get(match[1], "") if match[1] else text[match.end() :]):
                wrong.append(
                    f"{path}: go {match[1] or 'func'} does not start with a deferred recover"
                )
    return wrong


def compiled(files: Sources) -> list[str]:
    """Go packages with C in them have it warned about, and optimised as setup.py says, or more."""
    rooms: dict[str, list[str]] = {}
    for path in files:
        rooms.setdefault(path.rpartition("/")[0], []).append(path)
    wrong = []
    for paths in rooms.values():
        code = [path for path in paths if path.endswith(".go")]
        bare = {
            path: re.sub(r"^\s*#.*", "", files[path].partition('import "C"')[0], flags=re.MULTILINE)
            for path in code
        }
        own = any('import "C"' in files[path] and "{" in bare[path] for path in code)
        if not code or not (own or any(path.endswith(".c") for path in paths)):
            continue
        lines = re.findall(
            r"^#cgo\s+(?:[^:\n]* )?CFLAGS:(.*)",
            "\n".join(files[path] for path in code),
            flags=re.MULTILINE,
        )
        flags = " ".join(lines).split()
        wrong += [
            f"{code[0]}: #cgo CFLAGS lacks {flag}"
            for flag in ("-Wall", "-Wextra")
            if flag not in flags
        ]
        wrong += [
            f"{code[0]}: {flag} is no more than the -O2 of all rooms"
            for flag in flags
            if re.fullmatch("-O[^3]?", flag)
        ]
    return wrong


FACE_OF_CUDA = {"cuda/cuda.h", "cuda/strided.h"}


def driver(files: Sources) -> list[str]:
    """What is outside cuda/ knows two headers of it, and no name of the driver's: another maker's
    driver is a room beside it.
    """
    wrong = []
    for path, text in files.items():
        if not path.startswith("cuda/"):
            wrong += [
                f"{path}: includes {m[1]}"
                for m in re.finditer(r'#\s*include\s*"(?:\.\./)*(cuda/[\w/]+\.h)"', text)
                if m[1] not in FACE_OF_CUDA
            ]
            wrong += [
                f"{path}: names {m[0]}"
                for m in re.finditer(r"\bcu(?:[A-Z]\w+\(|da[A-Z]\w+\()", text)
            ]
    return wrong


def clock(files: Sources) -> list[str]:
    """The clock is asked by gb_nanoseconds() of alloc/system.h; alloc/system.c has a coarser one;
    what bench/ compiles stands alone.
    """
    asked = [path for path, text in files.items() if re.search(r"\bclock_gettime\(", text)]
    own = {"alloc/system.h", "alloc/system.c", "bench/exchange_loop.c"}
    return [f"{path}: asks the clock itself" for path in asked if path not in own]


def codes(files: Sources) -> list[str]:
    """What I, J and K are called by number stands in alloc/numbers.h: GB_DIM_I, GB_DIM_LETTER,
    GB_DIM_OF; alloc.I in Go.
    """
    bare = re.compile(
        r"\"IJK\"\[\w[^\]]*[-+]|(?<![\w.])i - 3\b|'I' [-+] \d|iota [-+]"
        r" 3\b|\b(?:dims?|d)(?:\[\w+\])? (?:[-+]|<|==) -?3\b"
    )
    return [
        f"{path}: {m[0]} for a dimension's code"
        for path, text in files.items()
        if path != "alloc/numbers.h"
        for m in bare.finditer(text)
    ]


def environment(files: Sources) -> list[str]:
    """C asks alloc/system.c what the environment says; the fake driver and tests stand alone."""
    own = ("alloc/system.c", "cuda/fake/", "tests/")
    return [
        f"{path}: getenv, where gb_setting asks"
        for path, text in files.items()
        if not path.startswith(own) and re.search(r"\bgetenv\(", text)
    ]


def formats(files: Sources) -> list[str]:
    """No format of PyArg_ParseTuple, Py_BuildValue or what passes one on has a '#': compiled with
    the headers of Python 3.13 such a call fails on 3.11 and 3.12, which look for another name of
    the function (pyext/core/common.h).
    """
    units = re.compile(r'"[()\[\]{}a-zA-Z$|&!*,:; ]*[zsy]#[^"\n]*"')
    return [
        f"{path}: the format {m[0]} has a '#'"
        for path, text in files.items()
        if path.startswith("pyext/")
        for m in [*units.finditer(text), *re.finditer("PY_SSIZE_T_CLEAN", text)]
    ]


RULES = [
    exports,
    python_header,
    entries,
    signals,
    goroutines,
    compiled,
    driver,
    clock,
    codes,
    environment,
    formats,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_sources_keep(rule: Callable[[Sources], list[str]]) -> None:
    files = sources()
    assert {"bridge/exports.go", "pyext/core/go.h", "alloc/heap.c"} <= set(files)
    assert rule(files) == []


GUARDED = (
    "//export gbridge_x\nfunc gbridge_x(e *C.gb_error) C.int {\n\treturn guard(e, func() error {"
    " return nil })\n}\n"
)
PREAMBLE = (
    "package alloc\n\n// #cgo CFLAGS: -Wall -Wextra\n// static int one(void) { return 1; }\nimport"
    ' "C"\n\nfunc f() int { return int(C.one()) }\n'
)
LOOP = (
    "//export gb_gu_go_loop\nfunc gb_gu_go_loop(n C.int) (failed C.int) {\n\tdefer func() {\n\t\tif"
    " r := recover(); r != nil {\n\t\t}\n\t}()\n}\n"
)
WRONG = [
    (exports, "alloc/a.go", GUARDED),
    (exports, "gufunc/kernel.go", LOOP.replace("defer func", "go func")),
    (
        exports,
        "bridge/a.go",
        GUARDED + "\n//export gbridge_y\nfunc gbridge_y() C.int { return 0 }\n",
    ),
    (exports, "bridge/a.go", GUARDED.replace("return guard", "prepare()\n\treturn guard")),
    (python_header, "alloc/a.h", '#include "Python.h"\n'),
    (python_header, "alloc/a.go", 'package alloc\n\n// #include <Python.h>\nimport "C"\n'),
    (python_header, "dlpack/a.c", "#  include <numpy/arrayobject.h>\n"),
    (entries, "pyext/a.c", "int f(void) { return gb_py_go->x(&e); }"),
    (
        entries,
        "pyext/a.c",
        "int f(void) { return GB_PY_ENTER_GO(&e, gb_py_go->x(&e)) < 0 || gb_py_go->y(&e); }",
    ),
    (entries, "pyext/a.c", "static int (*f)(gb_error *) = gb_py_go->x;"),
    (signals, "alloc/a.go", 'import (\n\t"os/signal"\n)\n'),
    (driver, "pyext/a.c", '#include "../cuda/blocks.h"\n'),
    (driver, "alloc/a.c", "int f(void *p) { return cuMemFree_v2(p); }"),
    (
        clock,
        "pyext/a.c",
        "static void now(struct timespec *t) { clock_gettime(CLOCK_MONOTONIC, t); }",
    ),
    (environment, "pyext/a.c", 'int f(void) { return getenv("GRIDBUF_DEBUG") != NULL; }'),
    (codes, "alloc/a.c", "int32_t f(int i) { return i - 3; }"),
    (codes, "pyext/a.c", 'char f(int32_t dim) { return "IJK"[dim + 3]; }'),
    (codes, "alloc/a.c", "int f(const int32_t *dims, int i) { return dims[i] < -3; }"),
    (codes, "alloc/a.go", "const (\n\tI Dim = iota - 3\n)\n"),
    (goroutines, "alloc/a.go", "func f() {\n\tgo func() {\n\t\twork()\n\t}()\n}\n"),
    (
        goroutines,
        "alloc/a.go",
        (
            "func f() {\n\tgo func(n int) {\n\t\tdefer done()\n\t}(1)\n}\n\nfunc done() {"
            " wait.Done() }\n"
        ),
    ),
    (
        goroutines,
        "alloc/a.go",
        (
            "func f() {\n\tgo p.work(1)\n}\n\nfunc (p *pool) work(n int) {\n\tn++\n\tdefer func() {"
            " recover() }()\n}\n"
        ),
    ),
    (goroutines, "alloc/a.go", "func f() {\n\tgo elsewhere()\n}\n"),
    (goroutines, "alloc/a.go", "func f() {\n\tgroup.Go(func() {\n\t\twork()\n\t})\n}\n"),
    (
        goroutines,
        "alloc/a.go",
        "func f() {\n\ttime.AfterFunc(time.Second, work)\n}\n\nfunc work() { n++ }\n",
    ),
    (formats, "pyext/a.c", 'int ok = PyArg_ParseTuple(args, "OOy#:f", &a, &b, &text, &n);'),
    (
        formats,
        "pyext/a.c",
        'return Py_BuildValue("(iy#NLLLNN)", number, text, n, a, x, y, z, b, c);',
    ),
    (formats, "pyext/a.c", 'return gb_py_upcall_on(self, NAME, "z#", text, n);'),
    (formats, "pyext/a.h", "#define PY_SSIZE_T_CLEAN\n"),
    (compiled, "alloc/a.go", PREAMBLE.replace("-Wall ", "")),
    (compiled, "alloc/a.go", PREAMBLE.replace(" -Wextra", "")),
    (compiled, "alloc/a.go", PREAMBLE.replace("-Wall", "-O2 -Wall")),
    (compiled, "alloc/a.go", PREAMBLE.replace("-Wall", "-O -Wall")),
    (
        compiled,
        "alloc/a.go",
        PREAMBLE.replace("-Wall", "-Os -Wall").replace("CFLAGS", "linux,amd64 CFLAGS"),
    ),
]
RIGHT = [
    (exports, "gufunc/kernel.go", LOOP),
    (
        formats,
        "pyext/a.c",
        (
            'return Py_BuildValue("(iNNLLLNN)", n, PyBytes_FromStringAndSize(text, size), a, x, y,'
            " z, b, c);"
        ),
    ),
    (compiled, "alloc/a.go", PREAMBLE),
    (compiled, "alloc/a.go", PREAMBLE.replace("-Wall", "-O3 -Wall")),
    (compiled, "alloc/a.go", 'package alloc\n\n// #include "a.h"\nimport "C"\n\nfunc f() {}\n'),
    (compiled, "alloc/a.c", "int f(void) { return 1; }"),
    (
        exports,
        "bridge/a.go",
        GUARDED + GUARDED.replace("{\n\treturn", "{ return").replace("_x", "_y"),
    ),
    (python_header, "pyext/a.h", "#include <Python.h>\n"),
    (python_header, "alloc/a.c", "/* #include <Python.h> is what this file must not do */\n"),
    (
        entries,
        "pyext/a.c",
        (
            "if (GB_PY_ENTER_GO(&e,\n                gb_py_go->x(&e)) < 0) return -1; /*"
            " gb_py_go->x(&e) */"
        ),
    ),
    (entries, "bridge/bridge.h", "int gbridge_x(gb_error *e);"),
    (signals, "alloc/a.go", "// no os/signal here\n"),
    (
        driver,
        "pyext/core/a.c",
        '#include "../../cuda/cuda.h"\nint f(void) { return gb_cuda_count(&n, &e); }\n',
    ),
    (
        clock,
        "pyext/a.c",
        '#include "../alloc/system.h"\nint64_t f(void) { return gb_nanoseconds(); }',
    ),
    (driver, "cuda/a.c", '#include "blocks.h"\nint f(void *p) { return cuMemFree_v2(p); }'),
    (
        goroutines,
        "alloc/a.go",
        (
            "func f() {\n\tgo func() {\n\t\tdefer func() {\n\t\t\tif r := recover(); r != nil"
            " {\n\t\t\t}\n\t\t}()\n\t}()\n}\n"
        ),
    ),
    (
        goroutines,
        "alloc/a.go",
        (
            "func f() {\n\tgo p.work(1)\n}\n\nfunc (p *pool) work(n int) {\n\tdefer"
            " p.caught()\n}\n\nfunc (p *pool) caught() { recover() }\n"
        ),
    ),
]


@pytest.mark.parametrize(("rule", "path", "text"), WRONG)
def test_a_violation_is_found(rule: Callable[[Sources], list[str]], path: str, text: str) -> None:
    found = rule({path: without_comments(text)})
    assert len(found) == 1 and found[0].startswith(path)


@pytest.mark.parametrize(("rule", "path", "text"), RIGHT)
def test_what_is_right_is_left_alone(
    rule: Callable[[Sources], list[str]], path: str, text: str
) -> None:
    assert rule({path: without_comments(text)}) == []


def test_the_flags_of_c_files_stand_in_their_package() -> None:
    files = {
        "alloc/heap.c": "int f(void) { return 1; }",
        "alloc/doc.go": 'package alloc\n\n#cgo LDFLAGS: -lm\nimport "C"\n',
    }
    assert compiled(files) == [
        "alloc/doc.go: #cgo CFLAGS lacks -Wall",
        "alloc/doc.go: #cgo CFLAGS lacks -Wextra",
    ]
    files["alloc/flags.go"] = (
        'package alloc\n\n#cgo CFLAGS: -Wall\n#cgo CFLAGS: -Wextra -O3\nimport "C"\n'
    )
    assert compiled(files) == []


def left_out(manifest: str, paths: list[str]) -> list[str]:
    """Sources of the rooms that the source distribution would lack, by the lines of MANIFEST.in."""
    rooms = {
        words[1]: words[2:]
        for line in manifest.splitlines()
        if (words := line.split()) and words[0] == "recursive-include"
    }
    return [
        path
        for path in paths
        if not any(
            fnmatch(Path(path).name, pattern) for pattern in rooms.get(path.split("/")[0], [])
        )
    ]


def test_the_source_distribution_has_every_source() -> None:
    manifest = (ROOT / "MANIFEST.in").read_text()
    built = [
        path
        for path in sources()
        if path.split("/")[0] not in {"bench", "docs", "examples", "tests", "wheels"}
    ]
    assert built
    assert left_out(manifest, built) == []
    assert left_out(manifest, ["internal/work/work.S", "unheard/of.c"]) == [
        "internal/work/work.S",
        "unheard/of.c",
    ]
