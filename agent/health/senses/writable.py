"""Does the storage still take what is written?"""

from agent.health.senses.base import Sense
from agent.machine.readings import Readings


def judge(readings: Readings, *, is_on: bool) -> str | None:  # noqa: ARG001 - of every judge
    room = readings.room()
    if room is None:
        return None
    if not room.is_read_only:
        return ""
    return "the storage has become read-only, as that of a card that fails: restart, or replace it"


SENSE = Sense("writable", judge)
