"""gridbuf.fused: arrays and objects that are no arguments, memory that the function writes into,
and the fused function as an object.
"""

import array
import copy
import functools
import operator
import pickle
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

U = np.arange(1.0, 5.0)


def agree(function: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """Twice each call, of one fused function, beside the function itself."""
    fused = gb.fused(function)
    for args in calls:
        for _ in range(2):
            want, got = function(*copy.deepcopy(args)), fused(*copy.deepcopy(args))
            assert type(want) is type(got)
            one, other = np.asarray(want), np.asarray(got)
            assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
            assert one.tobytes() == other.tobytes()


class TestArraysThatAreNoArguments:
    """Their contents are read anew; what the function makes of them is made anew."""

    table = np.ones((2, 4))

    def in_two_parts(self, u: Any) -> Any:
        a, b = self.table * 2
        return u * a + b

    def in_a_sum(self, u: Any) -> Any:
        return sum(u * row for row in self.table * 2)

    def split(self, u: Any) -> Any:
        a, b = np.split(self.table * 2, 2)
        return u * a + b

    def in_a_cycle(self, u: Any) -> Any:
        twice = self.table[0] * 2

        def go(n: int) -> Any:
            return u * twice if n == 0 else go(n - 1)

        return go(2)

    def stored(self, u: Any) -> Any:
        self.last = self.table[0] * 2
        return u * self.last

    def sliced(self, u: Any) -> Any:
        return u[: int(self.table[0, 0])] * 2

    def sliced_by_its_own_number(self, u: Any) -> Any:
        return u[: self.table.astype(int)[0, 0]] * 2

    def flipped(self, u: Any) -> Any:
        return np.flip(u[None], self.table.astype(int)[0, 0] % 2) * 2

    def rows(self, u: Any) -> Any:
        return u * self.table[0] + self.table[1]

    @pytest.mark.parametrize(
        "name",
        ["in_two_parts", "in_a_sum", "split", "in_a_cycle", "stored", "sliced_by_its_own_number",
         "flipped", "rows"],
    )  # fmt: skip
    def test_are_read_at_each_call(self, name: str) -> None:
        function = getattr(self, name)
        fused = gb.fused(lambda u: function(u))
        for value in (1, 1, 1, 2, 3, 2):
            self.table[:] = value
            assert np.array_equal(function(U), fused(U))

    def test_two_calls_find_them(self) -> None:
        fused = gb.fused(self.rows)
        for calls in (0, 0, 1, 1):
            assert fused.traces() == calls
            fused(U)

    def test_temporary_ones_are_not_kept(self) -> None:
        made: list[Any] = []

        def step(u: Any) -> Any:
            twice = self.table[0] * 2
            made.append(weakref.ref(twice))
            return u + twice

        fused = gb.fused(step)
        for _ in range(5):
            fused(U)
        assert fused.traces() == 0
        assert not any(ref() is not None for ref in made)

    def test_those_in_a_tuple_are_not_kept(self) -> None:
        fused = gb.fused(lambda u, pair: u * pair[0] + pair[1])
        refs = []
        for _ in range(5):
            pair = U.copy(), U.copy()
            refs.append(weakref.ref(pair[0]))
            assert np.array_equal(fused(U, pair), U * U + U)
        del pair
        assert not any(ref() is not None for ref in refs)

    def test_those_that_calls_in_turns_find(self) -> None:
        tables = np.ones(4), np.full(4, 2.0)
        by_number = gb.fused(lambda u, k: u + tables[0] if k > 0 else u + tables[1])
        by_size = gb.fused(lambda u: u * tables[0][: u.shape[0]])
        for _ in range(4):
            for k in (1, -1):
                assert np.array_equal(by_number(U, k), U + tables[k < 0])
                assert np.array_equal(by_size(U[: 3 + k]), U[: 3 + k] * tables[0][: 3 + k])
        assert (by_number.traces(), by_size.traces()) == (2, 2)

    def test_explain_says_whether_they_are_found_again(self) -> None:
        assert "anew at each call" not in str(gb.fused(self.rows).explain(U))
        assert "anew at each call" in str(gb.fused(lambda u: u + self.table[0] * 2).explain(U))

    @pytest.mark.parametrize(
        "function",
        [
            lambda u, table: u + array.array("d", table * 2),
            lambda u, table: np.piecewise(u, [u > 2], [lambda v: v * table[0], 0.0]),
            lambda u, table: np.apply_along_axis(lambda c, w: c * w, 0, u, table * 2),
            lambda u, table: u * (table[0] > 3),
            lambda u, table: np.transpose(u[None], np.argsort(table[:2])) * 2,
            lambda u, table: u[None].transpose(np.argsort(table[:2])) * 2,
        ],
    )
    def test_within_other_objects(self, function: Any) -> None:
        table = np.ones(4)
        fused = gb.fused(lambda u: function(u, table))
        for values in ([1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [5, 2, 1, 0], [5, 2, 1, 0]):
            table[:] = values
            assert np.array_equal(function(U, table), fused(U))

    def test_on_threads(self) -> None:
        fused = gb.fused(lambda u, flag: u + self.table[0])
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: fused(U, object()), range(2000)))
        assert all(np.array_equal(one, U + self.table[0]) for one in found)


