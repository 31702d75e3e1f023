"""The requests and programs of one way: what a plan sends and receives, or its adjoint, which sends what that receives."""

from collections.abc import Mapping, Sequence
from typing import Any

from gridbuf._core import CopyProgram
from gridbuf.distributed.plans.binding import ADD, CLEAR, Binding, Message, adjoint, links_of, packing, program, unpacking
from gridbuf.distributed.plans.debugging import SEAL, Guard, poisoning
from gridbuf.distributed.ranks.agreements import Orders
from gridbuf.distributed.ranks.buffers import Buffers, Carriage, GPUBuffers, Turns, on_host
from gridbuf.distributed.ranks.gpu_aware import takes_gpus
from gridbuf.distributed.ranks.hub import Hub
from gridbuf.distributed.ranks.messages import Messages
from gridbuf.distributed.ranks.numbering import Wrong
from gridbuf.distributed.ranks.terms import Terms


class Connector:
    """Of one plan, whose ranks have agreed.

    Parameters
    ----------
    name
        What errors call the plan.
    slots
        The plan's fields, as programs take them.
    aware
        Whether MPI is given pointers of GPUs.

    Attributes
    ----------
    shared : pair of lists
        To whom and from whom values go through memory that both have.
    """

    def __init__(
        self, hub: Hub, name: str, binding: Binding, slots: Sequence[Any], gpu: int | None, debug: bool, aware: bool | None
    ) -> None:
        self._hub, self._name, self._binding, self._slots = hub, name, binding, slots
        self._gpu, self._debug, self._aware = gpu, debug, aware
        self.shared: tuple[list[int], list[int]] = [], []

    def connect(self, plan: Any, terms: Terms, count: Any, back: bool, wrong: Wrong) -> Messages:
        """What moves the plan's messages, or its adjoint's; `count`: of exchanges that have begun; `wrong`: as `Numbers` calls it."""
        agreements = terms.agreements
        sends = {peer: self._ordered(message, True, agreements[peer].its) for peer, message in plan.sends.items()}
        receives = {  # in the order that the peer was told, perhaps by another plan
            peer: self._ordered(message, False, agreements[peer].ours) for peer, message in plan.receives.items()
        }
        mine, theirs = (receives, sends) if back else (sends, receives)
        packed, unpacked, turns = terms.lanes()
        self.shared = [*packed], [*unpacked]
        out, come = self._buffers(mine, back, packed), self._buffers(theirs, back, unpacked)
        first, then = len(self._slots), len(self._slots) + len(out.slots)
        slots = [*self._slots, *out.slots, *come.slots]
        pack = [
            entry
            for peer, (slot, at) in out.places.items()
            for entry in packing(mine[peer], first + slot, at, CLEAR if back else 0)
        ]
        unpack = [
            entry
            for peer, (slot, at) in come.places.items()
            for entry in unpacking(theirs[peer], then + slot, at, ADD if back else 0)
        ]
        ledger = {peer: agreement.ledger[int(back)] for peer, agreement in agreements.items()}
        guard = None
        if self._debug:
            poison = None if back else poisoning(self._slots, plan.copies, receives.values(), self._gpu)
            guard = Guard(self._name, poison, out.ends, come.ends, ledger)
        messages = Messages(
            self._hub,
            {peer: (memory, agreements[peer].to) for peer, memory in out.ends.items()},
            {peer: (memory, agreements[peer].heard) for peer, memory in come.ends.items()},
            (
                CopyProgram(slots, pack, self._gpu),
                program(self._slots, adjoint(plan.copies) if back else plan.copies, self._gpu),
                program(slots, unpack, self._gpu),
            ),
            (self._hub.ledger, ledger),
            back,
            [count, *turns],
            wrong,
            guard,
            Carriage(out, come) if isinstance(out, GPUBuffers) and isinstance(come, GPUBuffers) else None,
        )
        messages.kinds = {peer: (its.heard.number, back, ledger[peer]) for peer, its in agreements.items()}
        for peer in come.ends:
            agreements[peer].receiving.add(messages.receiving)
        return messages

    def _ordered(self, message: Message, sent: bool, orders: Orders) -> Message:
        """A message with each field in the receiver's order of dims: worked out anew where that is not this rank's."""
        if orders == self._binding.orders:
            return message
        return self._binding.message(message.peer, links_of(message), sent, orders)

    def _buffers(self, messages: Mapping[int, Message], back: bool, shared: Mapping[int, Turns]) -> Buffers:
        if self._gpu is None:
            return on_host(messages, SEAL * self._debug, not back and not self._debug, shared)
        direct = not self._debug and not any(self.shared) and takes_gpus(self._aware)  # what looks after messages is on the host
        return GPUBuffers(messages, SEAL * self._debug, self._gpu, direct, shared)
