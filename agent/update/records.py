"""Records of an update on the data partition, and the news of its outcome for the owner.

Written by root, read by everybody at start; an unreadable record counts as none.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from agent.errors import StorageFull
from agent.storage.files import sync_folder, write_atomic
from agent.system.clock import Clock

FOLDER = Path("/data/update")
TRIAL, OUTCOME, HELD = "trial.json", "outcome.json", "held.json"
_MAX_BYTES = 64 * 1024
_READABLE = 0o644
R = TypeVar("R")
_log = logging.getLogger(__name__)
# Nobody waits for it: a file is looked at, and mostly has not changed
LOOK_S = 60.0
NAME = "update-told"


class Phase(enum.Enum):
    """Phase of a new version."""

    # Whole in its slot, verified; nobody has asked for a start of it
    WRITTEN = "written"
    # The start that tries it was asked for
    TRYING = "trying"
    # It was started, and has yet to show that it is healthy
    RUNNING = "running"


class Trial(msgspec.Struct, frozen=True):
    """A new version that is not settled; `reason` is why it gave way."""

    slot: str
    version: str
    from_version: str
    phase: Phase = Phase.WRITTEN
    # The kernel knows no tryboot.txt: config.txt itself names the slot until it has started
    by_switch: bool = False
    reason: str = ""
    # Units of ours that had failed before it was tried: they say nothing about it
    failed_before: tuple[str, ...] = ()


class UpdateOutcome(msgspec.Struct, frozen=True):
    """Outcome of an update; `at_s` tells one from the other."""

    version: str
    from_version: str
    is_kept: bool
    at_s: float
    reason: str = ""


class Held(msgspec.Struct, frozen=True):
    """Content of the idle slot, if it is whole.

    Args:
        beside: the version in the other slot; empty in a record of an earlier version.
    """

    slot: str
    version: str
    beside: str = ""


class UpdateRecords:
    """The records in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trial(self) -> Trial | None:
        return self._read(TRIAL, Trial)

    def outcome(self) -> UpdateOutcome | None:
        return self._read(OUTCOME, UpdateOutcome)

    def held(self, running: str) -> Held | None:
        """Return what the slot that does not run holds."""
        held = self._read(HELD, Held)
        if held is None or held.slot != running:
            return held
        # The slot was chosen, and a cut came before the record of it
        idle = "B" if running == "A" else "A"
        return Held(idle, held.beside, held.version) if held.beside else None

    def write(self, record: Trial | UpdateOutcome | Held) -> None:
        """Replace the record of its kind.

        Raises:
            StorageFull: the old one is still there.
        """
        names: dict[type, str] = {Trial: TRIAL, UpdateOutcome: OUTCOME, Held: HELD}
        path = self.folder / names[type(record)]
        write_atomic(path, msgspec.json.encode(record))
        path.chmod(_READABLE)

    def forget(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        sync_folder(self.folder)

    def _read(self, name: str, kind: type[R]) -> R | None:
        try:
            with (self.folder / name).open("rb") as file:
                return msgspec.json.decode(file.read(_MAX_BYTES), type=kind)
        except (OSError, msgspec.DecodeError, UnicodeError):
            return None


class UpdateNews:
    """Watches for an outcome.

    Args:
        told: a file of the agent's own, by which it knows what it has told.
    """

    def __init__(self, records: UpdateRecords, told: Path, clock: Clock) -> None:
        self._records = records
        self._told = told
        self._clock = clock
        # Also where there is no room to write it down
        self._told_at_s = 0.0

    async def run(self, tell: Callable[[str], Awaitable[None]]) -> None:
        """Tell each outcome once, until cancelled."""
        while True:
            if (outcome := self._untold()) is not None:
                sentence = sentence_of(outcome)
                _log.warning("update: %s", sentence)
                await tell(sentence)
                await self._remember(outcome)
            await self._clock.sleep(LOOK_S)

    def _untold(self) -> UpdateOutcome | None:
        outcome = self._records.outcome()
        if outcome is None or outcome.at_s == self._told_at_s:
            return None
        with contextlib.suppress(OSError):
            if self._told.read_text(errors="replace") == str(outcome.at_s):
                return None
        return outcome

    async def _remember(self, outcome: UpdateOutcome) -> None:
        self._told_at_s = outcome.at_s
        try:
            await asyncio.to_thread(write_atomic, self._told, str(outcome.at_s).encode())
        except StorageFull as err:
            _log.warning("update: the owner is told again after the next start (error=%s)", err)


def sentence_of(outcome: UpdateOutcome) -> str:
    """Return the sentence for the owner."""
    if outcome.is_kept:
        return (
            f"I now run version {outcome.version}, and it is healthy. "
            f"{outcome.from_version} is still there: `barnacle update rollback` returns "
            "to it."
        )
    return (
        f"Version {outcome.version} is not kept: {outcome.reason}. "
        f"I run {outcome.from_version} again."
    )
