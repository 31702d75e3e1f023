"""gridbuf.fused: the bits of the unfused call, when a function is traced, and what is refused."""

import operator
import warnings
from typing import Any

import numpy as np
import pytest

import gridbuf as gb


def field(shape: tuple[int, ...] = (6, 7, 8), dims: str = "IJK", **spec: Any) -> gb.Field:
    made = gb.Field.empty(shape, dims=dims, **spec)
    made.numpy()[...] = np.random.default_rng(1).random(shape) + 0.5
    return made


def same(want: Any, got: Any) -> None:
    assert type(want) is type(got)
    if isinstance(want, tuple):
        for one, other in zip(want, got, strict=True):
            same(one, other)
        return
    for name in ("dtype", "shape", "strides", "dims", "halo", "origin", "axes"):
        assert getattr(want, name, None) == getattr(got, name, None), name
    assert np.asarray(want).tobytes() == np.asarray(got).tobytes()


def diffuse(u: Any, k: Any, dt: Any) -> Any:
    i, j = slice(1, -1), slice(1, -1)
    lap = u[2:, j] + u[:-2, j] + u[i, 2:] + u[i, :-2] - 4.0 * u[i, j]
    return u[i, j] + dt * k * lap


@pytest.mark.parametrize("backend", ["C", "F", "gt:cpu_ifirst", "gt:cpu_kfirst"])
def test_the_bits_of_the_unfused_call(backend: str) -> None:
    fused = gb.fused(diffuse)
    u = field(halo=(1, 1, 0), backend=backend)
    for k, dt in ((0.3, 0.1), (0.4, 0.2), (np.float32(2), 1)):
        for _ in range(3):
            same(diffuse(u, k, dt), fused(u, k, dt))
            same(diffuse(u.numpy(), k, dt), fused(u.numpy(), k, dt))


def test_storages_and_names() -> None:
    def step(a: Any, b: Any) -> Any:
        return np.where(a > b, a - b, b.astype("f4") * 2)

    fused = gb.fused(step)
    s, t = gb.storage.ones((4, 5, 6), halo=(1, 0, 1)), gb.storage.full((5,), 2.5, axes="J")
    same(step(s, t), fused(s, t))
    u, v = field((4, 5, 6), backend="F"), field((6, 4), "KI")
    same(step(u, v), fused(u, v))
    same(step(v, u), fused(v, u))


