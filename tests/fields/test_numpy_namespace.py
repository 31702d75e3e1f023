"""Every function of NumPy's namespace answers a Field as it answers a storage of the same data: the
same kind of result, names, halo and values, or a refusal of the same type.

Functions are found in NumPy, so a new one is tried without an edit here. Each is called with what
its parameters may be; a call that both refuse is no difference, and is counted.
"""

import inspect
import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
import gridbuf.storage as gs

MODULES: dict[str, Any] = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath, "np.strings":
    getattr(np, "strings", np.char), "np.lib.stride_tricks": np.lib.stride_tricks,
}  # fmt: skip
# These make no result of an array's values, or change how NumPy behaves.
LEFT_OUT = {
    "test", "show_config", "show_runtime", "info", "seterr", "seterrcall", "setbufsize",
    "set_printoptions", "get_include", "source", "lookfor", "frompyfunc", "vectorize", "fromfile",
    "memmap", "load", "loadtxt", "genfromtxt", "open_memmap", "getbufsize", "geterr", "geterrcall",
    "errstate", "printoptions", "get_printoptions", "bmat", "nested_iters",
    "empty",  # undefined values
    "frombuffer", "fromstring",  # of bytes: a Field has the buffer protocol, a storage has not
}  # fmt: skip
# Differences that the documentation of Fields or storages says.
DOCUMENTED = {
    # Generalized ufuncs: a Field with names refuses core dimensions (docs/fields.md), storages go
    # by position and give plain arrays (docs/storages.md).
    "np.matmul", "np.vecdot", "np.matvec", "np.vecmat",
}  # fmt: skip

TWICE_WRONG = {("np.copyto", "x, names")}  # two wrong arguments: either may be told first

VALUES = np.random.default_rng(5).random((4, 4, 4)).round(2) + 0.1
HALO = ((0, 1), (1, 1), (1, 0))


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """Every function and ufunc by its full name."""
    found: dict[str, Any] = {}
    for module, namespace in MODULES.items():
        for name in sorted(getattr(namespace, "__all__", dir(namespace))):
            function = getattr(namespace, name, None)
            if name.startswith("_") or name in LEFT_OUT or not callable(function):
                continue
            if isinstance(function, type) or name.endswith("_"):
                continue  # classes, and objects that are indexed
            if id(function) not in map(id, found.values()):
                found[f"{module}.{name}"] = function
    return sorted(found.items())


def of_field(array: Any, names: str) -> Any:
    halo = tuple(HALO["IJK".index(name)] for name in names)
    return gb.Field.from_array(np.array(array), dims=names, halo=halo, dtype=None)


def of_storage(array: Any, names: str) -> Any:
    halo = tuple(HALO["IJK".index(name)] for name in names)
    return gs.storage(np.array(array), axes=names, halo=halo)


