"""The program is built before the first test is timed."""

import pytest
from share_server import command


@pytest.fixture(scope="session", autouse=True)
def program() -> None:
    command()
