"""What every test relies on: property tests are about values, never about time; a GPU that is not there."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from fake_device import FakeDevice

settings.register_profile("gridbuf", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)  # `make test`: what chance finds is for everybody else
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gridbuf"))


@pytest.fixture
def gpu() -> "Iterator[FakeDevice]":
    """A fake GPU in the place of cupy's."""
    from fake_device import FakeDevice

    from gridbuf.storage import devices

    with devices.use(FakeDevice()) as device:
        yield device
