"""Grids of dims with names of the user's own do what grids of I and J do."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.distributed as gbd

OWN, KNOWN = ("lat", "lon"), ("I", "J")
WHOLE = np.random.default_rng(0).random((6, 5, 2))


def grid_of(dims: tuple[str, ...], **cut: Any) -> gbd.Grid:
    return gbd.grid((6, 5), dims, periodic=dims[1], halo=1, **cut or {"blocks": (2, 2)})


def filled(grid: gbd.Grid, level: str) -> Any:
    T = grid.zeros((*grid.dims, level), sizes={level: 2})
    grid.scatter(WHOLE, T)
    return T


def test_calls_give_what_letters_give() -> None:
    own, known = grid_of(OWN), grid_of(KNOWN)
    T, R = filled(own, "depth"), filled(known, "K")
    own.exchange(T, edges={"lat": "reflect"})
    known.exchange(R, edges={"I": "reflect"})
    assert [f.numpy().tobytes() for f in T] == [f.numpy().tobytes() for f in R]
    assert own.gather(T).dims == (*OWN, "depth") and (own.gather(T).numpy() == WHOLE).all()
    assert own.sum(T) == known.sum(R) and own.argmax(T) == known.argmax(R)
    assert (T + T).dims == (*OWN, "depth") and own.zeros("K", sizes={"K": 2})[0].dims == ("K",)
    assert [f.shape for f in own.zeros(faces="lat")] == [f.shape for f in known.zeros(faces="I")]
    u, v = own.ones(faces=("lat",)), own.ones(faces=("lon",))
    own.sync(gbd.vector(u, v))
    assert [*own.coordinates(T)[0]] == [*OWN, "depth"]
    moved = own.redistribute(T, gbd.grid((6, 5), OWN, blocks=(3, 1)))
    assert [f.shape for f in moved] == [(2, 5, 2)] * 3
    assert repr(own).startswith("<Grid lat, lon: 6 x 5") and "lat 0:3" in str(own.draw())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.nc", "zarr", "npy"])
def test_files_keep_names(name: str, tmp_path: Path) -> None:
    if name == "a.nc":
        pytest.importorskip("netCDF4")
    if name == "zarr":
        pytest.importorskip("zarr")
    grid = grid_of(OWN)
    kind = {"format": "npy"} if name == "npy" else {}
    grid.save(tmp_path / name, T=filled(grid, "depth"), F=grid.ones(faces=("lat",)), **kind)
    found = gbd.grid((6, 5), OWN, periodic=("lon",)).load(tmp_path / name)
    assert found["T"].dims == (*OWN, "depth") and (found["T"].domain.numpy() == WHOLE).all()
    with pytest.raises(ValueError, match=r"has tiles .* along \(.lat., .lon.\)"):
        grid_of(KNOWN).load(tmp_path / name)


def test_cells_of_a_mesh_are_exchanged() -> None:
    own, halo = [[4, 7, 1], [0, 2]], [[2, 0], [4]]
    links = gbd.index_links(own, halo)
    grid = gbd.links([(3,), (2,)], links, ("Cell",), halo=((0, 2),))
    T = grid.zeros(("K", "Cell"), sizes={"K": 2})
    for f, indices in zip(T, own, strict=True):
        f.domain[...] = gb.Field(np.array(indices, float), dims=("Cell",))
    grid.exchange(T)
    assert [f.numpy()[1].tolist() for f in T] == [[4, 7, 1, 2, 0], [0, 2, 4, 0]]


def test_names_that_do_not_fit() -> None:
    for bad in ("cell", ("a b",), ("IJ",), ("",)):
        with pytest.raises(ValueError, match=r"dims: .* unknown name; .*other names stand"):
            gbd.grid((6,), bad)
    with pytest.raises(ValueError, match=r"dims: .* names an index twice"):
        gbd.grid((6, 5), ("Cell", "Cell"))
    with pytest.raises(ValueError, match=r"periodic: 'I' is not among the grid's dims \('lat'"):
        gbd.grid((6, 5), OWN, periodic="I")
    grid = grid_of(OWN)
    with pytest.raises(ValueError, match="sizes: 'depth' is missing"):
        grid.zeros((*OWN, "depth"))
    with pytest.raises(ValueError, match="faces: 'lon' is not among the field's dims"):
        grid.zeros(("lat",), faces=("lon",))
