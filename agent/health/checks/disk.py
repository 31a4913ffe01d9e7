"""Does the file system of the state folder last, take writes, and have room for more files?"""

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.room import FLEETING

# Each message makes some files at most; with less than these a database soon finds none
_FEW_INODES_PERCENT = 5
_NO_INODES_PERCENT = 1


async def check(patient: Patient) -> Finding:
    """Room itself is looked at where the folder is."""
    room = await in_daemon_thread(patient.readings.room)
    folder = patient.state_dir
    if room is None:
        return Finding.failed(f"the disk of {folder} does not answer: is it still there?")
    if room.is_read_only:
        return Finding.failed(
            f"{folder} is read-only, as a card becomes that fails: save what matters, restart, and "
            "replace the card if it happens again"
        )
    if room.kind in FLEETING:
        return Finding.warning(
            f"{folder} is in memory alone ({room.kind}) and gone with the next start: set "
            "BARNACLE_STATE_DIR to a folder on a disk; on the flashable image, the data partition "
            "could not be used"
        )
    inodes = room.free_inodes_percent
    if inodes is not None and inodes < _FEW_INODES_PERCENT:
        say = Finding.failed if inodes < _NO_INODES_PERCENT else Finding.warning
        return say(
            f"{folder} has room for {inodes} % of its files left, whatever their size: remove some"
        )
    kind = room.kind or "its disk"
    return Finding.ok(f"{kind} takes writes, {room.free_mb} of {room.total_mb} MB are free")
