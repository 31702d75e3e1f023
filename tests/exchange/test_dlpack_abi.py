"""dlpack/dlpack.h against the official header, as the apache-tvm-ffi wheel ships it.

One C program is generated from the official header's own names and compiled once with each header;
what they print must be equal.
"""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

OURS = Path(__file__).resolve().parents[2] / "dlpack" / "dlpack.h"


def official_header() -> Path:
    """The dlpack.h of the installed apache-tvm-ffi; without it the tests are skipped."""
    spec = importlib.util.find_spec("tvm_ffi")
    if spec is None or spec.origin is None:
        pytest.skip("apache-tvm-ffi is not installed; it ships the official dlpack.h")
    return Path(spec.origin).parent / "include" / "dlpack" / "dlpack.h"


def declarations(header: Path) -> str:
    """The header without comments."""
    text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.DOTALL)
    return re.sub(r"//[^\n]*", " ", text)


def structs(text: str) -> dict[str, list[str]]:
    """Struct name -> its fields, in order."""
    found = {}
    for body, name in re.findall(
        r"typedef struct\s*\w*\s*\{(.*?)\}\s*(\w+);", text, flags=re.DOTALL
    ):
        # A function pointer is a field like any other
        body = re.sub(r"\(\*\s*(\w+)\)\s*\([^)]*\)", r" \1", body)
        found[name] = [line.split()[-1].lstrip("*") for line in body.split(";") if line.strip()]
    return found


def enumerators(text: str) -> list[str]:
    """Every enumerator of every enum."""
    return re.findall(r"(kDL\w+)\s*=", text)


def function_types(text: str) -> dict[str, str]:
    """Function pointer name -> its signature without parameter names and spaces."""
    found = {}
    for returns, name, parameters in re.findall(
        r"typedef\s+(\w+)\s*\(\*(\w+)\)\s*\((.*?)\)\s*;", text, flags=re.DOTALL
    ):
        unnamed = re.sub(
            r"\b(\w+)\s*(?=[,)]|$)",
            lambda m: m[1] if re.match(r".*_t$|DL\w+$", m[1]) else "",
            parameters,
        )
        found[name] = returns + "(" + re.sub(r"\s+", "", unnamed) + ")"
    return found


def facts(header: Path, names: str, folder: Path) -> dict[str, int]:
    """What a compiler makes of a header: every size, offset and value among the names of
    another.
    """
    expressions = [
        *enumerators(names),
        *re.findall(r"#define (DLPACK_(?:\w+_VERSION|FLAG_\w+)) ", names),
    ]
    for struct, fields in structs(names).items():
        expressions.append(f"sizeof({struct})")
        expressions.append(f"_Alignof({struct})")
        for field in fields:
            expressions += [f"offsetof({struct}, {field})", f"sizeof((({struct} *)0)->{field})"]
    expressions += [f"sizeof({name})" for name in function_types(names)]
    lines = "\n".join(f'    printf("%lld {e}\\n", (long long)({e}));' for e in expressions)
    source = folder / f"facts_{len(list(folder.iterdir()))}.c"
    includes = f'#include "{header}"\n#include <stddef.h>\n#include <stdio.h>\n'
    source.write_text(f"{includes}int main(void) {{\n{lines}\n    return 0;\n}}\n")
    program = source.with_suffix("")
    compile = [
        os.environ.get("CC", "cc"),
        "-std=c11",
        "-Wall",
        "-Werror",
        "-o",
        str(program),
        str(source),
    ]
    subprocess.run(compile, check=True)
    out = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {
        expression: int(value)
        for value, expression in (line.split(" ", 1) for line in out.splitlines())
    }


def test_every_size_offset_and_value_is_the_official_one(tmp_path: Path) -> None:
    official = official_header()
    names = declarations(official)
    expected = facts(official, names, tmp_path)
    assert len(expected) > 100
    assert expected["sizeof(DLTensor)"] == 48 and expected["sizeof(DLManagedTensorVersioned)"] == 80
    assert {
        "kDLTrn",
        "kDLFloat4_e2m1fn",
        "offsetof(DLPackExchangeAPI, current_work_stream)",
    } <= set(expected)
    assert facts(OURS, names, tmp_path) == expected


def test_nothing_is_defined_that_the_standard_does_not_have() -> None:
    official, ours = declarations(official_header()), declarations(OURS)
    assert structs(ours) == structs(official)
    assert enumerators(ours) == enumerators(official)


def test_function_pointers_have_the_official_signatures() -> None:
    expected = function_types(declarations(official_header()))
    assert len(expected) == 5
    assert expected["DLPackDLTensorFromPyObjectNoSync"] == "int(void*,DLTensor*)"
    assert function_types(declarations(OURS)) == expected


def test_a_changed_header_is_noticed(tmp_path: Path) -> None:
    names = declarations(OURS)
    changed = tmp_path / "changed" / "dlpack.h"
    changed.parent.mkdir()
    text = OURS.read_text()
    swapped = text.replace(
        "    uint8_t bits;\n    uint16_t lanes;", "    uint16_t lanes;\n    uint8_t bits;"
    )
    changed.write_text(swapped.replace("kDLTrn = 18", "kDLTrn = 19"))
    expected, found = facts(OURS, names, tmp_path), facts(changed, names, tmp_path)
    different = {name for name in expected if expected[name] != found[name]}
    assert {"kDLTrn", "offsetof(DLDataType, bits)", "sizeof(DLTensor)"} <= different
