"""Waiting for what comes soon; how soon is no test's business."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], bool], seconds: float = 300) -> bool:
    """Whether a condition comes true; the limit is for one that never does."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.001)
    return condition()
