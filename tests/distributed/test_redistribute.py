"""Fields moved from one cut to another: what lay at a place lies there again."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from oracle import fill
from seams import made

import gridbuf as gb
import gridbuf.distributed as gbd

PAIRS: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (
        lambda **k: gbd.grid((7, 5), periodic="I", **k),
        {"blocks": (3, 2), "halo": 2},
        {"cuts": ((1, 0, 6), (5,)), "halo": 1},
    ),
    (lambda **k: gbd.grid((7, 5), **k), {"blocks": (1, 1)}, {"blocks": (2, 5), "halo": 3}),
    (
        lambda **k: gbd.tripolar((6, 4), pivot="T", **k),
        {"blocks": (3, 1)},
        {"blocks": (2, 2), "halo": 1},
    ),
    (lambda **k: gbd.cubed_sphere(4, **k), {"blocks": (2, 1), "halo": 1}, {"blocks": (1, 3)}),
]


@pytest.mark.parametrize(("make", "one", "other"), PAIRS, ids=["ring", "plain", "fold", "cube"])
def test_every_place_keeps_its_value(make: Any, one: Any, other: Any) -> None:
    here, there = make(**one), make(**other)
    for positions, (a, b) in product(product((1, 0), (1, 0)), ((here, there), (there, here))):
        fields = made(
            a, positions, dims="JKI", sizes={"K": 2}, dtype="i4", backend="gt:cpu_ifirst", halo=1
        )
        fill(fields, np.random.default_rng(1))
        (
            a.sync(fields if len(fields) > 1 else fields[0])
            if len(a.tiles) == 1 or positions[0] == positions[1]
            else None
        )
        given = fields if len(fields) > 1 else fields[0]
        moved = a.redistribute(given, b, backend="F")
        assert b.checksum(moved) == a.checksum(given)
        out = made(b, positions, dims="IJK", sizes={"K": 2}, dtype="i4")
        found = a.redistribute(given, b, out=out if len(out) > 1 else out[0])
        assert (found if len(out) > 1 else [found])[0] is out[0]
        back = b.redistribute(found, a)
        for f, g in zip(fields, back if len(fields) > 1 else [back], strict=True):
            assert set(g.dims) == set(f.dims)
            if len(a.tiles) == 1:
                assert np.array_equal(g.domain.transpose(*f.dims).numpy(), f.domain.numpy())


def test_fields_without_a_dim_and_halos() -> None:
    here, there = gbd.grid((6, 4), blocks=(3, 1), halo=1), gbd.grid((6, 4), blocks=(2, 2), halo=2)
    line = here.zeros("IK", "f4", sizes={"K": 2})
    here.scatter(np.arange(12.0, dtype="f4").reshape(6, 2), line)
    moved = here.redistribute(line, there)
    assert [f.domain.numpy()[0, 0] for f in moved] == [0.0, 0.0, 6.0, 6.0] and moved[0].shape == (
        7,
        2,
    )
    assert all((f.numpy()[:2] == 0).all() for f in moved)  # halos are 0, not what was there before


def test_what_is_wrong_is_said() -> None:
    here, there = gbd.grid((6, 4), blocks=(3, 1)), gbd.grid((6, 4), blocks=(2, 1))
    T = here.ones()
    array = np.zeros((3, 4))
    array.flags.writeable = False
    frozen = [gb.Field(array, "IJ")] * 2
    for error, words, call in (
        (TypeError, "other: expected a grid, got int", lambda: here.redistribute(T, 3)),
        (ValueError, "other: None on every rank", lambda: here.redistribute(T, None)),
        (
            ValueError,
            r"other: its tiles are \(\(6, 5\),\)",
            lambda: here.redistribute(T, gbd.grid((6, 5))),
        ),
        (ValueError, "field: got 1 fields", lambda: here.redistribute(T[:1], there)),
        (
            ValueError,
            "out: its dtype is float32",
            lambda: here.redistribute(T, there, there.zeros(dtype="f4")),
        ),
        (
            ValueError,
            "out: its positions is",
            lambda: here.redistribute(T, there, there.zeros(faces="J")),
        ),
        (
            ValueError,
            "out: its sizes is|out: its dims is",
            lambda: here.redistribute(T, there, there.zeros("IJK", sizes={"K": 1})),
        ),
        (ValueError, "out: it is read-only", lambda: here.redistribute(T, there, frozen)),
        (
            TypeError,
            "dtype: what is moved has the field's",
            lambda: here.redistribute(T, there, dtype="f4"),
        ),
    ):
        with pytest.raises(error, match=words):
            call()
    assert there.sum(here.redistribute(T, there)) == 24.0


def test_what_shares_memory_is_refused() -> None:
    here, there = gbd.grid((8, 6)), gbd.grid((8, 6), blocks=(2, 1))
    memory = np.arange(60.0)
    T = gb.Field(memory[:48].reshape(8, 6), dims="IJ")
    beyond = [gb.Field(memory[a : a + 24].reshape(4, 6), dims="IJ") for a in (6, 30)]
    one = gb.Field(np.zeros((4, 6)), dims="IJ")
    with pytest.raises(ValueError, match="out: it shares memory with field"):
        here.redistribute(T, there, out=beyond)
    with pytest.raises(ValueError, match="out: two of its blocks share memory"):
        here.redistribute(T, there, out=[one, one])
    with pytest.raises(ValueError, match="field: it shares memory with the array"):
        there.scatter(T.numpy(), beyond)
    with pytest.raises(ValueError, match="field: two of its blocks share memory"):
        there.scatter(np.ones((8, 6)), [one, one])
    assert memory.tolist() == list(range(60)) and not one.numpy().any()
    wide = gb.Field(np.zeros((2, 48)), dims="IJ").numpy()
    apart = [gb.Field(wide[i].reshape(8, 6), dims="IJ") for i in range(2)]
    here.scatter(T.numpy(), apart[0])
    assert here.redistribute(apart[0], here, out=apart[1]).numpy().tolist() == T.numpy().tolist()
