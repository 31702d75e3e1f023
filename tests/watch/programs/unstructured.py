"""The next generation's quickstart in our own words: field operators on a mesh of triangles,
neighbors by tables, and a program of two.
"""

import gt4py.next as gtx
import numpy as np
from gt4py.next import Dims, float64, maximum, minimum, neighbor_sum, where

Cell = gtx.Dimension("Cell")
Edge = gtx.Dimension("Edge")
K = gtx.Dimension("K", kind=gtx.DimensionKind.VERTICAL)
E2CDim, C2EDim = (gtx.Dimension(name, kind=gtx.DimensionKind.LOCAL) for name in ("E2C", "C2E"))
E2C = gtx.FieldOffset("E2C", source=Cell, target=(Edge, E2CDim))
C2E = gtx.FieldOffset("C2E", source=Edge, target=(Cell, C2EDim))
CELLS, LEVELS = 60, 20


@gtx.field_operator
def over_edges(cells: gtx.Field[Dims[Cell, K], float64]) -> gtx.Field[Dims[Edge, K], float64]:
    return maximum(cells(E2C[0]), cells(E2C[1])) - minimum(cells(E2C[0]), cells(E2C[1]))


@gtx.field_operator
def pseudo_laplacian(
    cells: gtx.Field[Dims[Cell, K], float64], weights: gtx.Field[Dims[Cell, C2EDim], float64]
) -> gtx.Field[Dims[Cell, K], float64]:
    sums = neighbor_sum(over_edges(cells)(C2E) * weights, axis=C2EDim)
    return where(sums > 1.0, sums, 0.0)


@gtx.program
def step(
    cells: gtx.Field[Dims[Cell, K], float64],
    weights: gtx.Field[Dims[Cell, C2EDim], float64],
    edges: gtx.Field[Dims[Edge, K], float64],
    out: gtx.Field[Dims[Cell, K], float64],
):  # type: ignore[no-untyped-def]
    over_edges(cells, out=edges)
    pseudo_laplacian(cells, weights, out=out)


# Every cell has edges i, i + 1 and i + 2 of a ring, every edge two cells.
ring = np.arange(CELLS)
of_edges = gtx.as_connectivity(
    [Edge, E2CDim], codomain=Cell, data=np.stack([ring, (ring + 1) % CELLS], axis=1)
)
of_cells = gtx.as_connectivity(
    [Cell, C2EDim], codomain=Edge, data=np.stack([(ring + i) % CELLS for i in range(3)], axis=1)
)
provider = {"E2C": of_edges, "C2E": of_cells}
values = np.random.default_rng(3).random((CELLS, LEVELS))
cells = gtx.as_field([Cell, K], values)
weights = gtx.as_field([Cell, C2EDim], np.full((CELLS, 3), 0.75))
edges, out = gtx.zeros({Edge: CELLS, K: LEVELS}), gtx.zeros({Cell: CELLS, K: LEVELS})
for _ in range(3):
    step(cells, weights, edges, out, offset_provider=provider)
over_edges(cells, out=edges, offset_provider=provider)
print(f"{edges.asnumpy().sum():.12e} {out.asnumpy().sum():.12e}")