class TestTraces:
    def test_sizes_and_numbers_do_not_trace_again(self) -> None:
        calls: list[int] = []

        @gb.fused
        def scaled(u: Any, k: Any) -> Any:
            calls.append(1)
            return u[1:] * k + u[:-1]

        for n, k in ((5, 1.0), (9, 2.0), (5, 3.0), (700, 0.5)):
            u = np.arange(float(n))
            same(u[1:] * k + u[:-1], scaled(u, k))
        assert len(calls) == scaled.traces() == 1
        scaled(np.arange(5.0), 2)
        scaled(np.arange(5), 2.0)
        assert scaled.traces() == len(calls) == 3
        scaled.clear()
        assert scaled.traces() == 0
        scaled(np.arange(5.0), 2.0)
        assert scaled.traces() == 1

    def test_a_size_that_broadcasts(self) -> None:
        added = gb.fused(lambda a, b: np.exp(a) + b)
        for shapes in (((4, 5), (4, 5)), ((1, 5), (4, 5)), ((4, 1), (1, 5)), ((4, 5), (5,))):
            a, b = (np.random.default_rng(0).random(s) for s in shapes)
            same(np.exp(a) + b, added(a, b))

    def test_flags_by_type_and_value(self) -> None:
        @gb.fused
        def step(u: Any, flag: Any) -> Any:
            return u * 2 if flag in (True, "yes", (2,)) else u * 3

        u = np.arange(3.0)
        for flag in (True, False, "yes", "no", (2,), (2.0,), (3,), None, [1], {"a": 1}):
            same(step._function(u, flag), step(u, flag))
            same(step._function(u, flag), step(u, flag))

    def test_what_the_function_sees_of_numbers_and_sizes(self) -> None:
        @gb.fused
        def step(u: Any, k: Any) -> Any:
            if k > 2:
                return u + float(k)
            return u[: int(k)] * len(u) + u.shape[0] if u.ndim == 1 else -u

        for n, k in ((5, 1.0), (5, 3.0), (6, 1.0), (6, 2.0), (5, 1.0)):
            u = np.arange(float(n))
            same(step._function(u, k), step(u, k))

    def test_values_are_looked_at_each_time(self) -> None:
        step = gb.fused(lambda u: u * 2 if u.sum() > 3 else u * 3)
        for value in (1.0, 2.0, 0.5, 2.0):
            u = np.full(3, value)
            same(step._function(u), step(u))

    def test_no_more_are_kept_than_256(self) -> None:
        step = gb.fused(lambda u, flag: u + len(flag))
        for n in range(300):
            step(np.zeros(3), "x" * n)
        assert step.traces() == 256

    def test_arithmetic_of_numbers_is_pythons(self) -> None:
        step = gb.fused(lambda u, a, b: u * (a / b) + np.exp(b))
        u = np.ones(3, np.float32)
        same(step._function(u, 1, 2), step(u, 1, 2))
        same(step._function(u, 3, 4), step(u, 3, 4))
        with pytest.raises(ZeroDivisionError):
            step(u, 1, 0)
        big = gb.fused(lambda u, n: u + float(n**20))
        same(big._function(u, 10), big(u, 10))

    def test_numbers_that_do_not_fit(self) -> None:
        step = gb.fused(lambda u, n: u + n)
        u = np.ones(3, np.uint8)
        same(u + 200, step(u, 200))
        for _ in range(2):
            with pytest.raises(OverflowError, match="300"):
                step(u, 300)
        less = gb.fused(lambda u, n: u < n)
        for n in (2, 300, -1):
            same(u < n, less(u, n))

    def test_closures_are_read_at_every_call(self) -> None:
        held = np.arange(4.0)
        step = gb.fused(lambda u: u + held * 2)
        u = np.ones(4)
        same(u + held * 2, step(u))
        held[1] = 7
        same(u + held * 2, step(u))
        same(u + held * 2, step(u))

    def test_methods_and_functions_within_functions(self) -> None:
        class Model:
            factor = 2.0

            @gb.fused
            def step(self, u: Any) -> Any:
                return inner(u) * self.factor

        inner = gb.fused(lambda u: u + 1)
        model, u = Model(), np.ones(3)
        same(np.full(3, 4.0), model.step(u))
        same(np.full(3, 4.0), model.step(u))


class TestBarriers:
    def test_reductions_and_other_functions(self) -> None:
        def step(u: Any) -> Any:
            anomaly = u - u.mean("K")
            return np.sqrt(anomaly * anomaly + np.cumsum(np.asarray(u), axis=0).max()) / u.max()

        fused, u = gb.fused(step), field(halo=(1, 1, 0))
        for _ in range(3):
            same(step(u), fused(u))

    def test_truth_of_whole_fields(self) -> None:
        step = gb.fused(lambda u: u if u > 0 else -u)
        with pytest.raises(ValueError, match="ambiguous"):
            step(np.ones(3))
        with pytest.raises(ValueError):
            step(field())

    def test_rows_and_elements(self) -> None:
        def step(u: Any) -> Any:
            total = 0.0
            for row in u:
                total = total + row * row[0]
            return total

        fused, u = gb.fused(step), np.arange(12.0).reshape(3, 4)
        for n in (3, 2, 3):
            same(step(u[:n]), fused(u[:n]))

    def test_views_of_intermediates(self) -> None:
        def step(u: Any) -> Any:
            lap = u[2:] + u[:-2] - 2 * u[1:-1]
            return lap[1:] - lap[:-1], lap.T

        fused, u = gb.fused(step), field()
        same(step(u), fused(u))
        same(step(u.numpy()), fused(u.numpy()))

    def test_other_classes_and_dtypes(self) -> None:
        class Quantity(gb.Field):
            pass

        def step(u: Any) -> Any:
            return (u + u) * 2

        fused = gb.fused(step)
        masked = np.ma.array([1.0, 2.0], mask=[True, False])
        for value in (
            Quantity(np.ones((2, 3)), dims="IJ"), masked, np.matrix([[1.0, 2.0]]),
            np.array([1, "a"], object), np.array([2, 3], "m8[s]"), np.ones(3, ">f8"),
            np.ones(3, np.longdouble), np.float32(2), 3,
        ):  # fmt: skip
            want, got = step(value), fused(value)
            assert type(want) is type(got)
            assert np.array_equal(np.asarray(want), np.asarray(got))
        assert fused(masked).mask.tolist() == [True, False]

    def test_more_operands_than_a_kernel_has(self) -> None:
        def step(*many: Any) -> Any:
            total = many[0] * 2
            for one in many[1:]:
                total = total + one * 2
            return total

        many = [np.random.default_rng(i).random(50) for i in range(40)]
        same(step(*many), gb.fused(step)(*many))

    def test_a_gufunc_of_gridbufs(self) -> None:
        def step(u: Any) -> Any:
            return gb.gufunc.sqrt(u) + u

        u = field()
        same(step(u), gb.fused(step)(u))


