"""Operands that are no ndarrays: Fields with names, DLPack, memoryviews, NumPy scalars, lists."""

import array

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import gufunc

add = gufunc.from_ufunc(np.add)
rng = np.random.default_rng(0)


def field(shape, dims):
    f = (
        gb.Field.zeros(shape, dims=dims)
        if hasattr(gb.Field, "zeros")
        else gb.Field(rng.normal(size=shape), dims=dims)
    )
    f.numpy()[...] = rng.normal(size=shape)
    return f


def test_fields_broadcast_by_name():
    full, column = field((4, 5, 6), ("I", "J", "K")), field((6,), ("K",))
    out = add(full, column)
    assert isinstance(out, gb.Field) and out.__gt_dims__ == ("I", "J", "K")
    np.testing.assert_array_equal(out.numpy(), full.numpy() + column.numpy())
    plane = field((5, 4), ("J", "I"))
    out = add(plane, full)
    assert out.__gt_dims__ == ("I", "J", "K")
    np.testing.assert_array_equal(out.numpy(), full.numpy() + plane.numpy().T[:, :, None])


def test_numbers_need_no_names():
    f = field((3, 4), ("I", "J"))
    for number in (2.0, np.float64(2), np.array(2.0)):
        out = add(f, number)
        assert isinstance(out, gb.Field) and out.__gt_dims__ == ("I", "J")
        np.testing.assert_array_equal(out.numpy(), f.numpy() + 2)


def test_without_names_everywhere_the_right_end_counts():
    f = field((3, 4), ("I", "J"))
    out = add(f, np.arange(4.0))
    np.testing.assert_array_equal(np.asarray(out), f.numpy() + np.arange(4.0))


def test_an_output_with_names_is_matched_by_name():
    a, out = field((3, 4), ("I", "J")), field((4, 3), ("J", "I"))
    assert add(a, 1.0, out=out) is out
    np.testing.assert_array_equal(out.numpy(), a.numpy().T + 1)


def test_a_mask_with_names_is_matched_by_name():
    f, mask = field((3, 4), ("I", "J")), gb.Field(rng.random((4, 3)) < 0.5, dims=("J", "I"))
    before = f.numpy().copy()
    add(f, 10.0, out=f, where=mask)
    np.testing.assert_array_equal(f.numpy(), np.where(mask.numpy().T, before + 10, before))
    rows = gb.Field(np.array([True, False, True]), dims=("I",))
    for chosen, plain in ((mask, mask.numpy().T), (rows, rows.numpy()[:, None])):
        total = add.reduce(f, axis=1, where=chosen)
        np.testing.assert_allclose(total.numpy(), f.numpy().sum(1, where=plain), rtol=1e-14)
    assert add(
        f, 1.0, where=gb.Field(np.ones(2, bool), dims=("K",)), errors="ignore"
    ).__gt_dims__ == ("I", "J", "K")
    with pytest.raises(gufunc.SignatureError, match="where"):
        add.reduce(f, where=gb.Field(np.ones(2, bool), dims=("K",)))


def test_results_keep_their_names():
    f = field((3, 4, 5), ("I", "J", "K"))
    assert add.reduce(f, axis=1).__gt_dims__ == ("I", "K") and add.reduce(
        f, axis=(0, 2)
    ).__gt_dims__ == ("J",)
    assert add.reduce(f, keepdims=True).__gt_dims__ == ("I", "J", "K") and isinstance(
        add.reduce(f, axis=None), np.float64
    )
    assert gufunc.dot(f, f, axis=1).__gt_dims__ == ("I", "K")
    kept = gufunc.dot(f, f, axis=1, keepdims=True)
    assert kept.__gt_dims__ == ("I", "J", "K") and kept.shape == (3, 1, 5)
    main = gb.Field(f.numpy() + 9, dims=f.dims)
    solved = gufunc.tridiagonal(f, main, f, f, axis=0)
    assert solved.__gt_dims__ == ("I", "J", "K")
    expected = gufunc.tridiagonal(*(np.moveaxis(v.numpy(), 0, 2) for v in (f, main, f, f)))
    np.testing.assert_allclose(solved.numpy(), np.moveaxis(expected, 2, 0))


def test_a_result_has_the_order_of_the_first_field():
    a = gb.Field.zeros((6, 7, 8), dims=("I", "J", "K"), layout=(2, 1, 0))
    assert np.argsort(add(a, 1.0).numpy().strides).tolist() == [0, 1, 2]
    plane = gb.Field.zeros((6, 8), dims=("I", "K"), layout=(1, 0))
    strides = add(plane, gb.Field.zeros((7,), dims=("J",))).numpy().strides
    assert strides[0] < strides[1] < strides[2]


def test_the_core_is_the_last_dimension():
    f = field((3, 4, 80), ("I", "J", "K"))
    np.testing.assert_allclose(np.asarray(gufunc.dot(f, f)), (f.numpy() ** 2).sum(-1))
    total = gufunc.dot(f, f, axis=0)
    np.testing.assert_allclose(np.asarray(total), (f.numpy() ** 2).sum(0))


