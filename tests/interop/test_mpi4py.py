"""gridbuf.interop.mpi4py: datatypes of any layout in one process, and two processes under
mpirun.
"""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import under_mpi

import gridbuf as gb

pytest.importorskip("mpi4py")
gbm = pytest.importorskip("gridbuf.interop.mpi4py", exc_type=ImportError)
MPI = gbm.MPI
from gridbuf.interop import cartesian_halos  # noqa: E402


def through(source: gb.Field, target: gb.Field) -> None:
    MPI.COMM_SELF.Sendrecv(gbm.buffer(source), 0, recvbuf=gbm.buffer(target), source=0)


VIEWS = [
    lambda f: f,
    lambda f: f[1:, ::2],
    lambda f: f[::-1],
    lambda f: f[:, ::-2, 1:],
    lambda f: f.transpose("KIJ"),
    lambda f: f[:, 1],
    lambda f: f[2:2],
    lambda f: f[1:2, 1:2, 1:2],
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "spec",
    [{}, {"backend": "F"}, {"backend": "gtmc"}, {"layout": (1, 2, 0), "padding": 3}],
    ids=str,
)
def test_any_memory_in_the_order_of_the_indices(view, spec: dict) -> None:  # type: ignore[no-untyped-def]
    source = view(gb.Field.from_array(np.arange(60.0).reshape(3, 4, 5), dims="IJK", **spec))
    target = gb.Field.full(source.shape, -1.0)
    through(source, target)
    assert (target.numpy() == source.numpy()).all()
    whole = gb.Field.full((3, 4, 5), -1.0, dims="IJK", **spec)
    through(target, view(whole))
    assert (view(whole).numpy() == target.numpy()).all() and (
        whole.numpy() == -1.0
    ).sum() == 60 - target.size


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint16",
        "int64",
        "float16",
        "float32",
        "longdouble",
        "complex64",
        "complex128",
        "S3",
        "i4,f8",
    ],
)
def test_dtypes(dtype: str) -> None:
    source, target = gb.Field.zeros((3, 4), dtype, backend="gtmc"), gb.Field.zeros((3, 4), dtype)
    source.numpy().T.flat[:] = (
        np.arange(12).astype("u1").astype(dtype)
        if "," not in dtype
        else [(i, i) for i in range(12)]
    )
    through(source, target)
    assert (target.numpy() == source.numpy()).all()
    assert gbm.datatype(source).Get_size() == source.nbytes


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source = gb.Field.full((3, 4), 1.5, ml_dtypes.bfloat16)[:, ::2]
    target = gb.Field.zeros((3, 2), ml_dtypes.bfloat16)
    through(source, target)
    assert (target.numpy() == 1.5).all()


def test_mpi_s_own_types_are_used_where_there_are_some() -> None:
    """So that reductions work."""
    source, target = gb.Field.full((3, 4), 2.0), gb.Field.zeros((3, 4))
    MPI.COMM_SELF.Allreduce([source, MPI.DOUBLE], [target, MPI.DOUBLE], MPI.SUM)
    assert (target.numpy() == 2.0).all()
    of, how, _ = gbm.datatype(gb.Field.zeros(())).decode()
    assert (of, how) == (MPI.DOUBLE, "DUP")


def test_bytes_that_would_not_be_swapped_are_refused() -> None:
    with pytest.raises(ValueError, match=r"field: MPI would not swap the bytes.*to\(dtype='<f8'\)"):
        gbm.buffer(gb.Field.zeros(3, ">f8"))


def test_read_only_memory_is_sent_and_not_written() -> None:
    values = np.ones((2, 3))
    values.flags.writeable = False
    target = gb.Field.zeros((2, 3))
    through(gb.Field(values)[:, ::2], target[:, ::2])
    assert target.numpy().sum() == 4.0
    with pytest.raises((ValueError, BufferError), match=r"(read-only|writable)"):
        through(target, gb.Field(values))


def test_counts_beyond_an_int(monkeypatch: pytest.MonkeyPatch) -> None:
    source = gb.Field.from_array(np.arange(11 * 7.0).reshape(11, 7), padding=8)
    monkeypatch.setattr(gbm, "LARGE", 3)
    target = gb.Field.zeros((11, 7))
    through(source[:, ::2], target[:, ::2])
    through(source[:, 1::2], target[:, 1::2])
    assert (target.numpy() == source.numpy()).all()


def test_datatypes_are_freed_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    field = gb.Field.zeros((30, 30, 30), backend="gtmc")
    gbm.buffer(field)
    freed, really = [], gbm.FieldDatatype.Free

    def free(self) -> None:  # type: ignore[no-untyped-def]
        freed.append(self.handle)
        really(self)

    monkeypatch.setattr(gbm.FieldDatatype, "Free", free, raising=False)
    spec = gbm.buffer(field[1:, ::2, ::-1])
    kept = spec[2].handle
    assert freed and len(freed) == len(set(freed)) and kept not in freed
    del spec
    gc.collect()
    assert freed.count(kept) == 1


def test_a_buffer_keeps_its_field() -> None:
    spec = gbm.buffer(gb.Field.full((8, 8), 3.0, backend="gtmc"))
    others = [gb.Field.full((8, 8), 4.0, backend="gtmc") for _ in range(8)]
    target = gb.Field.zeros((8, 8))
    MPI.COMM_SELF.Sendrecv(spec, 0, recvbuf=gbm.buffer(target), source=0)
    assert (target.numpy() == 3.0).all() and len(others) == 8


