"""Copies: any two views, apart or overlapping, of any two dtypes, by every door; NumPy's copy of a
copied source is right.
"""

import random
from typing import Any

import numpy as np
from views import (
    OTHER,
    PLAIN,
    STRUCTURED,
    SWAPPED,
    array,
    draw_shape,
    draw_view,
    dtype_of,
    meaning,
    place,
    values,
)

import gridbuf as gb

CASTINGS = ["no", "equiv", "safe", "same_kind", "unsafe"]
DOORS = ["copyto", "from field", "to field", "assign", "assign field", "part", "fill", "field fill"]


def draw_dtype(rng: random.Random) -> Any:
    return rng.choice(rng.choice([PLAIN, PLAIN, SWAPPED, OTHER, STRUCTURED]))


def may_overlap(to: Any, of: Any) -> bool:
    """Whether bytes of one are values of the other."""
    if to == of or (
        isinstance(to, str)
        and isinstance(of, str)
        and dtype_of(of).kind == "S"
        and dtype_of(to).kind in "SU"
    ):
        return True
    return (
        all(isinstance(d, str) and d in PLAIN + SWAPPED for d in (to, of))
        and dtype_of(of).kind in "iu"
        and dtype_of(to).kind != "b"
    )


def draw(rng: random.Random) -> dict[str, Any]:
    to = draw_dtype(rng)
    of = to if rng.random() < 0.5 else draw_dtype(rng)
    if of in ("g", "G") and str(to).startswith("V"):
        of = "d"  # bytes of a long double that mean nothing
    shape = draw_shape(rng)
    source = [1 if rng.random() < 0.1 else n for n in shape][
        rng.choice([0, 0, 0, 0, min(1, len(shape))]) :
    ]
    if rng.random() < 0.05:
        source = [1, *source]
    text = isinstance(of, str) and "U" in of  # code points that lie on one another may be none
    dst, src = draw_view(rng, shape, to, True), draw_view(rng, source, of, text)
    apart = rng.random() < 0.6 or not may_overlap(to, of)
    nbytes = place(rng, [dst, src], apart)
    if rng.random() < 0.3 and not apart and to == of and source == shape:
        src["strides"] = dst["strides"]  # neighbours: the usual overlap
        src["offset"] = dst["offset"] + rng.choice([-1, 1, 2]) * dtype_of(to).itemsize
        src["offset"] = max(
            src["offset"],
            sum(max(-s * (n - 1), 0) for s, n in zip(src["strides"], shape, strict=True) if n),
        )
        nbytes += 4 * dtype_of(to).itemsize + src["offset"]
    return {
        "door": rng.choice(DOORS), "casting": rng.choice(CASTINGS + ["unsafe"] * 5), "dst": dst,
        "src": src,
        "nbytes": nbytes, "data": rng.randrange(1 << 30), "wild": rng.random() < 0.3,
        "threads": rng.choice([1, 1, 2, 3]),
    }  # fmt: skip


def filled(case: dict[str, Any]) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(case["data"])
    memory = rng.integers(0, 2, case["nbytes"], np.uint8)
    dst, src = (array(memory, case[which]) for which in ("dst", "src"))
    wild = case["wild"] and dst.dtype.kind in "fc"
    dst[...] = values(rng, dst.dtype, dst.shape)
    src[...] = values(rng, src.dtype, src.shape, wild)
    return memory


def raises(function: Any) -> bool:
    try:
        function()
    except (TypeError, ValueError, RuntimeError):
        # The last from dates that are longer than the string
        return True
    return False


def by_numpy(case: dict[str, Any], memory: np.ndarray[Any, Any]) -> bool:
    dst, src = (array(memory, case[which]) for which in ("dst", "src"))
    source = src.copy()
    if case["door"] in ("fill", "field fill"):
        source = source.reshape(-1)[:1].reshape(()) if source.size else np.zeros((), source.dtype)
    casting = (
        case["casting"]
        if case["door"] in ("copyto", "from field", "to field", "part")
        else "unsafe"
    )
    if case["door"] in ("fill", "field fill"):
        return raises(lambda: dst.__setitem__(..., source[()]))
    return raises(lambda: np.copyto(dst, source, casting=casting))


def by_gridbuf(case: dict[str, Any], memory: np.ndarray[Any, Any]) -> bool:
    dst, src = (array(memory, case[which]) for which in ("dst", "src"))
    door, casting = case["door"], case["casting"]
    if door == "copyto":
        return raises(lambda: gb.copyto(dst, src, casting=casting))
    if door == "from field":
        return raises(lambda: gb.copyto(dst, gb.Field(src), casting=casting))
    if door == "to field":
        return raises(lambda: gb.copyto(gb.Field(dst), src, casting=casting))
    if door == "part":
        field = gb.Field(dst)
        return raises(
            lambda: gb.copyto(field[...], src, casting=casting, progress=lambda done: None)
        )
    if door == "assign":
        return raises(lambda: gb.Field(dst).__setitem__(..., src))
    if door == "assign field":
        return raises(lambda: gb.Field(dst).__setitem__(..., gb.Field(src)))
    value = src.copy().reshape(-1)[:1].reshape(())[()] if src.size else np.zeros((), src.dtype)[()]
    return raises(lambda: gb.fill(gb.Field(dst) if door == "field fill" else dst, value))


def check(case: dict[str, Any]) -> None:
    memory = filled(case)
    expected = memory.copy()
    refused = by_numpy(case, expected)
    gb.set_num_threads(case["threads"])
    agreed = by_gridbuf(case, memory) == refused
    # Void into numbers: NumPy finds out at the first element
    empty = not array(memory, case["dst"]).size
    assert agreed or empty, f"NumPy {'refuses' if refused else 'copies'}, gridbuf does not"
    if not refused:
        assert meaning(memory, case["dst"]) == meaning(expected, case["dst"]), (
            f"{array(memory, case['dst'])} instead of {array(expected, case['dst'])}"
        )
