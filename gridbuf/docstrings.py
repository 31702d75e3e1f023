"""Docstrings that share text: parameters, results and errors described in the docstring of one
function and read in those of others. pyext/docstrings.py does the same for C with these functions.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
ORDER = ("", "Parameters", "Returns", "Yields", "Attributes", "Raises", "Notes", "Examples")


def as_in(model: Callable[..., Any]) -> Callable[[_F], _F]:
    """Complete a docstring by parameters, result, errors and notes of a model's.

    Parameters are taken one by one: those that the function has and its docstring does not
    describe.
    """

    def complete(function: _F) -> _F:
        if not function.__doc__ or not model.__doc__:
            return function  # python -OO
        code = function.__code__
        several = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
        taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]
        returns = function.__annotations__.get("return") is not None
        titles = ("Returns", "Raises", "Notes") if returns else ("Raises", "Notes")
        own, shared = sections(function.__doc__), sections(model.__doc__)
        function.__doc__ = joined(completed(own, shared, taken, titles))
        return function

    return complete


def completed(
    own: dict[str, str], model: dict[str, str], taken: Iterable[str], titles: Iterable[str]
) -> dict[str, str]:
    """The sections of a docstring, with the model's of these titles and its entries of the taken
    parameters where the docstring has none.
    """
    known = entries(model.get("Parameters", "")) | entries(own.get("Parameters", ""))
    parameters = "".join(dict.fromkeys(known[name] for name in taken if name in known))
    shared = {title: model[title] for title in titles if title in model}
    return shared | own | {"Parameters": parameters}


def sections(docstring: str) -> dict[str, str]:
    """The text under each title, without indentation; text before the first title is under ''."""
    first, _, others = docstring.rstrip().partition("\n")
    body = others.lstrip("\n")
    indent = body[: len(body) - len(body.lstrip(" "))]
    text = f"{first}\n{others}\n".replace(f"\n{indent}", "\n")
    found, title, start = {}, "", 0
    rule = text.find("\n---")
    while rule >= 0:  # the dashes below a title, or a line of a table
        above, below = text.rfind("\n", 0, rule) + 1, text.find("\n", rule + 1)
        if text[above:rule].isalpha() and not text[rule + 1 : below].strip("-"):
            found[title] = text[start:above]
            title, start = text[above:rule], below + 1
        rule = text.find("\n---", below)
    found[title] = text[start:]
    return found


def joined(parts: dict[str, str]) -> str:
    """The docstring of these sections, in ORDER; empty ones are left out."""
    texts = [(title, parts[title].strip("\n")) for title in ORDER if parts.get(title)]
    return "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in texts
    )


def entries(section: str) -> dict[str, str]:
    """The description of each parameter by its name; `a, b : int` describes two."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.rstrip("\n").split("\n"):
        if line[:1].strip():
            names = [name.lstrip("*") for name in line.split(" : ")[0].split(", ")]
            found |= dict.fromkeys(names, "")
        for name in names:
            found[name] += f"{line}\n"
    return {name: text.rstrip("\n") + "\n" for name, text in found.items()}
