"""An array from gridbuf owns its data, and gives it back to gridbuf's heap."""

import gc

import numpy as np

import gridbuf as gb


def live() -> int:
    gc.collect()  # what earlier tests left in cycles
    count = gb.memory.stats()["live_buffers"]
    assert count is not None
    return count


def test_an_array_has_no_base_and_owns_its_data() -> None:
    a = gb.empty((4, 5), backend="gt:cpu_ifirst")
    assert type(a) is np.ndarray and a.base is None and a.flags.owndata


def test_the_block_comes_back_when_the_array_goes() -> None:
    before = live()
    a = gb.zeros((4, 5), backend="gtmc", aligned_index=(1, 1))
    assert live() == before + 1
    view = a[1:]
    del a
    assert live() == before + 1
    del view
    assert live() == before


def test_resize_moves_the_values_into_a_new_block() -> None:
    before = live()
    for order in ("C", "F"):
        a = gb.from_array(np.arange(12.0).reshape(3, 4), backend=order)
        flat = a.ravel(order="K").copy()
        a.resize((100, 100), refcheck=False)
        assert (a.ravel(order="K")[:12] == flat).all() and a.flags.owndata
        a.resize((2, 2), refcheck=False)
        assert (a.ravel(order="K") == flat[:4]).all()
    del a
    assert live() == before


def test_an_id_of_memory_is_reused_but_never_while_it_is_seen() -> None:
    a = gb.empty((10, 10))
    address = a.ctypes.data
    keep = a[::2]
    del a
    assert gb.empty((10, 10)).ctypes.data != address
    del keep
