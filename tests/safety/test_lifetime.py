"""Whatever can be reached keeps its memory alive, in any order of release."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import gridbuf as gb


def live() -> int:
    gc.collect()
    return gb.memory.stats()["live_buffers"] or 0


VIEWS = {
    "numpy": lambda f: f.numpy(),
    "slice": lambda f: f[1:, ::-1],
    "transposed": lambda f: f.transpose("JI"),
    "memoryview": memoryview,
    "from_dlpack": np.from_dlpack,
    "field": gb.Field,
}


def corner(x: object) -> float:
    return float(np.asarray(x).max())


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("kinds", list(itertools.combinations(VIEWS, 2)), ids="-".join)
def test_the_memory_lives_as_long_as_its_last_holder(
    kinds: tuple[str, str], order: tuple[int, ...]
) -> None:
    before = live()
    f = gb.Field.full((3, 4), 7.0, dims="IJ")
    holders: list[object] = [f, *(VIEWS[kind](f) for kind in kinds)]
    del f
    for i in order[:-1]:
        holders[i] = None
        churn = [gb.full((3, 4), -1.0) for _ in range(20)]
        assert all(corner(x) == 7.0 for x in holders if x is not None)
        del churn
    assert live() == before + 1
    holders.clear()
    assert live() == before


def test_a_view_of_an_array_outlives_it() -> None:
    before = live()
    view = gb.full((100, 100), 3.0, backend="F")[10:20, ::3]
    [gb.zeros((100, 100)) for _ in range(10)]
    assert (view == 3.0).all()
    del view
    assert live() == before


def test_a_wrapped_object_lives_as_long_as_the_field_and_its_views() -> None:
    owner = np.arange(6.0).reshape(2, 3).view(type("Owner", (np.ndarray,), {}))
    gone = weakref.ref(owner)
    f = gb.Field(owner, "IJ")
    view = f[1]
    del owner, f
    gc.collect()
    assert gone() is not None and view[2] == 5.0
    del view
    assert gone() is None


def test_a_cycle_through_the_owner_is_collected() -> None:
    class Owner(np.ndarray):
        field: object

    owner = np.zeros(3).view(Owner)
    owner.field = gb.Field(owner)
    gone = weakref.ref(owner.field)
    del owner
    gc.collect()
    assert gone() is None


def test_fields_and_plans_can_be_referred_to_weakly() -> None:
    f = gb.Field.zeros((3, 3))
    assert weakref.ref(f)() is f and weakref.ref(f.plan)() is f.plan


def test_an_unconsumed_capsule_releases_what_it_holds_and_a_consumed_one_does_not() -> None:
    before = live()
    capsule = gb.Field.zeros((3, 3)).__dlpack__(max_version=(1, 0))
    assert live() == before + 1
    del capsule
    assert live() == before
    f = gb.Field.zeros((3, 3))
    array = np.from_dlpack(f)
    del f
    assert live() == before + 1 and array.sum() == 0
    del array
    assert live() == before