def calls(name: str, function: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Calls of a function by what they look like; each takes `of_field` or `of_storage`."""

    def x(of: Any) -> Any:
        return of(VALUES, "IJK")

    def y(of: Any) -> Any:
        return of(VALUES[::-1] * 2, "IJK")

    def k(of: Any) -> Any:
        return of(VALUES[0, 0], "K")

    def ij(of: Any) -> Any:
        return of(VALUES[..., 0], "IJ")

    if isinstance(function, np.ufunc):
        operands = {1: [x], 2: [x, y], 3: [x, y, y]}.get(function.nin, [x] * function.nin)
        yield "ufunc", lambda of: function(*(each(of) for each in operands))
        whole = [lambda of, each=each: (each(of) * 8).astype(int) for each in operands]
        yield "ints", lambda of: function(*(each(of) for each in whole))
        if function.nin == 2:
            yield "by name", lambda of: function(x(of), k(of))
            yield "number", lambda of: function(x(of), 2)
        return
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = inspect.signature(lambda a, b=None: None).parameters
    first = next(iter(parameters), "")
    axis = next((each for each in ("axis", "axes", "dims") if each in parameters), None)
    one: list[tuple[str, Callable[[Any], tuple[Any, ...]]]] = [
        ("x", lambda of: (x(of),)),
        ("ij", lambda of: (ij(of),)),
        ("k", lambda of: (k(of),)),
        ("int", lambda of: ((x(of) * 9).astype(int),)),
        ("bool", lambda of: (x(of) > 0.5,)),
        ("complex", lambda of: (x(of) + 1j,)),
        ("x, x", lambda of: (x(of), y(of))),
        ("x, k", lambda of: (x(of), k(of))),
        ("ij, ij", lambda of: (ij(of), ij(of))),
        ("k, k", lambda of: (k(of), k(of))),
        ("k, k, k", lambda of: (k(of), k(of), k(of))),
        ("x, x, x", lambda of: (x(of) > 0.5, x(of), y(of))),
        ("x, 1", lambda of: (x(of), 1)),
        ("x, 0, 1", lambda of: (x(of), 0, 1)),
        ("x, 0.5", lambda of: (x(of), 0.5)),
        ("x, [0, 2]", lambda of: (x(of), [0, 2])),
        ("[x, x]", lambda of: ([x(of), y(of)],)),
        ("(k, k)", lambda of: ((k(of), k(of)),)),
        ("x, names", lambda of: (x(of), "I", "K")),
        ("'ij,jk', ij, ij", lambda of: ("ij,jk->ik", ij(of), ij(of))),
        ("file, x", lambda of: (io.BytesIO(), ij(of))),
        ("1, x", lambda of: (1, x(of))),
        ("mask, x", lambda of: (VALUES > 0.5, x(of))),
        ("[mask], [x], 0", lambda of: ([x(of) > 0.5], [x(of)], 0)),
        ("f, axis, x", lambda of: (np.sum, 1, x(of))),
    ]
    for label, make in one:
        yield label, lambda of, make=make: function(*make(of))
        if axis is not None and first:
            for value in ("J", "K", 1, "IJ", ("I", "K"), None):
                options = {axis: value}
                yield (
                    f"{label}, {axis}={value!r}",
                    lambda of, make=make, options=options: function(*make(of), **options),
                )
        if "keepdims" in parameters and label in ("x", "k"):
            yield f"{label}, keepdims", lambda of, make=make: function(*make(of), keepdims=True)
    if "out" in parameters:
        yield "out", lambda of: function(x(of), out=of(np.zeros((4, 4, 4)), "IJK"))


def outcome(call: Callable[[Any], Any], of: Any, undefined: bool = False) -> Any:
    """What a call comes to, in words and arrays that do not depend on the class."""
    np.random.seed(0)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return kind(call(of), values=not undefined)
    except Exception as error:
        return "refused", _base(error)


def _base(error: Exception) -> str:
    """An error's type; AxisError and IndexError are what the same mistake is here and there."""
    for known in (TypeError, ValueError, IndexError, AttributeError):
        if isinstance(error, known):
            return known.__name__
    return type(error).__name__


def kind(found: Any, values: bool = True) -> Any:
    if not values:
        return type(found).__name__.replace("HostField", "CPUStorage"), found.shape, found.dtype
    if isinstance(found, gb.Field | gs.Storage):
        names = found.dims if isinstance(found, gb.Field) else found.axes
        halo = found.halo or ((0, 0),) * found.ndim
        return "ours", "".join(names), halo, _values(np.asarray(found))
    if isinstance(found, np.ndarray | np.generic):
        what = "array" if isinstance(found, np.ndarray) else "number"
        return what, _values(np.asarray(found))
    if isinstance(found, tuple | list):
        return type(found).__name__, tuple(map(kind, found))
    if callable(found) or hasattr(found, "__next__"):
        return type(found).__name__
    return type(found).__name__, repr(found)


def _values(array: np.ndarray) -> Any:
    if array.dtype.hasobject:
        return array.shape, "objects"
    return array.shape, str(array.dtype), array.tobytes()


def differences(name: str, function: Any) -> tuple[int, list[str]]:
    """How many calls gave a result, and those that differ."""
    answered, different = 0, []
    for label, call in calls(name, function):
        if (name, label) in TWICE_WRONG:
            continue
        undefined = function is np.empty_like
        field, storage = (outcome(call, of, undefined) for of in (of_field, of_storage))
        answered += field[0] != "refused"
        if field != storage:
            different.append(f"{name}({label}): {_short(field)} | {_short(storage)}")
    return answered, different


def _short(found: Any) -> str:
    text = "none" if found is None else repr(found)
    return text if len(text) < 160 else text[:160] + "..."


FUNCTIONS = functions()


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """np.save and its kin may take a str for the name of a file."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [name for name, _ in FUNCTIONS])
def test_a_field_is_answered_as_a_storage(name: str) -> None:
    _, different = differences(name, dict(FUNCTIONS)[name])
    if name in DOCUMENTED:
        assert different, f"{name} no longer differs: take it off the list"
        return
    assert not different, "\n".join(different)


# What an ndarray has and one of the two has not, or has otherwise: memory and its exchange.
OF_MEMORY = {
    "data", "device", "to_device", "view", "ctypes", "base", "flat", "getfield", "setfield",
    "setflags", "byteswap", "resize", "sort", "partition", "dump", "dumps", "tofile", "mT",
    "flags", "strides",
}  # fmt: skip
ARGUMENTS: list[tuple[Any, ...]] = [
    (), ("J",), (1,), ("I", "K"), (0, 2), ([0, 2],), ([0, 2], "J"), (2, "K"), (0.2, 0.6), ("IJ",),
    (64,), ((8, 8),), (0, 5.0), ([1.5, 2.5],), (int,), ("f4",), (0, 0, 0), ([True, False], "K"),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(n for n in dir(np.ndarray) if not n.startswith("_")))
def test_a_method_of_arrays_is_the_same(name: str) -> None:
    if name in OF_MEMORY:
        return
    assert hasattr(gb.Field, name) and hasattr(gs.Storage, name)
    if not callable(getattr(np.ndarray, name)):
        one = [kind(getattr(of(VALUES, "IJK"), name)) for of in (of_field, of_storage)]
        assert one[0] == one[1]
        return
    answered = 0
    for args in ARGUMENTS:
        for names, values in (
            ("IJK", VALUES),
            ("IJK", (VALUES * 9).astype(int)),
            ("K", VALUES[0, 0]),
        ):

            def call(of: Any, args: Any = args, names: str = names, values: Any = values) -> Any:
                obj = of(values, names)
                found = getattr(obj, name)(*args)
                return (found, obj) if name in ("fill", "put") else found

            field, storage = outcome(call, of_field), outcome(call, of_storage)
            answered += field[0] != "refused"
            if name == "transpose" and field[0] == storage[0] == "refused":
                continue  # the number of names or their type: either may be told first
            assert field == storage, f"{name}{args} of {names}: {_short(field)} | {_short(storage)}"
    assert answered or name in ("choose", "dot")


def test_the_calls_reach_the_functions() -> None:
    """Most of NumPy takes one of the calls: else they would test refusals alone."""
    answered = {name for name, function in FUNCTIONS if differences(name, function)[0]}
    assert len(FUNCTIONS) > 350
    assert len(answered) > 0.8 * len(FUNCTIONS), sorted({n for n, _ in FUNCTIONS} - answered)
    assert {"np.sum", "np.stack", "np.einsum", "np.linalg.inv", "np.fft.fft"} <= answered