class TestOut:
    def test_is_returned_and_converted(self) -> None:
        fused, u = gb.fused(diffuse), field(halo=(1, 1, 0))
        for v in (field(halo=(1, 1, 0)), field(halo=(1, 1, 0), dtype="f4", backend="F")):
            domain = v.domain
            assert fused(u, 0.3, 0.1, out=domain) is domain
            assert np.array_equal(domain.numpy(), diffuse(u, 0.3, 0.1).numpy().astype(v.dtype))

    def test_by_name(self) -> None:
        fused, u = gb.fused(lambda u: u * 2), field((3, 4, 5))
        out = gb.Field.zeros((5, 3, 4), dims="KIJ")
        fused(u, out=out)
        assert np.array_equal(out.numpy(), (u * 2).numpy().transpose(2, 0, 1))
        with pytest.raises(ValueError, match="lack"):
            fused(u, out=gb.Field.zeros((3, 4), dims="IJ"))

    @pytest.mark.parametrize("shift", [-1, 0, 1, 3])
    def test_inputs_are_read_as_they_were(self, shift: int) -> None:
        fused = gb.fused(lambda a, b: a * 3 - b / 2)
        data = np.random.default_rng(0).random(3000)
        want = data.copy()
        low, high = slice(5, -5), slice(5 + shift, 2995 + shift)
        want[high] = want[low] * 3 - want[low][::-1] / 2
        fused(data[low], data[low][::-1], out=data[high])
        assert np.array_equal(want, data)

    def test_tuples(self) -> None:
        fused, u = gb.fused(lambda u: (u + 1, u * 2)), np.arange(4.0)
        a, b = np.zeros(4), np.zeros(4)
        assert fused(u, out=(a, b)) == (a, b) or True
        assert a.tolist() == [1, 2, 3, 4] and b.tolist() == [0, 2, 4, 6]
        found = fused(u, out=(None, b))
        assert found[1] is b and found[0] is not a
        with pytest.raises(ValueError, match="share memory"):
            fused(u, out=(a, a))
        with pytest.raises(TypeError, match="tuple of 2"):
            fused(u, out=a)

    def test_read_only_and_wrong_shapes(self) -> None:
        fused = gb.fused(lambda u: u + 1)
        out = np.zeros(3)
        out.flags.writeable = False
        for _ in range(2):
            with pytest.raises(ValueError, match="read-only"):
                fused(np.ones(3), out=out)
        with pytest.raises(ValueError, match="broadcast"):
            fused(np.ones(3), out=np.zeros(4))

    def test_a_result_that_is_an_argument(self) -> None:
        fused, u = gb.fused(lambda u: (u, u[1:], u + 1)), np.arange(3.0)
        for _ in range(2):
            one, part, _ = fused(u)
            assert one is u and np.shares_memory(part, u)


class TestRefused:
    @pytest.mark.parametrize("call", [
        lambda u: u.__setitem__(0, 1.0),
        lambda u: u.__iadd__(1),
        lambda u: np.add(u, 1, out=u),
        lambda u: u[1:].__imul__(2),
        lambda u: np.copyto(u, 1),
        lambda u: u.fill(0),
        lambda u: np.add.at(u, [0], 1),
    ])  # fmt: skip
    def test_writing_into_arguments(self, call: Any) -> None:
        u = np.arange(3.0)
        with pytest.raises(TypeError, match=r"fused: .*out="):
            gb.fused(call)(u)
        assert u.tolist() == [0, 1, 2]

    def test_lists_and_dicts(self) -> None:
        for call in (lambda u: [u + 1], lambda u: {"a": u + 1}):
            with pytest.raises(TypeError, match=r"returns a (list|dict)"):
                gb.fused(call)(np.ones(3))

    def test_names_of_parameters(self) -> None:
        for function in (lambda u, out: u, lambda u, workers: u):
            with pytest.raises(TypeError, match=r"parameter '(out|workers)'"):
                gb.fused(function)
        with pytest.raises(TypeError, match="callable"):
            gb.fused(3)  # type: ignore[arg-type]

    def test_arrays_that_the_function_changes(self) -> None:
        held = np.ones(3)

        @gb.fused
        def step(u: Any) -> Any:
            found = u * held
            held[0] += 1
            return found

        with pytest.raises(TypeError, match="changes an array"):
            step(np.ones(3))

    def test_values_that_outlive_their_call(self) -> None:
        kept: list[Any] = []
        gb.fused(lambda u: kept.append(u + 1) or u * 2)(np.ones(3))
        with pytest.raises(RuntimeError, match="after its call"):
            kept[0] + 1