class OnlyDLPack:
    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **kwargs):
        return self.a.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


@pytest.mark.parametrize(
    "make",
    [memoryview, OnlyDLPack, list, lambda a: array.array("d", a), gb.Field],
    ids=["buffer", "dlpack", "list", "array", "Field"],
)
def test_whatever_has_memory(make):
    a = np.arange(5.0)
    try:
        operand = make(a)
    except TypeError:
        operand = make(a, dims=("I",))
    np.testing.assert_array_equal(np.asarray(add(operand, a)), a + a)


def test_outputs_of_other_kinds():
    a = np.arange(5.0)
    room = bytearray(40)
    target = memoryview(room).cast("d")
    assert add(a, a, out=target) is target and list(target) == [0, 2, 4, 6, 8]
    back = OnlyDLPack(np.zeros(5))
    add(a, a, out=back)
    assert back.a.tolist() == [0, 2, 4, 6, 8]


def test_what_no_kernel_takes():
    for wrong in (np.array(["a"]), np.array([object()]), np.array([1], "M8[s]")):
        with pytest.raises((gufunc.SignatureError, TypeError)):
            add(wrong, 1.0)
    with pytest.raises(TypeError):
        add("a", 1.0)


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 11])
class TestLinearAlgebra:
    def stack(self, n, dtype, count=37):
        return (rng.normal(size=(count, n, n)) + 3 * np.eye(n)).astype(dtype)

    def close(self, ours, theirs, dtype):
        np.testing.assert_allclose(
            ours, theirs, rtol=3e-2 if dtype == "f" else 1e-8, atol=1e-3 if dtype == "f" else 1e-10
        )

    def test_inv_and_det(self, n, dtype):
        a = self.stack(n, dtype)
        self.close(gufunc.inv(a), np.linalg.inv(a.astype("d")), dtype)
        self.close(gufunc.det(a), np.linalg.det(a.astype("d")), dtype)

    def test_solve(self, n, dtype):
        a, b = self.stack(n, dtype), rng.normal(size=(37, n)).astype(dtype)
        self.close(
            gufunc.solve(a, b),
            np.linalg.solve(a.astype("d"), b[..., None].astype("d"))[..., 0],
            dtype,
        )

    def test_cholesky(self, n, dtype):
        a = self.stack(n, dtype)
        a = a @ a.transpose(0, 2, 1) + np.eye(n, dtype=dtype)
        self.close(gufunc.cholesky(a), np.linalg.cholesky(a.astype("d")), dtype)
        a[5] = -a[5]
        info = gufunc.cholesky(a, errors="return")[1]
        assert [i.tolist() for i in info.indices] == [[5]]

    def test_tridiagonal_and_matvec(self, n, dtype):
        lower, upper, right = (rng.normal(size=(4, 5, n)).astype(dtype) for _ in range(3))
        main = (rng.normal(size=(4, 5, n)) + 5).astype(dtype)
        x = gufunc.tridiagonal(lower, main, upper, right)
        full = np.zeros((4, 5, n, n), "d")
        k = np.arange(n)
        full[..., k, k] = main
        full[..., k[1:], k[:-1]] = lower[..., 1:]
        full[..., k[:-1], k[1:]] = upper[..., :-1]
        self.close(np.einsum("...ij,...j->...i", full, x), right, dtype)
        self.close(gufunc.matvec(full.astype(dtype), x), right, dtype)
        main[1, 2, 0] = 0
        info = gufunc.tridiagonal(lower, main, upper, right, errors="return")[1]
        assert [i.tolist() for i in info.indices] == [[1], [2]]


def test_tridiagonal_along_another_axis_of_fields():
    shape = (6, 7, 40)
    fields = [field(shape, ("I", "J", "K")) for _ in range(4)]
    fields[1].numpy()[...] += 6
    x = gufunc.tridiagonal(*fields)
    assert isinstance(x, gb.Field) and x.__gt_dims__ == ("I", "J", "K")
    other = gufunc.tridiagonal(*(np.moveaxis(f.numpy(), 2, 0) for f in fields), axis=0)
    np.testing.assert_allclose(np.moveaxis(other, 0, 2), x.numpy())


def test_storages_with_named_axes():
    import gridbuf.storage as gs

    full = gs.ones((4, 5, 6), axes="IJK")
    profile = gs.storage(np.arange(6.0), axes="K")
    out = add(full, profile)
    assert out.__gt_dims__ == ("I", "J", "K")
    np.testing.assert_array_equal(np.asarray(out), np.ones((4, 5, 6)) + np.arange(6.0))
    assert add(full, profile, out=full) is full and np.asarray(full)[3, 4].tolist() == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]


def test_the_package_gives_the_module_when_asked():
    assert gb.gufunc is gufunc
    with pytest.raises(AttributeError, match="nothing"):
        gb.nothing  # noqa: B018
