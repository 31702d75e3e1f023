"""Collective calls of a grid: its ranks agree about a call, reduce integers, and move messages that
no plan repeats.

An agreement is one reduction of a fixed number of integers, whatever the call: ranks that make
different calls notice it there, and no message of one call is ever taken for that of another. All
ranks add hashes of their arguments, and each compares the sum with its own hash times the number of
ranks. An error of one rank is not agreed about: it revokes the grid (revoke.py), and the ranks that
wait here receive its note.
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
    Args,
    DisagreementError,
    Integers,
    RevokedError,
    Topic,
    Waiting,
)
from gridbuf.distributed.ranks import revoke
from gridbuf.distributed.ranks.communicator import Channel, ranks
from gridbuf.distributed.ranks.pending_requests import CALL, ROLL, Pending, abandoned, keep, leave
from gridbuf.distributed.ranks.persistent_messages import parts

# places in the integers of an agreement: first the hash of the arguments, then for each topic its
# hash, how many ranks know it and the length of its text, then the beginnings of these texts
TOPICS, FIRST, HEAD, TEXT = 2, 4, 16, 36
VALUES = MEETING - HEAD - TOPICS * TEXT  # the exact sums of three fields
OPERATIONS = {"sum": MPI.SUM, "min": MPI.MIN, "max": MPI.MAX}
LATEST = 30.0  # seconds after which a waiting rank sends a roll call, where it has no timeout
T = TypeVar("T")


class Collectives:
    """The ranks of a grid."""

    room = VALUES

    def __init__(self, channel: Channel, timeout: float | None) -> None:
        self.channel, self.timeout = channel, timeout
        self.rank, self.size = channel.rank, channel.size
        self._name = ""

    def run(self, name: str, make: Callable[["Collectives"], T]) -> T:
        """Make a call. An error, of whatever kind, revokes the grid."""
        with self.channel.one.during(name):
            try:
                self._name = self._numbered(name)
                self.channel.check(self._name)
                found = make(self)
                self.channel.duplicate.calls += 1
                return found
            except BaseException as error:
                self.channel.communicator.fail(error)
                raise

    def fail(self, error: BaseException) -> None:
        """Revoke the grid before this rank cleans up; an error that may follow from that of another
        rank gives way to it.
        """
        if revoke.may_call_mpi():
            revoke.receive_notes()
        if isinstance(error, Exception) and not isinstance(error, RevokedError):
            self.channel.communicator.check(self._name)
        self.channel.communicator.fail(error)

    def expect_note(self, seconds: float = 5.0) -> None:
        """Wait for the note of another rank's error, of which this rank has seen the effect."""
        end = time.monotonic() + seconds
        while (
            self.channel.communicator.revocation is None
            and revoke.may_call_mpi()
            and time.monotonic() < end
        ):
            revoke.receive_notes()
            time.sleep(0.001)

    def _numbered(self, call: str) -> str:
        return f"{call}, call {self.channel.duplicate.calls + 1}"

    # ---- agreement ----

    def agree(
        self,
        call: str,
        args: Args,
        topics: Sequence[Topic] = (),
        values: Integers | None = None,
        needed: bool = False,
    ) -> Agreed:
        """Compare the arguments of all ranks, and add integers up in the same reduction.

        Parameters
        ----------
        call
            The call, as errors name it.
        args
            The arguments, which are the same on all ranks.
        topics
            Facts that only some ranks know.
        values
            Up to VALUES integers, as many on all ranks; a rank without any gives None.
        needed
            Whether all ranks need the facts of the topics; otherwise only those that do not know
            them.

        Raises
        ------
        DisagreementError
            Names two ranks and their arguments.
        """
        self._name = self._numbered(call)
        buffer, texts = agreement_buffer({"call": call, **args}, topics, values)
        size = np.uint64(self.size)
        found = self.reduce(buffer, "sum")
        if (found[:2] != size * buffer[:2]).any():
            self._raise_difference({"call": call, **args})
        pairs: list[tuple[Any, Any]] = []
        known = []
        for i, topic in enumerate(topics):
            at = FIRST + 4 * i
            count, length = (int(n) for n in found[at + 2 : at + 4])
            known.append(count)
            text = None
            if count and (needed or count < self.size):
                text = found[HEAD + i * TEXT :].view("u1")[:length].tobytes()
                if length > 8 * TEXT:
                    text = self._joined(texts[i] if topic.speaks else b"", length)
            mine = buffer[at : at + 2]
            if topic.facts is None and text is not None:
                mine = digest(text.partition(b"\n")[0])
            if count and (found[at : at + 2] != np.uint64(count) * mine).any():
                self._raise_difference(topic.facts)
            pair = (None, None)
            if text is not None:
                facts, _, extra = text.partition(b"\n")
                pair = json.loads(facts), json.loads(extra)
            pairs.append(pair)
        return Agreed(pairs, known, found[HEAD + TOPICS * TEXT :])

    def _raise_difference(self, args: Args | None) -> None:
        """Find two ranks with different arguments; None: this rank has none to compare."""
        first = self._lowest(args is not None)
        a = json.loads(self._of_rank(text_of(args), first))
        mine = None if args is None else json.loads(text_of(args))
        second = self._lowest(mine is not None and mine != a)
        b = json.loads(self._of_rank(text_of(args), second))
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

    def _lowest(self, condition: bool) -> int:
        """The lowest rank on which a condition holds."""
        return int(self.reduce(np.array([self.rank if condition else self.size]), "min")[0])

    def _of_rank(self, text: bytes, rank: int) -> bytes:
        """The text of one rank, on all."""
        mine = text if self.rank == rank else b""
        return self._joined(mine, int(self.reduce(np.array([len(mine)]), "sum")[0]))

    def _joined(self, text: bytes, length: int) -> bytes:
        """The text of the one rank that has one."""
        padded = np.zeros(-(-length // 8), np.uint64)
        padded.view("u1")[: len(text)] = np.frombuffer(text, "u1")
        return bytes(self.reduce(padded, "sum").view("u1")[:length].tobytes())

    # ---- reductions ----

    def reduce(self, values: Any, operation: str) -> Any:
        """An array of integers made of those of all ranks."""
        found, duplicate = np.empty_like(values), self.channel.duplicate
        request = duplicate.comm.Iallreduce(values, found, OPERATIONS[operation])
        duplicate.reductions += 1
        roll = RollCall(self.channel, duplicate.reductions, self.timeout)
        memory = values, found
        self._wait(roll.polling(request.Test), roll.missing, range(self.size), [request], memory)
        return found

    def duplicated(self) -> Any:
        """A further duplicate of the communicator, which all ranks make."""
        comm, request = self.channel.comm.Idup()
        self._wait(request.Test, lambda: "the other ranks", range(self.size), [request], comm)
        return comm

    def _wait(
        self,
        done: Callable[[], bool],
        missing: Callable[[], str],
        peers: Any,
        requests: list[Any],
        memory: Any,
    ) -> None:
        """Wait, and receive notes of errors. Requests that are given up keep their memory."""
        channel, communicator = self.channel, self.channel.communicator
        number, calls = str(channel.duplicate.number), channel.duplicate.calls

        def look() -> None:
            revoke.receive_notes()
            if communicator.reached.get(number, 0) > calls:
                return  # all ranks have come to this call: it ends, and the next one raises
            communicator.check(self._name)
            for peer in [*communicator.ended]:
                end = channel.counts_at_end(peer)
                if peer in peers and end is not None and end[3] <= calls and not done():
                    channel.raise_ended(peer, self._name)

        def text() -> str:
            return f"rank {self.rank} waits for {missing()}: {self._name}"

        try:
            Waiting(self.timeout, text).until(done, look)
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
        other as they arrive.

        Parameters
        ----------
        outgoing
            By rank: the buffer.
        incoming
            By rank: the number of bytes.
        room
            Memory for the longest of these, used for one after the other.
        arrived
            Called with the rank and its message.
        """
        duplicate, comm = self.channel.duplicate, self.channel.comm
        sends = [
            comm.Isend([part, MPI.BYTE], peer, CALL)
            for peer, buffer in outgoing.items()
            for part in parts(buffer)
        ]
        duplicate.other_sent += len(sends)
        pending = Pending([], sends, outgoing, duplicate)
        keep(pending)
        try:
            late = set(incoming)
            while late:
                peer = self._next(late)
                message = np.asarray(room)[: incoming[peer]]
                requests = [comm.Irecv([part, MPI.BYTE], peer, CALL) for part in parts(message)]
                duplicate.other_sent -= len(requests)
                self._wait(
                    lambda: bool(MPI.Request.Testall(requests)),  # noqa: B023
                    lambda: ranks([peer]),  # noqa: B023
                    [peer],
                    requests,
                    room,
                )
                arrived(peer, message)
                late.discard(peer)
            sent: Callable[[], bool] = lambda: bool(MPI.Request.Testall(sends))  # noqa: E731
            self._wait(sent, lambda: ranks([*outgoing]), outgoing, [], None)
        finally:
            leave(pending)

    def _next(self, late: set[int]) -> int:
        """A peer among these whose message has arrived. Another rank may be ahead, and have
        sent the message of its next call.
        """
        comm, status = self.channel.comm, MPI.Status()

        def arrived() -> bool:
            if not comm.Iprobe(MPI.ANY_SOURCE, CALL, status):
                return False
            return status.Get_source() in late or any(
                comm.Iprobe(peer, CALL, status) for peer in sorted(late)
            )

        self._wait(arrived, lambda: ranks([*late]), late, [], None)
        return int(status.Get_source())


class RollCall:
    """The roll call of one reduction: the ranks that wait there exchange messages, so that one that
    has waited too long can name the others.

    A reduction does not tell which ranks are late. A rank that has waited for half of its time
    sends all others the reduction's number, and those that wait there too answer. No rank sends
    anything while all is well.
    """

    def __init__(self, channel: Channel, number: int, timeout: float | None) -> None:
        self._channel, self._number = channel, number
        self._begin = time.perf_counter() + min(LATEST, LATEST if timeout is None else timeout / 2)
        self._next_look = 0.0
        self._sent: set[int] = set()

    def polling(self, done: Callable[[], bool]) -> Callable[[], bool]:
        """`done` as a function that sends and answers roll calls while the call waits."""

        def poll() -> bool:
            if done():
                return True
            now = time.perf_counter()
            if now >= self._next_look and self._channel.size <= revoke.FEW:
                self._next_look = now + LOOK
                self._receive()
                if now >= self._begin:
                    for peer in range(self._channel.size):
                        self._send(peer)
            return False

        return poll

    def missing(self) -> str:
        """The ranks that do not wait here."""
        channel = self._channel
        late: list[int] = []
        if channel.size <= revoke.FEW:
            self._receive()
            others = {*range(channel.size)} - {channel.rank}
            late = [peer for peer in others if channel.waiting.get(peer, -1) < self._number]
        return ranks(late) if late else f"the other ranks of {channel.size}"

    def _send(self, peer: int) -> None:
        if peer not in self._sent and peer != self._channel.rank:
            self._sent.add(peer)
            number, duplicate = np.array([self._number]), self._channel.duplicate
            duplicate.other_sent += 1
            leave(Pending([], [duplicate.comm.Isend(number, peer, ROLL)], number, duplicate))

    def _receive(self) -> None:
        status, number = MPI.Status(), np.zeros(1, np.int64)
        duplicate = self._channel.duplicate
        while duplicate.comm.Iprobe(MPI.ANY_SOURCE, ROLL, status):
            peer = status.Get_source()
            duplicate.comm.Recv(number, peer, ROLL)
            duplicate.other_sent -= 1
            self._channel.waiting[peer] = int(number[0])
            if number[0] == self._number:
                self._send(peer)


# ---- texts ----


def agreement_buffer(
    args: Args, topics: Sequence[Topic], values: Integers | None
) -> tuple[Integers, list[bytes]]:
    """The integers that a rank adds in an agreement, and its text of each topic."""
    buffer, texts = np.zeros(MEETING, np.uint64), [b""] * len(topics)
    buffer[:2] = digest(text_of(args))
    for i, topic in enumerate(topics):
        if topic.facts is None:
            continue
        at, facts = FIRST + 4 * i, text_of(topic.facts)
        buffer[at : at + 2], buffer[at + 2] = digest(facts), 1
        if topic.speaks:
            texts[i] = facts + b"\n" + text_of(topic.extra)
            buffer[at + 3] = n = len(texts[i])
            if n <= 8 * TEXT:
                start = 8 * (HEAD + i * TEXT)
                buffer.view("u1")[start : start + n] = np.frombuffer(texts[i], "u1")
    if values is not None:
        buffer[HEAD + TOPICS * TEXT :][: len(values)] = values
    return buffer, texts


def text_of(args: Any) -> bytes:
    return json.dumps(args).encode()


def digest(text: bytes) -> Integers:
    return np.frombuffer(blake2b(text, digest_size=16).digest(), np.uint64)
