"""What a storage says in `__gt_interface__`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridbuf.storage.base import Storage


def describe(storage: "Storage") -> dict[Any, dict[str, Any]]:
    """Both buffers as they are: nothing is copied until `acquire` is called."""
    entries: dict[Any, dict[str, Any]] = {}
    if storage._host is not None:
        entries[None] = _entry(storage._host.__array_interface__, storage._host, storage)
        entries[None] |= {"acquire": storage.device_to_host, "touch": storage.set_host_modified}
    if storage._dev is not None:
        entries["gpu"] = _entry(storage._dev.__cuda_array_interface__, storage._dev, storage)
        entries["gpu"] |= {"acquire": storage.host_to_device, "touch": storage.set_device_modified}
    return entries


def _entry(interface: dict[str, Any], array: Any, storage: "Storage") -> dict[str, Any]:
    entry = {key: interface[key] for key in ("shape", "typestr", "data")}
    return entry | {"strides": tuple(array.strides), "dims": storage.__gt_dims__}
