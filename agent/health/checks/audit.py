"""Is the audit log as it was written?"""

from collections.abc import Iterator

from agent.dispatch import ledger
from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.security.audit import lines_of
from agent.security.chain import problems

_FOLDER = "audit"
_DATABASE = "agent.db"


async def check(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient))


def _finding(patient: Patient) -> Finding:
    folder = patient.state_dir / _FOLDER
    anchor = ledger.anchor(patient.state_dir / _DATABASE)
    count = 0

    def counted() -> Iterator[tuple[str, bytes]]:
        nonlocal count
        for line in lines_of(folder):
            count += 1
            yield line

    try:
        wrong = list(problems(counted(), [anchor] if anchor else []))
    except OSError as err:
        return Finding.failed(f"the audit log in {folder} cannot be read: {err.strerror}")
    if wrong:
        return Finding.failed(
            f"the audit log is not as it was written ({wrong[0]}): `barnacle audit verify` tells "
            f"all; if the disk is sound, find out who was in {folder}"
        )
    return Finding.ok(f"the audit log is whole: {count} rows" if count else "there is no audit log")
