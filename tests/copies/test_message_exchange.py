"""Exchanges in one call (`_core.MessageExchange`): what is done in which order, and what is left
when something fails. Messages are played.
"""

import gc
import os
import weakref
from typing import Any

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import _core

FLOAT = np.dtype("f8")


def slots(n: int, *bound: Any) -> list[Any]:
    return [*((f"f{i}", FLOAT, (4,), (8,), True) for i in range(n)), *bound]


class Played:
    """Messages that come when they are told to: two fields of four points, of which the inner two
    go out and the outer two come.
    """

    def __init__(self, **keywords: Any) -> None:
        self.out, self.come, self.log = np.zeros(4), np.arange(10.0, 14.0), []
        self.polls = 0  # until all has come
        self.counter = np.zeros(1, np.int64)
        pack = _core.CopyProgram(
            slots(2, self.out), [(2, 16 * i, (8,), i, 8, (8,), (2,), FLOAT, 0) for i in range(2)]
        )
        local = _core.CopyProgram(slots(2), [])
        unpack = _core.CopyProgram(
            slots(2, self.come), [(i, 0, (24,), 2, 16 * i, (8,), (2,), FLOAT, 0) for i in range(2)]
        )
        self.programs = pack, local, unpack
        self.requests: Any = ["a", "b"]
        self.given = {
            "check": None,
            "requests": self.requests,
            "counters": (self.counter,),
            "spin": 0.0,
            **keywords,
        }
        self.exchange = self.made()
        self.fields = [gb.Field.from_array(np.arange(4.0) + 4 * i) for i in range(2)]

    def made(self) -> _core.MessageExchange:
        return _core.MessageExchange(self.programs, self.begin, self.ended, **self.given)

    def begin(self, requests: list[Any]) -> None:
        self.log.append(("begin", requests, self.out.tolist()))

    def ended(self, requests: list[Any]) -> bool:
        self.log.append(("ended", requests))
        self.polls -= 1
        return self.polls < 0

    def values(self) -> list[list[float]]:
        return [f.numpy().tolist() for f in self.fields]


def test_one_call_packs_sends_waits_and_unpacks() -> None:
    played = Played()
    assert played.exchange.run(*played.fields) is True
    assert played.log == [("begin", ["a", "b"], [1.0, 2.0, 5.0, 6.0]), ("ended", ["a", "b"])]
    assert played.values() == [[10.0, 1.0, 2.0, 11.0], [12.0, 5.0, 6.0, 13.0]]
    assert played.counter[0] == 1
    assert played.exchange.active is None


def test_what_has_not_come_is_asked_for_again() -> None:
    played = Played()
    played.polls = 2
    assert played.exchange.run(*played.fields) is False
    assert played.exchange.active == ["a", "b"]
    assert played.exchange.run(*played.fields) is None  # one at a time
    with pytest.raises(RuntimeError, match="has not ended"):
        played.exchange.start(*played.fields)
    assert played.exchange.test() is False
    assert played.values()[0] == [0.0, 1.0, 2.0, 3.0]
    assert played.exchange.test() is True
    assert played.values()[0] == [10.0, 1.0, 2.0, 11.0]
    # Nothing is under way
    assert played.exchange.test() is played.exchange.poll() is played.exchange.drop() is True
    assert played.counter[0] == 1


def test_polling_goes_on_for_a_while() -> None:
    played = Played(spin=0.999)
    played.polls = 5
    assert played.exchange.run(*played.fields) is True
    assert len(played.log) == 7


def test_values_that_nobody_wants_are_not_unpacked() -> None:
    played = Played()
    played.exchange.start(*played.fields)
    assert played.exchange.drop() is True
    assert played.values() == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]


def test_fields_stay_alive_while_messages_are_under_way() -> None:
    played = Played()
    gone = [weakref.ref(f) for f in played.fields]
    played.exchange.start(*played.fields)
    played.fields = []
    gc.collect()
    assert all(ref() is not None for ref in gone)
    assert played.exchange.test()
    assert all(ref() is None for ref in gone)


@pytest.mark.parametrize("given", ["twice", "an array", "a list", "too few", "one memory"])
def test_what_takes_a_thought_is_left_to_python(given: str) -> None:
    played = Played()
    f, g = played.fields
    objects = {
        "twice": (f, f),
        "an array": (f, np.zeros(4)),
        "a list": (f, [g]),
        "too few": (f,),
        "one memory": (f, f[::-1]),
    }
    assert played.exchange.run(*objects[given]) is None
    assert played.log == []


def test_fields_of_another_layout_begin_nothing() -> None:
    played = Played()
    with pytest.raises(ValueError, match=r"f1: shape \(5,\)"):
        played.exchange.run(played.fields[0], gb.Field.zeros((5,)))
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="f1: it is read-only"):
        played.exchange.start(played.fields[0], gb.Field(frozen))
    assert played.log == []
    assert played.counter[0] == 0
    assert played.exchange.active is None
    assert played.exchange.run(*played.fields) is True


def test_errors_of_what_it_calls() -> None:
    def wrong(*_: Any) -> None:
        raise KeyError("wrong")

    played = Played(check=wrong)
    with pytest.raises(KeyError):
        played.exchange.run(*played.fields)
    assert played.exchange.active is None  # it has ended, without values
    assert played.values()[0] == [0.0, 1.0, 2.0, 3.0]
    played = Played()
    played.begin = wrong  # type: ignore[method-assign]
    exchange = _core.MessageExchange(
        (_core.CopyProgram(slots(2), []), None, None),
        wrong,
        played.ended,
        None,
        played.requests,
        (),
        0.0,
    )
    with pytest.raises(KeyError):
        exchange.start(*played.fields)
    assert exchange.active == ["a", "b"]  # nobody knows which of them are under way
    assert exchange.drop() is True


