"""Does the firmware slow the processor down?"""

from agent.health.senses.base import Sense
from agent.machine.power import SLOWED
from agent.machine.readings import Readings

# A peak of work does it for seconds
_LOOKS = 2


def judge(readings: Readings, *, is_on: bool) -> str | None:  # noqa: ARG001 - of every judge
    told = readings.throttled()
    if told is None:
        return None
    slowed = [word.removesuffix(" now") for word in told if word in SLOWED]
    if not slowed:
        return ""
    return f"the processor is slowed down ({', '.join(slowed)}): it lacks air or power"


SENSE = Sense("throttling", judge, _LOOKS)
