"""Calls of all ranks of a grid: they agree about a call, reduce integers, and move messages that
nothing plans twice.

An agreement is one reduction of a fixed number of integers, whatever the call: so ranks that make
different calls notice it there, and no message of one call is ever taken for that of another. All
ranks add hashes of their words, and each sees whether the sum is its own as often as there are
ranks. An error of one rank is not agreed about: it revokes the grid (revoke.py), and the ranks that
wait here hear of it.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.calls import (
    LOOK,
    MEETING,
    Agreed,
    DisagreementError,
    Integers,
    RevokedError,
    Said,
    Topic,
    Waiting,
)
from gridbuf.distributed.ranks import revoke
from gridbuf.distributed.ranks.communicator import (
    Channel,
    ranks,
)
from gridbuf.distributed.ranks.pending_requests import CALL, ROLL, Pending, abandoned, keep, leave
from gridbuf.distributed.ranks.persistent_messages import parts
from gridbuf.distributed.ranks.revoke import callable_here, hear

HEAD, TOPICS, TEXT = 16, 2, 36  # words: hashes and counts, then the words about each topic
VALUES = MEETING - HEAD - TOPICS * TEXT  # the exact sums of three fields
OPERATIONS = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX}
SAID, FIRST = (
    0,
    4,
)  # places in the head; of each topic its hash, how many know it, and how long its text is
LATEST = 30.0  # seconds after which a rank tells where it waits, when it has no timeout
T = TypeVar("T")


class Collectives:
    """The ranks of a grid."""

    room = VALUES

    def __init__(self, channel: Channel, timeout: float | None) -> None:
        self.channel = channel
        self.timeout = timeout
        self.rank = channel.rank
        self.size = channel.size
        self._name = ""

    def run(self, name: str, make: Callable[["Collectives"], T]) -> T:
        """Make a call. An error, of whatever kind, revokes the grid."""
        with self.channel.one.during(name):
            try:
                self._name = f"{name}, call {self.channel.duplicate.calls + 1}"
                self.channel.check(self._name)
                found = make(self)
                self.channel.duplicate.calls += 1
                return found
            except BaseException as error:
                self.channel.communicator.fail(error)
                raise

    def fail(self, error: BaseException) -> None:
        """Revoke the grid before this rank tidies up; an error that may follow from that of another
        rank gives way to it.
        """
        if callable_here():
            hear()
        if isinstance(error, Exception) and not isinstance(error, RevokedError):
            self.channel.communicator.check(self._name)
        self.channel.communicator.fail(error)

    # ---- agreement ----

    def agree(
        self,
        call: str,
        said: Said,
        topics: Sequence[Topic] = (),
        values: Integers | None = None,
        needed: bool = False,
    ) -> Agreed:
        """Hold the words of all ranks to be the same, and add values up on the way.

        Parameters
        ----------
        call
            The call, as errors name it.
        said
            The words of each rank: all say the same.
        topics
            Facts that only some of them know.
        values
            Up to VALUES integers, of all ranks as many; a rank that has none to add gives None.
        needed
            Whether all ranks need the facts of the topics; otherwise only those that do not know
            them.

        Raises
        ------
        DisagreementError
            Names two ranks and their words.
        """
        self._name = f"{call}, call {self.channel.duplicate.calls + 1}"
        buffer, texts = message_of({"call": call, **said}, topics, values)
        size = np.uint64(self.size)
        found = self.reduce(buffer, "sum")
        if (found[SAID : SAID + 2] != size * buffer[SAID : SAID + 2]).any():
            self._differ({"call": call, **said})
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
                    text = self._told(texts[i] if topic.speaks else b"", length)
            mine = (
                buffer[at : at + 2]
                if topic.facts is not None or text is None
                else digest(text.partition(b"\n")[0])
            )
            if know and (found[at : at + 2] != np.uint64(know) * mine).any():
                self._differ(topic.facts)
            if text is None:
                heard.append((None, None))
            else:
                facts, _, told = text.partition(b"\n")
                heard.append((json.loads(facts), json.loads(told)))
        return Agreed(heard, known, found[HEAD + TOPICS * TEXT :])

    def _differ(self, said: Said | None) -> None:
        """Find two ranks that say different things; None says nothing."""
        first = self._lowest(said is not None)
        a = json.loads(self._share(text_of(said), first))
        mine = None if said is None else json.loads(text_of(said))
        second = self._lowest(mine is not None and mine != a)
        b = json.loads(self._share(text_of(said), second))
        for key in a if "call" in a else sorted({*a, *b}):
            x, y = a.get(key, "nothing"), b.get(key, "nothing")
            if x != y:
                break
        if isinstance(x, dict) and isinstance(y, dict):
            field, key = key, next(fact for fact in x if x[fact] != y.get(fact))
            raise DisagreementError(
                f"{self._name}: {field}: its {key} is {x[key]} on rank {first} and {y.get(key)} on"
                f" rank {second}"
            )
        if key == "call":
            raise DisagreementError(
                f"{self._name}: rank {first} calls {x}, rank {second} calls {y}"
            )
        raise DisagreementError(f"{key}: rank {first} says {x}, rank {second} {y}")

    def _lowest(self, yes: bool) -> int:
        """The lowest rank that says yes."""
        return int(self.reduce(np.array([self.rank if yes else self.size], np.int64), "min")[0])

    def _share(self, text: bytes, rank: int) -> bytes:
        """The words of one rank, for all."""
        mine = text if self.rank == rank else b""
        return self._told(mine, int(self.reduce(np.array([len(mine)], np.int64), "sum")[0]))

    def _told(self, text: bytes, length: int) -> bytes:
        padded = np.zeros(-(-length // 8), np.uint64)
        padded.view("u1")[: len(text)] = np.frombuffer(text, "u1")
        return bytes(self.reduce(padded, "sum").view("u1")[:length].tobytes())

    # ---- reductions ----

    def reduce(self, values: Any, operation: str) -> Any:
        """An array of integers made of those of all ranks."""
        found, its = np.empty_like(values), self.channel.duplicate
        request = its.comm.Iallreduce(values, found, OPERATIONS[operation])
        its.reductions += 1
        roll = RollCall(self.channel, its.reductions, self.timeout)
        self._wait(
            roll.waiting(request.Test), roll.missing, range(self.size), [request], (values, found)
        )
        return found

    def duplicated(self) -> Any:
        """One more duplicate."""
        comm, request = self.channel.comm.Idup()
        self._wait(request.Test, lambda: "the other ranks", range(self.size), [request], comm)
        return comm

    def _wait(
        self,
        come: Callable[[], bool],
        missing: Callable[[], str],
        peers: Any,
        requests: list[Any],
        memory: Any,
    ) -> None:
        """Wait, and hear of errors. Requests that are given up keep their memory."""

        def look() -> None:
            hear()
            if (
                self.channel.communicator.reached.get(str(self.channel.duplicate.number), 0)
                > self.channel.duplicate.calls
            ):
                return  # all ranks have come to this call: it ends, and the next one raises
            self.channel.communicator.check(self._name)
            for peer in [*self.channel.communicator.ended]:
                end = self.channel.ended(peer)
                if (
                    peer in peers
                    and end is not None
                    and end[3] <= self.channel.duplicate.calls
                    and not come()
                ):
                    self.channel.raise_ended(peer, self._name)

        try:
            Waiting(
                self.timeout, lambda: f"rank {self.rank} waits for {missing()}: {self._name}"
            ).until(come, look)
        except BaseException:
            if requests:
                abandoned.append(Pending([], requests, memory))
            raise

    # ---- messages ----

    def move(
        self,
        outgoing: Mapping[int, Any],
        incoming: Mapping[int, int],
        room: Any,
        arrived: Callable[[int, Any], None],
    ) -> None:
        """Send a message to each of some ranks and receive one from each of others, one after the
        other as they come.

        Parameters
        ----------
        outgoing
            By rank: the buffer.
        incoming
            By rank: how many bytes.
        room
            Memory for the longest of these, one after the other: no rank waits for one that has
            none left.
        arrived
            Called with the rank and its message.
        """
        its, comm = self.channel.duplicate, self.channel.comm
        sends = [
            comm.Isend([part, MPI.BYTE], peer, CALL)
            for peer, buffer in outgoing.items()
            for part in parts(buffer)
        ]
        its.loose += len(sends)
        left = Pending([], sends, outgoing, its)
        keep(left)
        try:
            late = set(incoming)
            while late:
                peer = self._next(late)
                message = np.asarray(room)[: incoming[peer]]
                requests = [comm.Irecv([part, MPI.BYTE], peer, CALL) for part in parts(message)]
                its.loose -= len(requests)
                self._wait(
                    lambda: bool(MPI.Request.Testall(requests)),  # noqa: B023
                    lambda: ranks([peer]),  # noqa: B023
                    [peer],
                    requests,
                    room,
                )
                arrived(peer, message)
                late.discard(peer)
            self._wait(
                lambda: bool(MPI.Request.Testall(sends)),
                lambda: ranks([*outgoing]),
                outgoing,
                [],
                None,
            )
        finally:
            leave(left)

    def _next(self, late: set[int]) -> int:
        """A rank of these whose message has come. Another one may be ahead, and has sent that of
        its next call.
        """
        comm, status = self.channel.comm, MPI.Status()

        def come() -> bool:
            if not comm.Iprobe(MPI.ANY_SOURCE, CALL, status):
                return False
            return status.Get_source() in late or any(
                comm.Iprobe(peer, CALL, status) for peer in sorted(late)
            )

        self._wait(come, lambda: ranks([*late]), late, [], None)
        return int(status.Get_source())


class RollCall:
    """One reduction, in which all ranks meet: the ranks that wait there tell each other, so that
    one that has waited too long can name the others.

    A reduction says nothing of ranks that are late. A rank that has waited for half of its time
    tells all others where it waits, and those that wait there too answer. No rank sends anything
    while all is well.
    """

    def __init__(self, channel: Channel, number: int, timeout: float | None) -> None:
        self._channel, self._number = channel, number
        self._tell = time.perf_counter() + (LATEST if timeout is None else min(timeout / 2, LATEST))
        self._look = 0.0
        self._told: set[int] = set()

    def waiting(self, come: Callable[[], bool]) -> Callable[[], bool]:
        """The same question, and the call of the roll while the answer is no."""

        def asked() -> bool:
            if come():
                return True
            now = time.perf_counter()
            if now >= self._look and self._channel.size <= revoke.FEW:
                self._look = now + LOOK
                self._hear()
                if now >= self._tell:
                    for peer in range(self._channel.size):
                        self._say(peer)
            return False

        return asked

    def missing(self) -> str:
        """The ranks that do not wait here."""
        channel = self._channel
        if channel.size > revoke.FEW:
            return f"the other ranks of {channel.size}"
        self._hear()
        late = [
            peer
            for peer in range(channel.size)
            if peer != channel.rank and channel.waiting.get(peer, -1) < self._number
        ]
        return ranks(late) if late else f"the other ranks of {channel.size}"

    def _say(self, peer: int) -> None:
        if peer not in self._told and peer != self._channel.rank:
            self._told.add(peer)
            number, its = np.array([self._number]), self._channel.duplicate
            its.loose += 1
            leave(Pending([], [its.comm.Isend(number, peer, ROLL)], number, its))

    def _hear(self) -> None:
        status, number, its = MPI.Status(), np.zeros(1, np.int64), self._channel.duplicate
        while its.comm.Iprobe(MPI.ANY_SOURCE, ROLL, status):
            peer = status.Get_source()
            its.comm.Recv(number, peer, ROLL)
            its.loose -= 1
            self._channel.waiting[peer] = int(number[0])
            if number[0] == self._number:
                self._say(peer)


# ---- texts ----


def message_of(
    said: Said, topics: Sequence[Topic], values: Integers | None
) -> tuple[Integers, list[bytes]]:
    """The words that a rank adds in an agreement, and of each topic the text that it tells."""
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


def text_of(said: Any) -> bytes:
    return json.dumps(said).encode()


def digest(text: bytes) -> Integers:
    return np.frombuffer(blake2b(text, digest_size=16).digest(), np.uint64)
