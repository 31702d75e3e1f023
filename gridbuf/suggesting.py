"""The word that was meant, for errors about one that is not known."""

from collections.abc import Iterable


def suggestion(word: str, known: Iterable[str]) -> str:
    """What an error adds: "; did you mean 'x'?", or nothing where no known word is near."""
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""
