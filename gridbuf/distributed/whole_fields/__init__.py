"""Calls that all ranks make about whole fields.

Read `subjects` and `ground`: their fields, and what they need of a grid; `counting`, `extremes` and
`checksums` make numbers; `gathering` and `redistributing` move values by `transfers`.
"""
