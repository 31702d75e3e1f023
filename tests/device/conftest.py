"""Tests of device, pinned and managed memory. They run in processes of their own: on the fake
driver (tests/device.sh) or on a real GPU (`make test-gpu`). GRIDBUF_DEVICE_TESTS says which: "fake"
or "gpu".
"""

import gc
import os
from collections.abc import Iterator

import pytest
from fake_driver import MODE, Fake

if MODE is None:
    collect_ignore_glob = ["test_*.py"]


_fake = Fake(os.environ["GRIDBUF_LIBCUDA"]) if MODE == "fake" else None


@pytest.fixture
def fake() -> Iterator[Fake]:
    """The fake driver, with nothing left to fail and nothing held afterwards."""
    if _fake is None:
        pytest.skip("this test steers the fake driver")
    _fake.watch(True)
    yield _fake
    _fake.run_every(0)
    _fake.hold(False)
    _fake.slow(-1)
    _fake.late(False)
    _fake.awaited(0)
    _fake.no_failures()
    _fake.pump()
    _fake.watch(False)


@pytest.fixture(autouse=True)
def sound() -> Iterator[None]:
    """No test may use the driver wrongly or keep memory."""
    import gridbuf as gb

    yield
    gc.collect()
    if _fake is not None:
        assert (wrong := _fake.expect_misuse()) is None, wrong
    if gb._core.cuda_started():
        for pool in ({"device": "gpu"}, {"memory": "pinned"}, {"memory": "managed"}):
            assert gb.memory.stats(**pool)["live_buffers"] == 0, pool
