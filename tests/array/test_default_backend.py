"""The default backend: the calls that read it, in which context, and that a repeated call does not
keep another's.
"""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from in_child import python

import gridbuf as gb

SHAPE = (4, 5, 6)
C, F = (240, 48, 8), (8, 32, 160)


@pytest.fixture(autouse=True)
def balance() -> Iterator[None]:
    assert gb.get_default_backend() == "C"
    yield
    gb.set_default_backend(None)


MAKERS: list[Any] = [
    lambda **spec: gb.empty(SHAPE, **spec),
    lambda **spec: gb.zeros(SHAPE, **spec),
    lambda **spec: gb.ones(SHAPE, **spec),
    lambda **spec: gb.full(SHAPE, 2.0, **spec),
    lambda **spec: gb.plan(SHAPE, **spec),
    lambda **spec: gb.from_array(np.zeros(SHAPE), **spec),
    lambda **spec: gb.Field.empty(SHAPE, **spec),
    lambda **spec: gb.Field.zeros(SHAPE, **spec),
    lambda **spec: gb.Field.ones(SHAPE, **spec),
    lambda **spec: gb.Field.full(SHAPE, 2.0, **spec),
    lambda **spec: gb.Field.from_array(np.zeros(SHAPE), **spec),
]


@pytest.mark.parametrize("make", MAKERS)
def test_what_names_no_backend_gets_its_layout(make: Any) -> None:
    for _ in range(3):  # the calls are known by then
        assert make().strides == make(dims="IJK").strides == C
        gb.set_default_backend("gt:cpu_ifirst")
        assert gb.get_default_backend() == "gt:cpu_ifirst"
        assert make().strides == make(dims="IJK").strides == make(layout=None).strides == F
        assert make(dims="KJI").strides == C
        assert (
            make(backend="C").strides
            == make(layout=(0, 1, 2)).strides
            == make(layout="IJK").strides
            == C
        )
        with gb.default_backend("C"):
            assert make().strides == C
            with gb.default_backend("F"):
                assert make().strides == F
            assert make().strides == C
        gb.set_default_backend(None)


def test_the_whole_preset_counts() -> None:
    asked = gb.plan((12, 12, 7), backend="gtmc")
    with gb.default_backend("gtmc"):
        assert (
            gb.plan((12, 12, 7)).strides == asked.strides
            and gb.plan((12, 12, 7)).byte_alignment == asked.byte_alignment
        )
    gb.register_backend("test:by function", layout=lambda dims: tuple(range(len(dims)))[::-1])
    with gb.default_backend("test:by function"):
        assert gb.zeros(SHAPE).strides == F


def test_copies_keep_their_layout() -> None:
    a, f = gb.zeros(SHAPE), gb.Field.zeros(SHAPE, dims="IJK", halo=(1, 1, 0))
    gb.set_default_backend("gt:cpu_ifirst")
    assert (
        gb.empty_like(a).strides
        == gb.zeros_like(f).strides
        == gb.full_like(f, 1.0).strides
        == f.copy().strides
        == C
    )
    assert (f + 1).strides == f.to(dtype="f8").strides == C
    assert gb.Field(a, require={"dtype": "float64"}).strides == C
    assert (
        gb.storage.storage(a).layout == gb.storage.zeros_like(gb.storage.storage(a)).layout == "IJK"
    )


def test_storages_made_of_a_shape() -> None:
    gs = gb.storage
    for _ in range(3):
        gb.set_default_backend("gt:cpu_ifirst")
        assert (
            gs.zeros(SHAPE).layout
            == gs.empty(SHAPE, defaults=None).layout
            == gs.full(SHAPE, 1.0, dims="IJK").layout
            == "KJI"
        )
        assert (
            gs.ones(SHAPE, layout="IJK").layout
            == gs.zeros(SHAPE, defaults="C").layout
            == gs.zeros(SHAPE, backend="C").layout
            == "IJK"
        )
        with gb.default_backend("C"):
            assert gs.zeros(SHAPE).layout == "IJK"
        gb.set_default_backend(None)
        assert gs.zeros(SHAPE).layout == "IJK"


