"""gridbuf.fused: what a later call may not take from the trace of an earlier one, and what a
function does on its way: it catches errors, makes tables, rounds numbers.
"""

import copy
import gc
import math
import sys
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

U3, U5 = np.arange(3.0), np.arange(5.0)
GRID = np.arange(12.0).reshape(3, 4) + 1


def same(want: Any, got: Any) -> None:
    assert type(want) is type(got)
    one, other = np.asarray(want), np.asarray(got)
    assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
    assert one.tobytes() == other.tobytes()


def agree(function: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """Twice each call, of one fused function, beside the function itself."""
    fused = gb.fused(function)
    for args in calls:
        for _ in range(2):
            same(function(*args), fused(*args))


class TestErrorsThatTheFunctionCatches:
    def test_of_a_barrier(self) -> None:
        def step(u: Any) -> Any:
            try:
                inverse = np.linalg.inv(u)
            except np.linalg.LinAlgError:
                inverse = u * 0
            return inverse + 1

        good, bad = np.eye(3) * 2, np.zeros((3, 3))
        agree(step, (good,), (bad,), (good,))
        agree(step, (bad,), (good,), (bad,))

    def test_of_an_index(self) -> None:
        def step(u: Any) -> Any:
            try:
                row = u[:, 4]
            except IndexError:
                row = u[:, 0]
            return row * 2

        small, large = GRID[:, :3], np.arange(15.0).reshape(3, 5)
        agree(step, (small,), (large,), (small,))
        agree(step, (large,), (small,), (large,))

    def test_of_numbers(self) -> None:
        def step(u: Any, a: Any, b: Any) -> Any:
            try:
                ratio = a / b
            except ZeroDivisionError:
                ratio = 9.0
            return u * ratio

        fine, zero = (U3, 1.0, 2.0), (U3, 1.0, 0.0)
        agree(step, fine, fine, zero, fine)
        agree(step, zero, fine, zero)

    def test_of_shapes(self) -> None:
        def step(a: Any, b: Any) -> Any:
            try:
                return a + b
            except ValueError:
                return a * 2

        agree(step, (U3, U3), (U3, U5), (U3, U3))
        agree(step, (U3, U5), (U3, U3), (U5, U3))

    def test_of_floating_point(self) -> None:
        def step(a: Any, b: Any) -> Any:
            with np.errstate(all="raise"):
                try:
                    return a / b
                except FloatingPointError:
                    return a * 2

        agree(step, (U3, U3 + 1), (U3 + 1, U3), (U3, U3 + 1))


class TestWhatTheFunctionMakes:
    """Of arrays from outside, which change between calls."""

    @pytest.mark.parametrize("function", [
        lambda u, t: u @ (t * 2.0),
        lambda u, t: np.take(u, t + 0) + 1,
        lambda u, t: u[t > 0] + 1,
        lambda u, t: np.roll(u, np.int64(t.sum())) + 1,
        lambda u, t: np.take(u, np.ma.array(t)) + 1,
        lambda u, t: u * t.sum(),
    ])  # fmt: skip
    def test_is_made_anew(self, function: Any) -> None:
        table = np.array([0, 1, 0])
        fused = gb.fused(lambda u: function(u, table))
        for k in (1, 2, 0):
            table[0] = k
            same(function(U3, table), fused(U3))
            same(function(U3, table), fused(U3))


class TestOtherValues:
    def test_of_objects_in_a_list(self) -> None:
        class Options:
            def __init__(self, factor: float) -> None:
                self.factor = factor

        fused, options = gb.fused(lambda u, many: u * many[0].factor), [Options(2.0)]
        for k in range(40):
            options.clear()  # the next object may lie where this one was
            options.append(Options(float(k)))
            same(U3 * float(k), fused(U3, options))

    def test_of_sets_and_named_tuples(self) -> None:
        pair: Any = namedtuple("pair", "a b")
        for flag, change in (({1}, lambda f: f.add(2)), (pair(1, [1]), lambda f: f.b.append(2))):
            fused = gb.fused(lambda u, flag: u * len(flag if type(flag) is set else flag.b))
            same(U3, fused(U3, flag))
            change(flag)
            same(U3 * 2, fused(U3, flag))

    def test_of_indices_and_axes(self) -> None:
        wide = np.arange(35.0).reshape(5, 7)
        for function in (
            lambda u, k: np.moveaxis(u, k, 0) + 1,
            lambda u, k: u.transpose(k, 1 - k) + 1,
            lambda u, k: u.swapaxes(k, 0) + 1,
            lambda u, k: np.flip(u, axis=k) + 1,
            lambda u, k: np.expand_dims(u, k) + 1,
            lambda u, k: u[:, k : k + 2] + 1,
        ):
            agree(function, (GRID, 1), (GRID, 0), (wide, 1), (wide, 0))

    @pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "F", "i1", "u8"])
    @pytest.mark.parametrize("mode", ["warn", "raise"])
    def test_of_numbers_that_fit_and_do_not(self, dtype: str, mode: Any) -> None:
        def outcome(call: Any, *args: Any) -> Any:
            with warnings.catch_warnings(record=True) as told, np.errstate(all=mode):
                warnings.simplefilter("always")
                try:
                    made = call(*args)
                except (OverflowError, FloatingPointError) as error:
                    return type(error)
            return made.dtype, made.tobytes(), sorted(str(w.message) for w in told)

        def step(u: Any, k: Any) -> Any:
            return u * k + k

        fused, u = gb.fused(step), np.ones(3, dtype)
        for k in (
            1.0, 1e300, 1e-8, 1e-320, 65519.0, 65520.0, 3.4028235677973366e38, -0.0, math.inf,
            1, 2**53 + 1, 2**63, 2**70, 10**400, -1, 1j, complex(1e300, 1e-300),
        ):  # fmt: skip
            assert outcome(step, u, k) == outcome(fused, u, k) == outcome(fused, u, k), k


