"""What the dispatcher turns to for everything that no model has a say in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.channels.base import Answer, Question
from agent.dispatch.door import Admitted, TurnedAway
from agent.dispatch.oversight import Oversight
from agent.messages import Inbound

# Who a message is from, and whether it goes on
Admit = Callable[[Inbound], Awaitable[Admitted | TurnedAway]]
# Whether its sender is still let in when its turn comes
Stands = Callable[[Inbound], bool]
# The owner's word on a call in the turn of a message
AskOwner = Callable[[Inbound, Question], Awaitable[Answer]]
# How the device is, for somebody in a conversation
Report = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Desk:
    """Says who comes in, what they may, and how things stand."""

    admit: Admit
    stands: Stands
    ask: AskOwner
    oversight: Oversight
    report: Report
