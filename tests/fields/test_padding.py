"""gb.pad, gb.shift and gb.diff: numpy.pad's and numpy.diff's values, with a halo."""

from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.distributed as gbd

MODES = ["constant", "edge", "wrap", "reflect", "symmetric", "empty"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(8))
def test_pad_has_the_values_of_numpy_pad(mode: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 6, 3).tolist())
    halo = tuple(tuple(random.integers(0, 4, 2).tolist()) for _ in range(3))
    dtype = ["f8", "i4", "f4", "c16", "u1", "?", "f2", ">i2"][seed]
    values = random.integers(0, 9, shape).astype(dtype)
    spec: dict[str, Any] = [{}, {"backend": "gt:cpu_ifirst"}, {"padding": True}][seed % 3]
    found = gb.pad(values, halo, mode, 1, dims="IJK", **spec)
    assert type(found) is gb.HostField and found.dims == ("I", "J", "K")
    assert found.halo == halo and found.dtype == values.dtype and found.domain.shape == shape
    assert np.array_equal(found.domain.numpy(), values)
    if mode != "empty":
        more = {"constant_values": 1} if mode == "constant" else {}
        assert np.array_equal(found.numpy(), np.pad(values, halo, mode=mode, **more))  # type: ignore[call-overload]


def test_of_a_field_its_domain_is_padded_in_its_layout() -> None:
    field = gb.Field.zeros((5, 6), dims="JI", halo=((1, 1), (2, 0)), layout=(1, 0))
    field[...] = -1.0
    field.domain[...] = 3.0
    found = gb.pad(field, ((0, 2), 1))
    assert found.dims == ("J", "I") and found.shape == (5, 6) and found.halo == ((0, 2), (1, 1))
    assert found.strides[0] < found.strides[1] and found.numpy().sum() == 3.0 * 3 * 4
    assert gb.pad(field, 1, dtype="f4").dtype == np.float32
    storage = gb.storage.ones((4, 4), halo=(1, 1)) if hasattr(gb.storage, "ones") else field
    assert gb.pad(storage, 1).domain.numpy().min() >= 1.0
    blocks = gbd.grid((6, 4), blocks=(2, 1), halo=2).ones()
    assert gb.pad(blocks, 1, "constant", 7.0).shape == ((5, 6), (5, 6))
    assert gb.pad(blocks, 1).halo == ((1, 1), (1, 1))


@pytest.mark.parametrize("n", range(-2, 3))
@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_shift_sees_the_neighbour(n: int, dtype: str) -> None:
    values = np.arange(42).reshape(6, 7).astype(dtype)
    field = gb.Field(values, dims="IJ", halo=((2, 2), (1, 3)))
    found = gb.shift(field, I=n, J=1 if n > 0 else -1)
    j = 1 if n > 0 else -1
    assert np.array_equal(found.domain.numpy(), values[2 + n : 4 + n, 1 + j : 4 + j])
    assert found.halo == ((2 + n, 2 - n), (1 + j, 3 - j)) and found.shape == field.shape
    found.domain[0, 0] = 99
    assert values[2 + n, 1 + j] == 99  # the same memory
    assert gb.shift(field).halo == field.halo
    named = gb.Field.zeros((4,), dims=("f",), halo=1)
    assert gb.shift(named, f=1).halo == ((2, 0),)


@pytest.mark.parametrize("halo", [(0, 0), (1, 1), (2, 0), (0, 3)])
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "?", "c16"])
def test_diff_is_numpy_diff_of_the_whole_array(halo: tuple[int, int], dtype: str) -> None:
    values = np.random.default_rng(1).integers(0, 9, (6, 5)).astype(dtype)
    field = gb.Field(values, dims="IJ", halo=(halo, (1, 1)))
    found = gb.diff(field, "I")
    assert np.array_equal(found.numpy(), np.diff(values, axis=0)) and found.dtype == dtype
    assert found.dims == ("I", "J") and found.halo == ((halo[0], max(halo[1] - 1, 0)), (1, 1))
    assert gb.diff(field, 1).shape == gb.diff(field, -1).shape == (6, 4)


