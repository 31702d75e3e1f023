"""NumPy by the names of indices: the one engine behind Fields and storages.

An operand is an array, the names of its indices, its halo, and a `Kind`: how operands of its class
are read and how results are made. `FieldKind` (kinds.py) and `StorageKind`
(gridbuf/storage/results.py) are the two there are. Everything else is common to both.

Read in this order: broadcasting.py (frames: which indices operands have together), kinds.py,
positional.py (functions that know no names), reductions.py, ufuncs.py, functions.py.
The methods of both are gridbuf/array_methods.py. The rules are in docs/fields.md. Loaded when first
used.
"""
