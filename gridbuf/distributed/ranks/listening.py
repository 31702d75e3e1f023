"""Who waits in a call of all ranks hears of what ends it: another has raised before it came there, or waits for this rank in an exchange.

An error ends the step of all ranks, so a call is made in a step, and those of two steps are never taken for one. What a rank has said in a call that
others have left out cannot be taken back: MPI has it until they come to their next. Then all see of which steps the calls are (everyone.py). Nobody
listens any more once all have met in a call: who raises after that has not left it out.
"""

from gridbuf.distributed.calls import Call
from gridbuf.distributed.errors import DisagreementError
from gridbuf.distributed.ranks.crossing import awaits, not_made
from gridbuf.distributed.ranks.hub import Hub
from gridbuf.distributed.ranks.mail import collect
from gridbuf.distributed.ranks.raising import heard, tell


def listen(hub: Hub, call: Call) -> None:
    """Raise what a rank has raised instead of this call, or whatever follows it where others have left it out."""
    collect(hub)
    number = hub.calls + call.void
    for peer in sorted({peer for peer, _ in hub.notes}):
        note = heard(hub, peer)
        if note is not None and note["calls"] < number:
            leave_out(hub, call)
            tell(hub, note["raised"], note["origin"])
            raise DisagreementError(f"rank {hub.rank}: {call.name}: {note['raised']}")
    for peer in sorted(hub.stalled):
        its = awaits(hub, peer)
        if its is not None and its["calls"] < number:  # else it has met this rank here, which has not seen it yet
            leave_out(hub, call)
            raised = not_made(hub, peer, f"is in {call.name}", "all ranks make the same calls and exchanges, in one order")
            tell(hub, raised)
            raise DisagreementError(raised)


def leave_out(hub: Hub, call: Call) -> None:
    """Some rank never comes to this call: it has not been made."""
    if not call.void:
        call.void = True
        hub.calls -= 1
