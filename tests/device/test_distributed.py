"""Whole fields on a GPU: they are gathered, counted and saved through a copy on the host, and what
is filled is copied back.
"""

from pathlib import Path
from typing import Any

import numpy as np

import gridbuf as gb
import gridbuf.distributed as gbd


def on_device(grid: gbd.Grid, values: np.ndarray, **keywords: Any) -> Any:
    """A field of a grid of several blocks, on the GPU, with these values."""
    host = grid.zeros(dtype=values.dtype, **keywords)
    grid.scatter(values, host)
    fields = grid.zeros(dtype=values.dtype, device="gpu", **keywords)
    for a, b in zip(fields, host, strict=True):
        gb.copyto(a, b)
    return fields


def test_whole_fields_of_a_device(tmp_path: Path) -> None:
    grid, other = gbd.grid((6, 4), blocks=(3, 1), halo=1), gbd.grid((6, 4), blocks=(1, 2))
    values = np.arange(24.0).reshape(6, 4)
    T = on_device(grid, values)
    assert all(f.device != "cpu" for f in T)
    assert np.array_equal(grid.gather(T).numpy(), values)
    assert (
        grid.sum(T) == 276.0
        and grid.argmax(T) == (5, 3)
        and grid.dot(T, T) == (values**2).sum()
        and grid.all(T) is False
    )
    moved = grid.redistribute(T, other)
    assert other.checksum(moved) == grid.checksum(T) and moved[0].device == "cpu"
    back = other.redistribute(moved, grid, grid.zeros(device="gpu"))
    assert all(f.device != "cpu" for f in back) and grid.checksum(back) == grid.checksum(T)
    grid.save(tmp_path / "x", format="npy", T=T)
    loaded = grid.load(tmp_path / "x", device="gpu")["T"]
    assert all(f.device != "cpu" for f in loaded) and grid.checksum(loaded) == grid.checksum(T)


def test_scattered_to_a_device() -> None:
    grid = gbd.grid((6, 4), blocks=(3, 1), halo=1)
    T = grid.full(-1.0, device="gpu")
    grid.scatter(np.ones((6, 4)), T)
    for f in T:
        host = gb.Field.empty(f.shape, dims=f.dims)
        gb.copyto(host, f)
        assert (
            (host.numpy()[1:-1, 1:-1] == 1).all()
            and (host.numpy()[0] == -1).all()
            and (host.numpy()[:, -1] == -1).all()
        )
