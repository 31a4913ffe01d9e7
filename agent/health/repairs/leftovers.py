"""Removes the socket that an agent which was killed has left, and what it had half written."""

import stat
from pathlib import Path

from agent.errors import StateInUse, StorageFull
from agent.health.base import Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.repairs.base import Deed
from agent.storage import lock

_SOCKET = "chat.sock"


async def repair(patient: Patient) -> list[Deed]:
    return await in_daemon_thread(lambda: _removed(patient))


def _removed(patient: Patient) -> list[Deed]:
    """Only while no agent works there: then nothing of it is anybody's."""
    folder = patient.state_dir
    if not _is_socket(folder / _SOCKET):
        return []
    try:
        with lock.hold(folder):
            # The lock itself removes what was written half
            path = folder / _SOCKET
            if not _is_socket(path):
                return []
            path.unlink()
    except (StateInUse, StorageFull, OSError):
        # An agent is at work, or another repair says what is wrong with the folder
        return []
    return [Deed(f"removed {path}, at which nobody listens")]


def _is_socket(path: Path) -> bool:
    """Or a link to where one was."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISSOCK(mode) or stat.S_ISLNK(mode)
