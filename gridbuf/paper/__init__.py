"""A distributed run on paper: `python -m gridbuf distributed`. It needs no MPI and allocates no
field.

`figures` works out what a cut costs, `report` says it, `options` reads the command line.
"""
