"""Restarts the service when its agent hears nobody, or does not answer."""

import asyncio
import os
from pathlib import Path

from agent.errors import BarnacleError
from agent.health.base import Patient
from agent.health.checks.channels import DEAF_S
from agent.health.repairs.base import RepairResult, as_root
from agent.security.environment import child_environment

UNIT = "barnacle.service"
_PROGRAM = Path("/usr/bin/systemctl")
# The agent ends within 25 s and is ready within 15 s, on a slow card somewhat later
RESTART_TIMEOUT_S = 90.0


async def restart_service(patient: Patient) -> list[RepairResult]:
    kernel = patient.readings.kernel
    if patient.hear is None or not kernel.exists("run/systemd/system"):
        return []
    if not (why := await _trouble(patient)):
        return []
    manager = patient.manager or _PROGRAM
    if not await is_active(manager):
        told = f"the agent {why}, and it is not the service: stop it and start it again"
        return [RepairResult(told, is_done=False)]
    if os.geteuid() != 0:
        return [
            RepairResult(
                f"the agent {why}: {as_root(patient.state_dir)} restarts it", is_done=False
            )
        ]
    if await asked(manager, "restart", UNIT):
        return [RepairResult(f"restarted {UNIT}, whose agent {why}")]
    told = f"the agent {why}, and {UNIT} does not start: see `journalctl -u barnacle`"
    return [RepairResult(told, is_done=False)]


async def is_active(program: Path) -> bool:
    return await asked(program, "is-active", "--quiet", UNIT)


async def asked(program: Path, *words: str) -> bool:
    """Ask the service manager; return true if it did it."""
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=child_environment(Path("/")),
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(RESTART_TIMEOUT_S):
            return await process.wait() == 0
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _trouble(patient: Patient) -> str:
    if patient.hear is None:
        return ""
    try:
        heard_s = await patient.hear()
    except TimeoutError:
        return "does not answer"
    except BarnacleError:
        # None runs, or it is not for us
        return ""
    deaf = [name for name, age_s in heard_s.items() if age_s > DEAF_S]
    return f"hears nothing from {', '.join(deaf)}" if deaf else ""
