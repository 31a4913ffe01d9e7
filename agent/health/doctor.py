"""Runs every check at once; none can hold up, spoil or crash the examination."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from agent.errors import BarnacleError
from agent.health.base import Check, Finding, Patient
from agent.health.repairs.base import Deed, Repair

# A board gets 5 s to answer; whatever takes twice that is not healthy
CHECK_TIMEOUT_S = 10.0
# A service that is restarted takes longest
MEND_TIMEOUT_S = 120.0


async def examine(
    patient: Patient, checks: Mapping[str, Check], timeout_s: float = CHECK_TIMEOUT_S
) -> dict[str, Finding]:
    """What each check found, in the order of `checks`."""
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
    except Exception as err:  # noqa: BLE001  # a broken check is a finding, never a traceback
        return Finding.failed(f"the check itself failed with {type(err).__name__}: {err}")


async def mend(
    patient: Patient, repairs: Mapping[str, Repair], timeout_s: float = MEND_TIMEOUT_S
) -> AsyncIterator[tuple[str, Deed]]:
    """What each repair did, one after the other: a later one may need what an earlier one made."""
    for name, repair in repairs.items():
        for deed in await _deeds(repair, patient, timeout_s):
            yield name, deed


async def _deeds(repair: Repair, patient: Patient, timeout_s: float) -> list[Deed]:
    try:
        async with asyncio.timeout(timeout_s):
            return await repair(patient)
    except TimeoutError:
        return [Deed(f"not done after {timeout_s:g} s: what it works on hangs", is_done=False)]
    except (BarnacleError, OSError) as err:
        return [Deed(str(err), is_done=False)]
