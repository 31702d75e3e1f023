"""Looks at the built wheels, without running them: tags, symbols, licences, sizes. The last part of
`make wheels`.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from targets import BUILT, LARGEST, MACHINES, tag, wheel


def expect(truth: bool, what: str) -> None:
    if not truth:
        sys.exit(f"gridbuf: {what}")


def tools(path: Path) -> None:
    """What others say of it."""
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", path],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(shown.stdout)["overall_tag"]
    expect(path.name.endswith(f"-{found}.whl"), f"{path.name}: auditwheel says {found}")
    subprocess.run([Path(sys.executable).with_name("abi3audit"), "--strict", path], check=True)


def library(path: Path) -> None:
    """One door out, pages of up to 64 KiB, tables to unwind by, and symbols in the file
    beside it.
    """
    with zipfile.ZipFile(path) as wheel:
        inside = {Path(name).name: name for name in wheel.namelist()}
        elf = ELFFile(io.BytesIO(wheel.read(inside["_core.abi3.so"])))
        for name in ("LICENSE", "LICENSE-Go.txt", "gridbuf.cdx.json"):
            expect(name in inside and ".dist-info/" in inside[name], f"{path.name} lacks {name}")
        parts = json.loads(wheel.read(inside["gridbuf.cdx.json"]))["components"]
        expect(
            any(part["name"] == "std" for part in parts),
            f"{path.name}: the bill of materials does not name Go",
        )
    for name, door in (("_core.abi3.so", "PyInit__core"), ("_go.so", "gbridge_open")):
        with zipfile.ZipFile(path) as wheel:
            each = ELFFile(io.BytesIO(wheel.read(inside[name])))
        symbols = each.get_section_by_name(".dynsym").iter_symbols()
        bound = {"STB_GLOBAL", "STB_WEAK"}
        exported = {
            s.name
            for s in symbols
            if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["bind"] in bound and s.name
        }
        expect(exported == {door}, f"{path.name}: {name} exports {sorted(exported)}")
        page = 65536 if each["e_machine"] == "EM_AARCH64" else 4096
        steps = {segment["p_align"] for segment in each.iter_segments("PT_LOAD")}
        expect(
            all(step % page == 0 for step in steps),
            f"{path.name}: segments of {name} lie on boundaries of {steps}, pages may be {page}",
        )
        expect(
            each.get_section_by_name(".eh_frame") is not None,
            f"{path.name}: {name} has no unwind tables",
        )
        expect(
            each.get_section_by_name(".debug_info") is None, f"{path.name}: {name} is not stripped"
        )
    beside = symbols_of(path)
    with beside.open("rb") as file:
        whole = ELFFile(file)
        numbers = [e.get_section_by_name(".note.gnu.build-id").data() for e in (elf, whole)]
        expect(
            numbers[0] == numbers[1] and whole.get_section_by_name(".debug_info") is not None,
            f"{beside.name}: other symbols",
        )


def symbols_of(path: Path) -> Path:
    (beside,) = BUILT.glob(f"*{path.name.split('-')[-1].removesuffix('.whl')}.debug")
    return beside


def debugger(path: Path) -> None:
    """gdb takes the symbols from the file beside the wheel, and shows the line of a function."""
    if shutil.which("gdb") is None or f"-{tag(os.uname().machine)}" not in path.name:
        return
    folder = BUILT / "unpacked"
    with zipfile.ZipFile(path) as wheel:
        core = wheel.extract("gridbuf/_core.abi3.so", folder)
    command = [
        "gdb",
        "-nx",
        "-q",
        "-batch",
        "-ex",
        f"symbol-file {symbols_of(path)}",
        "-ex",
        "info line gb_heap_reserve",
        core,
    ]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300)
    shutil.rmtree(folder)
    expect(
        re.search(r'^Line \d+ of "[^"]*heap\.c"', said.stdout, re.MULTILINE) is not None,
        f"gdb: {said.stdout}{said.stderr}",
    )


def main() -> None:
    for machine in MACHINES:
        path = wheel(machine)
        size = path.stat().st_size
        expect(size <= LARGEST, f"{path.name} has {size} bytes, more than {LARGEST}")
        tools(path)
        library(path)
        debugger(path)
        print(f"{path.name}: {size} bytes, {tag(machine)}, each library exports one name")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "twine",
            "check",
            "--strict",
            *BUILT.glob("*.whl"),
            *BUILT.glob("*.tar.gz"),
        ],
        check=True,
    )


if __name__ == "__main__":
    main()
