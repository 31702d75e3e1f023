"""gridbuf.storage on gridbuf's own device memory, through cupy's arrays."""

import gc

import numpy as np
import pytest
from fake_driver import Fake, values_of

import gridbuf as gb
import gridbuf.storage as gs

pytest.importorskip("cupy")


def test_memory_comes_from_gridbuf_s_pools() -> None:
    before = (
        gb.memory.stats(device="gpu")["allocations"],
        gb.memory.stats(memory="managed")["allocations"],
    )
    device = gs.empty((4, 5), device="gpu", managed=None)
    pair = gs.empty((4, 5), device="gpu", managed="gt4py")
    managed = gs.empty((4, 5), device="gpu", managed="cuda")
    after = (
        gb.memory.stats(device="gpu")["allocations"],
        gb.memory.stats(memory="managed")["allocations"],
    )
    assert (after[0] - before[0], after[1] - before[1]) == (2, 1)
    assert device.device == pair.device == managed.device == 0
    assert all("<svg" in each._repr_html_() for each in (device, pair, managed))
    del device, pair, managed
    gc.collect()


def test_a_pair_is_brought_up_to_date_both_ways() -> None:
    for halo in ((0, 0), (1, 2)):
        s = gs.empty((40, 50), device="gpu", managed="gt4py", halo=halo)
        values = np.arange(2000.0).reshape(40, 50)
        s._host[...] = values
        s.set_host_modified()
        s.host_to_device()
        assert np.array_equal(values_of(s._dev), values)
        gb.fill(gb.Field(s._dev), 3.0)
        s.set_device_modified()
        s.device_to_host()
        assert (np.asarray(s._host) == 3).all()


def test_managed_memory_is_one_buffer() -> None:
    s = gs.empty((4, 5), device="gpu", managed="cuda")
    s._on_host()[...] = 7
    assert (values_of(s._dev) == 7).all()
    shared = gs.as_storage(data=s._host, device="gpu", managed="cuda")
    shared._host[1, 2] = 8
    assert values_of(s._dev)[1, 2] == 8
    with pytest.raises(ValueError, match="managed"):
        gs.as_storage(data=np.zeros((4, 5)), device="gpu", managed="cuda")


LOOKS = {
    "tolist": lambda s: s.tolist()[1][2],
    "item": lambda s: s.item(1, 2),
    "element": lambda s: s[1, 2],
    "storage on the host": lambda s: float(gs.storage(s, device="cpu")[1, 2]),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_host_waits_for_what_another_stream_still_writes(fake: Fake, look: str) -> None:
    s = gs.empty((4, 5), np.uint8, device="gpu", managed=None)
    gb.fill(gb.Field(s._dev), 0)
    stream = fake.stream(0)
    gb.cuda.synchronize(0)
    fake.watch(True)  # what nothing puts in order is misuse
    fake.hold(True)
    fake.awaited(1)
    try:
        # A kernel that is queued and has not run
        fake.set_bytes(s._dev.data.ptr, 7, s.nbytes, stream)
        assert LOOKS[look](s) == 7
    finally:
        fake.pump()
        fake.hold(False)
