"""The points of blocks that are filled from other blocks, in integers: without fields and memory.

Read `boxes`, `blocks` and `tiles`, then `linking` (`straight_links` where seams only move points,
`given_links` for the links of users). `between_decompositions` is for gathering and files.
"""
