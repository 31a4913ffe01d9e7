"""Takes from others what is the agent's own: its files, its configuration with a key."""

import os
import stat

from agent.health.base import Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.ownership import exposed, foreign, give_back, take_from_others
from agent.health.repairs.base import Deed, as_root


async def repair(patient: Patient) -> list[Deed]:
    return await in_daemon_thread(lambda: [*_of_state(patient), *_of_config(patient)])


def _of_state(patient: Patient) -> list[Deed]:
    folder, deeds = patient.state_dir, list[Deed]()
    if foreign(folder):
        given = give_back(folder) if os.geteuid() == 0 else 0
        if given:
            deeds.append(Deed(f"gave {given} files in {folder} back to its owner"))
        if left := len(foreign(folder)):
            told = f"{left} files in {folder} belong to somebody else"
            deeds.append(Deed(f"{told}: {as_root(folder)} gives them back", is_done=False))
    if exposed(folder):
        closed = take_from_others(folder)
        if closed:
            deeds.append(Deed(f"closed {closed} files in {folder} to others"))
        if exposed(folder):
            told = f"others may read {folder}, and it is not yours"
            deeds.append(Deed(f"{told}: {as_root(folder)} closes it", is_done=False))
    return deeds


def _of_config(patient: Patient) -> list[Deed]:
    path = patient.config
    if path is None:
        return []
    try:
        mode = path.stat().st_mode
    except OSError:
        # Another check says why
        return []
    too_much = mode & (stat.S_IRWXO if patient.holds_key else stat.S_IWOTH)
    if not too_much:
        return []
    try:
        path.chmod(stat.S_IMODE(mode) & ~too_much)
    except OSError as err:
        told = f"{path} is open to everybody and cannot be closed ({err.strerror})"
        return [Deed(f"{told}: `sudo chmod o-rwx {path}`", is_done=False)]
    return [Deed(f"closed {path} to everybody")]