def test_threads_and_tasks_have_their_own() -> None:
    found: dict[str, Any] = {}

    def other() -> None:
        found["thread"] = gb.zeros(SHAPE).strides
        with gb.default_backend("F"):
            found["inside"] = gb.zeros(SHAPE).strides
            entered.set()
            leave.wait(10)

    entered, leave = threading.Event(), threading.Event()
    with gb.default_backend("gt:cpu_ifirst"):
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(10)
        found["copied"] = contextvars.copy_context().run(lambda: gb.zeros(SHAPE).strides)
    found["meanwhile"] = gb.zeros(SHAPE).strides
    leave.set()
    thread.join()
    assert found == {"thread": C, "inside": F, "copied": F, "meanwhile": C}

    async def task(name: str, expected: tuple[int, ...]) -> bool:
        with gb.default_backend(name):
            await asyncio.sleep(0)
            return gb.zeros(SHAPE).strides == expected

    async def both() -> list[bool]:
        return await asyncio.gather(task("F", F), task("C", C), task("gt:cpu_kfirst", C))

    assert asyncio.run(both()) == [True, True, True]


@gb.default_backend("F")
def decorated() -> tuple[int, ...]:
    return gb.zeros(SHAPE).strides


def test_a_decorator() -> None:
    assert decorated() == decorated() == F and gb.zeros(SHAPE).strides == C


def test_wrong_names() -> None:
    for call in (gb.set_default_backend, lambda name: gb.default_backend(name).__enter__()):
        with pytest.raises(
            gb.BackendError,
            match=r"backend: \"gt:cpu_ifrst\" is not known; .*; did you mean 'gt:cpu_ifirst'\?",
        ):
            call("gt:cpu_ifrst")
        with pytest.raises(TypeError, match="backend: expected a name"):
            call(3)
    assert gb.get_default_backend() == "C" and gb.zeros(SHAPE).strides == C


@pytest.mark.parametrize(("value", "answer"), [("", C), ("F", F), ("gt:cpu_ifirst", F)])
def test_the_environment(value: str, answer: tuple[int, ...]) -> None:
    code = "import gridbuf as gb; print(gb.get_default_backend(), gb.zeros((4, 5, 6)).strides)"
    assert python(code, GRIDBUF_BACKEND=value) == f"{value or 'C'} {answer}"


