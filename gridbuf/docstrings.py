"""What several functions have in common is said in the docstring of one of them, and read in those of all."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
_TITLES = re.compile(r"^([A-Z]\w+)\n-+\n", flags=re.MULTILINE)
_ORDER = ("", "Parameters", "Returns", "Yields", "Raises", "Notes", "Examples")


def as_in(model: Callable[..., Any]) -> Callable[[_F], _F]:
    """Of parameters, result, errors and notes, what a docstring does not have is the model's.

    Parameters are described one by one: those that the docstring leaves out, and the function takes, as the model does.
    """

    def completed(function: _F) -> _F:
        if not function.__doc__ or not model.__doc__:
            return function  # python -OO has none
        own, told = _sections(function.__doc__), _sections(model.__doc__)
        entries = _entries(told.get("Parameters", "")) | _entries(own.get("Parameters", ""))
        code = function.__code__
        several = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
        taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]
        own["Parameters"] = "".join(dict.fromkeys(entries[name] for name in taken if name in entries))
        for title in ("Returns", "Raises", "Notes"):
            if title not in own and not (title == "Returns" and function.__annotations__.get("return") is None):
                own[title] = told.get(title, "")
        parts = [(title, own[title].strip("\n")) for title in _ORDER if own.get(title)]
        function.__doc__ = "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in parts)
        return function

    return completed


def _sections(docstring: str) -> dict[str, str]:
    """The text under each title, without the indentation of the source; what stands before the first is under ''."""
    indent = re.search(r"\n( *)\S", docstring)
    text = docstring.replace(f"\n{indent[1]}", "\n") if indent else docstring
    first, *others = _TITLES.split(text.rstrip())
    return {"": first, **dict(zip(others[::2], others[1::2], strict=True))}


def _entries(section: str) -> dict[str, str]:
    """The description of each parameter by its name; `a, b : int` is that of two."""
    found = re.split(r"^(?=\S)", section.strip("\n"), flags=re.MULTILINE)[1:]
    heads = [(re.split(r" : |\n", entry)[0].split(", "), entry.rstrip("\n") + "\n") for entry in found]
    return {name.lstrip("*"): entry for names, entry in heads for name in names}
