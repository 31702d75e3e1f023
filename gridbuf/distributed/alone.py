"""All ranks of a grid without a communicator: this one. What they do together is done at once."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridbuf.distributed.calls import Call, Steps

Integers = NDArray[np.uint64]
Said = Mapping[str, Any]


class Topic(NamedTuple):
    """What some ranks know, and say alike, and what the others are told."""

    facts: Said | None  # None: this rank does not know
    speaks: bool  # whether it is the one of those who know that the others hear
    told: Any = None  # what the speaker adds, which need not be alike


class Agreed(NamedTuple):
    """What came of an agreement."""

    topics: list[tuple[Any, Any]]  # of each its facts and what was told, where they were asked for; else (None, None)
    known: list[int]  # how many ranks know each
    values: Integers


class Alone:
    """One rank that agrees with itself."""

    rank, size = 0, 1
    room = 2**62  # for values in an agreement

    def run(self, key: Any, make: Callable[[Any], Steps[Any]]) -> Any:
        return Call(key, make(self)).drive(None)

    def agree(
        self,
        call: str,
        said: Said,
        topics: Sequence[Topic] = (),
        values: Integers | None = None,
        error: Exception | None = None,
        needed: bool = False,
    ) -> Steps[Agreed]:
        if error is not None:
            raise error
        heard = [json.loads(json.dumps([topic.facts, topic.told])) for topic in topics]
        known = [int(topic.facts is not None) for topic in topics]
        return Agreed([(facts, told) for facts, told in heard], known, np.zeros(0, np.uint64) if values is None else values)
        yield

    def reduce(self, values: Any, operation: str) -> Steps[Any]:
        return values
        yield

    def move(
        self, outgoing: Mapping[int, Any], incoming: Mapping[int, int], room: Any, arrived: Callable[[int, Any], None]
    ) -> Steps[None]:
        return
        yield