def test_a_divergence_on_any_number_of_blocks() -> None:
    for cut in ((1, 1), (3, 2)):
        grid = gbd.grid((9, 6), blocks=cut, periodic="IJ", halo=1)
        h = grid.zeros()
        grid.scatter(np.arange(54.0).reshape(9, 6) ** 2 % 17, h)
        grid.exchange(h)
        second = gb.shift(h, I=1).domain - 2 * h.domain + gb.shift(h, I=-1).domain
        assert grid.sum(second) == 0.0
        assert grid.sum(gb.diff(h, "I").domain) == 0.0


FIELD = gb.Field.zeros((5, 5), dims="IJ", halo=((1, 1), (0, 2)))


@pytest.mark.parametrize(
    ("kind", "words", "call"),
    [
        (ValueError, "mode: 'mirror' is unknown; allowed are 'constant'",
         lambda: gb.pad(FIELD, 1, "mirror")),
        (TypeError, "mode: expected a name, got int", lambda: gb.pad(FIELD, 1, 3)),  # type: ignore[arg-type]
        (ValueError, "halo: 3 entries for 2 dims", lambda: gb.pad(FIELD, (1, 1, 1))),
        (ValueError, "halo", lambda: gb.pad(FIELD, -1)),
        (TypeError, "halo: expected an integer", lambda: gb.pad(FIELD, 1.5)),
        (ValueError, "value: 2.5 is no int32", lambda: gb.pad(np.zeros(3, "i4"), 1, value=2.5)),
        (ValueError, r"value: 1e\+300 is no float32",
         lambda: gb.pad(np.zeros(3, "f4"), 1, value=1e300)),
        (ValueError, "value: 70000 is no float16",
         lambda: gb.pad(np.zeros(3, "f2"), 1, value=70000)),
        (ValueError, "value: 1000", lambda: gb.pad(np.zeros(3), 1, value=10**400)),
        (ValueError, "value: 1j is no float64", lambda: gb.pad(np.zeros(3), 1, value=1j)),
        (ValueError, r"value: 1e\+300j is no complex64",
         lambda: gb.pad(np.zeros(3, "c8"), 1, value=1e300j)),
        (ValueError, "value: 1 of its 1 elements are masked",
         lambda: gb.pad(FIELD, 1, value=np.ma.masked)),
        (TypeError, "value: expected a scalar", lambda: gb.pad(FIELD, 1, value=[1, 2])),
        (TypeError, "origin: not allowed here", lambda: gb.pad(FIELD, 1, origin=(1, 1))),
        (ValueError, "x: it has no points along axis 0", lambda: gb.pad([], 1, "edge")),
        (TypeError, "pad.*colour", lambda: gb.pad(FIELD, 1, colour="red")),
        (ValueError, "I: an offset of 2, and the halo of 1 and 1 points allows -1 to 1",
         lambda: gb.shift(FIELD, I=2)),
        (ValueError, "J: an offset of -1, and the halo of 0 and 2 points allows 0 to 2",
         lambda: gb.shift(FIELD, J=-1)),
        (ValueError, r"offsets: 'K' is not among the dims \('I', 'J'\)",
         lambda: gb.shift(FIELD, K=1)),
        (TypeError, "I: expected an integer", lambda: gb.shift(FIELD, I=0.5)),  # type: ignore[arg-type]
        (TypeError, "f: expected a Field, a storage or Blocks, got ndarray",
         lambda: gb.shift(np.zeros(3), I=0)),
        (ValueError, r"axis: 'K' is not among the dims", lambda: gb.diff(FIELD, "K")),
        (ValueError, "axis: 2, and the Field has 2 dims", lambda: gb.diff(FIELD, 2)),
        (ValueError, "axis: there are no points along I",
         lambda: gb.diff(gb.Field.zeros((0,), dims="I"), "I")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(kind: type[Exception], words: str, call: Any) -> None:
    with pytest.raises(kind, match=words):
        call()
