"""Fields larger than one process: a grid cut into blocks, and the exchange at the edges of the
blocks.

Examples
--------
>>> import gridbuf.distributed as gbd
>>> grid = gbd.grid((8, 8), blocks=(2, 2), periodic="IJ", halo=2)
>>> T = grid.ones()
>>> grid.exchange(T)
"""

from gridbuf.distributed.blocks import Blocks
from gridbuf.distributed.calls import DisagreementError, RevokedError
from gridbuf.distributed.drawing import Drawing
from gridbuf.distributed.factories import cubed_sphere, grid, links, topology, tripolar
from gridbuf.distributed.geometry.blocks import Block
from gridbuf.distributed.geometry.reading_links import index_links
from gridbuf.distributed.grid import Grid
from gridbuf.distributed.plans.plan import Handle, Plan
from gridbuf.distributed.plans.vectors import Item, pair, scalar, vector
from gridbuf.distributed.unstructured import unstructured

__all__ = [
    "Block",
    "Blocks",
    "DisagreementError",
    "Drawing",
    "Grid",
    "Handle",
    "Item",
    "Plan",
    "RevokedError",
    "cubed_sphere",
    "grid",
    "index_links",
    "links",
    "pair",
    "scalar",
    "topology",
    "tripolar",
    "unstructured",
    "vector",
]
