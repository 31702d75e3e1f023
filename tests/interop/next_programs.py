"""The programs of the gt4py.next tests; gt4py reads their source, so they live in a file of their
own.
"""

import gt4py.next as gtx

I = gtx.Dimension("I")
J = gtx.Dimension("J")
K = gtx.Dimension("K", kind=gtx.DimensionKind.VERTICAL)
Ioff = gtx.FieldOffset("Ioff", source=I, target=(I,))


@gtx.field_operator
def add(
    a: gtx.Field[gtx.Dims[I, J, K], gtx.float64], b: gtx.Field[gtx.Dims[I, J, K], gtx.float64]
) -> gtx.Field[gtx.Dims[I, J, K], gtx.float64]:
    return a + b


@gtx.field_operator
def forward(
    a: gtx.Field[gtx.Dims[I, J, K], gtx.float64],
) -> gtx.Field[gtx.Dims[I, J, K], gtx.float64]:
    return a(I + 1)


@gtx.program
def add_into(
    a: gtx.Field[gtx.Dims[I, J, K], gtx.float64],
    b: gtx.Field[gtx.Dims[I, J, K], gtx.float64],
    out: gtx.Field[gtx.Dims[I, J, K], gtx.float64],
):  # type: ignore[no-untyped-def]
    add(a, b, out=out)
