"""Every command of README.md, its neighbours and docs/: what a reader pastes runs, or at least
parses and names what is there.
"""

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import pytest
from pages_of_docs import FENCE, PAGES, ROOT, blocks, name

from gridbuf import cli

sys.path.insert(0, str(ROOT / "wheels"))
from targets import MACHINES, tag

STARTS = r"(?:python|pip|make|mpirun|srun|go|gridbuf)(?= |$)|(?:\.\./|\./)?[\w.]+/[\w./-]+(?= )"
COMMAND = re.compile(rf"(?:\(?cd \S+ && |[A-Z_]+=\S+ )*(?:{STARTS})")
# Blocks that are a program's files and what it prints, and the test that runs them.
OUTPUT = {
    "docs/go.md": "build/test_go_module.py",
    "docs/tutorials/sharing.md": "share/test_example.py",
}
PROGRAM = (
    "import numpy as np\na = np.ones((40, 40))\nfor _ in range(3):\n    a = a +"
    " 1.0\nprint(a.sum())\n"
)
READERS = ("model.py", "crash.py", "setup.py", "core.py", "program.py")  # files that the reader has
MINUTES = ("doctor --consumers", "demo")


class Command(NamedTuple):
    """A line of a block, or code within a sentence."""

    page: Path
    text: str
    line: bool

    @property
    def id(self) -> str:
        return f"{self.page.name}: {self.text}"


def commands() -> Iterator[Command]:
    for page in PAGES:
        if page.name in ("CHANGELOG.md", "changes.md"):  # what was, is named there
            continue
        for block in blocks(page):
            if not block.kind and not block.examples and name(page) not in OUTPUT:
                for line in block.text.splitlines():
                    yield Command(page, line.removeprefix("$ "), True)
        for span in dict.fromkeys(re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text()))):
            if " " in span and COMMAND.match(span):
                yield Command(page, span, False)


COMMANDS = list(commands())
OURS = [
    each for each in COMMANDS if re.search(r"python (-W \w+ )?-m gridbuf (?!.*\.\.\.)", each.text)
]
READER = re.compile(r"(?:^|\s)(?:\.venv/bin/)?python (?:-X \w+ )?(?:model|crash)\.py")
# What starts a program of the reader's, in a sentence too; the others are parsed, and run where
# they take no minutes. Targets of make are what CI, a release and a session with a GPU run; mpirun
# is run by distributed/test_shallow_water.py and watch/, share by share/.
RUN = [
    each
    for each in COMMANDS
    if (each in OURS or READER.search(each.text))
    and "mpirun" not in each.text
    and not any(word in each.text for word in MINUTES)
    and (each.line or "pytest" not in each.text)
]
GO_DOC = [each for each in COMMANDS if each.text.startswith("go doc ")]
PIP = [each for each in COMMANDS if "pip install" in each.text]


def simple(text: str) -> Iterator[list[str]]:
    """The words of each command of a line, without comment and settings."""
    read = shlex.shlex(
        re.sub(r"\$\([^)]*\)", "SUBSTITUTED", text), posix=True, punctuation_chars="();&|"
    )
    read.whitespace_split = True
    words: list[str] = []
    for word in [*read, "&&"]:
        if set(word) <= set("();&|"):
            if words:
                yield words
            words = []
        elif words or not re.match(r"[A-Z_]+=", word):
            words.append(word)


