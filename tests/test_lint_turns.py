"""Every slot of our types is one that pyext/core/turns.c knows: a Python without a GIL imports
nothing of a type with another.
"""

import re

from test_lint import sources, without_comments


def test_turns_knows_every_slot():
    files = {
        path: without_comments(text)
        for path, text in sources().items()
        if path.startswith("pyext/") and path.endswith((".c", ".h"))
    }
    used = {
        name: path
        for path, text in files.items()
        for name in re.findall(r"\{\s*(Py_(?!mod_)\w+),", text)
    }
    known = set(re.findall(r"case (Py_\w+):", files["pyext/core/turns.c"]))
    assert len(used) > 20
    assert {name: path for name, path in used.items() if name not in known} == {}
