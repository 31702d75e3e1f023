"""make release: what has to agree before anything is built, and what is tagged."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACHINES = ("x86_64", "aarch64")
if not shutil.which("git"):
    pytest.skip("needs git", allow_module_level=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What release.py looks at, of a release 3.1.4, committed."""
    for name in ("gridbuf", "wheels", "wheelhouse"):
        (tmp_path / name).mkdir()
    for name in ("release.py", "targets.py"):
        shutil.copy(ROOT / "wheels" / name, tmp_path / "wheels")
    (tmp_path / ".gitignore").write_text("/wheelhouse/\n__pycache__/\n")
    (tmp_path / "gridbuf" / "__init__.py").write_text('__version__ = "3.1.4"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 3.1.4 (2026-11-22)\n\n* rounder\n\n## 3.1.3 (2026-01-01)\n\n* old\n"
    )
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 3.1.4\n")
    for name in (
        "gridbuf-3.1.4.tar.gz",
        *(f"gridbuf-3.1.4-cp311-abi3-manylinux_2_17_{machine}.whl" for machine in MACHINES),
    ):
        (tmp_path / "wheelhouse" / name).touch()
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def commit(folder: Path) -> None:
    git(folder, "config", "user.name", "n")
    git(folder, "config", "user.email", "n@example.org")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "m")


def release(folder: Path, step: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "wheels/release.py", step], cwd=folder, capture_output=True, text=True
    )


def test_a_release_is_tagged_with_its_changes(checkout: Path) -> None:
    assert release(checkout, "check").returncode == 0
    done = release(checkout, "tag")
    assert done.returncode == 0 and "git push origin v3.1.4" in done.stdout, done.stderr
    assert (
        git(checkout, "tag", "--list", "--format=%(contents)", "v3.1.4").strip()
        == "gridbuf 3.1.4\n\n* rounder"
    )
    assert "v3.1.4 is there already" in release(checkout, "check").stderr


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("gridbuf/__init__.py", '__version__ = "3.1.4.dev0"\n', "no release"),
        ("CHANGELOG.md", "## 3.1.4 (unreleased)\n", "no section '## 3.1.4 (YEAR-MONTH-DAY)'"),
        ("CITATION.cff", "version: 3.1.3\n", "version is not 3.1.4"),
    ],
)
def test_what_does_not_agree(checkout: Path, path: str, text: str, says: str) -> None:
    (checkout / path).write_text(text)
    commit(checkout)
    done = release(checkout, "check")
    assert done.returncode == 1 and says in done.stderr


def test_a_tree_that_is_not_committed(checkout: Path) -> None:
    (checkout / "new.py").touch()
    assert "commit or put away" in release(checkout, "check").stderr


def test_wheels_that_are_missing(checkout: Path) -> None:
    (checkout / "wheelhouse" / "gridbuf-3.1.4.tar.gz").unlink()
    assert "found gridbuf-3.1.4.tar.gz" in release(checkout, "tag").stderr
    assert not git(checkout, "tag", "--list")


def test_the_version_and_its_citation_agree() -> None:
    import gridbuf

    assert f"\nversion: {gridbuf.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {gridbuf.__version__} (" in (ROOT / "CHANGELOG.md").read_text()
