"""Checks of the configuration: its file, its secrets, and the settings on a card."""

import stat

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread

_FOLDER = "data/device"
# Left by the start of a card, for everybody to read
_REFUSED, _TAKEN_OVER = f"{_FOLDER}/refused", f"{_FOLDER}/taken-over"


async def check_settings(patient: Patient) -> Finding:
    kernel = patient.readings.kernel
    if not kernel.exists(_FOLDER):
        return Finding.ok("not a Barnacle card: `barnacle setup` asks for the settings")
    problems = kernel.text(_REFUSED).splitlines()
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Finding.warning(
            f"the card's settings were rejected: {problems[0]}{more}; correct them on its "
            "first partition and restart the device"
        )
    if not kernel.exists(_TAKEN_OVER):
        return Finding.ok("barnacle.toml on the card's first partition is still empty")
    return Finding.ok("barnacle.toml on the card's first partition is in use")


async def check_config(patient: Patient) -> Finding:
    if patient.refusal:
        more = len(patient.refusal.splitlines()) - 1
        others = f" (and {more} more: run `barnacle check`)" if more else ""
        return Finding.failed(patient.refusal.splitlines()[0] + others)
    path = patient.config
    if path is None:
        return Finding.ok("no configuration file: every key has its default")
    mode = (await in_daemon_thread(path.stat)).st_mode
    if mode & stat.S_IWOTH:
        return Finding.failed(f"every user can change {path}: run `chmod o-w {path}`")
    if patient.holds_key and mode & stat.S_IROTH:
        return Finding.warning(f"every user can read the secrets in {path}: run `chmod 600 {path}`")
    return Finding.ok(f"{path} is valid")
