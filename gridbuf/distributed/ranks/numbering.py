"""Which exchange values belong to, where they go one way only.

Between two ranks that both send, who leaves an exchange out is waited for, and noticed. Nobody waits for a rank that only receives: what it
left out would come to its next exchange. So values for it are followed by their number, and it looks whether that is its own.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

Wrong = Callable[[], Callable[[int, int, int], None] | None]  # a weak reference


class Numbers:
    """Of one direction of a plan.

    Parameters
    ----------
    ledger
        By peer: how many exchanges have begun with values for it, and from it.
    to, come
        The peers that only receive, and those that only send.
    wrong
        Is called with a peer, the number of what it has sent, and that of the exchange which awaited it.
    """

    def __init__(self, ledger: Mapping[int, Any], to: Iterable[int], come: Iterable[int], wrong: Wrong) -> None:
        self._ledger, self._wrong = ledger, wrong
        self.out = {peer: np.zeros(1, np.int64) for peer in to}
        self.come = {peer: np.zeros(1, np.int64) for peer in come}
        self._awaited: dict[int, int] = {}

    def write(self) -> None:
        """An exchange begins."""
        for peer, number in self.out.items():
            number[0] = self._ledger[peer][0] + 1
        self._awaited = {peer: int(self._ledger[peer][1]) + 1 for peer in self.come}

    def check(self) -> None:
        """All has come."""
        for peer, number in self.come.items():
            wrong = self._wrong() if number[0] != self._awaited[peer] else None
            if wrong is not None:
                wrong(peer, int(number[0]), self._awaited[peer])