def test_an_unknown_name_in_the_environment_is_an_error_where_it_matters() -> None:
    code = "import gridbuf as gb; gb.zeros(3, backend='F'); gb.zeros(3)"
    env = {**os.environ, "GRIDBUF_BACKEND": "gtcpu"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 1 and 'backend: "gtcpu" is not known' in done.stderr


# ---- the words of a request ----


@pytest.mark.parametrize(
    ("layout", "dims", "ranks"),
    [
        ("KJI", None, (2, 1, 0)),
        ("IJK", "KJI", (2, 1, 0)),
        ("KIJ", "IJK", (1, 2, 0)),
        ("KJI", "IK", (1, 0)),
        ("0KJI", "IJK0", (3, 2, 1, 0)),
        ("", "", ()),
    ],
)
def test_a_layout_in_letters(layout: str, dims: str | None, ranks: tuple[int, ...]) -> None:
    shape = (2, 3, 4, 5)[: len(ranks)]
    for given in (layout, tuple(layout), [*layout], ranks, [*ranks], np.array(ranks, int)):
        assert gb.plan(shape, layout=given, dims=dims).layout == ranks


# ---- one vocabulary at every door ----

DATA = np.zeros(SHAPE)
LIKE = [getattr(gb, f"{name}_like") for name in ("empty", "zeros", "ones")]
DOORS: list[Any] = [
    *MAKERS,
    *(lambda make=make, **spec: make(DATA, **spec) for make in LIKE),
    *(lambda make=make, **spec: make(gb.Field(DATA), **spec) for make in LIKE),
    lambda **spec: gb.full_like(DATA, 1.0, **spec),
    lambda **spec: gb.Field(DATA, dims="IJK").to(**spec),
    *(
        lambda make=make, **spec: make(SHAPE, **spec)
        for make in (gb.storage.empty, gb.storage.zeros, gb.storage.ones)
    ),
    lambda **spec: gb.storage.full(SHAPE, 1.0, **spec),
    lambda **spec: gb.storage.storage(DATA, **spec),
]


@pytest.mark.parametrize("door", DOORS)
def test_one_vocabulary(door: Any) -> None:
    for layout in ("KJI", ("K", "J", "I"), (2, 1, 0), [2, 1, 0]):
        assert door(layout=layout).strides == F
    assert door(backend="gt:cpu_ifirst").strides == F
    named = [
        door(**{name: names})
        for name in ("dims", "dimensions")
        for names in ("KJI", ("K", "J", "I"))
    ]
    assert (
        len({(made.shape, made.strides, tuple(getattr(made, "dims", ()))) for made in named}) == 1
    )
    for wrong, meant in (
        ("axis", "(dims|axes)"),
        ("default", "(backend|defaults)"),
        ("backed", "backend"),
        ("dim", "dims"),
    ):
        with pytest.raises(TypeError, match=f"'?{wrong}'?.*did you mean '{meant}'"):
            door(**{wrong: "x"})
    with pytest.raises(ValueError, match=r"unknown name; allowed are 'I', 'J', 'K' \(capitals\)"):
        door(dims="ijk")


def test_the_same_words_where_memory_is_wrapped_and_backends_are_made() -> None:
    assert (
        gb.Field(DATA, dimensions="KJI").dims == gb.Field(DATA, dims="KJI").dims == ("K", "J", "I")
    )
    assert gb.Field(gb.Field(DATA, "KJI"), dimensions=None).dims == ("K", "J", "I")
    for door in (lambda **spec: gb.Field(DATA, **spec), lambda **spec: gb.Field(DATA).to(**spec)):
        with pytest.raises(TypeError, match="dims and dimensions mean the same"):
            door(dims="IJK", dimensions="IJK")
    with pytest.raises(TypeError, match=r"from_dlpack.*'dimensions'; did you mean 'dims'"):
        gb.from_dlpack(DATA, dimensions="IJK")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"'backed' is no requirement.*did you mean 'backend'"):
        gb.Field(DATA, require={"backed": "F"})  # type: ignore[typeddict-unknown-key]
    for layout in ("JIK", ("J", "I", "K"), (1, 0, 2), [1, 0, 2], np.array([1, 0, 2])):
        gb.register_backend("test:vocabulary", layout=layout)
        assert gb.plan(SHAPE, backend="test:vocabulary").layout == (1, 0, 2)
    for wrong in ((0, 1), (0, 0, 1), (1, 2, 3), (0, 1, 2, 3), ()):
        with pytest.raises(ValueError, match=r"layout: .* is not a rank for each of I, J, K"):
            gb.register_backend("test:vocabulary", layout=wrong)


@pytest.mark.parametrize(
    ("error", "spec", "said"),
    [
        (
            TypeError,
            {"dtype": "gt:cpu_ifirst"},
            "dtype: 'gt:cpu_ifirst' is a backend, which goes by name: backend='gt:cpu_ifirst'",
        ),
        (
            ValueError,
            {"dims": "ijk"},
            "dims: 'ijk' has an unknown name; allowed are 'I', 'J', 'K' \\(capitals\\)",
        ),
        (ValueError, {"layout": "KJ"}, r"layout: 'KJ' does not name I \(index 0\)"),
        (ValueError, {"layout": "KJX"}, "layout: 'KJX' has an unknown name"),
        (
            ValueError,
            {"halo": (1, 4, 1)},
            r"halo: \(4, 4\) is more than the 5 elements of J \(index 1\)",
        ),
        (
            ValueError,
            {"halo": (1, 4, 1), "dims": "I0K"},
            r"halo: \(4, 4\) is more than the 5 elements of index 1",
        ),
        (TypeError, {"halo": 2.5}, r"halo: expected .*, such as \(3, 3, 0\).*, got 2.5"),
        (
            TypeError,
            {"dimension": "IJK"},
            r"unexpected keyword argument 'dimension'; did you mean 'dimensions'\?",
        ),
        (TypeError, {"colour": 3}, r"unexpected keyword argument 'colour'$"),
        (TypeError, {"dims": "IJK", "dimensions": "IJK"}, "dims and dimensions mean the same"),
    ],
)
def test_errors_say_what_was_meant(error: type[Exception], spec: dict[str, Any], said: str) -> None:
    for make in (gb.zeros, gb.plan, gb.Field.empty):
        with pytest.raises(error, match=said):
            make(SHAPE, **spec)
