"""What every test relies on: property tests are about values, never about time; a GPU that is not there."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from fake_device import FakeDevice

HERE = Path(__file__).resolve().parent
# Ctrl-C is tested, and a shell's background jobs are born ignoring it.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("gridbuf", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)  # `make test`: what chance finds is for everybody else
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gridbuf"))


def stale() -> str | None:
    """Who tests a checkout is told when its extension is older than its C or Go."""
    import gridbuf._core

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
    newer = sum(f.stat().st_mtime > extension.stat().st_mtime for f in edited)
    return f"gridbuf: {newer} files of C and Go are newer than {extension.name}; make build" if newer else None


def pytest_collection_finish() -> None:
    """A test that asks for a collection waits for its own garbage, not for a walk through all tests."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Who runs the whole suite is told of the part that wants a driver, and who runs old C of that."""
    if (older := stale()) is not None:
        terminalreporter.write_line(older, yellow=True)
    asked = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    if "GRIDBUF_DEVICE_TESTS" not in os.environ and asked & {HERE, HERE.parent, HERE / "device"}:
        terminalreporter.write_line(
            "tests/device was not run: tests/device.sh runs it on the fake driver, make test-gpu on a GPU"
        )


@pytest.fixture
def gpu() -> "Iterator[FakeDevice]":
    """A fake GPU in the place of cupy's."""
    from fake_device import FakeDevice

    from gridbuf.storage import devices

    with devices.use(FakeDevice()) as device:
        yield device
