"""The program is built before the first test is timed."""

import pytest
from share_server import command

from gridbuf import share_client


@pytest.fixture(scope="session", autouse=True)
def program() -> None:
    command()


@pytest.fixture(autouse=True)
def no_idle_connections() -> None:
    """Tests that count descriptors begin with none of another test."""
    share_client.close_idle()