class Model:
    def __init__(self) -> None:
        self.dt, self.v = 2.0, np.ones(4)

    def step(self, u: Any) -> Any:
        return u * self.dt + self.v


@dataclass(slots=True)
class Slotted:
    dt: float
    v: Any


class TestObjects:
    def test_in_a_list(self) -> None:
        model = Model()
        fused = gb.fused(lambda u, models: models[0].step(u))
        for value in (1.0, 1.0, 1.0, 9.0, 9.0):
            model.v = np.full(4, value)
            assert np.array_equal(fused(U, [model]), model.step(U))

    def test_with_slots(self) -> None:
        params = Slotted(2.0, np.ones(4))
        fused = gb.fused(lambda u, p: u * p.dt + p.v)
        for dt, value in ((2.0, 1.0), (2.0, 1.0), (3.0, 1.0), (3.0, 4.0)):
            params.dt, params.v = dt, np.full(4, value)
            assert np.array_equal(fused(U, params), U * dt + value)

    @pytest.mark.parametrize("of", [lambda m: m.step, lambda m: functools.partial(Model.step, m)])
    def test_behind_a_method_and_a_partial(self, of: Any) -> None:
        model = Model()
        fused = gb.fused(of(model))
        for dt, value in ((2.0, 1.0), (2.0, 1.0), (2.0, 1.0), (3.0, 1.0), (3.0, 4.0)):
            model.dt, model.v = dt, np.full(4, value)
            assert np.array_equal(fused(U), model.step(U))
        assert "multiply" in str(fused.explain(U))

    def test_derived_containers_with_attributes(self) -> None:
        class Settings(dict):  # type: ignore[type-arg]
            pass

        fused = gb.fused(lambda u, settings: u * settings.dt)
        for dt in (2.0, 2.0, 5.0):
            settings = Settings(a=1)
            settings.dt = dt  # type: ignore[attr-defined]
            assert np.array_equal(fused(U, settings), U * dt)

    def test_attributes_that_a_class_computes(self) -> None:
        class Lazy:
            __slots__ = ("unset",)

            def __getattr__(self, name: str) -> Any:
                raise ValueError(name)

        assert np.array_equal(gb.fused(lambda u, lazy: u * 2)(U, Lazy()), U * 2)

    def test_values_that_the_function_stores_in_them(self) -> None:
        class Keeping:
            @gb.fused
            def step(self, u: Any) -> Any:
                self.last = u * 2
                return self.last + 1

        one, diagnostics = Keeping(), {}

        def step(u: Any, diagnostics: Any) -> Any:
            diagnostics["twice"] = u * 2
            return u + 1

        fused = gb.fused(step)
        for _ in range(3):
            assert np.array_equal(one.step(U), U * 2 + 1)
            assert np.array_equal(fused(U, diagnostics), U + 1)
            assert type(one.last) is type(diagnostics["twice"]) is np.ndarray
            assert np.array_equal(one.last, diagnostics["twice"])

    def test_slices_and_ranges_by_value(self) -> None:
        fused = gb.fused(lambda u, part, these: u[part] * len(these))
        for _ in range(3):
            assert np.array_equal(fused(U, slice(1, 3), range(3)), U[1:3] * 3)
        assert fused.traces() == 1


