"""The bridges: calls that users get wrong are answered with the argument's name, and before
anything is under way.
"""

from typing import Any

import numpy as np
import pytest

import gridbuf as gb


def readonly(n: int) -> gb.Field:
    array = np.zeros(n)
    array.flags.writeable = False
    return gb.Field(array, "I", halo=(1,))


def overlapping(memory: Any) -> list[gb.Field]:
    return [gb.Field(part, dims="I", halo=(1,)) for part in (memory[:5], memory[3:])]


@pytest.mark.parametrize(
    ("fields", "dims", "error", "says"),
    [
        (lambda: [np.zeros(3)], "I", TypeError, "fields: argument 0 is a ndarray"),
        (lambda: [gb.Field.zeros(5, dims="I", halo=(1,)), readonly(5)], "I", ValueError,
        "fields: argument 1 is read-only"),
        (lambda: [gb.Field.zeros(5, dims="I", halo=(1,)), gb.Field.zeros(5, dims="I")], "I",
        ValueError, "it has no halo"),
        (lambda: [gb.Field.zeros(5, dims="I", halo=(1,)),
        gb.Field.zeros(5, ">f8", dims="I", halo=(1,))], "I", ValueError, "would not swap"),
        (lambda: overlapping(np.zeros(8)), "I", ValueError,
        "fields: argument 1 shares memory with argument 0"),
        (lambda: [gb.Field.zeros(5, dims="I", halo=(1,))], ["X"], ValueError,
        r"dims: \('X',\) are not all I, J, K"),
    ],
)  # fmt: skip
def test_halos_are_exchanged_only_when_all_fields_are_right(
    fields: Any, dims: Any, error: type[Exception], says: str
) -> None:
    gbm = pytest.importorskip("gridbuf.interop.mpi4py")
    from mpi4py import MPI

    ring = MPI.COMM_SELF.Create_cart([1], periods=[True])
    given = fields()
    with pytest.raises(error, match=says):
        gbm.exchange_halos(ring, *given, dims=dims)
    assert not ring.Iprobe()  # no message was left under way
    with pytest.raises(TypeError, match="field: expected a Field, got ndarray"):
        gbm.halo(np.zeros(3), "I", "low")


def test_dask_arrays_of_unknown_size() -> None:
    gbd = pytest.importorskip("gridbuf.interop.dask")
    import dask.array as da

    array = da.arange(10, chunks=5)
    unknown = array[array > 3]
    with pytest.raises(ValueError, match=r"array: its shape is \(nan,\).*compute_chunk_sizes\(\)"):
        gbd.from_dask(unknown, "I")
    assert gbd.from_dask(unknown.compute_chunk_sizes(), "I").numpy().tolist() == [4, 5, 6, 7, 8, 9]
    for call in (gbd.from_dask, lambda a: gbd.store(a, gb.Field.zeros(3))):
        with pytest.raises(TypeError, match="array: expected a dask array, got ndarray"):
            call(np.zeros(3))


@pytest.mark.parametrize(
    ("field", "error", "says"),
    [
        (
            lambda: gb.Field.zeros((4, 6), dims="IJ")[:, ::2],
            ValueError,
            r"field: J \(index 1\) has the stride 16, .*field.copy\(\)",
        ),
        (
            lambda: gb.Field.zeros((4, 6), dims="IJ")[::-1],
            ValueError,
            r"field: I \(index 0\) has the stride -48",
        ),
        (
            lambda: gb.Field.zeros((4, 6), "f2"),
            TypeError,
            "field: GHEX has no float16, only float64",
        ),
        (lambda: gb.Field.zeros((4, 6), ">f8"), TypeError, "field: GHEX has no >f8"),
        (lambda: readonly(5), ValueError, "field: it is read-only"),
        (lambda: [1.0], TypeError, "field: "),
    ],
)
def test_what_ghex_would_get_wrong(field: Any, error: type[Exception], says: str) -> None:
    from gridbuf.interop.ghex import field_descriptor

    with pytest.raises(error, match=says):
        field_descriptor(None, field())


