"""Upkeep of the device for its owner: the version and its slots, the backups, one made now.

An update is root's: the agent only reads what is recorded of it. A backup is made as every night.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agent import __version__
from agent.access.people import Person
from agent.app.build import Agent
from agent.backup.nightly import NightlyBackup, RunProgram, run_apart
from agent.backup.record import read_record
from agent.config import expanded
from agent.errors import BadArguments, StorageFull, UpdateRefused

if TYPE_CHECKING:
    from agent.security.audit_chain import Row

_log = logging.getLogger(__name__)

# More than are kept of most devices; a page shows the newest
_MOST_FILES = 20


class UpkeepViews:
    """The page about updates and backups, and its button.

    Args:
        root: of the machine, for its slots.
    """

    def __init__(
        self, agent: Agent, run_program: RunProgram = run_apart, root: Path = Path("/")
    ) -> None:
        self._agent = agent
        self._run_program = run_program
        self._root = root
        self._making: asyncio.Task[None] | None = None

    async def read(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return what is recorded of updates and backups."""
        update = await asyncio.to_thread(_update, self._root)
        backup = await asyncio.to_thread(self._backup)
        return {"version": __version__, "update": update, "backup": backup}

    async def back_up(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Begin a backup; whoever looks sees how it goes.

        Raises:
            BadArguments: none is configured.
            StorageFull: it cannot be recorded.
        """
        nightly = self._nightly()
        owner = self._agent.access.owner
        if nightly is None or owner is None:
            raise BadArguments("no backup is configured: write [backup] into the configuration")
        if not self._is_making:
            row = {"tool": "backup", "effect": "write", "person": person.name}
            said = {"kind": "decision", "verdict": "allow", "rule": "owner's console"}
            await self._agent.records.note({**said, **row})
            self._making = asyncio.ensure_future(self._made(nightly, row))
        return {"is_making": True}

    async def _made(self, nightly: NightlyBackup, row: Mapping[str, str]) -> None:
        owner = self._agent.access.owner
        if owner is None:
            return
        await nightly.make(owner)
        record = await asyncio.to_thread(read_record, self._agent.paths.state_dir)
        trouble = record.trouble if record is not None else "it left no record"
        result = trouble or (record.where if record is not None else "")
        try:
            ended: Row = {"kind": "effect", "ok": not trouble, "result": result}
            await self._agent.records.note({**ended, **row})
        except StorageFull as err:
            _log.error("audit: result not recorded (tool=backup, error=%s)", err)

    @property
    def _is_making(self) -> bool:
        return self._making is not None and not self._making.done()

    def _nightly(self) -> NightlyBackup | None:
        wanted, paths = self._agent.settings.backup, self._agent.paths
        if wanted is None or not wanted.is_wanted:
            return None
        clock = self._agent.clock
        return NightlyBackup(wanted, paths.config, paths.state_dir, clock, self._run_program)

    def _backup(self) -> dict[str, Any]:
        wanted, state_dir = self._agent.settings.backup, self._agent.paths.state_dir
        told: dict[str, Any] = {
            "is_wanted": wanted is not None and wanted.is_wanted,
            "is_making": self._is_making,
            "at": wanted.at if wanted is not None else "",
            "last": msgspec.to_builtins(read_record(state_dir)),
        }
        to = wanted.to if wanted is not None else ""
        told["files"] = _files(expanded(to, os.environ) if to else None, state_dir)
        return told


def _files(folder: Path | None, state_dir: Path) -> list[dict[str, Any]]:
    """Return the backups in the folder, the newest first."""
    from agent.backup.inventory import FOLDER  # noqa: PLC0415 - for those who look
    from agent.backup.manifest import SUFFIX  # noqa: PLC0415 - as above

    found: list[dict[str, Any]] = []
    for path in (folder or state_dir / FOLDER).glob(f"*{SUFFIX}"):
        try:
            status = path.stat()
        except OSError:
            continue
        found.append({"name": path.name, "size_bytes": status.st_size, "at_s": status.st_mtime})
    return sorted(found, key=lambda one: one["at_s"], reverse=True)[:_MOST_FILES]


def _update(root: Path) -> dict[str, Any] | None:
    """Return the slots and what became of the last update; None where there are no slots."""
    from agent.update.machine import find_machine  # noqa: PLC0415 - for those who look
    from agent.update.records import UpdateRecords, sentence_of  # noqa: PLC0415 - as above

    try:
        machine = find_machine(root)
    except UpdateRefused:
        return None
    records = UpdateRecords(machine.records)
    outcome = records.outcome()
    return {
        "version": machine.identity.version,
        "slot": machine.running,
        "trial": msgspec.to_builtins(records.trial()),
        "held": msgspec.to_builtins(records.held(machine.running)),
        "outcome": msgspec.to_builtins(outcome),
        "sentence": sentence_of(outcome) if outcome is not None else "",
    }
