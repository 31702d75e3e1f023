"""The keywords of a call, and how a gufunc shows them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect import Signature

KEYWORDS = {
    "out": None, "where": True, "axes": None, "axis": None, "keepdims": False,
    "casting": "same_kind", "dtype": None,
    "signature": None, "errors": "raise", "workers": None,
}  # fmt: skip
_NUMPYS = {"order", "subok", "sig", "extobj"}


def _parameters(nin: int, uniforms: list[str]) -> list[tuple[str, Any, bool]]:
    """Name, default (... for none) and whether it is positional, of what a call takes."""
    inputs = ["x"] if nin == 1 else [f"x{i + 1}" for i in range(nin)]
    positional = [(name, ..., True) for name in inputs]
    return (
        positional
        + [(n, ..., False) for n in uniforms]
        + [(n, d, False) for n, d in KEYWORDS.items()]
    )


def call_text(nin: int, uniforms: list[str]) -> str:
    """The parameters of a call as text: "(x1, x2, /, *, out=None, ...)"."""
    parts = [
        name if default is ... else f"{name}={default!r}"
        for name, default, _ in _parameters(nin, uniforms)
    ]
    parts[nin:nin] = ["/", "*"] if nin else ["*"]
    return f"({', '.join(parts)})"


def signature_of(nin: int, uniforms: list[str]) -> "Signature":
    """The same for inspect.signature."""
    from inspect import Parameter, Signature

    kinds = {True: Parameter.POSITIONAL_ONLY, False: Parameter.KEYWORD_ONLY}
    return Signature(
        [
            Parameter(n, kinds[p], default=Parameter.empty if d is ... else d)
            for n, d, p in _parameters(nin, uniforms)
        ]
    )


def refuse(name: str, uniforms: list[str], keyword: str) -> None:
    """TypeError for a keyword that no call of the gufunc has."""
    more = f", and the uniform parameters {', '.join(uniforms)}" if uniforms else ""
    numpys = f" ({keyword}= of NumPy's ufuncs is none of them)" if keyword in _NUMPYS else ""
    raise TypeError(
        f"{keyword}: neither a keyword nor a uniform parameter of {name}; the keywords of a call"
        f" are {', '.join(KEYWORDS)}{more}{numpys}"
    )
