"""Is the Wi-Fi still heard? What is said over it comes late, or twice, or not at all."""

from agent.health.senses.base import Sense
from agent.machine.readings import Readings
from agent.machine.wireless import FAINT_DBM

_HEARD_DBM = -74
# Somebody who walks through the room makes it faint for a while
_LOOKS = 6


def judge(readings: Readings, *, is_on: bool) -> str:
    limit = _HEARD_DBM if is_on else FAINT_DBM
    for one in readings.wireless():
        if one.signal_dbm is not None and one.signal_dbm <= limit:
            return (
                f"the Wi-Fi is faint ({one.interface} at {one.signal_dbm} dBm): move this device "
                "or the access point"
            )
    return ""


SENSE = Sense("wifi", judge, _LOOKS)
