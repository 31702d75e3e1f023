"""The sub-packages are there by name, and importing gridbuf does not pay for them."""

import re
import tomllib
from pathlib import Path

import pytest
from demo.__main__ import NEEDED
from in_child import python

import gridbuf
from gridbuf import consumers

LATER = ["exact", "gufunc", "interface", "interop", "storage"]


def test_importing_gridbuf_loads_none_of_them() -> None:
    inner = python(
        "import sys, gridbuf; print([m for m in sys.modules if m.startswith('gridbuf.') and"
        " m.count('.') > 1])"
    )
    assert inner == "[]"


def test_gridbuf_has_no_module_getattr() -> None:
    """Python does not specialize the attributes of a module that has one: every gb.empty would cost
    25 ns more.
    """
    assert not hasattr(gridbuf, "__getattr__")


@pytest.mark.parametrize(
    "code", ["from gridbuf.storage import zeros", "import gridbuf.interface as i; i.acquired"]
)
def test_they_are_modules_to_import_from(code: str) -> None:
    python(code)


@pytest.mark.parametrize("name", LATER)
def test_they_are_attributes_when_asked_for(name: str) -> None:
    assert python(f"import gridbuf; print(gridbuf.{name}.__name__)") == f"gridbuf.{name}"
    assert name in dir(gridbuf)


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'gridbuf' has no attribute 'storages'"):
        _ = gridbuf.storages
    assert not hasattr(gridbuf, "__wrapped__")


# ---- what pyproject.toml must say again ----


def extras(*names: str) -> set[str]:
    """The packages in these extras, by the name that pip goes by."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    return {
        normal(re.split(r"[<>=;\[ ]", requirement)[0])
        for name in names
        for requirement in project["optional-dependencies"][name]
    }


def normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def test_the_extras_have_the_packages_of_the_consumers() -> None:
    ours = {normal(name) for name in consumers.packages()} - {"numpy"}
    for_gpus_or_old_pythons = {"cupy", "cupy-cuda12x", "cupy-cuda13x", "numba-cuda", "ndsl", "ghex"}
    # Of consumers, of recipes, of what is compiled
    helpers = {
        "gridbuf",  # its extra for progress bars
        "scipy",
        "zarr",
        "netcdf4",
        "h5netcdf",
        "h5py",
        "setuptools",
        "meson",
        "ninja",
    }
    named = extras("consumers", "consumers-heavy", "consumers-compiled") - helpers
    wanted = ours - for_gpus_or_old_pythons
    assert not wanted - named, (
        "the extras consumers, -heavy and -compiled of pyproject.toml lack"
        f" {sorted(wanted - named)}"
    )
    assert not named - wanted, (
        f"no consumer is {sorted(named - wanted)} of the extras in pyproject.toml"
    )


def test_the_demo_needs_what_its_extra_has() -> None:
    with_mpi = {"mpi4py"}  # without it the last part runs in one process
    assert {normal(name) for name in NEEDED.values()} == extras("demo") - {"dace"} - with_mpi