class TestFacts:
    """Facts of an argument that one call sees and another one may not share."""

    def test_owners_and_views(self) -> None:
        agree(lambda u: u * 2 if u.base is None else u * 3, (U.copy(),))
        fused = gb.fused(lambda u: u * 2 if u.base is None else u * 3)
        for u in (np.arange(4.0).copy(), U[:3], np.arange(4.0).copy(), U[:3]):
            assert np.array_equal(fused(u), u * 2 if u.base is None else u * 3)

    def test_flags(self) -> None:
        fused = gb.fused(lambda u: u * 2 if u.flags.writeable else u * 3)
        read_only = U.copy()
        read_only.flags.writeable = False
        assert np.array_equal(fused(U), U * 2)
        assert np.array_equal(fused(read_only), U * 3)

    def test_dtypes_of_numbers(self) -> None:
        fused = gb.fused(lambda u, k: u.astype(np.min_scalar_type(k)))
        assert [fused(U, k).dtype.itemsize for k in (3, 300, 3)] == [1, 2, 1]

    def test_an_axis_that_is_an_argument(self) -> None:
        grid = np.arange(6.0).reshape(2, 3)
        agree(lambda u, axis: np.flip(u, axis) * 2, (grid, 0), (grid, 1), (grid[:, :2], 1))

    def test_orders_of_copies(self) -> None:
        for copies in (np.array, np.asarray, lambda u: np.asarray(u, "f4")):
            agree(lambda u, copies=copies: copies(u), (np.asfortranarray(np.ones((2, 3))),))


class TestWriting:
    def test_into_memory_that_the_function_has_shown(self) -> None:
        def shown(u: Any) -> Any:
            t = u * 2
            alias = np.asarray(t)
            t += 1
            return alias

        def split(u: Any) -> Any:
            t = u * 2
            half = np.split(t, 2)[0]
            t *= 3
            return half

        def viewed(u: Any) -> Any:
            t = u * 2
            part = t[1:]
            t -= 1
            return part

        def printed(u: Any) -> Any:
            t = u * 2
            repr(t)
            t += 1
            return t

        def returned_by_out(u: Any) -> Any:
            own = np.zeros(4)
            z = np.add(u, 1, out=own)
            z += 1
            return own

        for function in (shown, split, viewed, printed, returned_by_out):
            agree(function, (U,))

    def test_into_an_array_of_its_own(self) -> None:
        def part(u: Any) -> Any:
            z = u.copy()
            w = z * 2
            z[0] = 9
            return z + w

        def ufunc(u: Any) -> Any:
            z = np.empty_like(u)
            np.add(u, 1, out=z)
            return z * 2

        def at(u: Any) -> Any:
            z = np.zeros(5)
            np.add.at(z, [0, 1, 1, 2], u)
            return z

        def fill(u: Any) -> Any:
            z = u * 2
            z.fill(3.0)
            z.sort()
            return z + u

        def cumsum(u: Any) -> Any:
            z = np.zeros(4)
            np.cumsum(u, 0, None, z)
            return z + u

        for function in (part, ufunc, at, fill, cumsum, lambda u: u.byteswap().byteswap()):
            agree(function, (U,))

    @pytest.mark.parametrize(
        "write",
        [
            lambda u, w: np.nan_to_num(u, copy=False),
            lambda u, w: np.nan_to_num(u, False),
            lambda u, w: np.median(u, overwrite_input=True),
            lambda u, w: np.median(overwrite_input=True, a=u),
            lambda u, w: np.percentile(u, 50, overwrite_input=True),
            lambda u, w: np.cumsum(u, 0, None, w),
            lambda u, w: u.cumsum(0, None, w),
            lambda u, w: np.dot(u[:, None], u[None], w),
            lambda u, w: np.clip(u, 0, 1, w),
            lambda u, w: np.copyto(dst=u, src=w),
            lambda u, w: np.add.at(u, [0], 1),
            lambda u, w: operator.setitem(u, 0, 1),
            lambda u, w: u[1:].fill(1),
            lambda u, w: u.byteswap(True),
        ],
    )
    def test_into_an_argument_is_refused(self, write: Any) -> None:
        with pytest.raises(TypeError, match=r"fused: .* would write into memory"):
            gb.fused(lambda u, w: (write(u, w), u * 1.0)[1])(U.copy(), U.copy())

    def test_a_function_that_only_reads_is_no_writer(self) -> None:
        agree(lambda u: np.nan_to_num(u, copy=True) + np.median(u), (U,))
        agree(lambda u: np.einsum("i,i->i", u, u) + np.reshape(u, 4, copy=False), (U,))


