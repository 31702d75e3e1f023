"""All ranks of a grid without a communicator: this one. Calls of all ranks end at once."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.uint64]
Said = Mapping[str, Any]


class Topic(NamedTuple):
    """Facts that some ranks know, and say alike, and that the others are told."""

    facts: Said | None  # None: this rank does not know
    speaks: bool  # whether the others hear this rank, of those that know
    told: Any = None  # an addition of the speaker's, which need not be alike


class Agreed(NamedTuple):
    """The outcome of an agreement."""

    topics: list[
        tuple[Any, Any]
    ]  # of each its facts and the speaker's addition, where they were asked for; else (None, None)
    known: list[int]  # how many ranks know each
    values: Integers


class Alone:
    """One rank that agrees with itself."""

    rank, size = 0, 1
    room = 2**62  # for values in an agreement

    def fail(self, error: BaseException) -> None:
        pass

    def agree(
        self,
        call: str,
        said: Said,
        topics: Sequence[Topic] = (),
        values: Integers | None = None,
        needed: bool = False,
    ) -> Agreed:
        heard = [json.loads(json.dumps([topic.facts, topic.told])) for topic in topics]
        known = [int(topic.facts is not None) for topic in topics]
        return Agreed(
            [(facts, told) for facts, told in heard],
            known,
            np.zeros(0, np.uint64) if values is None else values,
        )

    def reduce(self, values: Any, operation: str) -> Any:
        return values

    def move(
        self,
        outgoing: Mapping[int, Any],
        incoming: Mapping[int, int],
        room: Any,
        arrived: Callable[[int, Any], None],
    ) -> None:
        return None
