"""What every test relies on: property tests are about values, never about time; a GPU that is not
there.
"""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from fake_device import FakeDevice

HERE = Path(__file__).resolve().parent
# seconds of a test alone on two cores; then it is marked slow, and make quick leaves it out
SLOW = 2.0
# Ctrl-C is tested, and a shell's background jobs are born ignoring it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine that is busy draws slowly: Hypothesis counts the seconds, and calls it a failure.
settings.register_profile("gridbuf", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# `make test`: what chance finds is for everybody else.
settings.register_profile("repeatable", settings.get_profile("gridbuf"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gridbuf"))


def stale() -> str | None:
    """Who tests a checkout is told when its extension is older than its C or Go."""
    try:
        import gridbuf._core
    except ImportError:
        return "gridbuf: it cannot be imported here; make dev, once, and .venv/bin/python"
    extension = Path(gridbuf._core.__file__)
    if extension.parents[1] != HERE.parent:
        return None
    rooms = [path.parent for path in HERE.parent.glob("*/*.[ch]")]
    edited = [
        f
        for room in {*rooms}
        for f in room.rglob("*.[cgh]*")
        if f.suffix in (".c", ".h", ".go") and not f.name.endswith("_test.go")
    ]
    built = max(f.stat().st_mtime for f in extension.parent.glob("_*.so"))  # of C, and of Go
    newer = sum(f.stat().st_mtime > built for f in edited)
    return (
        f"gridbuf: {newer} files of C and Go are newer than {extension.name}; make build"
        if newer
        else None
    )


def pytest_configure(config: pytest.Config) -> None:
    """gt4py, here and in the programs of tests, compiles a stencil once: `make test` says where it
    is kept, else it is as long as the tests run.
    """
    # Of this process, and of those that it starts: workers and programs
    if "GT_CACHE_ROOT" not in os.environ:
        folder = tempfile.mkdtemp(prefix="gridbuf-gt4py-")
        os.environ |= {
            "GT_CACHE_ROOT": folder,
            "GT4PY_BUILD_CACHE_DIR": folder,
            "GT4PY_BUILD_CACHE_LIFETIME": "persistent",
        }
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first: the last worker to end has a short one.
    --no-loadscope-reorder leaves it so.
    """
    first = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in first)


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """A test that asks for a collection waits for its own garbage, not for a walk through all
    tests, reports and libraries.
    """
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Who runs the whole suite is told of the part that wants a driver, and who runs old C of
    that.
    """
    if (older := stale()) is not None:
        terminalreporter.write_line(older, yellow=True)
    unmarked = [
        report
        for reports in (terminalreporter.stats.get(outcome, []) for outcome in ("passed", "failed"))
        for report in reports
        if report.when == "call" and report.duration > SLOW and "slow" not in report.keywords
    ]
    if unmarked:
        longest = max(unmarked, key=lambda report: report.duration)
        terminalreporter.write_line(
            f"{len(unmarked)} tests took more than {SLOW} s and are not marked slow:"
            f" {longest.nodeid} took {longest.duration:.1f} s"
        )
    asked = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    if "GRIDBUF_DEVICE_TESTS" not in os.environ and asked & {HERE, HERE.parent, HERE / "device"}:
        terminalreporter.write_line(
            "tests/device was not run: tests/device.sh runs it on the fake driver, make test-gpu on"
            " a GPU"
        )


@pytest.fixture
def gpu() -> "Iterator[FakeDevice]":
    """A fake GPU in the place of cupy's."""
    from fake_device import FakeDevice

    from gridbuf.storage import devices

    with devices.use(FakeDevice()) as device:
        yield device
