"""Backup of every night: made by a program of its own, at the time that the configuration says.

It holds what the agent's user may read, with the credentials that systemd hands to the service, and
not what root alone may read: host name, SSH keys and Wi-Fi of a card.
"""

import asyncio
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import tzinfo
from pathlib import Path

import msgspec
from msgspec import Struct, field

from agent.access.owner import Owner
from agent.backup.record import LastBackup, read_record, write_record
from agent.errors import StorageFull
from agent.messages import Attachment
from agent.schedule.cron import slots
from agent.schedule.settings import BackupSettings
from agent.schedule.trust import is_trusted
from agent.schedule.zone import local_zone
from agent.security.environment import own_environment
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# Nobody waits for it, and a start has better things to do
LOOK_S = 60.0
# Some GB to a slow disk; what takes longer hangs
PROGRAM_TIMEOUT_S = 4 * 3600.0
# As much as bots may send on the usual platforms
MOST_SENT_BYTES = 45 * 1024 * 1024
# A time of day is looked back for so far, over a day with 25 hours
_LOOK_BACK_S = 26 * 3600.0
_MEDIA_TYPE = "application/octet-stream"
_MOST_CHARS = 500

# Runs a program; returns its exit status and what it said of errors
RunProgram = Callable[[Sequence[str]], Awaitable[tuple[int, str]]]


async def run_apart(words: Sequence[str]) -> tuple[int, str]:
    """Run a program of ours with what it needs of the agent's environment."""
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=own_environment(os.environ),
    )
    try:
        async with asyncio.timeout(PROGRAM_TIMEOUT_S):
            _, said = await process.communicate()
    except TimeoutError:
        return 1, f"no backup after {PROGRAM_TIMEOUT_S / 3600:.0f} hours"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, said.decode("utf-8", "replace")


class NightlyBackup(Struct, frozen=True):
    """The backups of one agent.

    Args:
        config: the file that the agent uses; None without one.
    """

    settings: BackupSettings
    config: Path | None
    state_dir: Path
    clock: Clock
    run_program: RunProgram = field(default=run_apart)
    zone: Callable[[], tzinfo | None] = field(default=local_zone)

    async def run(self, owner: Owner) -> None:
        """Make each backup once, until cancelled."""
        tried_s = 0.0
        while True:
            await self.clock.sleep(LOOK_S)
            # By the record alone it is due with each look, where a full disk takes no record
            if self.is_due() and (slot_s := self._last_s(self.clock.wall_s())) != tried_s:
                tried_s = slot_s
                await self.make(owner)

    def is_due(self) -> bool:
        """Return true if no backup was tried since the last time of day that it is made at."""
        now_s = self.clock.wall_s()
        if not is_trusted(now_s):
            return False
        record = read_record(self.state_dir)
        # One of a time to come was made by a clock that was ahead
        latest_s = now_s + _LOOK_BACK_S
        return record is None or not self._last_s(now_s) <= record.tried_at_s <= latest_s

    def _last_s(self, now_s: float) -> float:
        """Return the last time of day that it is made at."""
        hour, minute = self.settings.at.split(":")
        last_s = 0.0
        for slot_s in slots(f"{int(minute)} {int(hour)} * * *", now_s - _LOOK_BACK_S, self.zone()):
            if slot_s > now_s:
                break
            last_s = slot_s
        return last_s

    async def make(self, owner: Owner) -> None:
        """Make a backup now; tell the owner of a new trouble."""
        before = await asyncio.to_thread(read_record, self.state_dir) or LastBackup()
        try:
            status, said = await self.run_program(self._words())
        except OSError as err:
            status, said = 1, f"the program cannot be started: {err.strerror}"
        made = await asyncio.to_thread(read_record, self.state_dir) or LastBackup()
        trouble = "" if not status else (_last_line(said) or f"it ended with status {status}")
        tried = msgspec.structs.replace(made, tried_at_s=self.clock.wall_s(), trouble=trouble)
        try:
            await asyncio.to_thread(write_record, self.state_dir, tried)
        except (StorageFull, OSError) as err:
            _log.error("backup: not recorded (error=%s)", err)
        if trouble:
            _log.error("backup: failed (error=%s)", trouble)
            if trouble != before.trouble:
                await owner.tell(f"I could not make the backup of tonight: {trouble}")
            return
        _log.info("backup: made (file=%s, bytes=%d)", made.where, made.size_bytes)
        if new := _newly_left_out(made, before):
            await owner.tell(f"The backup of tonight lacks more than the last one: {new}")
        if self.settings.send:
            await self._send(made, owner)

    async def _send(self, made: LastBackup, owner: Owner) -> None:
        at = time.strftime("%Y-%m-%d", time.localtime(made.made_at_s))
        size_mb = made.size_bytes // 1024**2
        if made.size_bytes > MOST_SENT_BYTES:
            await owner.tell(
                f"The backup of {at} has {size_mb} MB, too much for a chat: it is in {made.where}."
            )
            return
        path = Path(made.where)
        file = Attachment(str(path), _MEDIA_TYPE, path.name, made.size_bytes)
        await owner.show(f"Backup of {at}, encrypted.", [file], f"It is in {made.where}.")

    def _words(self) -> list[str]:
        config = [] if self.config is None else ["--config", str(self.config)]
        state = ["--state-dir", str(self.state_dir)]
        return [sys.executable, "-I", "-m", "agent.cli.main", "backup", *config, *state]


def _newly_left_out(made: LastBackup, before: LastBackup) -> str:
    """Return what this backup lacks and the one before did not, such as what a card has lost."""
    if before.left_out is None:
        return ""
    new = [one for one in made.left_out or () if one not in before.left_out]
    return "; ".join(new)[:_MOST_CHARS]


def _last_line(said: str) -> str:
    lines = [line.removeprefix("barnacle: ") for line in said.splitlines() if line.strip()]
    return lines[-1][:_MOST_CHARS] if lines else ""
