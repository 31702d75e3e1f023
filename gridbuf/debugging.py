"""GRIDBUF_DEBUG=1, asked where Python code looks for more: a program may set it while it runs.
Guards of blocks and traces have asked at the import.
"""

import os


def debugging() -> bool:
    """Whether more is checked than a program pays for otherwise."""
    return os.environ.get("GRIDBUF_DEBUG") == "1"