@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if each.line], ids=lambda each: each.id
)
def test_a_line_of_a_block_is_a_command(command: Command) -> None:
    assert COMMAND.match(command.text), (
        f"{name(command.page)}: no test knows what {command.text!r} is"
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: each.id)
def test_a_command_parses_and_names_what_is_there(command: Command) -> None:
    done = subprocess.run(["bash", "-n", "-c", command.text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder = ROOT
    for first, *words in simple(command.text):
        if first == "cd":
            folder = ROOT / words[0] if words[0] != "gridbuf" else ROOT  # as a checkout is called
            assert folder.is_dir()
        elif first == "make":
            check_make(words)
        elif first.rpartition("/")[2] == "python":
            check_python(words, folder)
        elif first == "gridbuf":
            assert 'gridbuf = "gridbuf.cli:' in (ROOT / "pyproject.toml").read_text()
            check_gridbuf(words)
        elif first == "pip":
            assert words[0] in ("install", "wheel")
        elif first == "go":
            assert words[0] in ("build", "doc", "run", "test", "vet", "work")
            for word in words[1:]:
                assert (
                    not word.startswith("./")
                    or word in ("./gridbuf", "./ocean", "./...")
                    or (ROOT / word).is_dir()
                ), word
        elif first not in ("mpirun", "srun"):
            assert os.access(folder / first, os.X_OK), f"{first} is no program of this checkout"


def check_make(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for word in words:
        variable, equals, _ = word.partition("=")
        if equals:
            assert re.search(rf"\$\([^)]*\b{variable}\b|^{variable}\b", makefile, re.MULTILINE), (
                f"the Makefile has no {variable}"
            )
        elif word != "...":
            assert re.search(rf"^{re.escape(word)}:", makefile, re.MULTILINE), (
                f"the Makefile has no target {word}"
            )
    if "..." not in words and shutil.which("make"):  # a shell can read the recipe
        recipe = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True)
        assert recipe.returncode == 0, recipe.stderr
        read = subprocess.run(["bash", "-n"], input=recipe.stdout, capture_output=True, text=True)
        assert read.returncode == 0, read.stderr


def check_python(words: list[str], folder: Path) -> None:
    """Options of the interpreter, then a module, code or a file."""
    while words[0] in ("-W", "-X"):
        words = words[2:]
    if words[0] == "-c":
        return
    if words[0] != "-m":
        assert words[0] in READERS or (folder / words[0]).exists(), f"there is no {words[0]}"
    elif words[1] == "gridbuf":
        check_gridbuf(words[2:])
    else:
        assert importlib.util.find_spec(words[1].partition(".")[0]), (
            f"there is no module {words[1]}"
        )


def check_gridbuf(words: list[str]) -> None:
    parser, named = cli._parser()
    assert words[0] in (*named, "--help", "--version"), f"there is no command {words[0]}"
    if "..." in words or len(words) == 1:  # a command's name alone stands for it
        return
    try:
        _, unknown = parser.parse_known_args(words)
    except SystemExit:
        pytest.fail(f"the command line refuses {words}")
    assert not unknown


@pytest.mark.parametrize("command", RUN, ids=lambda each: each.id)
def test_a_command_of_ours_runs(command: Command, tmp_path: Path) -> None:
    """As it stands there, on a small program."""
    if "--html" in command.text or "gt4py" in command.text:
        pytest.importorskip("gt4py.cartesian")
    (tmp_path / "package").mkdir()
    for path in ("model.py", "crash.py", "program.py", "package/model.py", "package/__init__.py"):
        (tmp_path / path).write_text("" if "init" in path else PROGRAM)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])}
    text = re.sub(r"(^|\s)(?:\.venv/bin/)?python ", rf"\g<1>{sys.executable} ", command.text)
    if re.fullmatch(r".*-m gridbuf (plan|distributed|run|watch)", text):
        text += " --help"
    text = text.replace("--backend gtmc", "--backend gt:cpu_ifirst")  # the reader's own
    done = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", GO_DOC, ids=lambda each: each.id)
