"""Waiting ends when what is awaited has come, also where that is seen last; no MPI."""

import pytest

from gridbuf.distributed import calls
from gridbuf.distributed.calls import Waiting


class Message:
    """It comes while somebody finds out who is missing, as messages do that MPI moves on when it is
    asked about them.
    """

    def __init__(self) -> None:
        self.here = False

    def missing(self) -> str:
        self.here = True
        return "rank 0 waits for rank : plan 1"

    def come(self) -> bool:
        return self.here


def test_what_comes_at_the_deadline_is_no_timeout() -> None:
    message = Message()
    Waiting(1e-3, message.missing).until(message.come)
    assert message.here


def test_nobody_is_warned_of_what_has_come(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(calls, "WARNING", 1e-3)
    message = Message()
    Waiting(None, message.missing).until(message.come)
    assert not recwarn.list


def test_what_does_not_come_is_named() -> None:
    looks: list[int] = []
    for seconds in (0.02, 0.0):
        with pytest.raises(TimeoutError, match=rf"rank 0 waits for rank 1 \({seconds:g} s\)"):
            Waiting(seconds, lambda: "rank 0 waits for rank 1").until(
                lambda: False, lambda: looks.append(1)
            )
        assert looks
        looks.clear()
