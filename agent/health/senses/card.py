"""Does the card make errors, or is it at its end?"""

from agent.health.senses.base import Sense
from agent.machine.readings import Readings

_REPLACE = "save what matters and replace it"


def judge(readings: Readings, *, is_on: bool) -> str:  # noqa: ARG001 - of every judge
    card = readings.card()
    if card.errors:
        devices = ", ".join(device for device, _ in card.errors)
        return f"the card makes errors ({card.error_count} on {devices}): {_REPLACE}"
    return f"the card is at its end ({card.reserve}): {_REPLACE}" if card.reserve else ""


SENSE = Sense("card", judge)
