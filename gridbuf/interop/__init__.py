"""Other libraries: one file each, imported by name (`import gridbuf.interop.xarray`)."""