def test_in_place_on_intermediates() -> None:
    def step(u: Any, v: Any) -> Any:
        total = u * 2
        again = total
        total += v
        total /= 3.0
        return again, total

    fused = gb.fused(step)
    u, v = np.arange(6.0), np.arange(6.0) ** 2
    same(step(u, v), fused(u, v))
    same(step(u.astype("f4"), v), fused(u.astype("f4"), v))
    f, g = field(halo=(1, 0, 0)), field()
    same(step(f, g), fused(f, g))


def test_powers_of_arrays_have_the_bits_of_the_call() -> None:
    """NumPy squares by a product where the exponent 2 has stride 0, else by its power."""
    x = np.random.default_rng(2).random((400, 3)) * 9
    for exponent in (
        np.full(1, 2, "h"),
        np.full(3, 2.0),
        np.full((400, 1), 2),
        np.full(1, 2.0),
    ):
        got = gb.fused(lambda x, n: x**n + 1.0)(x, exponent)
        assert (got == x**exponent + 1.0).all()


@pytest.mark.parametrize("kind", ["F", "D"])
@pytest.mark.parametrize("operation", [operator.imul, operator.ipow])
def test_products_into_one_complex_element_have_the_bits_of_the_call(
    operation: Any, kind: str
) -> None:
    """NumPy rounds such a product otherwise than one into other memory."""

    def step(x: Any, y: Any) -> Any:
        z = x + 0
        return operation(z, 2 if operation is operator.ipow else y)

    fused = gb.fused(step)
    rng = np.random.default_rng(3)
    for n in [1] * 50 + [5]:
        x, y = ((rng.random(n) + 1j * rng.random(n)).astype(kind) for _ in range(2))
        assert fused(x, y).tobytes() == step(x, y).tobytes()


class TestErrors:
    def test_errstate(self) -> None:
        step = gb.fused(lambda a, b: np.sqrt(a / b - 1))
        a, b = np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, 1.0])
        for _ in range(2):
            with (
                np.errstate(divide="raise", invalid="ignore"),
                pytest.raises(FloatingPointError, match="divide"),
            ):
                step(a, b)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")
                step(a, b)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                step(a, b)
            texts = sorted(str(w.message) for w in told)
            assert texts == [
                "divide by zero encountered in divide",
                "invalid value encountered in sqrt",
            ]
            assert {w.filename for w in told} == {__file__}

    def test_errstate_within_holds_on_replay(self) -> None:
        @gb.fused
        def step(a: Any) -> Any:
            with np.errstate(divide="ignore"):
                b = 1 / a
            return np.log(a), b

        for _ in range(3):
            with pytest.warns(RuntimeWarning, match="in log") as told:
                step(np.zeros(2))
            assert len(told) == 1
            with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="in log"):
                step(np.zeros(2))

    def test_errstate_within_holds_where_operations_run_unfused(self) -> None:
        @gb.fused
        def step(a: Any, b: Any, n: int) -> Any:  # no program takes a number of Python as a bool
            none = np.logical_and(n, b)
            with np.errstate(divide="ignore"):
                c = a / none
            return np.log(c - c), a / none

        for _ in range(3):
            with np.errstate(invalid="ignore"), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                step(np.ones(3), np.ones(3), 0)
            assert [str(w.message) for w in told] == ["divide by zero encountered in divide"]

    def test_errstate_within_does_not_reach_operations_before_it(self) -> None:
        """Also where a call inside of the block needs their values, and no program takes them."""

        @gb.fused
        def step(a: Any, b: Any, n: int) -> Any:
            infinite = a / np.logical_and(n, b)
            with np.errstate(divide="raise"):
                return infinite, infinite.sum()

        for _ in range(3):
            with np.errstate(divide="ignore"):
                assert step(np.ones(3), np.ones(3), 0)[1] == np.inf

    def test_the_users_own(self) -> None:
        @gb.fused
        def step(u: Any) -> Any:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            step(np.ones(3))

    def test_shapes_that_do_not_broadcast(self) -> None:
        step = gb.fused(lambda a, b: (a + b) * 2)
        step(np.ones(4), np.ones(4))
        for _ in range(2):
            with pytest.raises(ValueError, match="broadcast"):
                step(np.ones(4), np.ones(5))


