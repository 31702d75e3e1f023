"""What every test relies on: property tests are about values, never about time; a GPU that is not there."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from fake_device import FakeDevice

HERE = Path(__file__).resolve().parent
settings.register_profile("gridbuf", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)  # `make test`: what chance finds is for everybody else
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gridbuf"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Who runs the whole suite is told of the part that wants a driver."""
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
