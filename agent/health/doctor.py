"""Runs every check at once; none can delay, break or crash the others."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from agent.errors import BarnacleError
from agent.health.base import Check, Finding, Patient
from agent.health.repairs.base import Repair, RepairResult, as_root

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
        return Finding.failed(
            f"no result after {timeout_s:g} s: the part that this check reads hangs"
        )
    except BarnacleError as err:
        return Finding.failed(str(err))
    except PermissionError as err:
        return _closed(patient.state_dir, err.filename)
    except Exception as err:  # noqa: BLE001  # a broken check is a finding, never a traceback
        if isinstance(err, OSError) and err.filename is not None:
            return Finding.failed(f"cannot use {err.filename}: {err.strerror}")
        return Finding.failed(f"the check itself failed with {type(err).__name__}: {err}")


def _closed(folder: Path, path: object) -> Finding:
    """Return the finding of a path that this user cannot open."""
    if _is_closed(folder):
        return Finding.warning(f"not checked: this user cannot open {folder}")
    return Finding.failed(f"this user cannot open {path}: {as_root(folder)} corrects it")


def _is_closed(folder: Path) -> bool:
    try:
        folder.stat()
    except OSError as err:
        return isinstance(err, PermissionError)
    return not os.access(folder, os.R_OK | os.X_OK)


async def mend(
    patient: Patient, repairs: Mapping[str, Repair], timeout_s: float = MEND_TIMEOUT_S
) -> AsyncIterator[tuple[str, RepairResult]]:
    """Yield the results of each repair, in order: a later one may need an earlier one."""
    for name, repair in repairs.items():
        for deed in await _deeds(repair, patient, timeout_s):
            yield name, deed


async def _deeds(repair: Repair, patient: Patient, timeout_s: float) -> list[RepairResult]:
    try:
        async with asyncio.timeout(timeout_s):
            return await repair(patient)
    except TimeoutError:
        return [
            RepairResult(
                f"not done after {timeout_s:g} s: the part that this repair works on hangs",
                is_done=False,
            )
        ]
    except PermissionError as err:
        sentence = f"this user cannot open {err.filename}: run {as_root(patient.state_dir)}"
        return [RepairResult(sentence, is_done=False)]
    except (BarnacleError, OSError) as err:
        return [RepairResult(str(err), is_done=False)]
