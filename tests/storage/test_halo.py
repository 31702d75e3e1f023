"""The halo: forms, domain, slices."""

import numpy as np
import pytest

import gridbuf.storage as gs


def test_ints_and_pairs() -> None:
    s = gs.empty((8, 8, 8), halo=(1, (2, 0), 3))
    assert s.halo == ((1, 1), (2, 0), (3, 3)) and s.aligned_index == (1, 2, 3)


def test_the_setter_takes_both_forms_and_moves_nothing() -> None:
    s = gs.empty((8, 8, 8), defaults="gtmc", halo=(1, 1, 0))
    before = s.__array_interface__["data"], s.strides, s.aligned_index
    s.halo = (2, (0, 3), 1)
    assert s.halo == ((2, 2), (0, 3), (1, 1))
    assert (s.__array_interface__["data"], s.strides, s.aligned_index) == before
    view = s[...]
    view.halo = (0, 0, 0)
    assert s.halo == ((2, 2), (0, 3), (1, 1))


@pytest.mark.parametrize("halo, error", [
    ("111", TypeError), (1.5, TypeError), ((1.5, 0, 0), TypeError), ((None, 0, 0), TypeError),
    (((1, "2"), 0, 0), TypeError),
    ((-1, 0, 0), ValueError), (((0, -1), 0, 0), ValueError), ((5, 0, 0), ValueError),
    (((4, 5), 0, 0), ValueError),
    ((1, 1), ValueError), (((1, 2, 3), 0, 0), ValueError),
])  # fmt: skip
def test_bad_halos(halo: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="halo"):
        gs.empty((8, 8, 8), halo=halo)
    s = gs.empty((8, 8, 8))
    with pytest.raises(error, match="halo"):
        s.halo = halo
    assert s.halo == ((0, 0),) * 3


def test_a_halo_may_fill_the_axis() -> None:
    assert gs.empty((8,), halo=((4, 4),)).domain.shape == (0,)


@pytest.mark.parametrize("attribute", ["domain", "domain_view"])
def test_the_domain_is_a_view_without_halo(attribute: str) -> None:
    s = gs.storage(np.arange(8.0 * 7 * 6).reshape(8, 7, 6), halo=(1, (2, 0), 3), alignment=4)
    domain = getattr(s, attribute)
    assert domain.shape == (6, 5, 0) and domain.halo == ((0, 0),) * 3
    # The same point: the first of the domain
    assert domain.alignment == 4 and domain.aligned_index == (0, 0, 0)
    s.halo = (1, (2, 0), 1)
    getattr(s, attribute)[0, 0, 0] = -5.0
    assert s[1, 2, 1] == -5.0
    s.halo = (0, 0, 0)
    assert getattr(s, attribute).shape == s.shape


@pytest.mark.parametrize("key", [
    slice(None), slice(1, None), slice(0, 2), slice(3, 7), slice(None, -1), slice(None, None, 2),
    slice(1, 10, 3),
    slice(None, None, -1), slice(8, 2, -1), slice(None, None, -3), slice(5, 5), slice(1, 2, -1),
])  # fmt: skip
def test_a_slice_s_halo_counts_what_lay_in_the_old_one(key: slice) -> None:
    s = gs.storage(np.arange(10), axes="K", halo=((2, 3),))
    selected = np.arange(10)[key]
    low, high = int((selected < 2).sum()), int((selected >= 7).sum())
    if key.step is not None and key.step < 0:
        low, high = high, low
    assert s[key].halo == ((low, high),)
    assert (s[key].to_numpy() == selected).all()


def test_the_halo_follows_the_axes() -> None:
    s = gs.empty((6, 7, 8), axes="KIJ", halo=((1, 0), (2, 1), (0, 3)))
    assert (
        s[2].halo == ((2, 1), (0, 3))
        and s[:, 1, :].halo == ((1, 0), (0, 3))
        and s[..., 3].halo == ((1, 0), (2, 1))
    )
    assert np.transpose(s, "IJK").halo == ((2, 1), (0, 3), (1, 0))
    assert s.reinterpret("IJK").halo == s.halo


def test_gt_origin_is_the_lower_halo_in_the_order_i_j_k() -> None:
    s = gs.empty((6, 7, 8), axes="KIJ", halo=((1, 0), (2, 1), (0, 3)))
    assert s.__gt_dims__ == ("K", "I", "J") and s.__gt_origin__ == (2, 0, 1)