def test_of_equal_dtypes() -> None:
    """int64 is C's long, and long long too: NumPy's numbers of them have two classes."""
    agree(lambda u: (u + 1).sum(), *((np.arange(3, dtype=t),) for t in "qlql"))
    agree(lambda u: (u + 1).sum(), *((np.arange(3, dtype=t),) for t in "lqlq"))


class TestNumbers:
    @pytest.mark.parametrize("of", [
        round, lambda k: round(k, 1), math.trunc, math.floor, math.ceil, math.sqrt, complex,
        lambda k: k.is_integer(), lambda k: float(f"{k:.1f}"), lambda k: {2.5: 1}.get(k, 3),
        lambda k: max(k, 3), lambda k: k in (2.5,), lambda k: divmod(k, 2)[1],
    ])  # fmt: skip
    def test_what_python_does_with_them(self, of: Any) -> None:
        agree(lambda u, k: u * of(k), (U3, 2.5), (U3, 3.75), (U3, 2.5), (U3, 3.0))

    def test_large_ints(self) -> None:
        agree(lambda u, k: u * (math.floor(k) % 7), (U3, 2**60 + 1), (U3, 2**60 + 3))


def test_copies_are_copies() -> None:
    for function in (copy.copy, copy.deepcopy):
        agree(lambda u, f=function: f(u * 2) + f(u), (U3,), (U5,))
        assert not np.shares_memory(gb.fused(function)(U3), U3)


def test_memory_and_fields_without_indices() -> None:
    zero, number = gb.Field.full((), 3.0), np.array(2.0)
    agree(lambda u, z: u * z + z, (U3, number), (U3, np.array(3)), (U3, zero), (number, number))
    agree(lambda u, z: u * z + z, (gb.Field.ones((3, 4)), zero), (zero, zero), (zero, 2.0))
    agree(lambda z: np.exp(z) + 1, (number,), (np.float64(2),), (2.0,))


def test_records() -> None:
    for align in (True, False):
        record = np.zeros(4, np.dtype([("a", "i1"), ("x", "f8")], align=align))
        record["x"], record["a"] = range(4), 3
        agree(lambda r: r["x"] * 2 + r["a"], (record,), (record[::2],))


def test_a_trace_keeps_no_argument() -> None:
    u = np.ones(100)
    before = sys.getrefcount(u)
    fused = gb.fused(lambda u, k: u * k + 1)
    for k in (2.0, 3.0):
        fused(u, k)
    gc.collect()
    assert fused.traces() == 1
    assert sys.getrefcount(u) == before


