"""NDSL and ICON4Py in one call each: what they allocate by is ours while it is on, and theirs again
afterwards.
"""

import importlib
import threading

import numpy as np
import pytest

import gridbuf as gb
from gridbuf.interop import numpy as handler

pytest.importorskip("gt4py.storage")
from gt4py import storage as gt_storage


def ours(array: np.ndarray) -> bool:
    return gb.memory.buffer_id(array) is not None


@pytest.fixture(params=["ndsl", "icon4py"])
def program(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    module = importlib.import_module(f"gridbuf.interop.{request.param}")
    yield module
    module.uninstall()
    assert not handler.enabled() and not ours(gt_storage.zeros((3,), backend="numpy"))


def test_storages_and_arrays(program) -> None:  # type: ignore[no-untyped-def]
    plain = gt_storage.zeros((6, 5, 4), backend="gt:cpu_ifirst", aligned_index=(1, 1, 0))
    with program.install():
        assert program.installed() and handler.enabled()
        storage = gt_storage.zeros((6, 5, 4), backend="gt:cpu_ifirst", aligned_index=(1, 1, 0))
        buffers: list[np.ndarray] = []
        thread = threading.Thread(target=lambda: buffers.append(np.empty((6, 5))))
        thread.start()
        thread.join()
        assert type(storage) is np.ndarray and storage.strides == plain.strides
        assert all(map(ours, (storage, np.zeros(4), storage + 1, *buffers)))
    assert not program.installed() and not ours(np.zeros(4))


def test_fields_of_gt4py_next(program) -> None:  # type: ignore[no-untyped-def]
    gtx = pytest.importorskip("gt4py.next")
    with program.install():
        assert ours(gtx.zeros({gtx.Dimension("Cell"): 4}, allocator=gtx.gtfn_cpu).ndarray)
    assert not ours(gtx.zeros({gtx.Dimension("Cell"): 4}, allocator=gtx.gtfn_cpu).ndarray)


def test_what_was_on_before_stays_on(program) -> None:  # type: ignore[no-untyped-def]
    gbg = importlib.import_module("gridbuf.interop.gt4py")
    with gbg.install():
        with handler.memory(), program.install(), program.install():
            pass
        assert gbg.installed() and not program.installed() and not handler.enabled()
    handler.enable()
    with program.install():
        pass
    assert handler.enabled()
    handler.disable()


def test_inside_a_block_of_memory_it_leaves_nothing_behind(program) -> None:  # type: ignore[no-untyped-def]
    for _ in range(2):
        with handler.memory(), program.install():
            pass
        assert not handler.enabled()
        with program.install():
            pass
        assert not handler.enabled()
