"""Software-managed storages in several threads: a reader never destroys what a writer wrote."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fake_device import FakeArray, FakeDevice

import gridbuf.storage as gs
from gridbuf.storage import devices


class Meeting(FakeDevice):
    """In the middle of its next transfer it lets another thread try to write."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.written, self.armed = threading.Event(), threading.Event(), False

    def _meet(self) -> None:
        if self.armed:
            self.armed = False
            self.begun.set()
            self.written.wait(0.1)  # with a lock the other thread waits for us, and nobody comes

    def download(self, device: FakeArray, host: np.ndarray) -> None:
        values = device.hidden.copy()
        self._meet()
        self.log.append("download")
        host[...] = values

    def upload(self, host: np.ndarray, device: FakeArray) -> None:
        values = host.copy()
        self._meet()
        self.log.append("upload")
        device.hidden[...] = values


@pytest.fixture
def meeting() -> Iterator[Meeting]:
    with devices.use(Meeting()) as device:
        yield device  # type: ignore[misc]


def both(device: Meeting, read: Callable[[], Any], write: Callable[[], Any]) -> None:
    device.armed = True
    errors: list[BaseException] = []

    def run(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    def reader() -> None:
        read()
        # copies are made on each side: where nothing is transferred the writer comes after
        device.begun.set()

    def writer() -> None:
        device.begun.wait(10)
        write()
        device.written.set()

    threads = [threading.Thread(target=run, args=(call,)) for call in (reader, writer)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert errors == []


WRITES: list[Callable[[gs.Storage, Any], Any]] = [
    lambda a, one: a.__setitem__(0, 1.0),
    lambda a, one: a.__setitem__([0], 1.0),
    lambda a, one: np.add(one, 0.0, out=a[0:1]),
    lambda a, one: np.copyto(a[0:1], one),
    lambda a, one: np.maximum.reduce(one, axis="I", keepdims=True, out=a[0:1]),
    lambda a, one: np.concatenate((one,), axis="I", out=a[0:1]),
    lambda a, one: np.stack((one[0],), axis="I", out=a[0:1]),
    lambda a, one: one.cumsum("I", out=a[0:1]),
    lambda a, one: np.multiply.accumulate(one, out=a[0:1]),
    lambda a, one: np.round(one, out=a[0:1]),
    lambda a, one: np.clip(one, 0.0, 1.0, out=a[0:1]),
    lambda a, one: np.put(a, [0, 1, 2, 3], 1.0),
    lambda a, one: a[0:1].fill(1.0),
]


@pytest.mark.parametrize("write", WRITES, ids=range(len(WRITES)))
@pytest.mark.parametrize(
    "read", [np.asarray, lambda a: a.to_numpy(), lambda a: a.synchronize(), lambda a: a.copy()]
)
def test_a_reader_of_the_host_keeps_what_is_written_meanwhile(
    meeting: Meeting, write: Any, read: Any
) -> None:
    a = gs.full((4, 4), 7.0, device="gpu")
    one = gs.ones((1, 4))
    a.set_device_modified()
    both(meeting, lambda: read(a), lambda: write(a, one))
    assert a.to_numpy().tolist() == [[1.0] * 4] + [[7.0] * 4] * 3


def test_a_reader_of_the_device_keeps_what_is_written_meanwhile(meeting: Meeting) -> None:
    a = gs.full((4, 4), 7.0, device="gpu")
    a[3] = 5.0
    assert a.sync_state.state == gs.SyncState.SYNC_HOST_DIRTY
    both(meeting, a.to_cupy, lambda: a.__setitem__(0, FakeArray(np.ones(4))))
    assert a.to_numpy().tolist() == [[1.0] * 4] + [[7.0] * 4] * 2 + [[5.0] * 4]


def test_two_threads_that_write_crosswise_do_not_wait_for_each_other(gpu: FakeDevice) -> None:
    a, b = gs.zeros((8,), axes="K", device="gpu"), gs.zeros((8,), axes="K", device="gpu")

    def cross(one: gs.Storage, other: gs.Storage) -> None:
        for i in range(300):
            np.add(one, 1.0, out=other)
            one[...] = other
            one[i % 8] = 1.0
            np.add.reduce(np.add(one, other), axis="K")

    threads = [threading.Thread(target=cross, args=pair, daemon=True) for pair in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_parts_that_two_threads_write_are_all_there(gpu: FakeDevice) -> None:
    a = gs.zeros((2, 400), axes="IK", device="gpu")

    def write(row: int, value: Callable[[int], Any]) -> None:
        for i in range(400):
            a[row, i] = value(i)

    host = threading.Thread(target=write, args=(0, lambda i: i + 1.0))
    device = threading.Thread(target=write, args=(1, lambda i: FakeArray(np.array(i + 1.0))))
    for thread in (host, device):
        thread.start()
    for thread in (host, device):
        thread.join(60)
    assert a.to_numpy().tolist() == [[i + 1.0 for i in range(400)]] * 2


def test_the_state_has_the_proposal_s_name() -> None:
    assert gs.Storage.SyncState is gs.SyncState is gs.SoftwareManagedGPUStorage.SyncState
