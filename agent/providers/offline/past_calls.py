"""Calls of earlier turns, for messages that point back to them.

Only calls, and numbers in their results, are looked at: no text that a tool returned.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from agent.providers.offline.conversation import ConversationTurn, table_of
from agent.providers.offline.plan import Order
from agent.providers.offline.toolbox import Choice, Profile, Toolbox

# How the turn tells a failure from a result
FAILURE = "error: "


class PastCall(Struct, frozen=True):
    """Call of an earlier turn, by a tool that is still there."""

    profile: Profile
    order: Order
    result: Mapping[str, Any]
    failed: bool

    @property
    def device(self) -> Choice | None:
        """Return the thing that the call was about."""
        device = self.profile.device
        if device is None:
            return None
        value = self.order.arguments.get(device.name)
        return next((choice for choice in device.choices if choice.value == value), None)

    @property
    def switched_to(self) -> object:
        """Return on, off or the like; None if it switched nothing."""
        switch = self.profile.switch if self.profile.acts else None
        return None if switch is None else self.order.arguments.get(switch.name)


def done_in(turn: ConversationTurn, box: Toolbox) -> list[PastCall]:
    """Return the calls of a turn in their order, without those of memory and watches."""
    found: list[PastCall] = []
    for exchange in turn.exchanges:
        profile = next((one for one in box.speakable if one.name == exchange.order.tool), None)
        if profile is not None:
            failed = exchange.result.startswith(FAILURE)
            found.append(PastCall(profile, exchange.order, table_of(exchange.result), failed))
    return found


def done_last(past: Sequence[ConversationTurn], box: Toolbox) -> list[PastCall]:
    """Return the calls of the turn before this one."""
    return done_in(past[-1], box) if past else []


def only_device(done: Sequence[PastCall]) -> Choice | None:
    """Return the one thing that all of these calls were about; None for several or none."""
    devices = {one.device.text: one.device for one in done if one.device is not None}
    return next(iter(devices.values())) if len(devices) == 1 else None