def test_parts_of_a_halo() -> None:
    field = gb.Field.from_array(
        np.arange(10.0)[:, None] + np.zeros(4), dims="IJ", halo=((2, 1), (0, 0))
    )
    assert gbm.halo(field, "I", "low").numpy()[:, 0].tolist() == [0, 1]
    assert gbm.halo(field, "I", "high").numpy()[:, 0].tolist() == [9]
    # The lower neighbour's upper halo is 1
    assert gbm.edge(field, "I", "low").numpy()[:, 0].tolist() == [2]
    assert gbm.edge(field, "I", "high").numpy()[:, 0].tolist() == [7, 8]
    assert gbm.halo(field, "J", "low").shape == (10, 0)


def test_wrong_calls_are_named() -> None:
    field = gb.Field.zeros((4, 3), dims="IJ", halo=(1, 0))
    with pytest.raises(ValueError, match="side: 'left'"):
        gbm.halo(field, "I", "left")
    with pytest.raises(ValueError, match="dim: 'K' is not among"):
        gbm.halo(field, "K", "low")
    with pytest.raises(ValueError, match="it has no halo"):
        gbm.edge(gb.Field.zeros(3), "I", "low")
    with pytest.raises(ValueError, match="domain has 1 points along I, fewer than the halo of 2"):
        gbm.edge(gb.Field.zeros(5, dims="I", halo=(2,)), "I", "low")
    with pytest.raises(TypeError, match=r"comm: expected a Cartesian communicator.*Intracomm"):
        gbm.exchange_halos(MPI.COMM_SELF, field)
    with pytest.raises(ValueError, match=r"dims: .* names 2 indices, the communicator has 1"):
        gbm.exchange_halos(MPI.COMM_SELF.Create_cart([1]), field)


def test_a_datatype_may_outlive_the_module() -> None:
    code = (
        "import numpy, gridbuf as gb, gridbuf.interop.mpi4py as gbm; "
        "numpy.kept = gbm, gbm.buffer(gb.Field.zeros((4, 6))[:, ::2])"  # goes late when Python ends
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_two_processes() -> None:
    done = under_mpi.run(2, Path(__file__).parent / "mpi_two_processes.py")
    assert done.returncode == 0 and "passed: 191 messages" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_halos_are_those_of_an_exchange_axis_by_axis(count: int) -> None:
    done = under_mpi.run(count, Path(__file__).parent / "halos_of_ranks.py")
    assert (done.returncode, done.stdout) == (0, f"same {count}\n"), done.stdout + done.stderr


def test_what_was_worked_out_for_fields_of_a_layout_is_kept() -> None:
    ring = MPI.COMM_SELF.Create_cart([1], periods=[True])
    first, second, other = (
        gb.Field.from_array([0.0, 1.0, 2.0, 3.0, 0.0], dt, dims="I", halo=(1,))
        for dt in ("f8", "f8", "f4")
    )
    gbm.exchange_halos(ring, first, dims="I")
    kept = cartesian_halos.exchanges_of(ring)
    plan = kept.known((first,), ("I",))
    assert plan is not None and kept.known((second,), ("I",)) is None
    gbm.exchange_halos(ring, second, dims=["I"])
    assert kept.known((second,), ("I",)) is plan
    gbm.exchange_halos(ring, other, dims="I")
    assert kept.known((other,), ("I",)) is not plan
    assert all(f.numpy().tolist() == [3, 1, 2, 3, 1] for f in (first, second, other))
    number = id(first)
    assert number in kept.numbers
    first = second
    gc.collect()
    assert number not in kept.numbers


def test_wrong_calls_of_an_exchange_leave_the_communicator_usable() -> None:
    ring = MPI.COMM_SELF.Create_cart([1], periods=[True])
    field = gb.Field.from_array([0.0, 1.0, 2.0, 0.0], dims="I", halo=(1,))
    for dims, kind, says in (
        ("II", ValueError, "names an index twice"),
        ([["I"]], ValueError, "are not all I, J, K"),
        ("IJ", ValueError, "names 2 indices, the communicator has 1"),
        (None, TypeError, "dims: expected names of indices such as 'IJ', got NoneType"),
    ):
        with pytest.raises(kind, match=says):
            gbm.exchange_halos(ring, field, dims=dims)
    with pytest.raises(TypeError, match="comm: expected a Cartesian communicator"):
        gbm.exchange_halos(MPI.COMM_NULL, field)
    gbm.exchange_halos(ring, field, dims="I")
    assert field.numpy().tolist() == [2, 1, 2, 1]


def test_fields_of_known_layouts_that_share_memory_are_refused() -> None:
    ring = MPI.COMM_SELF.Create_cart([1], periods=[True])
    memory = np.arange(9.0)
    meeting = [gb.Field(memory[i : i + 5], dims="I", halo=(1,)) for i in (0, 4)]
    for each in meeting:
        gbm.exchange_halos(ring, each, dims="I")
    apart = [gb.Field.from_array(np.arange(5.0), dims="I", halo=(1,)) for _ in range(2)]
    for _ in range(2):
        gbm.exchange_halos(ring, *apart, dims="I")
        gbm.exchange_halos(ring, apart[0], apart[0], dims="I")
    with pytest.raises(ValueError, match="argument 1 shares memory with argument 0"):
        gbm.exchange_halos(ring, *meeting, dims="I")
    with pytest.raises(ValueError, match="argument 1 shares memory with argument 0"):
        gbm.exchange_halos(
            ring, apart[0], gb.Field(apart[0].numpy()[:], dims="I", halo=(1,)), dims="I"
        )
