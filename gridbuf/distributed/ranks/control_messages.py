"""Control messages between two ranks of a grid, in the order in which they were sent: handshakes of
plans and answers to them.
"""

import json
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.ranks.communicator import Channel
from gridbuf.distributed.ranks.pending_requests import Pending, leave
from gridbuf.distributed.ranks.shared_memory import answered
from gridbuf.distributed.ranks.tags import HANDSHAKE

Words = dict[str, Any]


def send(channel: Channel, peer: int, words: Words) -> None:
    """Send words, which are kept until they have gone."""
    text = json.dumps(words | channel.tags[peer].tell(words.get("tag"))).encode()
    channel.duplicate.said[peer] += 1
    leave(
        Pending(
            [], [channel.comm.Isend([text, MPI.BYTE], peer, HANDSHAKE)], text, channel.duplicate
        )
    )


def collect(channel: Channel, every: float = 0.0) -> None:
    """Keep the handshakes that have come in the mail; a long message may take its time. At most
    once in `every` seconds.
    """
    now = time.perf_counter()
    if every and now < channel.swept + every:
        return
    channel.swept = now
    status, its = MPI.Status(), channel.duplicate
    while (message := channel.comm.Improbe(MPI.ANY_SOURCE, HANDSHAKE, status)) is not None:
        text = np.empty(status.Get_count(MPI.BYTE), "u1")
        its.coming[status.Get_source()].append((message.Irecv([text, MPI.BYTE]), text))
    for peer, coming in its.coming.items():
        while coming and coming[0][0].Test():
            words: Words = json.loads(coming.popleft()[1].tobytes())
            its.heard[peer] += 1
            channel.tags[peer].hear(words)
            if "taken" in words:
                answered(words)
            else:
                its.mail[peer].append(words)
