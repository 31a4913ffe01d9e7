"""Makes the folders that are missing."""

from agent.health.base import Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.repairs.base import Deed


async def repair(patient: Patient) -> list[Deed]:
    return await in_daemon_thread(lambda: _made(patient))


def _made(patient: Patient) -> list[Deed]:
    """For its owner alone; the agent makes everything in it."""
    folder = patient.state_dir
    if folder.exists():
        return []
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as err:
        return [
            Deed(
                f"{folder} cannot be made ({err.strerror}): `sudo install -d -m 700 -o USER "
                f"{folder}` does it",
                is_done=False,
            )
        ]
    return [Deed(f"made {folder}")]
