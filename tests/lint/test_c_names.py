"""The names of C say in which room they live, so that a reader of any file knows where to look.

A room's functions, types, constants and macros begin with its prefix; what all rooms share stands
in a few headers of alloc/ and begins with gb_ alone. The rule takes the sources as {path: text},
and is shown violations, too.
"""

import re

import pytest
from sources import Sources, sources, without_comments

ROOMS = {
    "alloc": "gb_heap gb_plan gb_geometry gb_preset gb_request gb_spin",
    "transfer": "gb_copy gb_program gb_work",
    "cuda": "gb_cuda gb_cu",  # gb_cu is inside: no other room names it
    "gufunc": "gb_gu",
    "internal": "gb_work",
    "dlpack": "gb_dlpack",
    "arrayinterface": "gb_interface",
    "cudaarrayinterface": "gb_interface",
    "bridge": "gbridge gb_bridge",
    "pyext": "gb_py",
}
GROUND = {f"alloc/{name}.h" for name in ("errors", "elements", "numbers", "strides", "system")}
# Templates are included once for each of their variants; dlpack.h and kernels.h are written in a
# standard's and in a GPU's names.
INNER = re.compile(
    r"_body\.h$|^cuda/(fake|internal/fake)|^dlpack/dlpack\.h$|^cuda/kernels\.h$|^transfer/(casts|vector)\.h$"
    r"|^gufunc/kernels/internal/loops/(lanes|real)\.h$"
)
OTHERS = re.compile(r"CU[a-z]|CU_|CUDA_|PY_|NPY_|Py_RETURN_|NO_IMPORT_ARRAY$|PyInit__core$")

FUNCTION = r"^(?!{}typedef|return|else)[A-Za-z_][\w \t*]*?\b(\w*[a-z]\w*)\([^;{{}}]*\)\s*[;{{]"
TYPES = (
    r"^\}\s*(\w+);",
    r"^typedef [^;{(]*?\b(\w+);",
    r"^typedef (?:struct|enum|union)[^;{]*\{[^}]*\} (\w+);",
    r"^typedef [^;{]*?\(\*(\w+)\)",
    r"^(?:typedef )?(?:struct|enum|union) (\w+) \{",
    r"^extern [^;({]*?\b(\w+)(?:\[[^;]*)?;",
)


def declared(path: str, text: str) -> set[str]:
    """What a header declares, and the functions that a C file gives to others."""
    text = re.sub(r"__attribute__\(\(.*?\)\)+\s*", "", text)
    header = path.endswith(".h")
    names = set(re.findall(FUNCTION.format("" if header else "static|"), text, flags=re.MULTILINE))
    if header:
        names |= set(re.findall(r"^#\s*define (\w+)", text, re.M)) - set(
            re.findall(r"^#\s*undef (\w+)", text, re.M)
        )
        names |= {
            name for pattern in TYPES for name in re.findall(pattern, text, flags=re.MULTILINE)
        }
        for constants in re.findall(r"\benum(?: \w+)? \{([^}]*)\}", text):
            names |= set(re.findall(r"(?:^|,)\s*(\w+)\s*(?=[,=]|$)", constants))
    return names


def begins(name: str, prefixes: str) -> bool:
    return any(
        name.lower() == prefix or name.lower().startswith(prefix + "_")
        for prefix in prefixes.split()
    )


def misnamed(files: Sources) -> list[str]:
    """Names without their room's prefix, and names of the inside of cuda/ outside."""
    ground = {name for path in GROUND for name in declared(path, files.get(path, ""))}
    wrong = []
    for path, text in files.items():
        room = path.split("/")[0]
        if room not in ROOMS or INNER.search(path) or path.endswith(".go"):
            continue
        prefixes = "gb" if path in GROUND else ROOMS[room]
        names = declared(path, text) - ground if path not in GROUND else declared(path, text)
        wrong += [f"{path}: {name} does not begin with {prefixes}" for name in sorted(names)
                  if not begins(name, prefixes) and not OTHERS.match(name)]  # fmt: skip
        if room != "cuda":
            wrong += [
                f"{path}: {name} is inside cuda/"
                for name in sorted(set(re.findall(r"\bgb_cu_\w+", text, flags=re.I)))
            ]
    return wrong


def test_names_say_their_room() -> None:
    files = sources()
    assert {"gb_heap_take", "gb_heap_layout", "GB_HEAP_TAKEN", "GB_HEAP_SMALL_MAX"} <= declared(
        "alloc/heap.h", files["alloc/block.h"] + files["alloc/heap.h"]
    )
    assert misnamed(files) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("alloc/a.h", "int gb_take(int n);\n"),
        ("alloc/a.h", "static inline int gb_take(int n) { return n; }\n"),
        ("alloc/a.h", "__attribute__((format(printf, 1, 2))) int gb_take(const char *f, ...);\n"),
        ("alloc/a.c", "int gb_take(int n) {\n    return n;\n}\n"),
        ("alloc/a.h", "#define LEAD 8\n"),
        ("alloc/numbers.h", "#define LEAD 8\n"),
        ("transfer/a.h", "enum { GB_COPY_ONE = 1, GB_TWO, GB_COPY_THREE };\n"),
        ("transfer/a.h", "enum {\n    GB_COPY_ONE = 1, /* one */\n    GB_TWO,\n};\n"),
        ("transfer/a.h", "typedef struct gb_copy_view {\n    int n;\n} gb_view;\n"),
        ("transfer/a.h", "typedef void (*gb_loop)(int n);\n"),
        ("transfer/a.h", "extern const int gb_loops[3];\n"),
        ("pyext/core/a.h", "struct names {\n    int n;\n};\n"),
        ("pyext/core/a.c", "static int f(void) { return gb_cu_fail(); }\n"),
        ("bridge/a.h", "typedef int gb_info;\n"),
    ],
)
def test_a_violation_is_found(path: str, text: str) -> None:
    found = misnamed({path: without_comments(text)})
    assert len(found) == 1 and found[0].startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("alloc/a.c", "static int take(int n) { return n; }\n#define LEAD 8\n"),
        ("alloc/a.h", "#define ROW(x) x\nint gb_heap_take(int n);\n#undef ROW\n"),
        ("alloc/errors.h", "int gb_refuse(void);\n"),
        ("transfer/row_body.h", "#define STEP 8\n"),
        ("cuda/a.c", "int gb_cu_fail(void) { return gb_cuda_x(); }\n"),
    ],
)
def test_what_is_right_is_left_alone(path: str, text: str) -> None:
    assert misnamed({path: text}) == []
