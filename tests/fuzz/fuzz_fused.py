"""Fused expressions against the unfused call: random functions of arrays, Fields, storages and
numbers, called again with other values, other sizes, and into given memory that may be the inputs'.
"""

import contextlib
import math
import operator
import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from views import array, draw_view, place

import gridbuf as gb
from gridbuf.fusing.calls import Fused

# fmax: of 0.0 and -0.0 it gives the one or the other, by how the operands lie.
BINARY = ["add", "subtract", "multiply", "true_divide", "maximum", "minimum", "equal",
          "less", "greater_equal", "not_equal", "logical_and", "logical_or", "copysign",
          "floor_divide", "remainder", "hypot", "bitwise_and", "bitwise_xor", "left_shift",
          "power"]  # fmt: skip
OPERATORS = ["add", "sub", "mul", "truediv", "lt", "ge", "eq", "pow", "floordiv", "mod", "and_"]
INTO = ["add", "sub", "mul", "mul", "truediv", "pow", "floordiv", "mod", "and", "or", "xor",
        "lshift", "rshift"]  # fmt: skip
UNARY = ["negative", "absolute", "square", "sqrt", "rint", "sign", "floor", "conjugate", "positive",
         "reciprocal", "logical_not", "isnan", "isfinite", "signbit", "invert",
         "trunc"]  # fmt: skip
SLICES = [
    [None, None, None],
    [1, None, None],
    [None, -1, None],
    [1, -1, None],
    [None, None, -1],
    [None, None, 2],
    [2, None, None],
]
SMOOTH = ["exp", "log", "sin", "tanh"]
TYPES = ["d", "d", "d", "f", "f", "i", "q", "B", "h", "?", "e", "F", "D", "Q"]
ODD = [">d", "g", ">f", "O"]
KINDS = ["divide", "over", "under", "invalid"]
HALVES = {"exp", "log", "sin", "tanh", "sqrt", "hypot", "power", "reciprocal"}


# --- drawing


def draw_sizes(rng: random.Random) -> dict[str, int]:
    sizes = {n: rng.choice([1, 2, 3, 4, 5, 7, 8, 13, 33]) for n in "IJK"}
    if rng.random() < 0.1:
        sizes[rng.choice("IJK")] = rng.choice([0, 150, 600])
    if rng.random() < 0.02:
        sizes = {"I": 70, "J": 60, "K": 40}  # several chunks
    return sizes


def draw_memory(rng: random.Random, world: str, types: list[str]) -> dict[str, Any]:
    kind = world if world != "mixed" else rng.choice(["array", "field", "storage", "bare"])
    dims = rng.choice(["IJK", "IJK", "IJK", "IJ", "K", "JK", "I"])
    if kind == "field" and rng.random() < 0.2:
        dims = "".join(rng.sample(dims, len(dims)))
    if world in ("array", "mixed") and kind in ("array", "bare"):
        dims = rng.choice(["IJK", "IJK", "JK", "K"]) if world == "array" else "IJK"
    arg: dict[str, Any] = {"kind": kind, "dims": dims, "dtype": rng.choice(types)}
    arg["ones"] = [n for n in dims if rng.random() < 0.06]
    if kind in ("field", "storage"):
        arg["halo"] = [rng.choice([0, 0, 1]) for _ in dims]
        arg["backend"] = rng.choice(["C", "F", "gt:cpu_ifirst", "gt:cpu_kfirst"])
        arg["over"] = kind == "field" and rng.random() < 0.15
    if kind == "array" and rng.random() < 0.04:
        arg["dtype"] = rng.choice(ODD)
    return arg