def test_gt4py_next() -> None:
    gbg = pytest.importorskip("gridbuf.interop.gt4py")
    import gt4py.next as gtx
    from gt4py.next import common

    I, K = gtx.Dimension("I"), gtx.Dimension("K", gtx.DimensionKind.VERTICAL)
    allocator = gbg.allocator()
    empty = gtx.zeros({I: 0, K: 4}, allocator=allocator, aligned_index=[common.NamedIndex(K, 1)])
    assert empty.ndarray.shape == (0, 4)
    assert gtx.zeros(
        {K: 4}, allocator=allocator, aligned_index=[common.NamedIndex(I, 1)]
    ).ndarray.shape == (4,)
    with pytest.raises(TypeError, match=r"field: expected a gridbuf\.Field, got ndarray"):
        gbg.to_next(np.zeros(3), {"I": I})
    with pytest.raises(TypeError, match=r"field: expected a field of gt4py\.next, got ndarray"):
        gbg.from_next(np.zeros(3), {I: "I"})


def test_xarray() -> None:
    gbx = pytest.importorskip("gridbuf.interop.xarray")
    array = gbx.to_dataarray(gb.Field.zeros((3, 4), dims="IJ"))
    # A mapping may be that of a whole dataset
    assert gbx.from_dataarray(array, axes={"x": "I"}).dims == ("I", "J")
    with pytest.raises(TypeError, match=r"array: expected an xarray\.DataArray, got ndarray"):
        gbx.from_dataarray(np.zeros(3))


def test_jax_takes_any_int_for_a_shape() -> None:
    gbj = pytest.importorskip("gridbuf.interop.jax")
    assert (
        gbj.empty(np.int64(5)).shape == (5,)
        and gbj.empty((), "int8").shape == ()
        and gbj.empty([2, 3]).shape == (2, 3)
    )


JUNK = ["xé", 1.5, object(), [object()], np.zeros(3), int]
BRIDGES: dict[str, Any] = {
    "dask store field": lambda m, x: m.store(m.to_dask(gb.Field.ones(4)), x),
    "dask map_blocks args": lambda m, x: m.map_blocks(len, x),
    "dask map_overlap args": lambda m, x: m.map_overlap(len, x),
    "dask map_blocks dims": lambda m, x: m.map_blocks(len, gb.Field.ones(4), dims=x),
    "dask to_dask chunks": lambda m, x: m.to_dask(gb.Field.ones(4), x),
    "xarray to_dataarray axes": lambda m, x: m.to_dataarray(
        gb.Field.ones(4, dims="I", halo=(1,)), axes=x
    ),
    "xarray to_dataarray like": lambda m, x: m.to_dataarray(
        gb.Field.ones(4, dims="I", halo=(1,)), like=x
    ),
    "xarray to_dataarray coords": lambda m, x: m.to_dataarray(
        gb.Field.ones(4, dims="I", halo=(1,)), coords=x
    ),
    "xarray to_dataarray domain": lambda m, x: m.to_dataarray(
        gb.Field.ones(4, dims="I", halo=(1,)), domain=x
    ),
    "gt4py to_next dims": lambda m, x: m.to_next(gb.Field.ones(4, dims="I"), x),
    "dace give_workspace compiled": lambda m, x: m.give_workspace(x),
    "mpi4py halo side": lambda m, x: m.halo(gb.Field.ones(4, dims="I", halo=(1,)), "I", x),
    "mpi4py edge dim": lambda m, x: m.edge(gb.Field.ones(4, dims="I", halo=(1,)), x, "low"),
    "torch zeros dtype": lambda m, x: m.zeros((2,), dtype=x),
    "jax to_array copy": lambda m, x: m.to_array(gb.Field.ones(4), copy=x),
}


@pytest.mark.parametrize("what", BRIDGES)
def test_junk_is_refused_by_the_name_of_the_argument(what: str) -> None:
    library, _, argument = what.split()
    bridge = pytest.importorskip(f"gridbuf.interop.{library}")
    for junk in JUNK:
        if what == "torch zeros dtype" and junk is int:
            continue
        with pytest.raises((TypeError, ValueError), match=rf"^{argument}\b"):
            BRIDGES[what](bridge, junk)
