"""Is the supply too weak? The board resets and the card breaks before the Pi does."""

from agent.health.senses.base import Sense
from agent.machine.power import UNDER_VOLTAGE
from agent.machine.readings import Readings

# The kernel's alarm lasts for 2 s after a dip: none is missed
EVERY_S = 2.0
_TEXT = (
    "the voltage of the supply is too low: use the supply made for this Pi and a short cable, and "
    "give power hungry devices their own"
)


def judge(readings: Readings, *, is_on: bool) -> str | None:  # noqa: ARG001 - of every judge
    told = readings.throttled()
    if told is None:
        return None
    return _TEXT if UNDER_VOLTAGE in told else ""


SENSE = Sense("voltage", judge, every_s=EVERY_S)
