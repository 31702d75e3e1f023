"""Gufuncs adopted from NumPy, called in every way: masks, overlaps, casts, strides, byte orders,
keywords, workers, reductions.
"""

import math
import random
from typing import Any

import numpy as np
from views import alone, array, draw_shape, draw_view, meaning, place, values

from gridbuf import gufunc

BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "hypot", "equal",
"less", "greater_equal",
          "not_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
          "bitwise_xor", "left_shift",
          "right_shift", "copysign", "gcd", "lcm", "arctan2", "floor_divide", "remainder", "power",
          "float_power", "nextafter", "ldexp"]  # fmt: skip
UNARY = ["negative", "absolute", "sqrt", "square", "exp", "sin", "rint", "sign", "invert",
"logical_not", "conjugate", "reciprocal",
         "isfinite", "isnan", "signbit", "floor", "positive", "spacing", "cbrt"]  # fmt: skip
TWO = ["divmod", "modf", "frexp"]
CORE = ["matmul", "vecdot", "matvec", "vecmat"]
ROUNDED = ["exp", "sin", "cbrt", "arctan2", "hypot", "power", "float_power", *CORE, "multiply",
"divide", "square", "reciprocal",
           "absolute", "sqrt"]  # fmt: skip
FLAGGED = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "sqrt",
    "square",
    "exp",
    "reciprocal",
    "power",
    "hypot",
]
STEEP = ["power", "left_shift", "right_shift", "lcm", "multiply", "float_power", "ldexp"]
REDUCE = [
    "add",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "logical_and",
    "logical_or",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "hypot",
    "gcd",
    "subtract",
    "logaddexp",
]
TYPES = list("?bBhHiIqQefdgFDG")
SWAPPED = [">h", ">i", ">q", ">f", ">d", ">D"]
adopted: dict[str, Any] = {}


def of(name: str) -> Any:
    if name not in adopted and hasattr(np, name):
        adopted[name] = gufunc.from_ufunc(getattr(np, name))
    return adopted.get(name)


def draw_shapes(
    rng: random.Random, name: str
) -> tuple[list[list[int]], list[int], list[list[int]]]:
    """Shapes of inputs, of the loop and of outputs."""
    loop = draw_shape(rng, 3, 600 if name in CORE else 4000)
    if rng.random() < 0.1 and name not in CORE:
        loop = [rng.choice([5000, 20000, 70000])]  # several chunks
    nin = 1 if name in [*UNARY, "modf", "frexp"] else 2
    cores: list[list[int]] = [[] for _ in range(nin)]
    out: list[int] = []
    if name in CORE:
        m, n, k = (rng.choice([0, 1, 2, 3, 4, 5, 8]) for _ in range(3))
        cores = {
            "matmul": [[m, n], [n, k]],
            "vecdot": [[n], [n]],
            "matvec": [[m, n], [n]],
            "vecmat": [[n], [n, m]],
        }[name]
        out = {"matmul": [m, k], "vecdot": [], "matvec": [m], "vecmat": [m]}[name]
    inputs = []
    whole = rng.randrange(nin)
    for i in range(nin):
        own = list(loop)
        if i != whole and nin > 1:
            own = [1 if rng.random() < 0.15 else n for n in own][
                rng.choice([0, 0, 0, min(1, len(own))]) :
            ]
        inputs.append(own + cores[i])
    return inputs, loop, [loop + out for _ in range(2 if name in TWO else 1)]


