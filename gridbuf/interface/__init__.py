"""The `__gt_interface__` protocol: the description of an object's buffers, and the calls
around their use.

Examples
--------
>>> import gridbuf as gb, gridbuf.interface
>>> f = gb.Field.zeros((2, 3), dims="JI")
>>> gridbuf.interface.read(f)["dims"]
('J', 'I')
>>> with gridbuf.interface.acquired({"f": f}) as buffers:
...     buffers["f"].shape
(3, 2)
"""

from typing import TYPE_CHECKING

from gridbuf.common import on_demand

if TYPE_CHECKING:
    from gridbuf.interface.public import *  # noqa: F403

__getattr__, __dir__ = on_demand(__name__)
