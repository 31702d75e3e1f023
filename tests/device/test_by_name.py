"""Fields on a GPU go by name as those on the host; what is computed, cupy computes."""

import numpy as np
import pytest
from fake_driver import MODE, values_of

import gridbuf as gb

A = np.arange(12.0).reshape(3, 4)


def test_copies_and_assignment_go_by_name() -> None:
    target = gb.Field.zeros((4, 3), dims="JI", device="gpu")
    target[...] = gb.Field(A, "IJ")
    assert np.array_equal(values_of(target), A.T)
    gb.copyto(target, gb.Field.from_array(2 * A, dims="IJ", device="gpu"))
    assert np.array_equal(values_of(target), 2 * A.T)
    target[...] = gb.Field(np.arange(3.0), "I")
    assert np.array_equal(values_of(target), np.broadcast_to(np.arange(3.0), (4, 3)))
    host = gb.Field.zeros((3, 4), dims="IJ")
    gb.copyto(host, target)
    assert np.array_equal(host.numpy(), values_of(target).T)
    gb.copy_async(target, gb.Field(A, "IJ")).wait()
    assert np.array_equal(values_of(target), A.T)
    for copy in (
        gb.copyto,
        lambda dst, src: dst.__setitem__(..., src),
        lambda dst, src: gb.copy_async(dst, src).wait(),
    ):
        with pytest.raises(ValueError, match="lack 'K'"):
            copy(target, gb.Field(np.ones(4), "K"))


def test_manners_that_need_no_arithmetic() -> None:
    f = gb.Field.from_array(A, dims="IJ", device="gpu", halo=(1, 0))
    assert f.tolist() == A.tolist() and f.item(1, 2) == 6.0 and 6.0 in f and f.T.dims == ("J", "I")
    assert (
        float(gb.Field.full((), 3.0, device="gpu")) == 3.0
        and int(gb.Field.full((), 3, "i4", device="gpu")) == 3
    )
    whole = f.astype("f4")
    assert isinstance(whole, gb.DeviceField) and whole.dtype == "f4" and whole.halo == f.halo
    assert np.ndim(f) == 2 and np.shape(f) == (3, 4)


def test_a_subclass_has_the_interfaces_of_where_its_memory_lies() -> None:
    class Quantity(gb.Field):
        pass

    q = Quantity(gb.Field.from_array(A, dims="IJ", device="gpu"))
    q.units = "K"
    assert (
        isinstance(q, gb.DeviceField) and isinstance(q, Quantity) and type(q).__name__ == "Quantity"
    )
    assert q.__cuda_array_interface__["shape"] == (3, 4) and not hasattr(q, "__array_interface__")
    host = q.to(device="cpu")
    assert (
        isinstance(host, gb.HostField)
        and isinstance(host, Quantity)
        and host.units == "K"
        and not hasattr(host, "__cuda_array_interface__")
    )
    assert (
        isinstance(q[1:], Quantity)
        and q.copy().units == "K"
        and isinstance(Quantity.zeros(2, memory="managed"), gb.ManagedField)
    )
    with pytest.raises(TypeError, match="__class__"):
        q.__class__ = gb.HostField


def test_host_and_device_memory_do_not_meet_unasked() -> None:
    f = gb.Field.from_array(A, dims="IJ", device="gpu")
    for other in (gb.Field(A, "IJ"), A):
        with pytest.raises(
            (TypeError, ImportError), match=r"lies on the host, and another operand on a GPU|cupy"
        ):
            f + other


def test_managed_memory_computes_on_the_host() -> None:
    m = gb.Field.from_array(A, dims="IJ", memory="managed", halo=(1, 0))
    result = m + gb.Field(A.T.copy(), "JI")
    assert (
        np.array_equal(values_of(result), 2 * A)
        and result.halo == m.halo
        and result.sum() == 2 * A.sum()
    )


@pytest.mark.skipif(MODE == "gpu", reason="there cupy computes")
def test_without_cupy_the_error_says_what_is_missing() -> None:
    f = gb.Field.from_array(A, dims="IJ", device="gpu")
    try:
        import cupy  # noqa: F401
    except ImportError:
        for call in (
            lambda: f + 1.0,
            lambda: np.sin(f),
            lambda: f.sum("I"),
            lambda: np.where(f, f, f),
        ):
            with pytest.raises(
                ImportError, match=r"by cupy, which is not installed.*to\(device='cpu'\)"
            ):
                call()


@pytest.mark.skipif(MODE != "gpu", reason="cupy computes on a GPU only")
def test_cupy_computes() -> None:
    pytest.importorskip("cupy")
    f = gb.Field.from_array(A, dims="IJ", device="gpu", halo=(1, 0), backend="gt:gpu")
    g = gb.Field.from_array(A.T.copy(), dims="JI", device="gpu")
    result = f + g
    assert (
        isinstance(result, gb.DeviceField) and result.halo == f.halo and result.strides == f.strides
    )
    assert np.array_equal(values_of(result), 2 * A) and np.array_equal(
        values_of(np.sqrt(f)), np.sqrt(A)
    )
    f += g
    assert np.array_equal(values_of(f), 2 * A)
    total = f.sum("J")
    assert (
        total.dims == ("I",)
        and total.halo == ((1, 1),)
        and np.allclose(values_of(total), 2 * A.sum(1))
        and f.sum() == 2 * A.sum()
    )
    assert np.array_equal(values_of(np.where(f > 4, f, g)), np.where(2 * A > 4, 2 * A, A))
