"""What a storage says of one of its buffers in `__gt_interface__`."""

from collections.abc import Callable
from typing import Any


def described(
    array: Any,
    interface: dict[str, Any],
    dims: tuple[str, ...],
    acquire: Callable[[], None],
    touch: Callable[[], None],
) -> dict[str, Any]:
    """The buffer as it is: nothing is copied until `acquire` is called."""
    told = {key: interface[key] for key in ("shape", "typestr", "data")}
    return told | {
        "strides": tuple(array.strides),
        "dims": dims,
        "acquire": acquire,
        "touch": touch,
        "release": None,
    }
