"""The methods that an ndarray has: NumPy's functions of the same name, and what they give."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gridbuf.numpy_functions import blame, clip, inside
from gridbuf.storage import functions, functions_plain, functions_shape, operands
from gridbuf.storage.base import Storage


class _Method(NamedTuple):
    name: str
    parameters: str  # those with a default are followed by "="
    does: str
    gives: str
    example: str
    shows: str
    function: Callable[..., Any] | None = (
        None  # of the storage and its arguments; None: NumPy's of the name
    )


_MEANS = {
    "axis": ("str, int or tuple of them, optional", 'Names ("KI" is both) or numbers.'),
    "dtype": ("dtype_like, optional", "The type of the elements."),
    "out": ("storage or array, optional", "Where the result goes; it is returned itself."),
    "keepdims": ("bool, optional", "True: the axes stay, with the size 1."),
    "initial": ("scalar, optional", "What the reduction begins with."),
    "where": ("storage or array of bool, optional", "Which elements count."),
    "ddof": ("int, optional", "What is taken off the number of elements."),
    "decimals": ("int, optional", "How many digits stay."),
    "axis1, axis2": ("str or int", "The two axes."),
    "args": ("int", "As for NumPy's method."),
    "shape": ("int or tuple of int", "The new shape."),
    "order": ('{"C", "F", "A", "K"}, optional',
    "In which order of the indices; what a storage's memory looks like its layout says."),
    "indices": ("array_like", "As for NumPy's function."),
    "min, max": ("scalar, storage or array, optional", "The bounds."),
    "axes": ("str, int or None", 'Names ("KJI"), numbers, or nothing for the reverse.'),
    "casting": ("str, optional", "Which conversions are allowed, as NumPy calls them."),
    "copy": ("bool, optional", "False: the storage itself where nothing is to convert."),
    "value": ("scalar or array_like", "What every element is; a storage or an array is broadcast."),
    "repeats": ("int or array of int", "How often each element comes."),
    "kth": ("int", "Which element is where it would be in rising order."),
    "values": ("array_like", "What is written."),
    "v": ("array_like", "What is looked for."),
    "b": ("array_like", "The other factor."),
    "condition": ("array of bool", "Which entries stay."),
    "choices": ("sequence of arrays", "What is chosen from."),
    "offset": ("int, optional", "How far from the main diagonal."),
}  # fmt: skip


def _flatten(self: Storage, order: str = "C") -> Any:
    return functions_plain.call(np.ravel, (self,), {"order": order}).copy()


def _reshape(self: Storage, *shape: Any, order: str = "C") -> Any:
    return functions_plain.call(
        np.reshape, (self, shape[0] if len(shape) == 1 else shape), {"order": order}
    )


def _transpose(self: Storage, *axes: Any) -> Storage:
    one = len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (str, tuple, list)))
    return functions_shape.transpose(self, axes[0] if one else axes or None)


def _conj(self: Storage) -> Any:
    return (
        np.conjugate(self) if self.dtype.kind == "c" else self.copy()
    )  # the ufunc makes bools integers


def _fill(self: Storage, value: Any) -> None:
    self[...] = value


_STORAGE = "A storage; without axis a number."
_ARRAY = "A plain array."
_METHODS = [
    _Method("all", "axis= out= keepdims= where=", "Whether all elements are true", _STORAGE,
    "bool(s.all())", "True"),
    _Method("any", "axis= out= keepdims= where=", "Whether any element is true", _STORAGE,
    "bool(s.any())", "True"),
    _Method("argmax", "axis= out= keepdims=", "Where the largest element is", _STORAGE,
    "int(s.argmax())", "3"),
    _Method("argmin", "axis= out= keepdims=", "Where the smallest element is", _STORAGE,
    "int(s.argmin())", "0"),
    _Method("cumprod", "axis= dtype= out=", "The products so far",
    "A storage; without axis a plain array.", 's.cumprod("J").to_numpy()',
            "array([[ 1.,  2.],\n       [ 3., 12.]])"),
    _Method("cumsum", "axis= dtype= out=", "The sums so far",
    "A storage; without axis a plain array.", 's.cumsum("J").to_numpy()',
            "array([[1., 3.],\n       [3., 7.]])"),
    _Method("max", "axis= out= keepdims= initial= where=", "The largest element", _STORAGE,
    "float(s.max())", "4.0"),
    _Method("min", "axis= out= keepdims= initial= where=", "The smallest element", _STORAGE,
    "float(s.min())", "1.0"),
    _Method("mean", "axis= dtype= out= keepdims= where=", "The mean", _STORAGE,
    's.mean("J").to_numpy()', "array([1.5, 3.5])"),
    _Method("prod", "axis= dtype= out= keepdims= initial= where=", "The product", _STORAGE,
    "float(s.prod())", "24.0"),
    _Method("std", "axis= dtype= out= ddof= keepdims= where=", "The standard deviation", _STORAGE,
    's.std("J").to_numpy()',
            "array([0.5, 0.5])"),
    _Method("sum", "axis= dtype= out= keepdims= initial= where=", "The sum", _STORAGE,
    's.sum("I").to_numpy()', "array([4., 6.])"),
    _Method("var", "axis= dtype= out= ddof= keepdims= where=", "The variance", _STORAGE,
    "float(s.var())", "1.25"),
    _Method("round", "decimals= out=", "The elements rounded", "A storage.", "s.round(1).shape",
    "(2, 2)"),
    _Method("clip", "min= max= out=", "The elements within bounds", "A storage.",
    "s.clip(2.0, 3.0).to_numpy()",
            "array([[2., 2.],\n       [3., 3.]])", clip),
    _Method("squeeze", "axis=", "The storage without axes of size 1", "A view.",
    's.sum("I", keepdims=True).squeeze().axes', "'J'"),
    _Method("swapaxes", "axis1 axis2", "The storage with two axes exchanged", "A view.",
    's.swapaxes("I", "J").axes', "'JI'"),
    _Method("transpose", "*axes", "The storage with its axes in another order", "A view.",
    's.transpose("JI").axes', "'JI'", _transpose),
    _Method("astype", "dtype order= casting= copy=", "The values in another type",
    "A storage with the same parameters.",
            's.astype("int32").dtype', "dtype('int32')", functions_shape.astype),
    _Method("conj", "", "The complex conjugate", "A storage.", "s.conj().dtype", "dtype('float64')",
    _conj),
    _Method("conjugate", "", "The complex conjugate", "A storage.", "s.conjugate().dtype",
    "dtype('float64')", _conj),
    _Method("fill", "value", "Write one value, or values that broadcast, everywhere", "",
    "s.fill(5.0)", "", _fill),
    _Method("item", "*args", "One element as a number of Python", "A bool, int, float or complex.",
    "s.item(1, 0)", "3.0",
            lambda self, *args: self._values().item(*args)),
    _Method("tolist", "", "The values as nested lists",
    "A list; of a storage without axes a number.", "s.tolist()",
            "[[1.0, 2.0], [3.0, 4.0]]", lambda self: self._values().tolist()),
    _Method("tobytes", "order=", "The values as bytes", "They are in index order.",
    "len(s.tobytes())", "32",
            lambda self, order="C": self._values().tobytes(order)),
    _Method("flatten", "order=", "A copy of the values in one row", _ARRAY, "s.flatten()",
    "array([1., 2., 3., 4.])", _flatten),
    _Method("ravel", "order=", "The values in one row", _ARRAY, "s.ravel()",
    "array([1., 2., 3., 4.])"),
    _Method("reshape", "*shape order=", "The values in another shape", _ARRAY,
    "s.reshape(4, 1).shape", "(4, 1)", _reshape),
    _Method("argsort", "axis=", "The places of the elements in rising order", _ARRAY,
    's.argsort("J").shape', "(2, 2)"),
    _Method("choose", "choices out=", "Elements of several arrays, chosen by this integer storage",
    _ARRAY,
            "s.astype(int).clip(0, 1).choose([5, 6]).shape", "(2, 2)"),
    _Method("compress", "condition axis= out=", "Some entries along an axis", _ARRAY,
    's.compress([True, False], axis="J").shape', "(2, 1)",
            lambda self, condition, *args,
            **options: functions_plain.call(np.compress, (condition, self, *args), options)),
    _Method("diagonal", "offset=", "The diagonal of the first two axes", _ARRAY, "s.diagonal()",
    "array([1., 4.])"),
    _Method("dot", "b out=", "The matrix product, by position", _ARRAY, "s.dot(s)",
    "array([[ 7., 10.],\n       [15., 22.]])"),
    _Method("argpartition", "kth axis=",
    "The places of the elements, those before the kth being smaller", _ARRAY,
            "s.argpartition(1).shape", "(2, 2)"),
    _Method("put", "indices values", "Write elements by their number in index order", "",
    "s.put([0], 5.0)", ""),
    _Method("nonzero", "", "The indices of the elements that are not zero",
    "A tuple of plain arrays.", "len(s.nonzero())", "2"),
    _Method("repeat", "repeats axis=", "Each element several times", _ARRAY,
    's.repeat(2, axis="J").shape', "(2, 4)"),
    _Method("searchsorted", "v", "Where elements would go", _ARRAY, 's[0].searchsorted([1.5])',
    "array([1])"),
    _Method("take", "indices axis= out=", "Entries along an axis", _ARRAY,
    's.take([0], axis="J").shape', "(2, 1)"),
    _Method("trace", "offset=", "The sum of the diagonal of the first two axes", _ARRAY,
    "float(s.trace())", "5.0"),
]  # fmt: skip


def _documentation(m: _Method) -> str:
    names = [name.strip("*=") for name in m.parameters.split()]
    pairs = {each: both for both in _MEANS for each in both.split(", ")}
    heads = list(dict.fromkeys(pairs[name] for name in names))
    lines = [f"{m.does}.", ""]
    if heads:
        lines += ["Parameters", "----------"]
        starred = {name.strip("*=") for name in m.parameters.split() if name.startswith("*")}
        lines += [
            line
            for head in heads
            for line in (
                f"{'*' * (head in starred)}{head} : {_MEANS[head][0]}",
                f"    {_MEANS[head][1]}",
            )
        ]
        lines.append("")
    if m.gives:
        lines += ["Returns", "-------", "storage, array or number", f"    {m.gives}", ""]
    lines += [
        "Examples",
        "--------",
        ">>> import gridbuf.storage as gs",
        ">>> s = gs.storage([[1.0, 2.0], [3.0, 4.0]])",
    ]
    return "\n".join([*lines, f">>> {m.example}", *m.shows.splitlines()])


def _made(m: _Method) -> Callable[..., Any]:
    function: Any = m.function
    if function is None:
        of_numpy = getattr(np, m.name)
        function = functions.HANDLERS.get(of_numpy)
        if function is None:

            def function(self: Any, *args: Any, **options: Any) -> Any:
                return functions_plain.call(of_numpy, (self, *args), options)

    names = [name.strip("=") for name in m.parameters.split()]

    def method(self: Any, *args: Any, **options: Any) -> Any:
        try:
            if self._pair is None:
                return function(self, *args, **options)
            with operands.held(inside((self, args, options))):
                return function(self, *args, **options)
        except (TypeError, ValueError) as error:
            blame(error, names, args, options)
            raise

    method.__name__, method.__doc__ = m.name, _documentation(m)
    method.__annotations__["return"] = Any if m.gives else None
    kinds = inspect.Parameter
    starred = False
    parameters = [kinds("self", kinds.POSITIONAL_ONLY)]
    for name in m.parameters.split():
        plain = name.strip("*=")
        kind = kinds.KEYWORD_ONLY if starred else kinds.POSITIONAL_OR_KEYWORD
        variadic = name.startswith("*")
        starred |= variadic
        parameters.append(
            kinds(
                plain,
                kinds.VAR_POSITIONAL if variadic else kind,
                default=None if name.endswith("=") else kinds.empty,
            )
        )
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return method


for _each in _METHODS:
    setattr(Storage, _each.name, _made(_each))
for _name, _getter, _said in (
    ("T", functions_shape.transpose, "The indices in the opposite order: a view."),
    ("itemsize", lambda self: self.dtype.itemsize, "Bytes of an element."),
    ("real", functions.HANDLERS[np.real], "The real part: a view."),
    (
        "imag",
        functions.HANDLERS[np.imag],
        "The imaginary part: of complex numbers a view, else zeros.",
    ),
):
    setattr(Storage, _name, property(_getter, doc=_said))
