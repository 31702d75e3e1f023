"""What one rank raises is told at once to those that exchange with it, and each of them raises it once.

An error ends the step of all ranks that exchanges join, whatever the plan in which it was raised. Two ranks count the errors that came between
them: their epoch. Who raises begins a new one with every rank that it exchanges with, and tells them; who hears of it raises as well, where it makes
an exchange that the other has left out, and tells its own. If both have raised, they have done so in the same step, and neither hears of it again:
for that each must have told the other, so nobody is left out because the plan at hand has nothing for it. In a new epoch all that was agreed on is
agreed on anew, so no value of the old one is taken for another.

An error keeps the name of the rank where it began, and its number there: however it goes round, nobody raises it twice.
"""

from gridbuf.distributed.calls import attempt
from gridbuf.distributed.ranks.hub import Hub
from gridbuf.distributed.ranks.mail import Words, collect, send

MOST = 64  # errors that a rank is told while nothing is heard of it: MPI keeps them until it comes


def tell(hub: Hub, raised: str, origin: list[int] | None = None) -> None:
    """This rank raises, and leaves out what its peers may make.

    Parameters
    ----------
    raised
        What, in words.
    origin
        The rank where the error began and its number there; None: here, now.
    """
    hub.errors += 1
    rank, number = origin or (hub.rank, hub.errors)
    hub.raised[rank] = max(number, hub.raised[rank])
    hub.step += 1
    hub.ended.append({"raised": raised, "origin": [rank, number]})
    _, error = attempt(hub.check)
    for peer in hub.joined():
        if error is None and hub.epochs[peer] - hub.reached[peer] >= MOST:
            collect(hub)
        if hub.epochs[peer] - hub.reached[peer] < MOST:  # else nothing was begun with it since: no value passes for another
            end(hub, peer, raised, [rank, number])
    if error is None:
        post(hub)


def end(hub: Hub, peer: int, raised: str, origin: list[int]) -> None:
    """End the epoch with a peer, who is to hear how far this rank had come in it: exchanges under way there may await more."""
    sent, awaited = hub.ledger[peer].tolist()
    come = {"sent": sent, "awaited": awaited, "kinds": hub.kinds(peer), "calls": hub.calls}
    hub.renew(peer)
    hub.untold.append((peer, {"raised": raised, "origin": origin, **come, "epoch": hub.epochs[peer]}))


def post(hub: Hub) -> None:
    """Send what could not be told when it was raised: MPI may not be called on every thread."""
    while hub.untold:
        send(hub, *hub.untold[0])
        hub.untold.popleft()


def heard(hub: Hub, peer: int) -> Words | None:
    """What a peer has raised in the next epoch, if it is no error that this rank has raised."""
    while (note := hub.notes.get((peer, hub.epochs[peer] + 1))) is not None:
        rank, number = note["origin"]
        if hub.raised[rank] < number:
            return note
        end(hub, peer, note["raised"], note["origin"])
        post(hub)
    return None