class TestNumbers:
    def test_as_keys_of_a_cache(self) -> None:
        @functools.lru_cache
        def coefficient(k: float) -> float:
            return k * 2

        fused = gb.fused(lambda u, k: u * coefficient(k))
        for k in (2.5, 2.5, 3.5):
            for u in (U, U.astype("f4")):
                assert np.array_equal(fused(u, k), u * (k * 2))
        assert coefficient(2.5) == 5.0
        assert type(coefficient(2.5)) is float

    def test_in_sets_and_dicts(self) -> None:
        agree(lambda u, k: u * {2: 3.0, 3: 4.0}[k] if k in {2, 3} else u, (U, 2), (U, 3), (U, 4))

    def test_whatever_catches_that_they_are_needed(self) -> None:
        known = {2.0: 100.0}

        def step(u: Any, k: Any) -> Any:
            try:
                factor = known[k]
            except:  # noqa: E722
                factor = 0.0
            return u * factor

        agree(step, (U, 2.0), (U, 3.0))
        agree(lambda u, k: u + gb.fused(lambda v: v * known[k])(U), (U, 2.0))

    def test_of_memory_as_keys(self) -> None:
        fused = gb.fused(lambda u: u * {u.sum(): 2.0}[u.sum()])
        for u in (U, U, U * 3):
            assert np.array_equal(fused(u), u * 2)
        assert fused.traces() == 0

    def test_three_of_pow(self) -> None:
        agree(lambda u, k: u * pow(k, 2, 7), (U, 5), (U, 6))

    def test_as_indices(self) -> None:
        def caught(u: Any, k: Any) -> Any:
            try:
                return u[k] * 2
            except IndexError:
                return u * 0

        agree(caught, (U, 1), (U, 1.5), (U, np.int64(2)))
        agree(lambda u: u[(u > 0).all()], (U,))

    def test_their_type_is_no_dtype(self) -> None:
        with pytest.raises(TypeError, match=r"astype\(type\(k\)\)"):
            gb.fused(lambda u, k: u.astype(type(k)))(U, 2.5)

    def test_bounds_of_clip_as_numpy_takes_them(self) -> None:
        agree(lambda u: np.clip(u, 2, 3) + np.clip(u, min=2, max=3) + u.clip(2), (U,))
        for function in (lambda u: np.clip(u, a_max=3), lambda u: u.clip(a_min=1, a_max=2)):
            with pytest.raises(TypeError, match="a_min"):
                gb.fused(function)(U)


class TestFields:
    FIELD = gb.Field(np.arange(24.0).reshape(4, 6), dims="IJ", halo=1)

    @pytest.mark.parametrize(
        "function",
        [
            lambda u: gb.shift(u, I=1) * 2,
            lambda u: gb.diff(u, "I") * 2,
            lambda u: gb.pad(u * 2, 1),
            lambda u: gb.copy(u) * 2,
            lambda u: gb.zeros_like(u) + u,
            lambda u: gb.Field(u) * 2,
            lambda u: gb.Field(u * 2),
        ],
    )
    def test_in_functions_of_gridbuf(self, function: Any) -> None:
        want, got = function(self.FIELD), gb.fused(function)(self.FIELD)
        assert (got.dims, got.halo, got.origin) == (want.dims, want.halo, want.origin)
        assert np.array_equal(got, want)


