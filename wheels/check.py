"""Looks at the built wheels, without running them: tags, symbols, licences, sizes. The last part of `make wheels`."""

import io
import json
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
        [sys.executable, "-m", "auditwheel", "show", "--json", path], check=True, capture_output=True, text=True
    )
    found = json.loads(shown.stdout)["overall_tag"]
    expect(path.name.endswith(f"-{found}.whl"), f"{path.name}: auditwheel says {found}")
    subprocess.run([Path(sys.executable).with_name("abi3audit"), "--strict", path], check=True)


def library(path: Path) -> None:
    """One door out, pages of up to 64 KiB, tables to unwind by, and symbols in the file beside it."""
    with zipfile.ZipFile(path) as wheel:
        inside = {Path(name).name: name for name in wheel.namelist()}
        elf = ELFFile(io.BytesIO(wheel.read(inside["_core.abi3.so"])))
        for name in ("LICENSE", "LICENSE-Go.txt", "gridbuf.cdx.json"):
            expect(name in inside and ".dist-info/" in inside[name], f"{path.name} lacks {name}")
        parts = json.loads(wheel.read(inside["gridbuf.cdx.json"]))["components"]
        expect(any(part["name"] == "std" for part in parts), f"{path.name}: the bill of materials does not name Go")
    symbols = elf.get_section_by_name(".dynsym").iter_symbols()
    exported = {
        s.name for s in symbols if s["st_shndx"] != "SHN_UNDEF" and s["st_info"]["bind"] in {"STB_GLOBAL", "STB_WEAK"} and s.name
    }
    expect(exported == {"PyInit__core"}, f"{path.name} exports {sorted(exported)}")
    page = 65536 if elf["e_machine"] == "EM_AARCH64" else 4096
    steps = {segment["p_align"] for segment in elf.iter_segments("PT_LOAD")}
    expect(all(step % page == 0 for step in steps), f"{path.name}: segments lie on boundaries of {steps}, pages may be {page}")
    expect(elf.get_section_by_name(".eh_frame") is not None, f"{path.name} has no unwind tables")
    expect(elf.get_section_by_name(".debug_info") is None, f"{path.name} is not stripped")
    (beside,) = BUILT.glob(f"*{path.name.split('-')[-1].removesuffix('.whl')}.debug")
    with beside.open("rb") as file:
        whole = ELFFile(file)
        numbers = [e.get_section_by_name(".note.gnu.build-id").data() for e in (elf, whole)]
        expect(numbers[0] == numbers[1] and whole.get_section_by_name(".debug_info") is not None, f"{beside.name}: other symbols")


def main() -> None:
    for machine in MACHINES:
        path = wheel(machine)
        size = path.stat().st_size
        expect(size <= LARGEST, f"{path.name} has {size} bytes, more than {LARGEST}")
        tools(path)
        library(path)
        print(f"{path.name}: {size} bytes, {tag(machine)}, exports PyInit__core alone")
    subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *BUILT.glob("*.whl"), *BUILT.glob("*.tar.gz")], check=True
    )


if __name__ == "__main__":
    main()
