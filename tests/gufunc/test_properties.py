"""Random signatures, shapes, types, strides, masks and overlaps, against what NumPy says."""

import ctypes

import numpy as np
import pytest

from gridbuf import gufunc

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

LOOP = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)
TYPES = ["i1", "u2", "i4", "f4", "f8", ">f8", ">i2"]


def total(cores: list[tuple[str, ...]], nin: int, nested: dict[str, int]):
    """A loop in Python: every output item is the sum of all input items plus the item's own
    number.
    """
    names = list(nested)

    def loop(args, dims, steps, _):
        size = dict(zip(names, dims[1 : 1 + len(names)], strict=True))
        at, strides = len(cores), []
        for core in cores:
            strides.append(steps[at : at + len(core)])
            at += len(core)
        for e in range(dims[0]):
            value = 0.0
            for i, core in enumerate(cores):
                for number, index in enumerate(np.ndindex(*(size[n] for n in core))):
                    address = (
                        args[i]
                        + e * steps[i]
                        + sum(k * s for k, s in zip(index, strides[i], strict=True))
                    )
                    item = ctypes.c_double.from_address(address)
                    if i < nin:
                        value += item.value
                    else:
                        item.value = value + number

    return LOOP(loop)


@st.composite
def views(draw, shape, dtype):
    """An array of small whole numbers with strides of any kind."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in shape]
    base = np.zeros([shape[d] * abs(steps[d]) for d in order], dtype)
    a = base.transpose(np.argsort(order))[(..., *(slice(None, None, s) for s in steps))]
    a[...] = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 9, shape)
    return a


@st.composite
def calls(draw):
    nin, nout = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    sizes = {n: draw(st.integers(0, 3)) for n in "abc"}
    inputs = [tuple(draw(st.lists(st.sampled_from("abc"), max_size=2))) for _ in range(nin)]
    bound = sorted({n for core in inputs for n in core})
    outputs = [
        tuple(draw(st.lists(st.sampled_from(bound), max_size=2))) if bound else ()
        for _ in range(nout)
    ]
    outer = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=nin + 1, max_dims=3, max_side=3, min_side=0)
    )
    arrays = []
    for core, shape in zip(inputs, outer.input_shapes, strict=False):
        arrays.append(
            draw(views((*shape, *(sizes[n] for n in core)), draw(st.sampled_from(TYPES))))
        )
    shape = np.broadcast_shapes(*outer.input_shapes[:nin])
    mask = draw(st.none() | views(shape, "?").map(lambda m: m.astype(bool)))
    return inputs, outputs, sizes, arrays, shape, mask


@settings(max_examples=150, deadline=None)
@given(calls(), st.booleans())
def test_any_signature_shape_type_stride_and_mask(call, given_out):
    inputs, outputs, sizes, arrays, shape, mask = call
    cores = inputs + outputs
    text = ["(" + ",".join(core) + ")" for core in cores]
    signature = ",".join(text[: len(inputs)]) + "->" + ",".join(text[len(inputs) :])
    used = {n: sizes[n] for core in cores for n in core}
    loop = total(cores, len(inputs), used)
    f = gufunc.GUFunc(
        signature, [gufunc.numpy_loop(loop, "d" * len(inputs) + "->" + "d" * len(outputs))]
    )
    full = [(*shape, *(sizes[n] for n in core)) for core in outputs]
    out = tuple(np.full(s, -1.0) for s in full) if given_out or mask is not None else None
    before = [a.copy() for a in arrays]
    results = f(*arrays, out=out, where=True if mask is None else mask)
    value = np.zeros(shape)
    for a, core in zip(arrays, inputs, strict=True):
        value = value + a.astype("d").sum(axis=tuple(range(a.ndim - len(core), a.ndim)))
    for result, core, s in zip(
        results if len(outputs) > 1 else [results], outputs, full, strict=True
    ):
        numbers = np.arange(np.prod(s[len(shape) :], dtype=int)).reshape(s[len(shape) :])
        expected = np.broadcast_to(value.reshape(shape + (1,) * len(core)) + numbers, s)
        if mask is not None:
            expected = np.where(mask.reshape(shape + (1,) * len(core)), expected, -1.0)
        np.testing.assert_array_equal(result, expected)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)


@st.composite
def windows(draw, base):
    """Three views of one shape into the same memory."""
    shape = tuple(draw(st.integers(1, n // 3)) for n in base.shape)
    picked = []
    for _ in range(3):
        key = []
        for n, size in zip(base.shape, shape, strict=True):
            step = draw(st.sampled_from([1, 1, 2]))
            start = draw(st.integers(0, n - 1 - (size - 1) * step))
            index = slice(start, start + (size - 1) * step + 1, step)
            key.append(index)
        view = base[tuple(key)]
        picked.append(view[tuple(slice(None, None, draw(st.sampled_from([1, -1]))) for _ in shape)])
    return picked


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([(40,), (9, 12), (5, 6, 7)]))
def test_any_overlap_means_inputs_copied_first(data, shape):
    base = np.random.default_rng(0).normal(size=shape)
    x, y, out = data.draw(windows(base))
    where = data.draw(st.just(True) | hnp.arrays(bool, x.shape))
    expected = out.copy()
    np.copyto(expected, x - y, where=where)
    result = gufunc.from_ufunc(np.subtract)(x, y, out=out, where=where)
    assert result is out
    np.testing.assert_array_equal(out, expected)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_types_are_resolved_as_numpy_does(data):
    ufunc = data.draw(
        st.sampled_from(
            [
                np.add,
                np.subtract,
                np.divide,
                np.arctan2,
                np.less,
                np.left_shift,
                np.maximum,
                np.hypot,
            ]
        )
    )
    operands = [
        data.draw(st.sampled_from(["?", *TYPES, "u8", "f2", "c8", "g"])
                  .map(lambda t: np.ones(2, t)) | st.sampled_from([1, 2.5, 1j, True]))
        for _ in range(2)
    ]  # fmt: skip
    # With Python numbers NumPy's equiv refuses what its no takes
    arrays = all(isinstance(o, np.ndarray) for o in operands)
    casting = data.draw(
        st.sampled_from([*(["no", "equiv"] if arrays else []), "safe", "same_kind", "unsafe"])
    )
    try:
        expected = ufunc(*operands, casting=casting)
    except TypeError:
        with pytest.raises(TypeError):
            gufunc.from_ufunc(ufunc)(*operands, casting=casting)
        return
    result = gufunc.from_ufunc(ufunc)(*operands, casting=casting)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
