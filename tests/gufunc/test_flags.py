"""Floating-point flags: every way in which they are raised counts, for every type, and the caller's
stay as they were.
"""

import warnings

import numpy as np
import pytest

from gridbuf import gufunc

FLOATS = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, np.inf, -np.inf, np.nan, 800.0, -800.0, 90.0, 11.5]


def interesting(char):
    """Values of a type at which its functions fail or nearly do."""
    dtype = np.dtype(char)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        i = np.iinfo(dtype)
        return np.array(
            [0, 1, 2, 7, i.max, i.max - 1, i.min, i.min + 1] + [-1, -2] * (dtype.kind == "i"), dtype
        )
    f = np.finfo(dtype)
    ends = np.array([f.max, -f.max, f.tiny, f.smallest_subnormal], f.dtype)
    with np.errstate(all="ignore"):
        real = np.concatenate([np.array(FLOATS, f.dtype), ends])
    if dtype.kind != "c":
        return real
    with np.errstate(all="ignore"):
        return np.array(
            [complex(a, b) for a in real[::3].astype("f8") for b in (0, 1, -np.inf, np.nan)], dtype
        )


def elementwise():
    for name in sorted(dir(np)):
        u = getattr(np, name)
        if isinstance(u, np.ufunc) and u.signature is None and u.__name__ == name:
            try:
                yield gufunc.from_ufunc(u), u
            except gufunc.SignatureError:
                continue  # it has no compiled loops


def numpy_fails(ufunc, args):
    """For each element whether NumPy raises with it alone; None: it refuses the types, or raises
    something else.
    """
    failed = np.zeros(len(args[0]), bool)
    for i in range(len(failed)):
        with np.errstate(all="ignore", invalid="raise", divide="raise", over="raise"):
            try:
                ufunc(*[a[i : i + 1] for a in args])
            except FloatingPointError:
                failed[i] = True
            except (TypeError, ValueError):
                return None
    return failed


@pytest.mark.parametrize("char", "?bBhHiIlLefdgFDG")
def test_numpys_loops_fail_where_numpy_raises(char):
    tried, found = 0, 0
    for g, ufunc in elementwise():
        for types in g.types:
            ins, _, outs = types.partition("->")
            if ins[0] != char or not set(ins + outs) <= set("?bBhHiIlLefdgFDG") or len(ins) > 2:
                continue
            if ufunc.resolve_dtypes((*map(np.dtype, ins), *[None] * ufunc.nout))[
                : len(ins)
            ] != tuple(map(np.dtype, ins)):
                continue  # NumPy would take another loop for them
            grid = np.meshgrid(*map(interesting, ins), indexing="ij")
            args = [a.ravel().copy() for a in grid]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = numpy_fails(ufunc, args)
            if expected is None:
                continue
            info = g(*args, errors="return")[1]
            failed = info.failed if info.nfailed else np.zeros(len(expected), bool)
            wrong = np.flatnonzero(failed != expected)
            assert not len(wrong), (ufunc, types, [a[wrong[:3]] for a in args], expected[wrong[:3]])
            tried, found = tried + 1, found + bool(expected.any())
    assert tried > 10 and (found > 3 or char == "?")


def test_what_numpy_raises_by_feraiseexcept():
    with np.errstate(all="ignore"):
        for ufunc, args, code in [
            (np.exp, (np.float32([1, 800]),), 4),
            (np.floor_divide, (np.array([7, np.iinfo("i8").min]), np.array([2, -1])), 4),
            (np.floor_divide, (np.array([7, 1]), np.array([2, 0])), 2),
            (np.divmod, (np.array([7, np.iinfo("i4").min], "i4"), np.array([2, -1], "i4")), 4),
            (np.remainder, (np.array([7, 1], "u2"), np.array([2, 0], "u2")), 2),
            (np.add, (np.float16([1, 65504]), np.float16([1, 65504])), 4),
            (np.ldexp, (np.float16([1, 1]), np.array([1, 20], "i4")), 4),
            (np.nextafter, (np.float16([1, 65504]), np.float16([1, np.inf])), 4),
            (np.multiply, (np.array([1, np.finfo("g").max], "g"), np.array([1, 2], "g")), 4),
        ]:
            info = gufunc.from_ufunc(ufunc)(*args, errors="return")[1]
            assert info.failed.tolist() == [False, True] and info.codes[1] == code, (
                ufunc,
                args,
                info.codes,
            )


@pytest.mark.parametrize("way", ["by_feraiseexcept", "by_double", "by_float", "by_long_double"])
@pytest.mark.parametrize("n", [1, 8, 5000])
def test_every_way_to_raise_a_flag_counts(kernels, way, n):
    g = gufunc.GUFunc("()->()", [gufunc.scalar(getattr(kernels, way), "d->d")])
    codes = np.arange(n) % 8
    result, info = g(codes.astype(float), errors="return")
    np.testing.assert_array_equal(result, codes)
    np.testing.assert_array_equal(info.codes if info.nfailed else np.zeros(n), codes)
    if n < 8:
        return
    only = gufunc.GUFunc(
        "()->()", [gufunc.scalar(getattr(kernels, way), "d->d")], flags=["overflow"]
    )
    np.testing.assert_array_equal(only(codes.astype(float), errors="return")[1].codes, codes & 4)
    masked = g(codes.astype(float), where=codes != 4, out=np.zeros(n), errors="return")[1].codes
    np.testing.assert_array_equal(masked, np.where(codes != 4, codes, 0))


@pytest.mark.parametrize("mine", range(8))
@pytest.mark.parametrize("way", ["by_feraiseexcept", "by_double", "by_long_double"])
def test_the_callers_flags_stay_as_they_were(kernels, way, mine):
    g = gufunc.GUFunc("()->()", [gufunc.scalar(getattr(kernels, way), "d->d")])
    good, bad, out = np.zeros(3), np.array([4.0, 0.0, 3.0]), np.zeros(3)
    for x in (good, bad):
        g(x, out=out, errors="ignore")
        kernels.clear_flags()
        kernels.raise_flags(mine)
        g(x, out=out, errors="ignore")
        after = kernels.raised_flags()
        kernels.clear_flags()
        assert after == mine
    kernels.raise_flags(7)
    info = g(good, errors="return")[1]  # and they are not taken for the kernel's
    kernels.clear_flags()
    assert not info


def test_casts_raise_flags_too():
    add = gufunc.from_ufunc(np.add)
    info = add(np.array([1e5, 1.0]), 1.0, out=np.empty(2, np.float16), errors="return")[1]
    assert info.codes.tolist() == [4, 0]
    info = add(np.array([1e39, 1.0]), 1.0, out=np.empty(2, np.float32), errors="return")[1]
    assert info.codes.tolist() == [4, 0]
