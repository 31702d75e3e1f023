"""What several functions have in common is said in the docstring of one of them, and read in those
of all.
"""

from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
_ORDER = ("", "Parameters", "Returns", "Yields", "Raises", "Notes", "Examples")


def as_in(model: Callable[..., Any]) -> Callable[[_F], _F]:
    """Of parameters, result, errors and notes, what a docstring does not have is the model's.

    Parameters are described one by one: those that the docstring leaves out, and the function
    takes, as the model does.
    """

    def completed(function: _F) -> _F:
        if not function.__doc__ or not model.__doc__:
            return function  # python -OO has none
        own, told = _sections(function.__doc__), _sections(model.__doc__)
        entries = _entries(told.get("Parameters", "")) | _entries(own.get("Parameters", ""))
        code = function.__code__
        several = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
        taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]
        own["Parameters"] = "".join(
            dict.fromkeys(entries[name] for name in taken if name in entries)
        )
        for title in ("Returns", "Raises", "Notes"):
            if title not in own and not (
                title == "Returns" and function.__annotations__.get("return") is None
            ):
                own[title] = told.get(title, "")
        parts = [(title, own[title].strip("\n")) for title in _ORDER if own.get(title)]
        function.__doc__ = "\n\n".join(
            f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in parts
        )
        return function

    return completed


def _sections(docstring: str) -> dict[str, str]:
    """The text under each title, without the indentation of the source; what stands before the
    first is under ''.
    """
    first, *others = docstring.rstrip().split("\n")
    indent = " " * next((len(line) - len(line.lstrip(" ")) for line in others if line.strip()), 0)
    lines = [first, *(line.removeprefix(indent) for line in others)]
    found, title, ruled = {"": ""}, "", False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if ruled:  # the dashes below a title
            ruled = False
        elif line.isalpha() and below and not below.strip("-"):
            title, ruled = line, True
            found[title] = ""
        else:
            found[title] += f"{line}\n"
    return found


def _entries(section: str) -> dict[str, str]:
    """The description of each parameter by its name; `a, b : int` is that of two."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.rstrip("\n").split("\n"):
        if line[:1].strip():
            names = [name.lstrip("*") for name in line.split(" : ")[0].split(", ")]
            found |= dict.fromkeys(names, "")
        for name in names:
            found[name] += f"{line}\n"
    return {name: text.rstrip("\n") + "\n" for name, text in found.items()}
