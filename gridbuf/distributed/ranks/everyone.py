"""All ranks of a communicator: they agree about a call, reduce integers, and move messages that nobody plans twice.

An agreement is one reduction of a fixed number of integers, whatever the call: so ranks that make different calls notice it there, and no
message of one call is ever taken for that of another. All ranks add hashes of what they say, and each sees whether the sum is its own as
often as there are ranks. The step of the program in which a rank makes the call is said apart: where an error has ended one on some ranks and not
on others, these raise it, and those who have raised meet again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.alone import Agreed, Integers, Said, Topic
from gridbuf.distributed.calls import ENDS, MEETING, Awaited, Call, Steps, attempt
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.ranks.hub import CALL_TAGS, Hub, ranks
from gridbuf.distributed.ranks.left import Left, drop, keep, leave
from gridbuf.distributed.ranks.listening import leave_out, listen
from gridbuf.distributed.ranks.messages import parts
from gridbuf.distributed.ranks.raising import tell
from gridbuf.distributed.ranks.rolls import RollCall

HEAD, TOPICS, TEXT = 16, 2, 36  # words: hashes and counts, then what is told of each topic
VALUES = MEETING - HEAD - TOPICS * TEXT  # the exact sums of three fields
OPERATIONS = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX}
SAID, ERRORS, STEP, FIRST = 0, 2, 3, 4  # places in the head; of each topic its hash, how many know it, and how long its text is


class Everyone:
    """The ranks of a hub."""

    room = VALUES

    def __init__(self, hub: Hub, timeout: float | None) -> None:
        self.hub, self.timeout, self.rank, self.size = hub, timeout, hub.rank, hub.size
        self._name, self._spoken = "", False

    def run(self, key: Any, make: Callable[["Everyone"], Steps[Any]]) -> Any:
        """Make a call, or go on with it where it was given up."""
        hub = self.hub
        hub.check()
        key = key, hub.step
        if hub.call is not None and hub.call.key != key:  # given up: it counts as made, and ends first
            try:
                self._drive(hub.call)
            except Exception:
                if hub.call is not None:  # it has not ended; else nobody asks any more what became of it
                    raise
        if hub.call is None:
            hub.calls += 1
            hub.call = Call(key, Everyone(hub, self.timeout)._steps_of(make), hub.step)
        return self._drive(hub.call)

    def _drive(self, call: Call) -> Any:
        try:
            return call.drive(self.timeout, partial(listen, self.hub, call))
        finally:
            if call.over:
                self.hub.call = None

    def _steps_of(self, make: Callable[["Everyone"], Steps[Any]]) -> Steps[Any]:
        """The steps of a call. What is wrong on this rank before it has said anything is told where the others await it: in the first agreement."""
        try:
            return (yield from make(self))
        except Exception as error:
            if self._spoken:
                raise
            yield from self.agree("", {}, error=error)

    # ---- agreement ----

    def agree(
        self,
        call: str,
        said: Said,
        topics: Sequence[Topic] = (),
        values: Integers | None = None,
        error: Exception | None = None,
        needed: bool = False,
    ) -> Steps[Agreed]:
        """Hold what all ranks say to be the same, and add values up on the way.

        Parameters
        ----------
        call
            What they do, as errors call it.
        said
            What each rank says: all say the same.
        topics
            What only some of them know.
        values
            Up to VALUES integers, of all ranks as many; a rank that has none to add gives None.
        error
            What is wrong on this rank: it is raised here, and the others are told.
        needed
            Whether all ranks need what is said of the topics; otherwise only those who do not know it.

        Raises
        ------
        DisagreementError
            Names two ranks and what they say.
        """
        meeting = self.hub.call
        assert meeting is not None
        self._name = meeting.name = f"{call}, call {self.hub.calls}"
        message, wrong = attempt(lambda: message_of({"call": call, **said}, topics, values))
        error = error or wrong
        if message is None or error is not None:  # that there is an error is all that counts
            message = np.zeros(MEETING, np.uint64), [b""] * len(topics)
            message[0][ERRORS] = 1
        buffer, texts = message
        size = np.uint64(self.size)
        buffer[STEP] = number_of(meeting.step)
        while True:
            found = yield from self._sum(buffer)
            alike = found[:FIRST] == size * buffer[:FIRST]
            if alike[STEP]:
                break
            yield from self._apart(meeting, bool(found[ENDS]))
        meeting.met = True
        if found[ERRORS]:
            yield from self._raise(error)
        if not (alike[SAID] and alike[SAID + 1]):
            yield from self._differ({"call": call, **said})
        heard: list[tuple[Any, Any]] = []
        known = []
        for i, topic in enumerate(topics):
            at = FIRST + 4 * i
            know, length = (int(n) for n in found[at + 2 : at + 4])
            known.append(know)
            text = None
            if know and (needed or know < self.size):
                text = found[HEAD + i * TEXT :].view("u1")[:length].tobytes()
                if length > 8 * TEXT:
                    text = yield from self._told(texts[i] if topic.speaks else b"", length)
            mine = buffer[at : at + 2] if topic.facts is not None or text is None else digest(text.partition(b"\n")[0])
            if know and (found[at : at + 2] != np.uint64(know) * mine).any():
                yield from self._differ(topic.facts)
            if text is None:
                heard.append((None, None))
            else:
                facts, _, told = text.partition(b"\n")
                heard.append((json.loads(facts), json.loads(told)))
        return Agreed(heard, known, found[HEAD + TOPICS * TEXT :])

    def _apart(self, call: Call, ends: bool) -> Steps[None]:
        """Some ranks are steps ahead. Who is last raises what has ended its step; it returns where this rank is to meet them again."""
        hub = self.hub
        least = call.step
        its: dict[str, Any] = {"raised": "another rank frees the communicator"}
        if not ends:
            place = [(call.step + 1) * self.size - 1 - self.rank, -call.step]
            found = yield from self.reduce(np.array(place, np.int64), "max")
            first, least = self.size - 1 - int(found[0]) % self.size, -int(found[1])
            its = json.loads((yield from self._share(text_of(hub.ended_by(least + 1)), first)))
        given_up = call.void or call.step < hub.step
        if call.step > least and not given_up:
            return
        if not given_up:
            listen(hub, call)  # whom it was told says so itself
        leave_out(hub, call)
        if not given_up and not ends:
            tell(hub, its["raised"], its["origin"])
        raise DisagreementError(f"rank {self.rank}: {self._name}: {its['raised']}")

    def _raise(self, error: Exception | None) -> Steps[None]:
        """Somebody has an error: those who have raise their own, the others that of the lowest rank."""
        culprit = yield from self._lowest(error is not None)
        told = yield from self._share(b"" if error is None else words_of(error), culprit)
        if error is not None:
            raise error
        raise DisagreementError(f"{self._name}: rank {culprit}: {told.decode()}")

    def _differ(self, said: Said | None) -> Steps[None]:
        """Find two ranks that say different things; None says nothing."""
        first = yield from self._lowest(said is not None)
        a = json.loads((yield from self._share(text_of(said), first)))
        mine = None if said is None else json.loads(text_of(said))
        second = yield from self._lowest(mine is not None and mine != a)
        b = json.loads((yield from self._share(text_of(said), second)))
        for what in a if "call" in a else sorted({*a, *b}):
            x, y = a.get(what, "nothing"), b.get(what, "nothing")
            if x != y:
                break
        if isinstance(x, dict) and isinstance(y, dict):
            field, what = what, next(key for key in x if x[key] != y.get(key))
            raise DisagreementError(
                f"{self._name}: {field}: its {what} is {x[what]} on rank {first} and {y.get(what)} on rank {second}"
            )
        if what == "call":
            raise DisagreementError(f"{self._name}: rank {first} calls {x}, rank {second} calls {y}")
        raise DisagreementError(f"{what}: rank {first} says {x}, rank {second} {y}")

    def _lowest(self, yes: bool) -> Steps[int]:
        """The lowest rank that says yes."""
        found = yield from self.reduce(np.array([self.rank if yes else self.size], np.int64), "min")
        return int(found[0])

    def _share(self, text: bytes, rank: int) -> Steps[bytes]:
        """What one rank says, for all."""
        mine = text if self.rank == rank else b""
        length = yield from self.reduce(np.array([len(mine)], np.int64), "sum")
        return (yield from self._told(mine, int(length[0])))

    def _told(self, text: bytes, length: int) -> Steps[bytes]:
        padded = np.zeros(-(-length // 8), np.uint64)
        padded.view("u1")[: len(text)] = np.frombuffer(text, "u1")
        found = yield from self._sum(padded)
        return bytes(found.view("u1")[:length].tobytes())

    # ---- reductions ----

    def _sum(self, values: Integers) -> Steps[Integers]:
        found: Integers = yield from self.reduce(values, "sum")
        return found

    def reduce(self, values: Any, operation: str) -> Steps[Any]:
        """An array of integers made of those of all ranks."""
        found = np.empty_like(values)
        request = self.hub.comm.Iallreduce(values, found, OPERATIONS[operation])
        self.hub.reductions += 1
        self._spoken = True
        roll = RollCall(self.hub, self.hub.reductions, self.timeout)
        yield Awaited(roll.waiting(request.Test), lambda: f"rank {self.rank} waits for {roll.missing()}: {self._name}")
        return found

    # ---- messages ----

    def move(
        self, outgoing: Mapping[int, Any], incoming: Mapping[int, int], room: Any, arrived: Callable[[int, Any], None]
    ) -> Steps[None]:
        """Send a message to each of some ranks and receive one from each of others, one after the other as they come.

        Parameters
        ----------
        outgoing
            By rank: the buffer.
        incoming
            By rank: how many bytes.
        room
            Memory for the longest of these, one after the other: nobody waits for a rank that has none left.
        arrived
            Called with the rank and its message.
        """
        hub, tag = self.hub, CALL_TAGS[self.hub.calls % len(CALL_TAGS)]
        sends = [hub.comm.Isend([part, MPI.BYTE], peer, tag) for peer, buffer in outgoing.items() for part in parts(buffer)]
        left = Left([], sends, outgoing)
        keep(left)
        try:
            late = set(incoming)
            while late:
                status = MPI.Status()

                def come(status: MPI.Status = status) -> bool:
                    return bool(hub.comm.Iprobe(MPI.ANY_SOURCE, tag, status))

                yield Awaited(come, lambda: f"rank {self.rank} waits for {ranks([*late])}: {self._name}")
                peer = status.Get_source()
                if peer not in late:  # of a call that died here
                    drop(hub.comm.Mprobe(peer, tag, status), status)
                    continue
                message = np.asarray(room)[: incoming[peer]]
                requests = [hub.comm.Irecv([part, MPI.BYTE], peer, tag) for part in parts(message)]
                yield self._done(requests, [peer])
                arrived(peer, message)
                late.discard(peer)
            yield self._done(sends, [*outgoing])
        finally:
            leave(left)

    def _done(self, requests: list[Any], peers: Sequence[int]) -> Awaited:
        return Awaited(
            lambda: bool(MPI.Request.Testall(requests)), lambda: f"rank {self.rank} waits for {ranks(peers)}: {self._name}"
        )


def message_of(said: Said, topics: Sequence[Topic], values: Integers | None) -> tuple[Integers, list[bytes]]:
    """What a rank adds in an agreement, and of each topic the text that it tells."""
    buffer, texts = np.zeros(MEETING, np.uint64), [b""] * len(topics)
    buffer[SAID : SAID + 2] = digest(text_of(said))
    for i, topic in enumerate(topics):
        at = FIRST + 4 * i
        if topic.facts is None:
            continue
        facts = text_of(topic.facts)
        buffer[at : at + 2], buffer[at + 2] = digest(facts), 1
        if topic.speaks:
            texts[i] = facts + b"\n" + text_of(topic.told)
            buffer[at + 3] = len(texts[i])
            if len(texts[i]) <= 8 * TEXT:
                start = 8 * (HEAD + i * TEXT)
                buffer.view("u1")[start : start + len(texts[i])] = np.frombuffer(texts[i], "u1")
    if values is not None:
        buffer[HEAD + TOPICS * TEXT :][: len(values)] = values
    return buffer, texts


def words_of(error: Exception) -> bytes:
    """An error as others hear of it, whatever it says."""
    text, _ = attempt(lambda: f"{type(error).__name__}: {error}".encode(errors="backslashreplace"))
    return type(error).__name__.encode(errors="backslashreplace") if text is None else text


def text_of(said: Any) -> bytes:
    return json.dumps(said).encode()


@lru_cache(maxsize=8)
def number_of(step: int) -> np.uint64:
    """Of a step: sums of those of different steps are not alike."""
    found: np.uint64 = digest(str(step).encode())[0]
    return found


def digest(text: bytes) -> Integers:
    return np.frombuffer(blake2b(text, digest_size=16).digest(), np.uint64)