def test_go_doc_finds_its_package(command: Command) -> None:
    if not shutil.which("go"):
        pytest.skip("needs go")
    done = subprocess.run(command.text.split(), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("package "), done.stderr


def test_the_command_is_installed_under_its_name() -> None:
    """`gridbuf --help` is `python -m gridbuf --help`."""
    from importlib.metadata import entry_points

    found = entry_points(group="console_scripts", name="gridbuf")
    assert {entry.value for entry in found} <= {"gridbuf.cli:main"}
    done = subprocess.run(
        [sys.executable, "-m", "gridbuf", "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("usage: gridbuf ")


def test_the_examples_of_the_command_line_itself() -> None:
    """The last line of each command's help."""
    examples = [parser.epilog for parser in cli._parser()[1].values() if parser.epilog]
    assert len(examples) >= 4
    for example in examples:
        begin, _, command = example.partition(": ")
        assert begin == "example" and command.startswith("python -m gridbuf ")
        check_python(shlex.split(command)[1:], ROOT)


# ---- pip ----


def extras() -> set[str]:
    text = (
        (ROOT / "pyproject.toml")
        .read_text()
        .partition("[project.optional-dependencies]")[2]
        .partition("\n[")[0]
    )
    return set(re.findall(r"^([\w-]+) = ", text, re.MULTILINE))


@pytest.mark.parametrize("command", PIP, ids=lambda each: each.id)
def test_pip_installs_what_there_is(command: Command) -> None:
    """The checkout, a wheel of `make wheels`, or packages of others by name; an extra is one that
    pyproject.toml has.
    """
    (words,) = [words[2:] for words in simple(command.text) if words[0] == "pip"]
    for word in words:
        if word == "-e" or word.startswith("wheelhouse/"):
            continue
        found = re.fullmatch(r"(\.|[\w-]+)(?:\[([\w,-]+)\])?", word)
        assert found, f"{word}: not the checkout, a package or a wheel"
        if found[1] in (".", "gridbuf"):
            assert set((found[2] or "").split(",")) - {""} <= extras(), word
        assert word != "gridbuf", "gridbuf is on no package index"


def test_extras_that_messages_name() -> None:
    """`pip install 'gridbuf[demo]'` in errors and docstrings."""
    folders = (ROOT / "gridbuf", ROOT / "examples")
    texts = [path.read_text() for folder in folders for path in folder.rglob("*.py")]
    named = {
        extra
        for text in texts
        for found in re.findall(r"gridbuf\[([a-z,-]+)\]", text)
        for extra in found.split(",")
    }
    assert named and named <= extras()


def wheelhouse(folder: Path) -> None:
    """What `make wheels` leaves: wheels of both machines that pip can read, symbols, and the
    source.
    """
    (folder / "wheelhouse").mkdir()
    for machine in MACHINES:
        stem, info = f"gridbuf-9.8.7-cp311-abi3-{tag(machine)}", "gridbuf-9.8.7.dist-info"
        with zipfile.ZipFile(folder / "wheelhouse" / f"{stem}.whl", "w") as wheel:
            wheel.writestr(
                f"{info}/METADATA", "Metadata-Version: 2.1\nName: gridbuf\nVersion: 9.8.7\n"
            )
            wheel.writestr(
                f"{info}/WHEEL",
                f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-abi3-{tag(machine)}\n",
            )
            wheel.writestr(f"{info}/RECORD", "")
        (folder / "wheelhouse" / f"gridbuf-9.8.7-{tag(machine)}.debug").touch()
        # A Python without a GIL has a wheel of its own.
        (folder / "wheelhouse" / f"gridbuf-9.8.7-cp314-cp314t-{tag(machine)}.whl").touch()
    (folder / "wheelhouse" / "gridbuf-9.8.7.tar.gz").touch()


WHEELS = [each for each in PIP if "wheelhouse" in each.text]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("command", WHEELS, ids=lambda each: each.id)
def test_a_shell_finds_the_wheel_of_the_machine(
    command: Command, machine: str, tmp_path: Path
) -> None:
    """The line as it stands, with a `pip` that says what it is given and a `uname` of each
    machine.
    """
    wheelhouse(tmp_path)
    said = f"pip() {{ printf '%s\\n' \"$@\"; }}; uname() {{ echo {machine}; }}; {command.text}"
    done = subprocess.run(
        ["bash", "-c", said], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "install",
        f"wheelhouse/gridbuf-9.8.7-cp311-abi3-{tag(machine)}.whl",
    ]


@pytest.mark.skipif(not importlib.util.find_spec("pip"), reason="no pip")
@pytest.mark.parametrize("command", WHEELS, ids=lambda each: each.id)
def test_pip_takes_that_wheel(command: Command, tmp_path: Path) -> None:
    wheelhouse(tmp_path)
    pip = (
        f'pip() {{ {sys.executable} -m pip "$@" --dry-run --no-deps --no-index'
        " --disable-pip-version-check; }"
    )
    env = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        ["bash", "-c", f"{pip}; {command.text}"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and "Would install gridbuf-9.8.7" in done.stdout, (
        done.stdout + done.stderr
    )


def test_the_wheel_s_line_is_in_both_places() -> None:
    assert {name(each.page) for each in WHEELS} == {"README.md", "docs/start.md"}


@pytest.mark.skipif(not importlib.util.find_spec("pip"), reason="no pip")
def test_an_extra_is_found_in_what_is_installed() -> None:
    """`pip install 'gridbuf[watch]'` asks no index for gridbuf itself."""
    try:
        version("gridbuf")
    except PackageNotFoundError:
        pytest.skip("gridbuf is not installed here")
    words = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--no-deps",
        "--no-index",
        "gridbuf[watch]",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "Requirement already satisfied" in done.stdout, (
        done.stdout + done.stderr
    )


def test_these_tests_can_fail(tmp_path: Path) -> None:
    """The line that README had until 0.2 finds no wheel."""
    wheelhouse(tmp_path)
    line = "printf '%s' wheelhouse/gridbuf-*-$(uname -m).whl"
    assert (
        subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True
        ).stdout.count("*")
        == 1
    )
    for words in (["nothing"], ["SPEED=3"]):
        with pytest.raises(AssertionError):
            check_make(words)
    with pytest.raises(pytest.fail.Exception):
        check_gridbuf(["distributed", "10", "--cut", "x"])
    assert isinstance(cli._parser()[0], argparse.ArgumentParser)
