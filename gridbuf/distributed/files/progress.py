"""What `progress=` of save and load may be: a callable, or True for a bar in the terminal."""

from collections.abc import Callable
from typing import Any

Progress = Callable[[float], Any] | None


def read_progress(given: Any, verb: str, rank: int) -> Progress:
    """The callable; of True a bar by the package tqdm on rank 0, and None on the other ranks."""
    if given is None or given is False:
        return None
    if given is True:
        return bar(verb) if rank == 0 else None
    if not callable(given):
        raise TypeError(f"progress: expected a callable, True or None, got {type(given).__name__}")
    found: Callable[[float], Any] = given
    return found


def bar(verb: str) -> Callable[[float], None]:
    """A bar that is drawn while it is called with the part that is done, up to 1.0."""
    try:
        from tqdm import tqdm
    except ImportError:
        raise TypeError(
            "progress: True draws a bar with the package tqdm (pip install tqdm), which is not"
            " installed; a callable gets the part that is done"
        ) from None
    drawn = tqdm(total=1.0, desc=verb, bar_format="{desc}: {percentage:3.0f} % |{bar}| {elapsed}")

    def advance(done: float) -> None:
        drawn.update(done - drawn.n)
        if done >= 1.0:
            drawn.close()

    return advance
