"""Can the state folder be written, and is there room?"""

import shutil
import tempfile
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread

_MB = 1024 * 1024
# A database of a year, a journal and a new version of everything fit
_SOON_FULL_MB = 500
# A small card is not full because it is small
_SOON_FULL_SHARE = 0.25
# Less than what a database may need to tidy itself
_FULL_MB = 50


async def check(patient: Patient) -> Finding:
    folder = patient.state_dir
    try:
        free_mb, total_mb = await in_daemon_thread(lambda: _room_mb(folder))
    except OSError as err:
        return Finding.failed(
            f"{folder} cannot be written ({err.strerror}): "
            "give it to the user that runs barnacle, or set BARNACLE_STATE_DIR"
        )
    if free_mb < _FULL_MB:
        return Finding.failed(f"{folder} has {free_mb} MB left: nothing can be stored soon")
    if free_mb < min(_SOON_FULL_MB, total_mb * _SOON_FULL_SHARE):
        return Finding.warning(f"{folder} has {free_mb} MB left: make room")
    return Finding.ok(f"{folder} can be written, {free_mb} MB are free")


def _room_mb(folder: Path) -> tuple[int, int]:
    """Return free and total space of the folder, or of where it would be made, by writing there."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    with tempfile.TemporaryFile(dir=existing) as file:
        file.write(b"x")
    usage = shutil.disk_usage(existing)
    return usage.free // _MB, usage.total // _MB
