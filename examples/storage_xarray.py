"""The copy stencil of GT4Py's "GT Storage Interface" with an xarray output in the order J, I, K.

Importing gridbuf.interop.xarray is the proposal's accessor: it gives DataArrays `__gt_interface__`.
`stencil_call` wraps a stencil so that it is called with whatever has that.
"""

import numpy as np
import xarray as xr
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import PARALLEL, computation, interval

import gridbuf.interop.xarray  # noqa: F401
from gridbuf.interface import stencil_call


def copy_stencil(
    in_field: gtscript.Field[np.float64], out_field: gtscript.Field[np.float64]
) -> None:
    with computation(PARALLEL), interval(...):
        out_field = in_field  # noqa: F841


def main() -> None:
    in_field = np.arange(1.0, 9.0).reshape(2, 2, 2)
    print("INPUT:")
    print(in_field)

    copy = stencil_call(gtscript.stencil(backend="numpy", definition=copy_stencil))

    print("OUTPUT: numpy")
    out_field = np.zeros((2, 2, 2))
    copy(in_field, out_field, origin=(0, 0, 0))
    print(out_field)

    print("OUTPUT: xarray")
    out_array = xr.DataArray(np.zeros((2, 2, 2)), dims=("J", "I", "K"))
    copy(in_field, out_array, origin=(0, 0, 0))
    print(out_array.transpose("I", "J", "K").values)


if __name__ == "__main__":
    main()
