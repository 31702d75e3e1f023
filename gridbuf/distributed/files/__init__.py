"""Checkpoints.

Read `saving` and `loading`: the steps; `manifests`: the description of a checkpoint; `stores`: Zarr
arrays and .npy files; `checkpoint_folders`: the names of its folders.
"""