def draw(rng: random.Random) -> dict[str, Any]:
    world = rng.choice(["array", "field", "field", "storage", "mixed", "bare"])
    types = TYPES if rng.random() < 0.3 else [rng.choice(["d", "d", "f", rng.choice(TYPES)])]
    args = [draw_memory(rng, world, types) for _ in range(rng.choice([1, 1, 2, 2, 3, 4]))]
    for _ in range(rng.choice([0, 0, 1, 2])):
        kind = rng.choice(["int", "float", "float", "complex", "f4", "f8", "i2"])
        args.append({"kind": "number", "type": kind, "value": rng.choice([0, 1, 2, -1, 3.5, 0.1])})
    rng.shuffle(args)
    case: dict[str, Any] = {"args": args, "data": rng.randrange(1 << 30), "sizes": draw_sizes(rng)}
    case["nice"] = rng.random() < 0.6
    steps: list[Any] = []
    for _ in range(rng.choice([1, 2, 3, 4, 5, 6, 8, 12, 25])):
        steps.append(draw_step(rng, len(args) + len(steps), args))
    case["steps"] = steps
    case["results"] = rng.choice([1, 1, 1, 1, 2, 3])
    case["calls"] = rng.choice([["again"], ["again", "sizes"], ["sizes", "again", "first"]])
    case["workers"] = rng.choice([None, 1, 2, 3])
    if rng.random() < 0.4:
        case["errstate"] = {k: rng.choice(["warn", "ignore", "raise", "warn"]) for k in KINDS}
    if rng.random() < 0.35:
        case["out"] = rng.choice(["same", "same", "dtype", "array", "strided", "field", "shape",
                                  "input", "shifted", "readonly", "none"])  # fmt: skip
    if rng.random() < 0.15:
        case["held"] = draw_memory(rng, world, types)
    if rng.random() < 0.25:
        case["keywords"] = rng.randint(1, len(args))  # so many of the last arguments by name
    return case


def draw_step(rng: random.Random, n: int, args: list[Any]) -> list[Any]:
    def value() -> int:
        return rng.randrange(n) if rng.random() < 0.5 else max(n - 1 - rng.randrange(3), 0)

    def operand() -> Any:
        return (
            value() if rng.random() < 0.8 else [rng.choice([0, 1, 2, -1, 0.5, 3, 1e3, 300, -2.5])]
        )

    kind = rng.choices(
        ["binary", "operator", "unary", "smooth", "where", "clip", "astype", "slice", "turn", "in",
         "barrier", "leak", "state", "copy", "two", "held"],
        [20, 24, 12, 3, 5, 3, 4, 10, 4, 4, 4, 1, 2, 2, 1, 3],
    )[0]  # fmt: skip
    if kind in ("binary", "operator", "state"):
        names = OPERATORS if kind == "operator" else BINARY
        left, right = (operand(), value()) if rng.random() < 0.5 else (value(), operand())
        return [
            kind,
            rng.choice(names),
            left,
            right,
            rng.choice(KINDS),
            rng.choice(["ignore", "raise"]),
        ]
    if kind == "where":
        return [kind, value(), operand(), operand()]
    if kind == "clip":
        return [kind, value(), operand(), operand()]
    if kind == "slice":
        return [kind, value(), [rng.choice(SLICES) for _ in range(3)]]
    if kind in ("unary", "smooth"):
        return [kind, rng.choice(UNARY if kind == "unary" else SMOOTH), value()]
    if kind == "astype":
        return [kind, value(), rng.choice(TYPES)]
    if kind == "turn":
        return [kind, rng.choice(["T", "domain", "transpose"]), value()]
    if kind == "in":
        return [kind, rng.choice(INTO), value(), operand()]
    if kind == "barrier":
        return [kind, rng.choice(["sum", "mean", "max", "whole", "cumsum", "reshape"]), value()]
    if kind == "two":
        return [kind, rng.choice(["divmod", "modf"]), value(), operand()]
    return [kind, value(), value()]


# --- building


def built(case: dict[str, Any], sizes: dict[str, int], data: int) -> list[Any]:
    rng = random.Random(data)
    return [memory(arg, sizes, rng, case["nice"]) for arg in case["args"]]


# Values to cut from: a generator for each argument would take a third of the fuzzer's time.
DRAWN = np.random.default_rng(0)
NICE = DRAWN.random(1 << 16) * 3 + 1
COARSE = DRAWN.integers(-4, 5, 1 << 16) + DRAWN.integers(0, 4, 1 << 16) / 4


def contents(shape: list[int], dtype: Any, rng: random.Random, nice: bool) -> Any:
    n = math.prod(shape)
    cut = (NICE if nice else COARSE)[rng.randrange(1 << 15) :]
    plain = cut[:n].copy() if n <= len(cut) else np.resize(cut, n)
    dtype = np.dtype(dtype)
    if dtype.kind in "fc" and not nice and n:
        odd = rng.choice([np.inf, np.nan, -0.0, 0.0, 1e300])
        plain[rng.randrange(8) :: rng.choice([3, 5, 7, 8, 11, 19])] = odd
    if dtype.kind in "u?":
        plain = np.abs(plain)
    with np.errstate(all="ignore"):
        return plain.astype(dtype).reshape(shape)


