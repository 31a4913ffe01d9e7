"""Runs every check at once; none can hold up, spoil or crash the examination."""

import asyncio
from collections.abc import Mapping

from agent.errors import BarnacleError
from agent.health.base import Check, Finding, Patient

# A board gets 5 s to answer; whatever takes twice that is not healthy
CHECK_TIMEOUT_S = 10.0


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