def test_messages_inside_fields_are_found_by_their_addresses() -> None:
    made: dict[tuple[int, ...], list[Any]] = {}
    asked = []

    def requests_at(addresses: tuple[int, ...]) -> list[Any]:
        asked.append(addresses)
        found = made[addresses] = [len(made)]
        return found

    assert Played(requests_at=None, inside=None).exchange.run(*Played().fields) is True
    played = Played(requests=made, requests_at=requests_at, inside=(1,))
    for fields in (played.fields, played.fields[::-1], played.fields):
        assert played.exchange.run(*fields) is True
    at = [f.numpy().ctypes.data for f in played.fields]
    assert asked == [(at[1],), (at[0],)]
    assert [entry[1] for entry in played.log if entry[0] == "begin"] == [[0], [1], [0]]


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({"requests": ()}, TypeError, "requests: expected a list"),
        (
            {"requests": [], "requests_at": len, "inside": (0,)},
            TypeError,
            "a dict where messages lie inside fields",
        ),
        (
            {"requests": {}, "requests_at": len, "inside": (2,)},
            ValueError,
            "inside: there is no field 2",
        ),
        ({"requests": {}, "inside": (0,)}, TypeError, "a tuple beside requests_at="),
        (
            {"requests": {}, "requests_at": len, "inside": [0]},
            TypeError,
            "a tuple beside requests_at=",
        ),
        ({"requests_at": None, "inside": (0,)}, TypeError, "a tuple beside requests_at="),
        ({"counters": (np.zeros(3, np.int64),)}, ValueError, "the memory of one int64"),
        ({"counters": (b"12345678",)}, BufferError, "not writable"),
    ],
)
def test_what_is_wrong_with_it(keywords: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Played(**keywords)


def test_what_is_wrong_with_its_programs() -> None:
    program = _core.CopyProgram([], [])
    for programs, text in (
        ((program,), "there are three"),
        ((None, None, None), r"programs\[0\]"),
        ((program, 1, None), r"\[1\]"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            _core.MessageExchange(programs, len, len, None, [], (), 0.0)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_begins_nothing() -> None:
    played = Played()
    child = os.fork()
    if child == 0:
        try:
            played.exchange.run(*played.fields)
        except RuntimeError as error:
            os._exit(0 if "forked child" in str(error) and not played.log else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_exchange_is_made_again_as_long_as_nothing_has_to_be_looked_at() -> None:
    played, other = Played(), Played()
    assert played.exchange.again(*played.fields) is None  # nobody has looked yet
    for each in (played, other):
        each.exchange.arm(True)
    assert played.exchange.again(*played.fields) is True
    assert played.exchange.again(*played.fields[:1]) is None
    played.exchange.arm(False)
    assert played.exchange.again(*played.fields) is None
    assert other.exchange.again(*other.fields) is True
    played.exchange.arm(True)
    _core.MessageExchange.disarm()  # for all
    assert played.exchange.again(*played.fields) is other.exchange.again(*other.fields) is None
    played.exchange.arm(True)
    assert played.exchange.again(*played.fields) is True
    assert played.counter[0] == 2


def test_what_others_have_begun_and_not_ended_is_left_to_python() -> None:
    turns = np.zeros(2, np.int64)
    played, other = Played(counters=(turns,)), Played(counters=(turns,))
    assert played.exchange.run(*played.fields) is True
    assert turns.tolist() == [1, 1]
    other.exchange.start(*other.fields)
    assert played.exchange.run(*played.fields) is None
    assert other.exchange.drop() is True
    assert turns.tolist() == [2, 2]
    assert played.exchange.run(*played.fields) is True
    gone = _core.MessageExchange(
        (_core.CopyProgram([], []), None, None), len, lambda _: False, None, [], (turns,), 0.0
    )
    gone.start()
    del gone  # nobody asks any more
    assert turns.tolist() == [4, 4]


def test_an_end_is_that_of_the_exchange_it_was_asked_for() -> None:
    """While MPI is asked, another thread may see the end, and begin the next exchange over the same
    requests.
    """
    played = Played()
    asked: list[Any] = []

    def ended(requests: list[Any]) -> bool:
        asked.append(requests)
        if len(asked) == 1:
            assert played.exchange.test() is True
            played.exchange.start(*played.fields)
        return len(asked) != 3

    played.ended = ended  # type: ignore[method-assign]
    exchange = played.exchange = played.made()
    exchange.start(*played.fields)
    exchange.test()
    assert exchange.active == played.requests  # the second one's values have not come
    assert exchange.test() is False
    assert exchange.test() is True


def test_what_did_not_begin_does_not_end() -> None:
    turns = np.zeros(2, np.int64)
    played = Played(counters=(turns,))

    def wrong(_: Any) -> None:
        raise KeyError("wrong")

    played.begin, begin = wrong, played.begin  # type: ignore[method-assign]
    played.exchange = played.made()
    with pytest.raises(KeyError):
        played.exchange.start(*played.fields)
    assert played.exchange.drop() is True
    assert turns.tolist() == [0, 0]  # else all who have that memory would wait for ever
    played.begin = begin  # type: ignore[method-assign]
    played.exchange = played.made()
    assert played.exchange.run(*played.fields) is True
    assert turns.tolist() == [1, 1]
