"""Storages understand the words of gridbuf.empty: dims and dimensions for axes, backend for
defaults.
"""

import numpy as np
import pytest

import gridbuf.storage as gs


@pytest.mark.parametrize("name", ["dims", "dimensions"])
@pytest.mark.parametrize("value", ["KJI", ("K", "J", "I"), ["K", "J", "I"]])
def test_axes(name: str, value: object) -> None:
    for _ in range(2):  # the second is remembered
        s = gs.zeros((3, 4, 5), **{name: value}, backend="gtmc")  # type: ignore[arg-type]
        assert (
            s.axes == "KJI"
            and s.strides == gs.zeros((3, 4, 5), axes="KJI", defaults="gtmc").strides
        )
    assert gs.as_storage(np.zeros((3, 4)), **{name: "JK"}).axes == "JK"  # type: ignore[arg-type]
    assert gs.zeros((3, 4, 5), dims=None, backend=None).axes == "IJK"


def test_wrong_calls() -> None:
    with pytest.raises(TypeError, match="dims and axes mean the same"):
        gs.zeros((3,), dims="K", axes="K")
    with pytest.raises(TypeError, match="backend and defaults mean the same"):
        gs.zeros((3, 4, 5), backend="F", defaults="F")
    with pytest.raises(ValueError, match=r"dims: \('i', 'j'\) has an unknown name"):
        gs.zeros((3, 4), dims="ij")
    with pytest.raises(
        TypeError, match=r"default: not a parameter of storages; .*; did you mean 'defaults'\?"
    ):
        gs.zeros((3, 4, 5), default="F")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="dims: not allowed here"):
        gs.zeros_like(gs.zeros((3, 4, 5)), dims="KJI")


def test_what_is_nearly_right_is_told_what_was_meant() -> None:
    for call, told in (
        (lambda: gs.zeros((2, 3), defaults="gt:cpu_ifrst"), "did you mean 'gt:cpu_ifirst'"),
        (
            lambda: gs.zeros((2, 3), backend="gt:cpu_ifrst"),
            "backend: 'gt:cpu_ifrst' is not known.*did you mean 'gt:cpu_ifirst'",
        ),
        (lambda: gs.zeros((2, 3), "gt:cpu_ifirst"), "defaults='gt:cpu_ifirst'"),
        (lambda: gs.zeros((2, 3), axes="ij"), "capitals"),
        (lambda: gs.zeros((2, 3), dims="ij"), "capitals"),
    ):
        with pytest.raises((TypeError, ValueError), match=told):
            call()
    assert gs.zeros((2,), "F").dtype == np.complex64  # NumPy's letter, not the order
