"""The word that was meant, for errors about one that is not known."""

from collections.abc import Iterable

SAME = {
    "axes": "dims",
    "axis": "dims",
    "dimensions": "dims",
    "defaults": "backend",
    "default": "backend",
}  # at other doors


def suggestion(word: str, known: Iterable[str]) -> str:
    """What an error adds: "; did you mean 'x'?", or nothing where no known word is near."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    begun = sorted(
        (name for name in by_lower if len(word) > 2 and name.startswith(word.lower())), key=len
    )
    near = (
        begun
        or get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
        or [SAME.get(word.lower(), "")]
    )
    return f"; did you mean {by_lower[near[0]]!r}?" if near[0] in by_lower else ""
