"""Is the configuration right, and are its secrets kept?"""

import stat

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread


async def check(patient: Patient) -> Finding:
    if patient.refusal:
        more = len(patient.refusal.splitlines()) - 1
        others = f" (and {more} more: run `barnacle check`)" if more else ""
        return Finding.failed(patient.refusal.splitlines()[0] + others)
    path = patient.config
    if path is None:
        return Finding.ok("no file: every key has its default")
    mode = (await in_daemon_thread(path.stat)).st_mode
    if mode & stat.S_IWOTH:
        return Finding.failed(f"everybody may change {path}: run `chmod o-w {path}`")
    if patient.holds_key and mode & stat.S_IROTH:
        return Finding.warning(f"everybody may read the secrets in {path}: run `chmod 600 {path}`")
    return Finding.ok(f"{path} is right")
