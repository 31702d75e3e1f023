"""What an object says of its memory in `__gt_interface__`: the one way of asking for it."""

from collections.abc import Mapping
from typing import Any


def entries_of(obj: Any) -> Mapping[Any, Any] | None:
    """What an object says in `__gt_interface__`, or under its later name; None if it says
    nothing.
    """
    for name in ("__gt_interface__", "__gt_data_interface__"):
        try:
            entries = getattr(obj, name)
        except AttributeError as error:
            if error.name not in (None, name):  # the property is there, and what it asks for is not
                raise
            continue
        if entries is not None:
            if not isinstance(entries, Mapping):
                raise TypeError(
                    f"{name}: expected a map from device to description, got {entries!r}"
                )
            return entries
    return None


def pick(entries: Mapping[Any, Any], device: tuple[str, int] | str | None) -> Any:
    """The entry for a device, or None."""
    if device is None:
        keys: tuple[Any, ...] = (None, "cpu")
    elif device == "gpu":
        numbered = sorted(
            key for key in entries if isinstance(key, tuple) and key and key[0] == "gpu"
        )
        keys = ("gpu", *numbered)
    else:
        keys = (device, "gpu")
    return next((entries[key] for key in keys if key in entries), None)
