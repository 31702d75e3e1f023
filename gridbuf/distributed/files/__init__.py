"""Checkpoints: files that any cut of a grid reads.

Read `saving`: the steps; `manifests` and `manifest_checks`: what a checkpoint says of itself;
`chunking`: who writes what; `stores`: in which form; `checkpoint_folders`: how it gets its name.
"""
