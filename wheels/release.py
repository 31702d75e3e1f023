"""What `make release` does after building: looks whether this is a release, and tags it. It
publishes nothing.

python wheels/release.py check   before anything is built: the tree is clean, and version,
                                 changelog and citation agree
python wheels/release.py tag     after the tests: an annotated tag with the changelog's section
"""

import re
import subprocess
import sys

from targets import BUILT, MACHINES, ROOT, wheel


def said(*command: str) -> str:
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def version() -> str:
    found = re.search(
        r'^__version__ = "(\d+\.\d+\.\d+)"$',
        (ROOT / "gridbuf" / "__init__.py").read_text(),
        re.MULTILINE,
    )
    if not found:
        sys.exit("gridbuf/__init__.py: __version__ is no release (1.2.3)")
    return found[1]


def section(number: str) -> str:
    """The changelog's text of a version, which needs a date."""
    changes = (ROOT / "CHANGELOG.md").read_text()
    found = re.search(
        rf"^## {re.escape(number)} \((\d{{4}}-\d\d-\d\d)\)\n(.*?)(?=^## |\Z)",
        changes,
        re.MULTILINE | re.DOTALL,
    )
    if not found:
        sys.exit(
            f"CHANGELOG.md: no section '## {number} (YEAR-MONTH-DAY)'; put the date in place of"
            " 'unreleased', and commit"
        )
    return found[2].strip()


def check(number: str) -> None:
    section(number)
    citation = (ROOT / "CITATION.cff").read_text()
    if f"\nversion: {number}\n" not in citation:
        sys.exit(f"CITATION.cff: version is not {number}")
    if said("git", "status", "--porcelain"):
        sys.exit("git status: commit or put away what is there first")
    if said("git", "tag", "--list", f"v{number}"):
        sys.exit(f"git tag: v{number} is there already")


def mark(number: str) -> None:
    made = [BUILT / f"gridbuf-{number}.tar.gz", *(wheel(machine) for machine in MACHINES)]
    wrong = [
        path.name
        for path in made
        if not (path.exists() and path.name.startswith(f"gridbuf-{number}"))
    ]
    if wrong:
        sys.exit(
            f"{BUILT.name}/: expected files of {number}, found {', '.join(wrong)}; build them with"
            " 'make wheels'"
        )
    said(
        "git",
        "tag",
        "--annotate",
        f"v{number}",
        "--cleanup=verbatim",
        "--message",
        f"gridbuf {number}\n\n{section(number)}",
    )
    print(
        f"v{number} is tagged. To publish it: git push origin v{number}, and twine upload"
        f" {BUILT.name}/*.whl {BUILT.name}/*.tar.gz"
    )


if __name__ == "__main__":
    {"check": check, "tag": mark}[sys.argv[1]](version())
