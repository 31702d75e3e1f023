"""Small messages between two ranks, in the order in which they were sent: handshakes and answers to them, and what one of the two has raised."""

import json
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from gridbuf.distributed.ranks.hub import HANDSHAKE, Hub
from gridbuf.distributed.ranks.left import Left, leave
from gridbuf.distributed.ranks.sharing import answered

Words = dict[str, Any]


def send(hub: Hub, peer: int, words: Words) -> None:
    """Send words, of this epoch unless they say another; they are kept until they have gone."""
    said = {"epoch": hub.epochs[peer]} | words | hub.tags[peer].tell(words.get("tag"))
    text = json.dumps(said).encode()
    leave(Left([], [hub.comm.Isend([text, MPI.BYTE], peer, HANDSHAKE)], text))


def collect(hub: Hub, every: float = 0.0) -> None:
    """Keep what has come for who looks at it, and drop what is nobody's. Nobody is waited for: a long message may take its time.

    Nobody's values are asked for tag by tag, so who does not wait, and calls often, does it once in so many seconds.
    """
    status = MPI.Status()
    while (message := hub.comm.Improbe(MPI.ANY_SOURCE, HANDSHAKE, status)) is not None:
        hub.peers.add(status.Get_source())
        text = np.empty(status.Get_count(MPI.BYTE), "u1")
        hub.coming[status.Get_source()].append((message.Irecv([text, MPI.BYTE]), text))
    if (now := time.perf_counter()) >= hub.swept + every:
        hub.swept = now
        for peer, tags in hub.tags.items():
            for number in tags.over():
                hub.forget(peer, number)
    for peer, coming in hub.coming.items():
        while coming and coming[0][0].Test():
            words: Words = json.loads(coming.popleft()[1].tobytes())
            for number in hub.tags[peer].hear(words):
                hub.forget(peer, number)
            hub.reached[peer] = words["epoch"]
            if "read" in words:
                hub.unread[peer] = 0
            elif "raised" in words:
                for each in [*hub.transports]:
                    each.hear(peer, words)
                if words["epoch"] > hub.epochs[peer]:
                    hub.notes[peer, words["epoch"]] = words
            elif words["epoch"] < hub.epochs[peer]:
                continue  # what it was to prepare was given up
            elif "taken" in words:
                answered(words)
            elif "waits" in words and words["waits"] is None:
                hub.stalled.pop(peer, None)
            elif "waits" in words:
                hub.stalled[peer] = words
                send(hub, peer, {"read": True})
            else:
                hub.mail[peer].append(words)


def head(hub: Hub, peer: int) -> Words | None:
    """The next handshake of a peer in this epoch: those of the next come behind what the peer has raised."""
    mail = hub.mail[peer]
    return mail[0] if mail and mail[0]["epoch"] == hub.epochs[peer] else None