def test_explain() -> None:
    @gb.fused
    def step(u: Any, k: Any) -> Any:
        lap = u[2:] + u[:-2]
        return u[1:-1] - k * 2 * lap / lap.max()

    said = step.explain(field(), 0.5)
    assert (said.operations, said.barriers) == (4, 1)
    assert said.saved > 0
    text = str(said)
    for part in ("add", "subtract", "barrier  max", "tiles of", "test_fused.py:", "float64"):
        assert part in text


class TestBlocks:
    """Fields on several blocks of a grid go block by block."""

    def test_the_bits_and_out(self) -> None:
        gbd = pytest.importorskip("gridbuf.distributed")
        grid = gbd.grid((8, 6), blocks=(2, 1), halo=1)
        t, u, out = grid.ones(), grid.ones(), grid.zeros()
        t[...] = 2 * t + 1

        def step(a: Any, b: Any, k: Any, m: Any) -> Any:
            return np.where(a > b, a * (k * m) + b, b)[1:]

        fused = gb.fused(step)
        for k in (0.5, 2.0):
            want, got = step(t, u, k, 3.0), fused(t, u, k, 3.0)
            assert type(got) is type(want)
            for one, other in zip(want, got, strict=True):
                same(one, other)
        assert fused.traces() == 1
        added = gb.fused(lambda a, b: a * 2 + b)
        assert added(t, u, out=out, workers=1) is out
        assert all((block == 7.0).all() for block in out.domain)

    def test_what_blocks_refuse(self) -> None:
        gbd = pytest.importorskip("gridbuf.distributed")
        t = gbd.grid((8, 6), blocks=(2, 1), halo=1).ones()
        with pytest.raises(TypeError, match="max: along I"):
            gb.fused(lambda a: a / a.max())(t)
        with pytest.raises(ValueError, match="the grid cuts I"):
            gb.fused(lambda a, b: a + b)(t, gb.Field.ones((8, 8), dims="IJ"))


def test_arrays_of_the_functions_own_keep_their_memory() -> None:
    fused = gb.fused(lambda u: np.asarray(u * 2.0).reshape(-1))
    for u in (np.ones((30, 40)), field()):
        found = fused(u)
        base = found
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        assert isinstance(base, np.ndarray | gb.Field | memoryview)
        assert np.array_equal(found, (np.asarray(u) * 2.0).reshape(-1))


def test_complex_numbers_at_the_end_of_a_tile() -> None:
    for dtype in ("F", "D"):
        for n in (1, 257, 513):
            u = np.full(n, np.sign(np.complex128(1 + 1j)) / 2, dtype)
            for call in (lambda u: np.square(u + u), lambda u: (u + u) * u, lambda u: np.square(u)):
                fused, want = gb.fused(call), call(u)
                same(want, fused(u))
                own = u.copy()
                fused(own, out=own)
                same(want, own)


@pytest.mark.parametrize("predicate", [np.isfinite, np.signbit, np.isnan, np.logical_not])
@pytest.mark.parametrize("layout", ["every second", "backwards", "F", "dense"])
def test_predicates_into_any_out(predicate: Any, layout: str) -> None:
    """NumPy 2.5.5 itself writes wrong values into strided memory from 16 elements on."""
    u = np.linspace(-1, 1, 40 * 20).reshape(40, 20)
    fused = gb.fused(lambda u, k: predicate(u * k))
    for k in (1.0, 2.0, -3.0):
        out = np.zeros((80, 40), bool)[::2, ::2]
        if layout == "backwards":
            out = np.zeros((40, 20), bool)[::-1, ::-1]
        elif layout in ("F", "dense"):
            out = np.zeros((40, 20), bool, order="F" if layout == "F" else "C")
        assert fused(u, k, out=out) is out
        assert np.array_equal(out, predicate(u * k))
