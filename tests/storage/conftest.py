"""Fixtures of the storage tests."""

from collections.abc import Iterator

import pytest
from fake_device import FakeDevice

from gridbuf.storage import _device


@pytest.fixture
def gpu() -> Iterator[FakeDevice]:
    """A fake GPU in the place of cupy's."""
    with _device.use(FakeDevice()) as device:
        yield device
