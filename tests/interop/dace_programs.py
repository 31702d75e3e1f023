"""The programs of the DaCe tests; DaCe reads their source, so they live in a file of their own."""

import dace

N = dace.symbol("N")


@dace.program
def increase(inp, out):  # type: ignore[no-untyped-def]
    out[:] = inp + 1.0


@dace.program
def through_a_temporary(inp: dace.float64[N], out: dace.float64[N]):  # type: ignore[no-untyped-def]
    between = inp * 2.0
    out[:] = between + 1.0