def memory(arg: dict[str, Any], sizes: dict[str, int], rng: random.Random, nice: bool) -> Any:
    if arg["kind"] == "number":
        value = arg["value"]
        types: Any = {"int": lambda v: int(v), "float": float, "complex": lambda v: complex(v, 1)}
        return (
            types[arg["type"]](value) if arg["type"] in types else np.dtype(arg["type"]).type(value)
        )
    dims = arg["dims"]
    shape = [1 if n in arg["ones"] else sizes[n] for n in dims]
    values = contents(shape, arg["dtype"], rng, nice)
    if arg["kind"] == "array":
        # Elements of "g" have padding of any contents: they may not overlap.
        apart = arg["dtype"] == "g"
        view = draw_view(rng, shape, "d" if arg["dtype"] == "O" else arg["dtype"], apart)
        if arg["dtype"] == "O":
            return values
        room = np.zeros(place(rng, [view], True) + 16, np.uint8)
        found = array(room, view)
        found[...] = values
        return found
    if arg["kind"] == "bare":
        return np.asfortranarray(values) if rng.random() < 0.3 else values.copy()
    halo = [min(h, n // 2) if n > 2 else 0 for h, n in zip(arg["halo"], shape, strict=True)]
    if arg["kind"] == "storage":
        made = gb.storage.empty(shape, values.dtype, axes="".join(sorted(dims)), halo=halo)
        made[...] = values
        return made
    if arg["over"]:
        return gb.Field(np.asfortranarray(values), dims=dims, halo=halo)
    field = gb.Field.empty(shape, values.dtype, dims=dims, halo=halo, backend=arg["backend"])
    field.numpy()[...] = values
    return field


# --- the function


def function_of(case: dict[str, Any], held: Any) -> Callable[..., Any]:
    steps = needed(case)

    def function(*args: Any) -> Any:
        values: list[Any] = list(args)
        for step in steps:
            values.append(None if step is None else applied(step, values, held))
        found: list[Any] = []
        for i in chosen(case):
            found.extend(values[i] if type(values[i]) is tuple else [values[i]])
        return found[0] if len(found) == 1 else tuple(found)

    return function


def chosen(case: dict[str, Any]) -> list[int]:
    n = len(case["args"]) + len(case["steps"])
    return list(range(n - 1, max(n - 1 - case["results"], len(case["args"]) - 1), -1))


def needed(case: dict[str, Any]) -> list[Any]:
    """The steps that the results need: others may warn or not."""
    first = len(case["args"])
    wanted = set(chosen(case))
    kept: list[Any] = []
    for at in range(first + len(case["steps"]) - 1, first - 1, -1):
        step = case["steps"][at - first]
        kept.append(step if at in wanted else None)
        if at in wanted:
            used = (
                step[2:3]
                if step[1] == "modf"
                else step[1:2]
                if step[0] in ("copy", "held", "leak", "astype", "slice")
                else step[1:]
            )
            wanted |= {part for part in used if type(part) is int}
    return kept[::-1]


def applied(step: list[Any], values: list[Any], held: Any) -> Any:
    def at(part: Any) -> Any:
        found = part[0] if type(part) is list else values[part]
        return found[0] if type(found) is tuple else found

    kind = step[0]
    if kind == "binary":
        return getattr(np, step[1])(at(step[2]), at(step[3]))
    if kind == "state":
        with np.errstate(**{step[4]: step[5]}):
            return getattr(np, step[1])(at(step[2]), at(step[3]))
    if kind == "operator":
        made = getattr(operator, step[1])(at(step[2]), at(step[3]))
        # A bool is the function's own: arithmetic with it warns while the function is traced
        return at(step[2]) if type(made) is bool else made
    if kind in ("unary", "smooth"):
        one = at(step[2])
        # NumPy 2.5.5's bits of one complex number's square depend on where it lies.
        of_one = step[1] == "square" and isinstance(one, complex | np.complexfloating)
        return one if of_one else getattr(np, step[1])(one)
    if kind == "where":
        return np.where(at(step[1]), at(step[2]), at(step[3]))
    if kind == "clip":
        # Of 0.0 and -0.0 NumPy's loop gives the one or the other, by how bounds of memory lie.
        zero = 0 if int in map(type, step[2:4]) else None
        return np.clip(*(at(p) if zero is None else at(p) + zero for p in step[1:4]))
    if kind == "astype":
        return at(step[1]).astype(step[2])
    if kind == "copy":
        return at(step[1]).copy()
    if kind == "slice":
        one = at(step[1])
        return one[tuple(slice(*part) for part in step[2][: one.ndim])]
    if kind == "turn":
        one = at(step[2])
        return one.transpose() if step[1] == "transpose" else getattr(one, step[1])
    if kind == "in":
        one = at(step[2]) + 0
        return getattr(operator, f"i{step[1]}")(one, at(step[3]))
    if kind == "barrier":
        return barrier(step[1], at(step[2]))
    if kind == "two":
        return divmod(at(step[2]), at(step[3])) if step[1] == "divmod" else np.modf(at(step[2]))
    if kind == "held":
        return at(step[1]) * (2 if held is None else held)
    one = at(step[1])  # leak
    return one * (2.0 if bool(np.any(one > 1)) else 3.0)


def barrier(name: str, one: Any) -> Any:
    if name == "whole":
        return one - one.sum()
    if name == "cumsum":
        return np.cumsum(one, axis=0)
    if name == "reshape":
        return np.asarray(one).reshape(-1)[:999]  # with others it may be any size
    return getattr(one, name)(axis=-1) if one.ndim else one


# --- comparing


def outcome(call: Callable[[], Any], errstate: dict[str, Any] | None) -> Any:
    with warnings.catch_warnings(record=True) as told, np.errstate(**(errstate or {})):
        warnings.simplefilter("always")
        try:
            result = call()
        except (Exception, RecursionError) as error:
            return error, None
    return result, {
        str(w.message).partition(" encountered")[0] for w in told if w.category is RuntimeWarning
    }


def bits(one: Any) -> bytes:
    """The bytes of values, with one NaN for all: its sign and payload are not defined."""
    plain = np.array(one, order="C")
    if plain.dtype.kind in "fc":
        parts = plain.reshape(-1).view(plain.real.dtype)
        parts[np.isnan(parts)] = np.nan
        if plain.real.dtype.char == "g":
            return str(parts.tolist()).encode()
    return plain.tobytes() if plain.dtype != object else repr(plain.tolist()).encode()


def meta(one: Any) -> Any:
    if not hasattr(one, "strides"):
        return type(one)
    strides = (
        tuple(s if n > 1 else None for s, n in zip(one.strides, one.shape, strict=True))
        if one.size
        else None
    )
    own = (type(one), one.dtype, one.shape, strides)
    if isinstance(one, gb.Field):
        return (*own, one.dims, getattr(one, "__gt_dims__", None), one.halo, one.origin)
    return (*own, one.axes, one.halo) if hasattr(one, "axes") else own


def compare(want: Any, got: Any, what: str) -> None:
    if type(want) is tuple:
        assert type(got) is tuple and len(got) == len(want), f"{what}: {type(got)}"
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            compare(a, b, f"{what}[{i}]")
        return
    assert meta(want) == meta(got), f"{what}: unfused {meta(want)}\n fused {meta(got)}"
    assert bits(want) == bits(got), f"{what}: unfused\n{np.asarray(want)}\nfused\n{np.asarray(got)}"


def given_out(kind: str, like: Any, args: list[Any], rng: random.Random) -> Any:
    if type(like) is tuple:
        return tuple(given_out(kind if i else "same", one, args, rng) for i, one in enumerate(like))
    if kind == "none" or not hasattr(like, "strides") or not getattr(like, "ndim", 0):
        return None
    arrays = [a for a in args if hasattr(a, "strides") and a.ndim]
    if kind == "input" and arrays:
        return rng.choice(arrays)
    if kind == "shifted" and arrays:
        one = rng.choice(arrays)
        return one[1:] if like.shape != one.shape else one[::-1]
    if kind == "readonly":
        made = np.zeros(like.shape, like.dtype)
        made.flags.writeable = False
        return made
    if kind == "shape":
        return np.zeros((3, *like.shape), like.dtype)
    if kind == "strided":
        return np.zeros([2 * n for n in like.shape], like.dtype)[
            tuple(slice(None, None, 2) for _ in like.shape)
        ]
    if kind == "dtype":
        return np.zeros(like.shape, rng.choice("fdiqFD?"))
    if kind == "field" and isinstance(like, gb.Field):
        dims = like.dims if rng.random() < 0.5 else like.dims[::-1]
        shape = [like.shape[like.dims.index(n)] for n in dims]
        return gb.Field.zeros(shape, like.dtype, dims=dims, backend=rng.choice(["C", "F"]))
    made = like.copy() if kind == "same" else np.zeros(like.shape, like.dtype)
    return made


def put_off(error: Any) -> bool:
    """Errors of values: another one may come first, for the values are worked out later."""
    return isinstance(error, FloatingPointError) or "negative integer powers" in str(error)


def needs_no_fault(error: Exception, case: dict[str, Any]) -> bool:
    """What is refused by name: in place on what others may see."""
    return str(error).startswith("fused:") and any(s and s[0] == "in" for s in needed(case))


def check(case: dict[str, Any]) -> None:
    sizes, data = case["sizes"], case["data"]
    held = (case["held"], sizes, random.Random(data), case["nice"]) if "held" in case else None
    keep: Any = held and memory(*held)
    plain = named(function_of(case, keep))
    fused = Fused(plain)
    first = len(case["args"]) - case.get("keywords", 0)
    other = {n: max(s - 1, 1) if s < 3 else s + 2 for n, s in sizes.items()}
    for k, which in enumerate(["first", *case["calls"], "out" if "out" in case else "again"]):
        now = other if which == "sizes" else sizes
        seed = data + (k if which != "again" else 0)
        mine, yours = built(case, now, seed), built(case, now, seed)
        options: dict[str, Any] = {} if case["workers"] is None else {"workers": case["workers"]}
        outs: list[Any] = [None, None]
        want, told = outcome(partial(plain, *mine), case.get("errstate"))
        if which == "out" and not isinstance(want, Exception):
            outs = [given_out(case["out"], want, a, random.Random(seed)) for a in (mine, yours)]
            want, told = outcome(partial(assigned, outs[0], plain, mine), case.get("errstate"))
            options["out"] = outs[1]
        options |= {f"a{i}": value for i, value in enumerate(yours[first:])}
        got, said = outcome(partial(fused, *yours[:first], **options), case.get("errstate"))
        if isinstance(got, Exception) and needs_no_fault(got, case):
            return
        if isinstance(want, Exception) or isinstance(got, Exception):
            same = (
                type(want) is type(got)
                or put_off(want)
                or (which == "out" and isinstance(want, Exception) and isinstance(got, Exception))
            )
            if which == "out" and "two outputs share memory" in str(got):
                continue
            if not same and isinstance(got, Exception):
                raise AssertionError(f"{which}: unfused {str(want)[:300]}") from got
            assert same, f"{which}: unfused raises {want!r}"
            continue
        compare(want, got, which)
        if which == "out":
            for a, b in zip(mine, yours, strict=True):
                compare(a, b, "argument after out")
        elif not any(s and s[0] == "in" for s in case["steps"]):
            assert told == said, f"{which}: unfused warns {told}, fused {said}"


def named(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of as many arguments, of which any of the last may come by name."""
    return lambda *args, **more: function(*args, *more.values())


def assigned(out: Any, function: Any, args: list[Any]) -> Any:
    return into(out, function(*args))


def into(out: Any, result: Any) -> Any:
    if type(out) is tuple:
        if sum(o is not None for o in out) > 1:
            result = tuple(
                r.copy() if o is not None and hasattr(r, "strides") and r.ndim else r
                for o, r in zip(out, result, strict=True)
            )
        return tuple(into(o, r) for o, r in zip(out, result, strict=True))
    if out is None:
        return result
    with contextlib.suppress(AttributeError):
        if (
            isinstance(out, np.ndarray)
            and hasattr(result, "strides")
            and np.shares_memory(out, np.asarray(result))
        ):
            result = result.copy()
    out[...] = result
    return out
