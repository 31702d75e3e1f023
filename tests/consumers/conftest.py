"""The end of a run names the consumers that were skipped, and why."""

from typing import Any

import pytest

# Their packages are compilers, and the first cell or recipe of each waits for one.
COMPILING = {"DaCe", "nanobind", "pybind11", "Cython"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        told = getattr(item, "callspec", None)
        if told is not None and COMPILING & {told.params.get("name"), told.params.get("title")}:
            item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = {}
    for report in terminalreporter.stats.get("skipped", []):
        if "test_matrix.py::" in report.nodeid:
            name, _, reason = report.longrepr[2].removeprefix("Skipped: ").partition(": ")
            skipped[name] = reason
    if skipped:
        terminalreporter.section("consumers skipped")
        for name, reason in skipped.items():
            terminalreporter.write_line(f"{name}: {reason}")
