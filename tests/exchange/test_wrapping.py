"""Field(obj) shares memory with whatever offers some, and refuses the rest."""

import array

import numpy as np
import pytest

import gridbuf as gb


class Interface:
    """An object with the array interface only."""

    def __init__(self, values: np.ndarray, **extra: object) -> None:
        self.values = values
        for name, value in extra.items():
            setattr(self, name, value)

    @property
    def __array_interface__(self) -> dict[str, object]:
        return self.values.__array_interface__


class Producer:
    """An object with DLPack only."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **keywords: object) -> object:
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Older(Producer):
    """A producer from before max_version: legacy capsules, no keywords but stream."""

    def __dlpack__(self, stream: object = None) -> object:  # type: ignore[override]
        return self.values.__dlpack__()


VALUES = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "wrap",
    [
        np.asarray,
        memoryview,
        Interface,
        Producer,
        Older,
        np.ndarray.view,
        lambda a: a.view(np.matrix),
    ],
)
def test_memory_is_shared(wrap) -> None:  # type: ignore[no-untyped-def]
    values = VALUES.copy()
    f = gb.Field(wrap(values), "JK")
    f[1, 2] = 50.0
    assert values[1, 2] == 50.0 and f.numpy().ctypes.data == values.ctypes.data and not f.readonly


@pytest.mark.parametrize(
    "layout",
    [
        np.ascontiguousarray,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, 1)[:, ::2],
        lambda a: a[::-1, ::-1],
        lambda a: np.broadcast_to(a[0], (2, 3)),
    ],
)
def test_any_strides(layout) -> None:  # type: ignore[no-untyped-def]
    source = layout(VALUES)
    f = gb.Field(source)
    assert (
        f.strides == source.strides
        and (np.asarray(f) == source).all()
        and f.readonly is not source.flags.writeable
    )


def test_other_buffers() -> None:
    assert gb.Field(bytearray(b"abc"))[1] == ord("b")
    assert gb.Field(memoryview(b"abc")).readonly
    assert gb.Field(array.array("d", [1, 2]))[1] == 2.0


@pytest.mark.parametrize(
    "obj",
    [
        [1, 2],
        (1, 2),
        3,
        2.5,
        "text",
        None,
        object(),
        {"a": 1},
        b"abc",
        np.float64(3.0),
        np.array([object()]),
    ],
)
def test_what_has_no_memory_is_refused(obj: object) -> None:
    with pytest.raises(TypeError, match="data: "):
        gb.Field(obj)


def test_an_object_s_own_dims_and_origin_are_taken_over() -> None:
    own = Interface(VALUES, __gt_dims__=("K", "I"), __gt_origin__=(1, 0))
    f = gb.Field(own)
    assert f.dims == ("K", "I") and f.origin == (0, 1) and f.__gt_origin__ == (1, 0)
    assert gb.Field(own, "IJ", origin=(1, 1)).origin == (1, 1)
    assert gb.Field(Interface(VALUES, dims=("J", "I"))).__gt_dims__ == ("J", "I")
    assert not hasattr(gb.Field(Interface(VALUES, dims=("x", "y"))), "__gt_dims__")
    with pytest.raises(ValueError, match="data: its dims"):
        gb.Field(Interface(VALUES, __gt_dims__=("K",)))


def test_a_field_of_a_field_takes_everything_over_unless_told_otherwise() -> None:
    f = gb.Field.zeros((4, 5), dims="KJ", halo=(1, 0))
    g = gb.Field(f)
    assert (g.dims, g.halo, g.origin) == (f.dims, f.halo, f.origin) and np.shares_memory(f, g)
    h = gb.Field(f, "JI", halo=(0, 2))
    assert (h.dims, h.halo, h.origin) == (("J", "I"), ((0, 0), (2, 2)), (0, 2))


def test_wrong_names_and_halos() -> None:
    for keywords, words in [
        ({"dims": "IJK"}, "dims"),
        ({"dims": "IX"}, "dims"),
        ({"halo": (1,)}, "halo"),
        ({"halo": (2, 2)}, "halo"),
        ({"origin": (3, 0)}, "origin"),
        ({"origin": (-1, 0)}, "origin"),
    ]:
        with pytest.raises(ValueError, match=words):
            gb.Field(VALUES, **keywords)
    with pytest.raises(TypeError, match="halo"):
        gb.Field(VALUES, halo=1.0)  # type: ignore[arg-type]


def test_disagreeing_interfaces_are_noticed_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    class Liar(np.ndarray):
        @property
        def __array_interface__(self) -> dict[str, object]:  # type: ignore[override]
            return {
                "shape": (3, 2),
                "typestr": "<f8",
                "data": (self.ctypes.data, False),
                "version": 3,
            }

    liar = VALUES.view(Liar)
    assert gb.Field(liar).shape == (2, 3)
    monkeypatch.setenv("GRIDBUF_DEBUG", "1")
    with pytest.raises(ValueError, match="disagree on shape"):
        gb.Field(liar)


def test_xarray_is_wrapped_with_its_dims() -> None:
    xarray = pytest.importorskip("xarray")
    values = VALUES.copy()
    f = gb.Field(xarray.DataArray(values, dims=("K", "J")))
    assert f.dims == ("K", "J") and np.shares_memory(f, values)


def test_jax_arrays_are_read_only() -> None:
    jnp = pytest.importorskip("jax.numpy")
    f = gb.Field(jnp.ones((2, 3)))
    assert f.readonly and f.shape == (2, 3)
    with pytest.raises(ValueError, match="read-only"):
        f[0, 0] = 2
