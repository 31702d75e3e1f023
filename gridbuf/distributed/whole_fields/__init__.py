"""Calls of all ranks about whole fields.

Read `field_info` and `collective_context`: the fields and the grid; `reductions` makes numbers;
`moving` moves values by `transfers`.
"""
