"""The sub-packages are there by name, and importing gridbuf does not pay for them."""

import subprocess
import sys

import pytest

import gridbuf

LATER = ["interface", "interop", "storage"]


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_gridbuf_loads_none_of_them() -> None:
    loaded = fresh("import sys, gridbuf; print([m for m in sys.modules if m.startswith('gridbuf.') and m.count('.') == 1])")
    assert not [name for name in LATER if f"'gridbuf.{name}'" in loaded]


@pytest.mark.parametrize("name", LATER)
def test_they_are_attributes_when_asked_for(name: str) -> None:
    assert fresh(f"import gridbuf; print(gridbuf.{name}.__name__)") == f"gridbuf.{name}"
    assert name in dir(gridbuf)


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'gridbuf' has no attribute 'storages'"):
        _ = gridbuf.storages
    assert not hasattr(gridbuf, "__wrapped__")
