"""Runs every check at once; none can hold up, spoil or crash the examination."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from agent.errors import BarnacleError
from agent.health.base import Check, Finding, Patient
from agent.health.repairs.base import Deed, Repair, as_root

# A board gets 5 s to answer; whatever takes twice that is not healthy
CHECK_TIMEOUT_S = 10.0
# A service that is restarted takes longest
MEND_TIMEOUT_S = 120.0


async def examine(
    patient: Patient, checks: Mapping[str, Check], timeout_s: float = CHECK_TIMEOUT_S
) -> dict[str, Finding]:
    """Return each check's finding, in the order of `checks`."""
    async with asyncio.TaskGroup() as group:
        tasks = {
            name: group.create_task(_finding(check, patient, timeout_s))
            for name, check in checks.items()
        }
    return {name: task.result() for name, task in tasks.items()}


async def _finding(check: Check, patient: Patient, timeout_s: float) -> Finding:
    try:
        async with asyncio.timeout(timeout_s):
            return await check(patient)
    except TimeoutError:
        return Finding.failed(f"no result after {timeout_s:g} s: what it looks at hangs")
    except BarnacleError as err:
        return Finding.failed(str(err))
    except PermissionError as err:
        return _closed(patient.state_dir, err.filename)
    except Exception as err:  # noqa: BLE001  # a broken check is a finding, never a traceback
        return Finding.failed(f"the check itself failed with {type(err).__name__}: {err}")


def _closed(folder: Path, path: object) -> Finding:
    """Said once for a folder that is closed as a whole: the check `state` says what to do."""
    if _is_closed(folder):
        return Finding.warning(f"not looked at: {folder} is closed to this user")
    return Finding.failed(f"{path} is closed to this user: {as_root(folder)} gives it back")


def _is_closed(folder: Path) -> bool:
    try:
        folder.stat()
    except OSError as err:
        return isinstance(err, PermissionError)
    return not os.access(folder, os.R_OK | os.X_OK)


async def mend(
    patient: Patient, repairs: Mapping[str, Repair], timeout_s: float = MEND_TIMEOUT_S
) -> AsyncIterator[tuple[str, Deed]]:
    """Yield each repair's deed, in order: a later one may need an earlier one's result."""
    for name, repair in repairs.items():
        for deed in await _deeds(repair, patient, timeout_s):
            yield name, deed


async def _deeds(repair: Repair, patient: Patient, timeout_s: float) -> list[Deed]:
    try:
        async with asyncio.timeout(timeout_s):
            return await repair(patient)
    except TimeoutError:
        return [Deed(f"not done after {timeout_s:g} s: what it works on hangs", is_done=False)]
    except PermissionError as err:
        sentence = f"{err.filename} is closed to this user: {as_root(patient.state_dir)} may"
        return [Deed(sentence, is_done=False)]
    except (BarnacleError, OSError) as err:
        return [Deed(str(err), is_done=False)]
