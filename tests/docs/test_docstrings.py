"""Every public function says what it takes, gives and raises, in NumPy's style, and shows a call
that runs.
"""

import doctest
import sys
from typing import Any

import pytest
from described import (
    PACKAGES,
    Documented,
    documented,
    faults,
    installed,
    named,
    public,
    sections,
    undescribed,
)

from gridbuf.docstrings import as_in


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_public_is_described(package: str) -> None:
    found = installed(package)
    assert found
    wrong = [f"{each.name}: {fault}" for each in found for fault in faults(each)]
    assert not wrong, f"{len(wrong)} faults\n" + "\n".join(wrong)


def in_its_module(obj: Any) -> bool:
    """Whether a function lies where its name says: test_examples.py, which reads modules, runs its
    example there.
    """
    found: Any = sys.modules[obj.__module__] if getattr(obj, "__module__", None) else None
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj and hasattr(obj, "__code__")


@pytest.mark.parametrize("package", ["", "gufunc", "memory", "storage"])
def test_examples_run_that_no_module_shows(package: str) -> None:
    """Those of C, and of methods that are made."""
    others = [
        each
        for each in public(package)
        if ">>> " in documented(each.obj) and not in_its_module(each.obj)
    ]
    assert others
    for each in others:
        test = doctest.DocTestParser().get_doctest(documented(each.obj), {}, each.name, None, None)
        assert doctest.DocTestRunner().run(test).failed == 0, each.name


def wrong(first: str, *lines: str) -> list[str]:
    def function(a: int) -> int:
        if a < 0:
            raise ValueError(a)
        return a

    function.__doc__ = "\n".join([first, *lines])
    return list(faults(Documented("function", function, False)))


RIGHT = ["Parameters", "----------", "a : int", "    A number.", "", "Returns", "-------", "int",
"", "Raises", "------",
         "ValueError", "    When a is negative.", "", "Examples", "--------", ">>> 1",
         "1"]  # fmt: skip


def test_the_check_sees_what_it_looks_for() -> None:
    class Data:
        """Two properties.

        Attributes
        ----------
        described
            Here.
        """

        described = property(len)
        by_itself = property(len, doc="Here.")
        by_nothing = property(lambda self: 1)

    Data.__module__ = "gridbuf"
    assert undescribed(Data) == ["by_nothing"]
    assert wrong("As it is.", "", *RIGHT) == []
    assert wrong("No stop", "", *RIGHT) == [
        "the summary is not one sentence of at most two lines that ends in a stop"
    ]
    assert len(wrong("")) == 5
    assert "signature has ['a']" in "".join(
        wrong("Others.", "", *(line.replace("a : int", "b : int") for line in RIGHT))
    )
    assert wrong("No Raises.", "", *RIGHT[:9], *RIGHT[14:]) == ["no Raises"]
    assert wrong("No Returns.", "", *RIGHT[:5], *RIGHT[9:]) == ["no Returns"]
    assert wrong("No example.", "", *RIGHT[:14]) == ["no example"]
    assert "NumPy's" in "".join(wrong("Order.", "", *RIGHT[5:], "", *RIGHT[:5]))
    assert "NumPy's" in "".join(wrong("Others.", "", *RIGHT, "", "Remarks", "-------"))


def test_what_functions_have_in_common_is_said_once_and_read_in_all() -> None:
    def model(a: int, b: int, *c: int) -> int:
        """The model.

        Parameters
        ----------
        a, b : int
            Two numbers.
        *c : int
            Others.

        Returns
        -------
        int

        Notes
        -----
        For both.
        """
        return a + b + sum(c)

    @as_in(model)
    def function(d: int, a: int, *c: int) -> int:
        """Another.

        Parameters
        ----------
        d : int
            Its own.

        Raises
        ------
        ValueError
            Its own, too.

        Examples
        --------
        >>> 1
        1
        """
        raise ValueError(d, a, c)

    found = sections(documented(function))
    assert list(found) == ["", "Parameters", "Returns", "Raises", "Notes", "Examples"]
    # What is described together stays together
    assert named(found["Parameters"]) == ["d", "a", "b", "c"]
    assert found["Notes"].strip() == "For both."
    assert found["Raises"].split() == ["ValueError", "Its", "own,", "too."]

    @as_in(model)
    def nothing(a: int) -> None:
        """It returns nothing."""

    assert list(sections(documented(nothing))) == ["", "Parameters", "Notes"]
