"""Checks of the service: its isolation by systemd, the journal and system updates."""

import asyncio
import os
import re
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.security.environment import child_environment
from agent.update.records import Phase, UpdateRecords

_IDENTITY = "usr/share/barnacle/image.json"
_KEYS = "usr/share/barnacle/update-keys/*.pem"


async def check_update(patient: Patient) -> Finding:
    kernel = patient.readings.kernel
    if not kernel.exists(_IDENTITY):
        return Finding.ok("not a Barnacle card: update it the way it was installed")
    records = UpdateRecords(Path(kernel.root, "data/update"))
    trial, outcome = records.trial(), records.outcome()
    if trial is not None and trial.phase is Phase.WRITTEN:
        return Finding.warning(
            f"version {trial.version} waits for its trial: start it with `sudo barnacle update try`"
        )
    if trial is not None:
        return Finding.warning(
            f"version {trial.version} is on trial: wait until it is kept; a restart "
            "returns to the previous version"
        )
    if outcome is not None and not outcome.is_kept:
        return Finding.warning(
            f"the update to {outcome.version} was not kept: {outcome.reason}; version "
            f"{outcome.from_version} runs, install a later version"
        )
    if not kernel.matches(_KEYS):
        return Finding.warning(
            "this system was built without a key and accepts no updates: write an image "
            "built with --sign-key to the card"
        )
    return Finding.ok("no update is waiting; `barnacle update FILE` installs one")


_SERVICE = "run/systemd/journal"
_KEPT = "var/log/journal"
_BYTES_PER_MB = 1024 * 1024
_BLOCK_BYTES = 512
# What a card has to spare for words about the past
_LARGE_MB = 512


async def check_journal(patient: Patient) -> Finding:
    root = patient.readings.kernel.root
    return await in_daemon_thread(lambda: _finding(root))


def _finding(root: Path) -> Finding:
    if not (root / _SERVICE).is_dir():
        return Finding.ok("no systemd journal here: the agent logs to its terminal")
    kept = root / _KEPT
    if not kept.is_dir():
        return Finding.warning(
            "the journal is lost at a restart: `sudo mkdir -p /var/log/journal && sudo "
            "systemctl restart systemd-journald` keeps it"
        )
    size_mb = _size_bytes(kept) // _BYTES_PER_MB
    if size_mb > _LARGE_MB:
        return Finding.warning(
            f"the journal takes {size_mb} MB: `sudo journalctl --vacuum-size=128M` shrinks it"
        )
    return Finding.ok(f"persistent journal, {size_mb} MB")


def _size_bytes(folder: Path) -> int:
    """Of what may be looked at."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_blocks * _BLOCK_BYTES
            except OSError:
                continue
    return total


_SYSTEMD = "run/systemd/system"
_UNIT = "barnacle.service"
_UNIT_FOLDERS = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
_PROGRAM = Path("/usr/bin/systemd-analyze")
# A slow card loads the program and every unit within it
_TIMEOUT_S = 8.0
# What the unit comes with is below: 1.7
_MOST = 2.0
_SCORE = re.compile(r"exposure level for \S+: ([0-9.]+)")


async def check_service(patient: Patient) -> Finding:
    kernel = patient.readings.kernel
    if not kernel.exists(_SYSTEMD):
        return Finding.ok("no systemd here: nothing starts the agent automatically")
    if not any(kernel.exists(f"{folder}/{_UNIT}") for folder in _UNIT_FOLDERS):
        return Finding.ok("not installed as a service: run `scripts/install`")
    score = parse_score(await asked(patient.analyzer or _PROGRAM))
    if score is None:
        return Finding.warning(
            f"cannot tell how well {_UNIT} is isolated: see `systemd-analyze security {_UNIT}`"
        )
    if score > _MOST:
        return Finding.warning(
            f"{_UNIT} is less isolated than as delivered ({score:g}, at most {_MOST:g}): "
            f"`systemctl cat {_UNIT}` shows the drop-in that loosens it"
        )
    return Finding.ok(f"{_UNIT} is well isolated: {score:g} (0 is best, 10 worst)")


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