def draw(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.3:
        return draw_reduce(rng)
    name = rng.choice(rng.choice([BINARY, BINARY, UNARY, TWO, CORE]))
    inputs, loop, outputs = draw_shapes(rng, name)
    first = rng.choice(TYPES + SWAPPED)
    wild = name not in CORE and rng.random() < 0.3
    if name in ("power", "float_power") and inputs[1] != inputs[0]:
        wild = (
            False  # NumPy takes powers to one exponent by other functions, whose infinities differ
        )
    types = [first if rng.random() < 0.7 else rng.choice(TYPES + SWAPPED) for _ in inputs]
    if name == "ldexp":
        types = [rng.choice("efdg"), "i"]
    case: dict[str, Any] = {
        "ufunc": name,
        "data": rng.randrange(1 << 30),
        "wild": wild,
        "workers": rng.choice([None, 1, 2, 3]),
    }
    views = [
        draw_view(rng, shape, type_, False) for shape, type_ in zip(inputs, types, strict=True)
    ]
    case["out"] = rng.choice(["none", "none", "give", "give", "overlap"])
    found = result_types(name, types)
    if found is None:
        case["out"] = "none"
    outs = []
    if case["out"] != "none":
        for type_, shape in zip(found or [], outputs, strict=True):
            outs.append(draw_view(rng, shape, type_, True))
    # NumPy up to 2.5: isfinite, isnan and signbit write wrong results into outputs that are not
    # contiguous, and adopted loops are the same code.
    flags = name in ("isfinite", "isnan", "isinf", "signbit")
    # NumPy up to 2.5.5: vecmat of complex numbers writes its results side by side, whatever the
    # output's strides: beyond its end.
    if flags or (name == "vecmat" and outs and outs[0]["dtype"] in ("c8", "c16", "G")):
        case["out"], outs = "none", []
    if case["out"] == "overlap" and (len(outs) > 1 or any(outs[0]["dtype"] != t for t in types)):
        case["out"] = "give"
    if case["out"] == "overlap":
        case["nbytes"] = max(place(rng, views, False), place(rng, outs, False))
        if rng.random() < 0.5 and views[0]["shape"] == outs[0]["shape"]:
            outs[0] = dict(views[0]) if rng.random() < 0.7 and alone(views[0]) else outs[0]
        case["nbytes"] = max(case["nbytes"], *(v["offset"] + v["nbytes"] for v in views + outs))
    else:
        case["nbytes"] = place(rng, views + outs, True)
    case["inputs"], case["outputs"] = views, outs
    if rng.random() < 0.3 and name not in CORE:  # NumPy's gufuncs take no mask
        case["where"] = rng.choice([loop, loop, loop[1:], [1] * len(loop)])
    if rng.random() < 0.1:
        case["casting"] = rng.choice(["safe", "same_kind", "unsafe"])
    if rng.random() < 0.1:
        case["dtype"] = rng.choice("fdgD")
    if rng.random() < 0.1:
        case["kind"] = "field"
    elif rng.random() < 0.1 and len(types) == 2 and name not in CORE:
        case["number"] = rng.choice([0, 1, 2, 3, 1.5])
    return case


def draw_reduce(rng: random.Random) -> dict[str, Any]:
    type_ = rng.choice(TYPES + SWAPPED)
    shape = draw_shape(rng, 3)
    if rng.random() < 0.2:
        shape = [rng.choice([5000, 32768, 40000, 100000])]
    elif rng.random() < 0.1:
        shape = rng.choice([[3, 33000], [300, 40], [2, 500, 9]])
    view = draw_view(rng, shape, type_, False)
    case: dict[str, Any] = {
        "reduce": rng.choice(REDUCE), "view": view, "nbytes": place(rng, [view], True),
        "data": rng.randrange(1 << 30),
        "workers": rng.choice([None, 1, 2]),
        "axis": None if rng.random() < 0.4 or not shape else rng.randrange(-len(shape), len(shape)),
    }  # fmt: skip
    if len(shape) > 1 and rng.random() < 0.2:
        case["axis"] = rng.sample(range(len(shape)), 2)
    for name, chance, value in [
        ("keepdims", 0.3, True), ("initial", 0.25, rng.choice([0, 1, 2, 7])),
        ("where", 0.25, rng.choice(["all", "none", "some"])),
        ("dtype", 0.15, rng.choice("iqfdgDG")), ("ordered", 0.1, True), ("out", 0.15, True),
    ]:  # fmt: skip
        if rng.random() < chance:
            case[name] = value
    return case


def result_types(name: str, types: list[str]) -> list[str] | None:
    try:
        ufunc = getattr(np, name)
        found = ufunc.resolve_dtypes(
            (*[np.dtype(t).newbyteorder("=") for t in types], *[None] * ufunc.nout)
        )
    except (TypeError, AttributeError):  # there is none; or an older NumPy
        return None
    return [d.str.lstrip("<|=") if d.char not in "gG" else d.char for d in found[len(types) :]]


def loop_eps(ufunc: Any, inputs: list[Any], keywords: dict[str, Any]) -> float:
    """How fine the type is in which a loop computes, whatever `out` is; 0 where that cannot be
    asked.
    """
    asked = {key: value for key, value in keywords.items() if key != "where"}
    try:
        results = ufunc(
            *(np.ones(1, a.dtype) if isinstance(a, np.ndarray) else a for a in inputs), **asked
        )
    except (TypeError, ValueError):
        return 0.0
    first = np.asarray(results[0] if isinstance(results, tuple) else results)
    return float(np.finfo(first.dtype).eps) if first.dtype.kind in "fc" else 0.0


def close(got: Any, wanted: Any, exact: bool, eps: float = 0.0) -> bool:
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return False
    if got.dtype.kind not in "fc" or exact:
        return bool(np.array_equal(got, wanted, equal_nan=got.dtype.kind in "fc"))
    with np.errstate(all="ignore"):
        digits = max(np.finfo(got.dtype).eps, eps) * 64
        return bool(np.allclose(got, wanted, rtol=max(digits, 1e-15), atol=digits, equal_nan=True))


def raised(function: Any) -> tuple[Any, bool]:
    try:
        with np.errstate(all="ignore"):
            return function(), False
    except (TypeError, ValueError, OverflowError):
        return None, True


def operand(rng: np.random.Generator, name: str, a: Any, wild: bool) -> Any:
    """Values whose results every type holds."""
    found = values(rng, a.dtype, a.shape, wild and a.dtype.kind == "f")
    return found % (6 if name in STEEP else 100) if a.dtype.kind in "iu" else found


def touched(case: dict[str, Any], memory: Any, expected: Any) -> bool:
    """Whether anything beside the outputs was written; bytes of long doubles that mean nothing do
    not count.
    """
    if np.array_equal(memory, expected):
        return False
    views = case["outputs"]
    return not any(v["dtype"] in "gG" for v in views) or (
        len(views) == 1 and meaning(memory, views[0]) != meaning(expected, views[0])
    )


def check(case: dict[str, Any]) -> None:
    if "reduce" in case:
        check_reduce(case)
        return
    name = case["ufunc"]
    g, ufunc = of(name), getattr(np, name, None)
    if g is None:  # an older NumPy
        return
    rng = np.random.default_rng(case["data"])
    memory = np.zeros(case["nbytes"], np.uint8)
    for view in case["inputs"]:
        a = array(memory, view)
        a[...] = operand(rng, name, a, case["wild"])
    keywords: dict[str, Any] = {key: case[key] for key in ("casting", "dtype") if key in case}
    mask = None
    if "where" in case:
        mask = np.array(rng.random(tuple(case["where"])) < 0.6)
        keywords["where"] = mask
    expected = memory.copy()
    inputs, plain = ([array(m, v) for v in case["inputs"]] for m in (memory, expected))
    plain = [a.copy() for a in plain]
    if "number" in case:
        inputs[1] = plain[1] = case["number"]
    outs, wanted_outs = ([array(m, v) for v in case["outputs"]] for m in (memory, expected))
    if case.get("kind") == "field":
        from gridbuf import Field

        inputs = [Field(a) if isinstance(a, np.ndarray) and a.ndim < 6 else a for a in inputs]
        if len({getattr(a, "ndim", 0) for a in inputs}) > 1 or name in CORE:
            inputs = [np.asarray(a) for a in inputs]
    wanted, refused = raised(
        lambda: ufunc(*plain, **keywords, **({"out": tuple(wanted_outs)} if outs else {}))
    )
    got, did = raised(
        lambda: g(
            *inputs,
            **keywords,
            errors="ignore",
            workers=case["workers"],
            **({"out": tuple(outs)} if outs else {}),
        )
    )
    assert did == refused, (
        f"{'refused' if did else 'done'}, which NumPy {'refuses' if refused else 'does'}"
    )
    if refused:
        return
    first = np.asarray(wanted[0] if isinstance(wanted, tuple) else wanted)
    exact = name not in ROUNDED or first.dtype.kind in "iub"
    if outs:
        eps = loop_eps(ufunc, plain, keywords)
        for mine, other in zip(outs, wanted_outs, strict=True):
            assert close(mine, other, exact, eps), f"{mine} instead of {other}"
            mine[...] = other
        assert case["out"] != "give" or not touched(case, memory, expected), (
            "written beside the output"
        )
        return
    if name in FLAGGED and not keywords and "number" not in case:
        check_flags(g, inputs, first, case["workers"])
    if mask is not None:  # what is not selected has no value
        return
    for mine, other in zip(
        *(r if isinstance(r, tuple) else (r,) for r in (got, wanted)), strict=True
    ):
        assert close(mine, other, exact), f"{mine} instead of {other}"


def check_flags(g: Any, inputs: list[Any], result: Any, workers: int | None) -> None:
    """An element fails where finite numbers give none, in whatever way its loop says so; and only
    there.
    """
    arrays = [np.asarray(a) for a in inputs]
    if any(a.dtype != result.dtype or a.dtype.kind != "f" for a in arrays) or not result.size:
        return
    _, info = g(*arrays, errors="return", workers=workers)
    sound = (
        np.logical_and.reduce(np.broadcast_arrays(*[np.isfinite(a) for a in arrays]))
        if len(arrays) > 1
        else np.isfinite(arrays[0])
    )
    finite = np.array([np.isfinite(x) for x in result.flat], bool).reshape(result.shape)
    failed = np.broadcast_to(info.failed, result.shape)
    assert failed[sound & ~finite].all(), (
        f"{[a[sound & ~finite & ~failed][:3] for a in np.broadcast_arrays(*arrays)]} did not fail"
    )
    assert not failed[sound & finite].any(), (
        f"{[a[sound & finite & failed][:3] for a in np.broadcast_arrays(*arrays)]} failed"
    )


def check_reduce(case: dict[str, Any]) -> None:
    name = case["reduce"]
    g, ufunc = of(name), getattr(np, name)
    rng = np.random.default_rng(case["data"])
    memory = np.zeros(case["nbytes"], np.uint8)
    a = array(memory, case["view"])
    a[...] = (
        values(rng, a.dtype, a.shape) % 3
        if a.dtype.kind in "iuf"
        else values(rng, a.dtype, a.shape)
    )
    if name == "multiply" and a.dtype.kind in "fc":
        a[...] = 1 + np.asarray(rng.integers(0, 2, a.shape)) / 1024
    axis = tuple(case["axis"]) if isinstance(case["axis"], list) else case["axis"]
    keywords: dict[str, Any] = {
        "axis": axis,
        **{key: case[key] for key in ("keepdims", "initial", "dtype") if key in case},
    }
    if "where" in case:
        keywords["where"] = {
            "all": np.ones(a.shape, bool),
            "none": np.zeros(a.shape, bool),
            "some": rng.random(a.shape) < 0.5,
        }[case["where"]]
    plain = np.ascontiguousarray(a).astype(a.dtype.newbyteorder("=")).reshape(a.shape)
    wanted, refused = raised(
        lambda: (
            in_order(ufunc, plain, **keywords)
            if "ordered" in case
            else ufunc.reduce(plain, **keywords)
        )
    )
    if (
        not refused
        and np.asarray(wanted).dtype == "e"
        and name in ("add", "multiply", "hypot", "logaddexp", "subtract")
    ):
        return  # half precision in another order is another number
    if (
        not refused
        and name == "multiply"
        and a.dtype.kind in "iu"
        and np.asarray(wanted).dtype.kind in "fc"
        and "initial" in case
    ):
        return  # in another order 0 meets what has overflowed
    more = {"ordered": True} if "ordered" in case else {}
    out = None
    if "out" in case and not refused:
        out = np.zeros(np.shape(wanted), np.asarray(wanted).dtype)
        more["out"] = out
    got, did = raised(
        lambda: g.reduce(a, **keywords, **more, errors="ignore", workers=case["workers"])
    )
    if did and not refused and name in ("equal",):
        return
    assert did == refused, (
        f"{'refused' if did else 'done'}, which NumPy {'refuses' if refused else 'does'}"
    )
    if not refused:
        exact = np.asarray(wanted).dtype.kind in "iub" or name in ("maximum", "minimum", "fmax")
        for each in (got,) if out is None else (got, out):
            assert reduced(each, wanted, exact), f"{each!r} instead of {wanted!r}"


def in_order(
    ufunc: Any, a: Any, axis: Any, where: Any = True, keepdims: bool = False, **keywords: Any
) -> Any:
    """The axes that go as one, the last, in the order given: for operations that NumPy folds along
    one axis only.
    """
    gone = [
        d % a.ndim
        for d in (range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else [axis])
    ]
    stay = [d for d in range(a.ndim) if d not in gone]
    if not gone:
        return ufunc.reduce(a, axis=axis, where=where, keepdims=keepdims, **keywords)
    flat = lambda b: b.transpose(*stay, *gone).reshape(  # noqa: E731
        [a.shape[d] for d in stay] + [math.prod(a.shape[d] for d in gone)]
    )
    found = ufunc.reduce(flat(a), axis=-1, where=True if where is True else flat(where), **keywords)
    return (
        found.reshape([1 if d in gone else n for d, n in enumerate(a.shape)]) if keepdims else found
    )


def reduced(got: Any, wanted: Any, exact: bool) -> bool:
    if exact:
        return close(got, wanted, True)
    got, wanted = np.asarray(got), np.asarray(wanted)
    eps = float(np.finfo(wanted.dtype).eps)
    with np.errstate(all="ignore"):
        return (
            got.dtype == wanted.dtype
            and got.shape == wanted.shape
            and bool(
                np.allclose(
                    got,
                    wanted,
                    rtol=max(eps * 5000, 1e-15),
                    atol=1e-3 if eps > 1e-8 else 1e-9,
                    equal_nan=True,
                )
            )
        )
