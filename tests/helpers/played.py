"""Ranks that are played by one process: grids that plan, and send nothing."""

from typing import Any


class Played:
    """The engine of one of them."""

    name = "played"

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def serve(self, links: Any) -> None:
        return None

    def prepare(self, plan: Any) -> None:
        return None

    def run(self, key: Any, make: Any) -> None:
        return None
