"""The end of a run names the consumers that were skipped, and why."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = {}
    for report in terminalreporter.stats.get("skipped", []):
        if "::test_a_cell_is_as_expected[" in report.nodeid:
            name, _, reason = report.longrepr[2].removeprefix("Skipped: ").partition(": ")
            skipped[name] = reason
    if skipped:
        terminalreporter.section("consumers skipped")
        for name, reason in skipped.items():
            terminalreporter.write_line(f"{name}: {reason}")
