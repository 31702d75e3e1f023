"""Storages in one page: named axes, halo, broadcasting, reductions, a column and a plane."""

import numpy as np

import gridbuf.storage as gs


def main() -> None:
    # A temperature with three points of halo, in the layout of the gtmc backend.
    temperature = gs.full((12, 10, 6), 280.0, axes="IJK", defaults="gtmc", halo=(3, 3, 0))
    print(temperature)

    # A profile and a map: each is broadcast along the axes that it does not have.
    lapse = gs.storage(-6.5 * np.arange(6.0), axes="K")
    orography = gs.storage(np.linspace(0.0, 1.0, 120).reshape(12, 10), axes="IJ")
    temperature += lapse
    temperature -= 6.5 * orography
    print(
        f"lowest level: {np.min(temperature[:, :, 0]):.2f} to {np.max(temperature[:, :, 0]):.2f} K"
    )

    # The domain is a view; a mean over it, by names.
    inner = temperature.domain
    column = np.add.reduce(inner, axis="IJ") / (inner.shape[0] * inner.shape[1])
    print(f"mean column over {inner.shape}: axes {column.axes}, {column.to_numpy().round(2)}")

    # A Fortran array is wrapped as it is, and the result of an operation is in its layout.
    wind = gs.as_storage(np.zeros((12, 10, 6), order="F"))
    print(f"wrapped: {wind.layout}, sum: {(wind + temperature).layout}")


if __name__ == "__main__":
    main()