class TestResults:
    def test_that_hold_traced_values_are_refused(self) -> None:
        for function in (
            lambda u: Slotted(u + 1, 2),
            lambda u: [(u + 1, 2)],
            lambda u: {"u": (u,)},
            lambda u: type("Pair", (tuple,), {})((u, u)),
        ):
            with pytest.raises(TypeError, match="fused: the function returns a"):
                gb.fused(function)(U)

    def test_a_value_that_outlives_the_call_says_so(self) -> None:
        kept: list[Any] = []
        gb.fused(lambda u: (kept.append(u * 2), u + 1)[1])(U)
        for use in (lambda t: t.shape, lambda t: t + 1, np.asarray, lambda t: isinstance(t, int)):
            with pytest.raises(RuntimeError, match="used after its call"):
                use(kept[0])

    def test_lists_of_derived_classes_as_operands(self) -> None:
        agree(lambda u: np.concatenate(type("L", (list,), {})([u + 1, u * 2])), (U,))

    def test_what_out_takes(self) -> None:
        fused = gb.fused(lambda u: u * 2)
        for out in ([U.copy()], 3, "x", {}):
            with pytest.raises(TypeError, match="out: expected an array"):
                fused(U, out=out)
        with pytest.raises(TypeError, match="out: the function returns None"):
            gb.fused(lambda u: None)(U, out=U.copy())
        assert "multiply" in str(fused.explain(U, out=U.copy()))


@gb.fused
def doubled(u: Any) -> Any:
    return u * 2


class WithMethods:
    @gb.fused
    def step(self, u: Any) -> Any:
        return u * 2

    @gb.fused
    @staticmethod
    def third(u: Any) -> Any:
        return u / 3


class TestTheFunctionAsAnObject:
    def test_copies_and_pickles(self) -> None:
        assert pickle.loads(pickle.dumps(doubled)) is doubled
        assert copy.deepcopy({"step": doubled})["step"] is doubled
        made = copy.copy(gb.fused(lambda u: u * 3))
        assert np.array_equal(made(U), U * 3)

    def test_a_method_of_an_object(self) -> None:
        one = WithMethods()
        assert "multiply" in str(WithMethods.step.explain(one, U))
        assert np.array_equal(one.step(U), U * 2)
        assert one.step.traces() == 1
        assert (one.step.__name__, one.step.__self__) == ("step", one)
        assert one.step == one.step
        assert one.step != WithMethods().step
        assert np.array_equal(one.third(U), U / 3)

    def test_attributes_of_the_function(self) -> None:
        def versioned(u: Any) -> Any:
            return u

        versioned.version = 3  # type: ignore[attr-defined]
        assert gb.fused(versioned).version == 3  # type: ignore[attr-defined]

    def test_within_another_one(self) -> None:
        inner = gb.fused(lambda pair: pair[0] * 2 + pair[1])
        outer = gb.fused(lambda u, v: inner((u, v)) + 1)
        for _ in range(3):
            assert np.array_equal(outer(U, U), U * 3 + 1)
        assert (inner.traces(), outer.traces()) == (0, 1)


def test_warnings_of_barriers_name_the_ufunc_and_the_line_of_the_call() -> None:
    def written(u: Any, v: Any) -> Any:
        t = u * 1
        np.asarray(t)
        t /= v
        return t

    def messages(function: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(np.ones(2, "g"), np.zeros(2, "g"))
        assert all(one.filename == __file__ for one in found)
        return [str(one.message) for one in found]

    for function in (lambda u, v: u / v, written):
        assert messages(function) == messages(gb.fused(function)) != []


def test_more_operations_than_one_kernel_takes() -> None:
    """The time to trace them grows with their number; it was with its cube."""

    def decay(u: Any) -> Any:
        for _ in range(800):
            u = u * 0.999 + 0.001
        return u

    agree(decay, (U,))
