"""Check of the last system update, and of the way to the next; only for our own cards."""

from pathlib import Path

from agent.health.base import Finding, Patient
from agent.update.records import Phase, Records

_IDENTITY = "usr/share/barnacle/image.json"
_KEYS = "usr/share/barnacle/update-keys/*.pem"


async def check(patient: Patient) -> Finding:
    kernel = patient.readings.kernel
    if not kernel.exists(_IDENTITY):
        return Finding.ok("not a card of Barnacle: it is updated the way it was installed")
    records = Records(Path(kernel.root, "data/update"))
    trial, outcome = records.trial(), records.outcome()
    if trial is not None and trial.phase is Phase.WRITTEN:
        return Finding.warning(
            f"version {trial.version} waits for its trial: `sudo barnacle update try`"
        )
    if trial is not None:
        return Finding.warning(
            f"version {trial.version} is on trial: wait until it is kept, "
            "a restart brings the one before"
        )
    if outcome is not None and not outcome.is_kept:
        return Finding.warning(
            f"the update to {outcome.version} was not kept: {outcome.reason}; what runs is "
            f"{outcome.from_version}, install a later version"
        )
    if not kernel.matches(_KEYS):
        return Finding.warning(
            "this system was built without a key and takes no updates: "
            "write an image to the card that was built with --sign-key"
        )
    return Finding.ok("no update waits; `barnacle update FILE` brings one")
