"""Fields larger than one process: a grid cut into blocks, and what happens at the edges of the blocks.

Files in the order in which to read them, each using only those before it. Integers: `boxes` (boxes and signed permutations of axes
in doubled coordinates), `cuts` (one axis), `tiles` (tiles, seams, points that exist more than once), `blocks` (all axes, and who has
what), `straight` (axes that only move), `linking` (which points of which block are filled from which), `schedule` (those that concern one rank). Fields: `items`, `layouts`,
`binding` (links in bytes), `twice` (one memory given twice). Exchanges: `engine` (what one must do), `plan`, `local` (all blocks in this process), `sharing` (memory that two ranks have), `agreements` (what they agree on). What users see: `arguments`,
`rules`, `planning`, `numbers` (of layouts), `kept` (plans found again), `constructors`, `regions`, `points`, `drawing`, `grids`, `seams`, `given` (links that
users write), `cutting`, `making`.

Calls that all ranks make together: `calls` (steps that may be given up and gone on with), `rolls` (who has not come), `alone` and `everyone` (agree, reduce, move), `between`
(links from one decomposition to another), `transfers` (what is sent once), `subjects`, `ground` (fields and grid of a call), `gathering`,
`redistributing`, `moving`, `checksums`, `counting`, `extremes`, `reducing`. Files: `chunking` (who writes what), `manifests`, `stores` (Zarr, .npy),
`saving`, `filing`.

Examples
--------
>>> import gridbuf.distributed as gbd
>>> grid = gbd.grid((8, 8), blocks=(2, 2), periodic="IJ", halo=2)
>>> T = grid.ones()
>>> grid.exchange(T)
"""

from gridbuf.distributed.blocks import Block
from gridbuf.distributed.drawing import Drawing
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.grids import Grid
from gridbuf.distributed.items import Item, pair, scalar, vector
from gridbuf.distributed.making import cubed_sphere, grid, links, topology, tripolar
from gridbuf.distributed.plan import Handle, Plan

__all__ = [
    "Block",
    "DisagreementError",
    "Drawing",
    "Grid",
    "Handle",
    "Item",
    "Plan",
    "cubed_sphere",
    "grid",
    "links",
    "pair",
    "scalar",
    "topology",
    "tripolar",
    "vector",
]
