"""Check of the service's protection, by systemd's own score."""

import asyncio
import re
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.security.environment import child_environment

_SYSTEMD = "run/systemd/system"
_UNIT = "barnacle.service"
_UNIT_FOLDERS = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
_PROGRAM = Path("/usr/bin/systemd-analyze")
# A slow card loads the program and every unit within it
_TIMEOUT_S = 8.0
# What the unit comes with is below: 1.7
_MOST = 2.0
_SCORE = re.compile(r"exposure level for \S+: ([0-9.]+)")


async def check(patient: Patient) -> Finding:
    kernel = patient.readings.kernel
    if not kernel.exists(_SYSTEMD):
        return Finding.ok("no systemd here: nothing starts the agent by itself")
    if not any(kernel.exists(f"{folder}/{_UNIT}") for folder in _UNIT_FOLDERS):
        return Finding.ok("not installed as a service: `scripts/install` does that")
    score = parse_score(await asked(patient.analyzer or _PROGRAM))
    if score is None:
        return Finding.warning(
            f"systemd does not say how well {_UNIT} is kept apart: "
            f"`systemd-analyze security {_UNIT}` says why"
        )
    if score > _MOST:
        return Finding.warning(
            f"{_UNIT} is kept apart less than it comes ({score:g}, at most {_MOST:g}): "
            f"`systemctl cat {_UNIT}` shows which drop-in loosens it"
        )
    return Finding.ok(f"{_UNIT} is kept apart well: {score:g} (0 is best, 10 worst)")


def parse_score(said: str) -> float | None:
    found = _SCORE.search(said)
    try:
        return float(found[1]) if found else None
    except ValueError:
        return None


async def asked(program: Path) -> str:
    """Return the program's output; empty if it cannot be run."""
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *("security", "--no-pager", _UNIT),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=child_environment(Path("/")),
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            said, _ = await process.communicate()
    except TimeoutError:
        return ""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return said.decode(errors="replace")
