"""Is there room for more?"""

from agent.health.senses.base import Sense
from agent.machine.readings import Readings

# Less than what a database may need to tidy itself; over when there is as much again
_LOW_MB = 50
_ENOUGH_MB = 100
_FEW_INODES_PERCENT = 2


def judge(readings: Readings, *, is_on: bool) -> str | None:
    room = readings.room()
    if room is None:
        return None
    if room.free_mb < (_ENOUGH_MB if is_on else _LOW_MB):
        return f"the storage has {room.free_mb} MB left: make room"
    inodes = room.free_inodes_percent
    if inodes is not None and inodes < _FEW_INODES_PERCENT:
        return f"the storage has room for {inodes} % of its files left: remove some"
    return ""


SENSE = Sense("room", judge)