@pytest.mark.parametrize("modes", [
    {"divide": "call", "over": "warn"}, {"divide": "log", "over": "warn"}, {"all": "call"},
    {"all": "log"}, {"all": "warn"},
])  # fmt: skip
def test_where_errors_are_told(modes: Any) -> None:
    told: list[Any] = []

    class Listener:
        def __call__(self, text: str, flag: int) -> None:
            told.append((text, flag))

        def write(self, text: str) -> None:
            told.append(text)

    def step(u: Any, v: Any) -> Any:
        return np.divide.outer(u, v) * np.exp(1000 * np.add.reduce(u))

    fused = gb.fused(step)
    for call in (step, fused, fused):
        with (
            np.errstate(call=Listener(), **modes),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            call(U3 + 1, U3)
        told.append(sorted(str(w.message).partition(" encountered")[0] for w in warned))
    n = len(told) // 3
    assert told[:n] == told[n : 2 * n] == told[2 * n :]


def test_workers_beside_keywords() -> None:
    fused = gb.fused(lambda u, k=1.0: u * k + 1)
    for _ in range(2):
        with pytest.raises(ValueError, match="workers: expected 1 or more"):
            fused(U3, k=2.0, workers=0)
        with pytest.raises(TypeError, match="workers: expected an int"):
            fused(U3, k=2.0, workers="x")
        same(U3 * 2.0 + 1, fused(U3, k=2.0, workers=1))


@pytest.mark.parametrize("function", [
    lambda u, v: np.log(u) / v + np.exp(v * 1000),
    lambda u, v: np.exp(v * 1000) + np.sqrt(u) / v,
    lambda u, v: np.where(u / v > 0, np.log(v), np.exp(u * 1000)),
])  # fmt: skip
@pytest.mark.parametrize("modes", [
    {"all": "raise"}, {"divide": "raise", "over": "warn", "invalid": "ignore"},
    {"divide": "warn", "over": "raise"}, {"invalid": "raise", "divide": "ignore"},
])  # fmt: skip
def test_of_several_errors_the_first_is_raised(function: Any, modes: Any) -> None:
    def outcome(call: Any) -> str:
        with np.errstate(**modes), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return np.asarray(call(U3 - 1, U3)).tobytes().hex()
            except FloatingPointError as error:
                return str(error)

    fused = gb.fused(function)
    assert outcome(function) == outcome(fused) == outcome(fused)


def test_in_place_one_after_the_other() -> None:
    def reals(u: Any, k: Any) -> Any:
        t = u * k
        again = t
        t += 1
        t *= t
        t -= u
        t /= 2
        t **= 2
        t %= 3
        return t + again

    def ints(u: Any, k: Any) -> Any:
        t = u * k
        t <<= 1
        t |= 3
        t ^= u
        t >>= 1
        return t

    agree(reals, (U3, 2.0), (U3, np.float32(2)), (U3.astype("f4"), 2.0))
    agree(ints, (np.arange(5), 2), (np.arange(5, dtype="u1"), 2))


def test_an_array_that_a_destructor_changes_meanwhile() -> None:
    class Late:
        def __init__(self, array: Any) -> None:
            self.array, self.me = array, self

        def __del__(self) -> None:
            self.array.resize((10,), refcheck=False)

    fused, before = gb.fused(lambda u, k: u * k + 1), gc.get_threshold()
    fused(np.ones(1000), 2.0)
    gc.set_threshold(1)
    try:
        for _ in range(20):
            u = np.ones(1000)
            Late(u)
            found = fused(u, 2.0)
            assert found.shape in ((1000,), (10,))
            assert (found == 3).all()
    finally:
        gc.set_threshold(*before)


def test_a_generator_is_refused_when_it_goes_on() -> None:
    def parts(u: Any) -> Any:
        yield u + 1

    with pytest.raises(RuntimeError, match="after its call"):
        list(gb.fused(parts)(U3))


def test_a_loop_that_raises_does_not_write_into_what_it_reads() -> None:
    for n in (3, 300, 5000):
        base, exponent = np.full(n, 2), np.full(n, 3)
        fused = gb.fused(lambda a, b: a**b + 100)
        fused(base, exponent, out=np.zeros_like(base))
        exponent[n // 2] = -1
        for _ in range(2):
            given = exponent.copy()
            with pytest.raises(ValueError, match="negative integer powers"):
                fused(base, given, out=given)
            assert np.array_equal(given, exponent)


class TestAttributesOfArguments:
    """A method's self: numbers and arrays that are given another value between calls."""

    class Model:
        def __init__(self) -> None:
            self.dt, self.name = 0.5, "a"
            self.u, self.v = np.arange(4.0), np.arange(4.0) ** 2

        def step(self, w: Any) -> Any:
            return w * self.dt + self.u - (self.v if self.name == "a" else self.v * w)

        def parts(self, w: Any) -> Any:
            return w[1:] * self.u[1:] + self.u[:-1]

        def sized(self, w: Any) -> Any:
            return w * len(self.u) + self.u.sum()

    @pytest.mark.parametrize("name", ["step", "parts", "sized"])
    def test_are_read_at_each_call(self, name: str) -> None:
        model, w = self.Model(), np.ones(4)
        function = getattr(self.Model, name)
        fused = gb.fused(function)

        def look(w: Any) -> None:
            for _ in range(2):
                same(function(model, w), fused(model, w))

        look(w)
        model.u, model.v = model.v, model.u
        look(w)
        model.u = model.u + 1
        look(w)
        model.dt, model.name = 2.0, "b"
        look(w)
        model.u = model.v
        look(w)
        model.v = model.v * 3
        look(w)
        model.u, model.v = np.arange(6.0), np.ones(6)
        look(np.ones(6))

    def test_arrays_in_turns_are_one_trace_and_not_kept(self) -> None:
        model, w = self.Model(), np.ones(4)
        fused = gb.fused(self.Model.step)
        first = model.u
        count = sys.getrefcount(first)
        for _ in range(10):
            fused(model, w)
            model.u, model.v = model.v, model.u
        assert fused.traces() == 1
        assert sys.getrefcount(first) == count


class TestKeywords:
    """The function's own keywords, by C from the second call on."""

    def test_names_order_and_values(self) -> None:
        def step(u: Any, *, k: Any = 1.0, v: Any = None, twice: bool = False) -> Any:
            value = u * k if v is None else u * k + v
            return value * 2 if twice else value + 0

        fused = gb.fused(step)
        calls: list[dict[str, Any]] = [
            {}, {"k": 2.0}, {"k": 3.0, "v": U3}, {"v": U3, "k": 5.0}, {"k": U3, "v": 2.0},
            {"k": 2, "twice": True}, {"twice": False, "k": 2}, {"v": None, "k": 7.0},
        ]  # fmt: skip
        for options in calls * 3:
            same(step(U3, **options), fused(U3, **options))

    def test_the_order_of_any_keywords_is_the_functions_to_see(self) -> None:
        def step(**parts: Any) -> Any:
            first, second = parts.values()
            return first - second

        agree_by = gb.fused(step)
        for _ in range(3):
            same(step(a=U3, b=U3 * 2), agree_by(a=U3, b=U3 * 2))
            same(step(b=U3 * 2, a=U3), agree_by(b=U3 * 2, a=U3))
            same(step(c=U3 * 2, a=U3), agree_by(c=U3 * 2, a=U3))

    def test_beside_out(self) -> None:
        fused, out = gb.fused(lambda u, k=1.0: u * k + 1), np.zeros(3)
        for k in (2.0, 3.0, 4.0):
            assert fused(U3, k=k, out=out) is out
            same(U3 * k + 1, out)

    def test_more_than_c_takes(self) -> None:
        fused = gb.fused(lambda u, *more, **named: u + len(more) + len(named))
        for _ in range(2):
            same(U3 + 1000, fused(U3, *range(1000)))
            same(U3 + 100, fused(U3, **{f"k{i}": None for i in range(100)}))


@pytest.mark.parametrize("count", [None, 1, 2])
@pytest.mark.parametrize("outs", [None, 0, 1, 2, 3])
def test_out_as_many_as_results(count: int | None, outs: int | None) -> None:
    """Also at later calls, and where one that fits came before."""

    def step(u: Any) -> Any:
        results = [u * (i + 2.0) + 1 for i in range(count or 1)]
        return results[0] if count is None else tuple(results)

    def made(n: int | None) -> Any:
        return np.zeros(3) if n is None else tuple(np.zeros(3) for _ in range(n))

    fused = gb.fused(step)
    for _ in range(3):
        fused(U3)
        fused(U3, out=made(count))
        if outs == count:
            assert isinstance(fused(U3, out=made(outs)), tuple) == isinstance(count, int)
        else:
            with pytest.raises(TypeError, match="out: the function returns"):
                fused(U3, out=made(outs))
