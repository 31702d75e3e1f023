"""What memory of the driver says of itself, and memory whose work is done."""

from typing import Any

import gridbuf as gb


def interface(obj: Any) -> dict[str, Any]:
    found: dict[str, Any] = obj.__cuda_array_interface__
    return found


def settled(**spec: Any) -> gb.Field:
    """A Field on which nothing is pending."""
    f = gb.Field.zeros((4, 5), **spec)
    gb.cuda.synchronize()
    return f
