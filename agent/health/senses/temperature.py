"""Is it too hot?"""

from agent.health.senses.base import Sense
from agent.machine.computer import HOT_C
from agent.machine.readings import Readings

# As much cooler that it does not come and go with every minute of work
_COOL_C = 70.0
# Longer than a peak of work
_LOOKS = 3


def judge(readings: Readings, *, is_on: bool) -> str | None:
    heat = readings.temperature_c()
    if heat is None:
        return None
    if heat < (_COOL_C if is_on else HOT_C):
        return ""
    return f"the processor has {heat:g} °C and becomes slow: give it air or a heat sink"


SENSE = Sense("temperature", judge, _LOOKS)
